"""Deviations of constraints between slices, where a path runs straight.

A closed chain that is exact in two slices is not on the straight way between them: it
opens by about |q″| h² / 8, which is a quarter with twice the slices.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.compilation.program import compile_program
from posewise.robots.kinematics.manifold import difference, integrate

from ..chain.builder import build_chain, without_slack
from ..chain.modes import ModeSequence
from ..terms.objective import Objective
from ..terms.objective_report import row_factors, violations
from .spec import CompiledProblem, ProblemSpec, mode_sequence, whole_path

PLACES_PER_STEP = 15
"""Number of places between two slices at which rows are measured (count), at equal
distances. What happens between two of them is a 256th of what happens between slices;
more take longer."""


class Deviation(NamedTuple):
    """The largest deviation of a constraint between slices."""

    objective: Objective
    amount: float
    """In the feature's own unit."""
    segment: int
    """The segment that ends in this slice."""
    fraction: float
    """Fraction of the segment where it is."""

    @property
    def ratio(self) -> float:
        """Ratio of the amount and what the constraint allows."""
        return self.amount / (self.objective.between or np.inf)


def bounded_objectives(spec: ProblemSpec) -> tuple[Objective, ...]:
    """Return the objectives whose deviation between slices is bounded."""
    return tuple(o for o in spec.objectives if o.between is not None)


def deviations(
    spec: ProblemSpec, x: Float[np.ndarray, "T nq"]
) -> tuple[Deviation, ...]:
    """Return the largest deviation of each constraint that bounds it.

    Args:
        spec: the problem.
        x: a path of the solved world.
    """
    if not bounded_objectives(spec):
        return ()
    return deviations_of_steps(spec, whole_path(spec, x), np.arange(spec.T))


def deviations_of_steps(
    spec: ProblemSpec,
    points: Float[np.ndarray, "points nq"],
    slices: Int[np.ndarray, " steps"],
) -> tuple[Deviation, ...]:
    """Return the same on a path of any steps; segments count these.

    Args:
        spec: the problem.
        points: a path of the solved world, straight from point to point.
        slices: the slice to which each step between two points leads, ascending.
    """
    bounded = bounded_objectives(spec)
    tree = mode_sequence(spec).world.kinematics().tree
    fractions = np.arange(1, PLACES_PER_STEP + 1) / (PLACES_PER_STEP + 1)
    begin = np.repeat(points[:-1], PLACES_PER_STEP, 0)
    step = np.repeat(difference(tree, points[:-1], points[1:]), PLACES_PER_STEP, 0)
    between = integrate(tree, begin, np.tile(fractions, len(slices))[:, None] * step)
    key = mode_sequence(spec), bounded, slices.tobytes()
    chain, data, locations = spec.cache.between.get(key, lambda: _places(spec, slices))
    q = between.astype(data.prefix.dtype)
    y = np.asarray(rows_of(chain, data._replace(K=_kinematics(spec)), jnp.asarray(q)))
    largest = []
    for objective, parts in zip(bounded, locations, strict=True):
        places = np.concatenate([np.asarray(_places_of(data, part)) for part in parts])
        sizes = np.concatenate([_in_unit(objective, y[p.positions]) for p in parts])
        worst = int(np.argmax(np.nan_to_num(sizes, nan=np.inf)))
        segment, place = divmod(int(places[worst]), PLACES_PER_STEP)
        size = float(sizes[worst])
        largest.append(Deviation(objective, size, segment, float(fractions[place])))
    return tuple(largest)


def _in_unit(
    objective: Objective, values: Float[np.ndarray, "n rows"]
) -> Float[np.ndarray, " n"]:
    """Return the largest violation at each place, in the feature's own unit."""
    factors = row_factors(replace(objective, slices=(0,)), values.shape[1])
    values = np.divide(values, factors, out=np.zeros_like(values), where=factors > 0)
    return violations(objective.type, values)


def _places_of(data: Any, part: Any) -> Int[np.ndarray, " n"]:
    return np.asarray(data.batches[part.batch].slices)[part.rows]


def _kinematics(spec: ProblemSpec) -> Any:
    return mode_sequence(spec).world.tree.model.unnamed_kinematics


def _places(spec: ProblemSpec, slices: Int[np.ndarray, " steps"]) -> CompiledProblem:
    """Return the rows of constraints at places between slices, as slices of a path."""
    objectives = [
        replace(o, slices=tuple(_place_indices(o, slices)), weights=None)
        for o in bounded_objectives(spec)
    ]
    modes = _modes_between(mode_sequence(spec), slices)
    count = len(slices) * PLACES_PER_STEP
    chain, data, locations = build_chain(modes, objectives, 0, np.ones(count))
    return CompiledProblem(chain, without_slack(data), locations)


def _place_indices(
    objective: Objective, slices: Int[np.ndarray, " steps"]
) -> Iterator[int]:
    """Yield the places on steps that the slices of an objective enclose."""
    for step in np.flatnonzero(np.isin(slices, enclosed_segments(objective.slices))):
        yield from range(step * PLACES_PER_STEP, (step + 1) * PLACES_PER_STEP)


def enclosed_segments(slices: tuple[int, ...]) -> list[int]:
    """Return the segments, by their last slice, both of whose ends are selected.

    The start of a path belongs to its first slice.
    """
    chosen = {-1, *slices}
    return [t for t in slices if t - 1 in chosen]


def _modes_between(
    modes: ModeSequence, slices: Int[np.ndarray, " steps"]
) -> ModeSequence:
    """Return modes by places: until a slice is reached, that of the slice before."""
    first = np.searchsorted(slices, np.array(modes.starts, int) + 1) * PLACES_PER_STEP
    return replace(modes, starts=first.tolist(), contacts=())


def _evaluate(chain: Any, data: Any, x: Any) -> Any:
    return jnp.concatenate([r.y.ravel() for r in chain.evaluate(data, x)])


rows_of = compile_program(_evaluate, fetches=True)
"""Returns the scaled rows of a problem at a path."""
