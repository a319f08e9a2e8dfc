"""Rows for the distances along a path: more, less or another place, as data.

Each is for the distances in a slice, or at one place between two slices.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ..chain.groups import ChainData, FeatureBatch
from ..clearance.avoidance import BUFFER
from ..clearance.certificate import Shortfall
from ..problem.spec import CompiledProblem, ProblemSpec

MAX_UNSEEN_DEPTH = 5e-3
"""Depth of a shortfall up to which rows ask for more distance where they are [m]. A
deeper one is something that the rows of its segment do not see, so that one moves."""
RAISE_FACTOR = 2.0
"""Ratio of the distance by which rows ask for more to what is missing between them.
Larger values need fewer solves and make paths longer."""
RAISED_RANGE = 0.5
"""Distance on the path up to which rows ask for more [slices]: one row or two on each
side of where something is missing. Larger values move parts of the path that are
right."""
LEAST_RAISE = 5e-4
"""Smallest distance by which rows ask for more [m], so that few solves are needed."""
MAX_RAISE = 0.02
"""Largest distance that a row asks for beyond its margin [m]; collision rows do not see
farther, see `features.collisions.MAX_COLLISION_SLACK`."""


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
        raised = max(RAISE_FACTOR * short.depth, LEAST_RAISE)
        for row in rows:
            if abs(row.place - place) <= RAISED_RANGE:
                batches[row.batch] = _raised(batches[row.batch], row.instance, raised)
            is_unseen = short.depth > MAX_UNSEEN_DEPTH and not short.is_in_slice
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
    target[row] = np.maximum(target[row] - depth, -MAX_RAISE)
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
