"""Rows for the distances along a path: more, less or another place, as data.

Each is for the distances in a slice, or at one place between two slices.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..chain.groups import ChainData, FeatureBatch
from ..clearance.avoidance import BUFFER
from ..clearance.certificate import Shortfall
from ..problem.spec import CompiledProblem, ProblemSpec


@dataclass(frozen=True, slots=True)
class RowExchange:
    """Choices of solves with other rows for distances, varied in docs/evidence.md."""

    max_exchanges: int = 6
    """Number of times that rows change and a path is solved again (count). Few paths
    that fail six checks pass a later one."""
    max_unseen_depth: float = 5e-3
    """Depth of a shortfall up to which rows ask for more distance where they are [m]. A
    deeper one is something that the rows of its segment do not see, so that one moves:
    with more, ways through narrow gaps are lost; with less, other paths take longer."""
    raise_factor: float = 2.0
    """Ratio of the distance by which rows ask for more to what is missing between them
    [1]. With 1, paths end at the least distance that is accepted; larger values make
    them longer."""
    raised_range: float = 0.5
    """Distance on the path up to which rows ask for more [slices]: one row or two on
    each side of where something is missing. Larger values move parts of the path that
    are right."""
    max_raise: float = 0.02
    """Largest distance that a row asks for beyond its margin [m]; collision rows do not
    see farther, see `features.collisions.MAX_COLLISION_SLACK`."""


ROW_EXCHANGE = RowExchange()


def tighten_rows(
    spec: ProblemSpec,
    compiled: CompiledProblem,
    data: ChainData,
    shortfalls: Iterable[Shortfall],
) -> ChainData:
    """Return the data with rows that ask for what a path is missing between slices."""
    batches, rows = list(data.batches), [*_avoidance_rows(spec, compiled, data)]
    for short in shortfalls:
        place = short.segment - 1 + short.fraction
        raised = ROW_EXCHANGE.raise_factor * short.depth
        for row in rows:
            if abs(row.place - place) <= ROW_EXCHANGE.raised_range:
                batch = batches[row.batch]
                batches[row.batch] = _raised(batch, row.instance, raised)
            is_deep = short.depth > ROW_EXCHANGE.max_unseen_depth
            is_unseen = is_deep and not short.is_in_slice
            if is_unseen and row.segment == short.segment:
                moved = _moved(batches[row.batch], row.instance, short.fraction)
                batches[row.batch] = moved
    return data._replace(batches=tuple(batches))


def loosen_rows(
    spec: ProblemSpec, compiled: CompiledProblem, data: ChainData
) -> ChainData:
    """Return the data with rows for distances that ask for the accepted ones."""
    batches, avoidance = list(data.batches), spec.avoidance
    for row in _avoidance_rows(spec, compiled, data):
        if avoidance is not None:
            spare = BUFFER + avoidance.tolerance(row.slices)
            batches[row.batch] = _loosened(batches[row.batch], row.instance, spare)
    return data._replace(batches=tuple(batches))


class AvoidanceRow(NamedTuple):
    """A row for the distances in a slice, or at one place between two slices."""

    place: float
    """Its place on the path, in slices."""
    segment: int | None
    """The segment that it is inside, by the slice at the end; None: in a slice."""
    batch: int
    """Its batch in the data of the problem, and its instance there."""
    instance: int

    @property
    def slices(self) -> tuple[int, ...]:
        """The slice that it is in, or those at both ends of its segment."""
        t = self.segment
        return (int(self.place),) if t is None else (t - 1, t)


def _avoidance_rows(
    spec: ProblemSpec, compiled: CompiledProblem, data: ChainData
) -> Iterator[AvoidanceRow]:
    """Yield the rows that keep distances along the path."""
    for objective, parts in zip(spec.objectives, compiled.locations, strict=True):
        if not objective.is_avoidance:
            continue
        for part in parts:
            batch = data.batches[part.batch]
            slices = np.asarray(batch.slices)[part.rows]
            fractions = np.asarray(batch.fractions)
            for t, index in zip(slices.tolist(), part.rows.tolist(), strict=True):
                if objective.fraction is None:
                    yield AvoidanceRow(t, None, part.batch, index)
                else:
                    place = t - 1 + float(fractions[index])
                    yield AvoidanceRow(place, t, part.batch, index)


def _raised(b: FeatureBatch, row: int, depth: float) -> FeatureBatch:
    """Return the batch with one row that asks for a larger distance."""
    # The row y - target <= 0 asks for a gap of minus the target beyond the margin.
    target = np.array(b.target)
    target[row] = np.maximum(target[row] - depth, -ROW_EXCHANGE.max_raise)
    return b._replace(target=target)


def _loosened(b: FeatureBatch, row: int, spare: float) -> FeatureBatch:
    """Return the batch with one row that asks for a smaller distance."""
    target = np.array(b.target)
    target[row] = spare
    return b._replace(target=target)


def _moved(b: FeatureBatch, row: int, fraction: float) -> FeatureBatch:
    """Return the batch with one row at another place in its segment."""
    fractions = np.array(b.fractions)
    fractions[row] = fraction
    return b._replace(fractions=fractions)
