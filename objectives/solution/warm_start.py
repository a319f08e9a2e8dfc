"""Starts from the solution of a similar problem, with its multipliers."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from posewise.robots.kinematics.manifold import difference

from ..chain.builder import RowLocation
from ..chain.courses import Course
from ..chain.groups import ChainData
from ..problem.spec import CompiledProblem, ProblemSpec
from ..terms.objective import ObjectiveError
from .record import SolveRecord

MAX_PENALTY_GROWTH = 1e5
"""Largest ratio of the penalty that a warm start begins with to that of a cold one. A
larger one bends the first steps to the curved constraints of last time; a smaller one
lets them leave what the multipliers do not hold."""


class WarmStart(NamedTuple):
    """The end of a solve, from which another one begins.

    Path, multipliers and penalty are those of the last solve: with multipliers alone
    and a small penalty, first steps would leave the constraints again.
    """

    record: SolveRecord
    shift: int = 0
    """Number of slices by which time has moved on: slice t begins as slice t + shift
    was. The last slice that there was stands for later ones."""
    keeps_multipliers: bool = True
    """Whether multipliers and penalty are used, too: those of a solve that has failed
    are of rows that could not be satisfied."""

    def fits(self, compiled: CompiledProblem) -> bool:
        """Return whether a problem has the same slices and the same coordinates."""
        old, new = self.record.chain, compiled.chain
        return old.slices == new.slices and old.tree == new.tree

    def path(self, compiled: CompiledProblem) -> Float[np.ndarray, "T nq"]:
        """Return the path, moved on in time, within a problem's limits."""
        path = shift_path(np.asarray(self.record.x), self.shift)
        return np.clip(path, *np.asarray(compiled.data.limits))

    def penalty(self, cold: float) -> float:
        """Return the first penalty, where a cold start would begin with another."""
        last = min(self.record.mu, MAX_PENALTY_GROWTH * cold)
        return max(last, cold) if self.keeps_multipliers else cold

    def multipliers(
        self, spec: ProblemSpec, compiled: CompiledProblem
    ) -> Float[np.ndarray, " N"] | None:
        """Return the first multiplier of each row of a problem; None: zeros.

        Rows of objectives that the last problem did not have begin with 0. In slices
        that an objective did not have, rows begin with its last multiplier until then:
        that of a goal at the end stays at the end.
        """
        old = self.record
        if not self.keeps_multipliers:
            return None
        if old.locations is compiled.locations and not self.shift:
            return np.asarray(old.multipliers)
        groups = compiled.chain.groups
        count = sum(group.capacity * group.num_rows for group in groups)
        multipliers = np.zeros(count, np.asarray(old.multipliers).dtype)
        index = {id(objective): i for i, objective in enumerate(old.spec.objectives)}
        for objective, parts in zip(spec.objectives, compiled.locations, strict=True):
            if id(objective) not in index:
                continue
            slices, values = self._rows(index[id(objective)])
            for part in parts:
                if part.positions.shape[1] == values.shape[1]:
                    then = _slices(compiled.data, part) + self.shift
                    last = np.searchsorted(slices, then, side="right") - 1
                    multipliers[part.positions] = values[np.maximum(last, 0)]
        return multipliers

    def _rows(self, i: int) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, "n D"]]:
        """Return the slices of an objective, ascending, and its multipliers there.

        If the number of rows differs from slice to slice, only those of the first kind.
        """
        parts = self.record.locations[i]
        multipliers = np.asarray(self.record.multipliers)
        width = parts[0].positions.shape[1]
        parts = [part for part in parts if part.positions.shape[1] == width]
        slices = np.concatenate([_slices(self.record.data, part) for part in parts])
        values = np.concatenate([multipliers[part.positions] for part in parts])
        order = np.argsort(slices)
        return slices[order], values[order]


class ShiftedStart(NamedTuple):
    """The start of a problem after some slices of its solution have passed."""

    q: Float[np.ndarray, " nq"]
    velocity: Float[np.ndarray, " nv"] | None
    """None if no objective depends on it."""
    path: Float[np.ndarray, "T nq"]
    """The rest of the solution."""
    courses: tuple[Course, ...]
    """The rest of the courses."""


def shift_problem(
    spec: ProblemSpec,
    record: SolveRecord,
    path: Float[np.ndarray, "T nq"],
    tau: Float[np.ndarray, " T"],
    slices: int,
) -> ShiftedStart:
    """Return where a problem starts after some slices have passed; see `KOMO.shift`.

    Args:
        spec: the problem.
        record: of its last solve.
        path: the solution, in coordinates of the user's world.
        tau: duration of the step into each slice of it [s].
        slices: number of slices, from 1 to T.
    """
    old = record.spec
    if spec.durations:
        raise ObjectiveError(
            "shift() moves on by steps of constant duration, but the durations are"
            " variables; make a new KOMO."
        )
    passed = [s for s in old.switches if s.start < slices]
    if passed:
        raise ObjectiveError(
            f"After {slices} slices {passed[0].frame!r} is attached to"
            f" {passed[0].parent!r}, in slice {passed[0].start}; make a new KOMO in"
            " solution.world_at(slice), where it is."
        )
    states = np.concatenate([old.config.q[None], path])
    tree = old.config.tree.model.layout.tree
    velocity = None
    if spec.k_order > 1:
        step = difference(tree, states[slices - 1], states[slices])
        velocity = step / tau[slices - 1]
    courses = tuple(
        replace(course, poses=shift_path(course.poses, slices))
        for course in spec.courses
    )
    shifted_path = shift_path(path, slices)
    return ShiftedStart(states[slices], velocity, shifted_path, courses)


def shift_path(path: Float[np.ndarray, "T nq"], k: int) -> Float[np.ndarray, "T nq"]:
    """Return the path from slice k on, at rest where it ends."""
    return np.concatenate([path[k:], np.repeat(path[-1:], min(k, len(path)), 0)])


def _slices(data: ChainData, part: RowLocation) -> Int[np.ndarray, " n"]:
    return np.asarray(data.batches[part.batch].slices)[part.rows]
