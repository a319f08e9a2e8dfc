"""Many problems that differ in numbers only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from posewise.robots.validation import float_array

from ..chain.builder import RowLocation
from ..chain.groups import ChainData
from ..chain.problem import Chain
from ..objective import ObjectiveError
from ..path_problem import PathProblem


@dataclass(frozen=True, eq=False)
class ProblemBatch:
    """Problems of one structure: each in its world, with its targets."""

    count: int
    komos: Sequence[PathProblem]
    """One, or one for each problem."""
    chain: Chain
    tree: Any
    """Structure of the data."""
    leaves: list[Any]
    """Arrays of the data."""
    varied: list[bool]
    """Which of them have a leading axis, because problems differ."""
    placed: list[list[RowLocation]]

    def komo(self, b: int) -> PathProblem:
        """Problem b, but for its targets."""
        return self.komos[b % len(self.komos)]

    def data(self, b: int) -> ChainData:
        """Numbers of problem b."""
        pairs = zip(self.leaves, self.varied, strict=True)
        return jax.tree.unflatten(self.tree, [a[b] if v else a for a, v in pairs])

    def leaves_of(self, which: Sequence[int]) -> list[Any]:
        """The arrays, those that vary of some of the problems only."""
        pairs = zip(self.leaves, self.varied, strict=True)
        return [a[list(which)] if v else a for a, v in pairs]

    @property
    def dtype(self) -> Any:
        """Of coordinates."""
        return self.data(0).prefix.dtype


def make_problem_batch(
    komos: Sequence[PathProblem], targets: Mapping[Any, Any]
) -> ProblemBatch:
    """At least one problem, in its world or in several, with targets for each.

    Args:
        komos: at least one: the same problem in each world.
        targets: see `KOMO.solve_batch`.

    Raises:
        ObjectiveError: for worlds or targets that do not fit.
    """
    chain, data, placed = komos[0].chain()
    leaves, varied = _stacked(chain, data, komos)
    count = _aimed(data, leaves, varied, placed, targets, komos)
    tree = jax.tree.structure(data)
    return ProblemBatch(count, komos, chain, tree, leaves, varied, placed)


def _stacked(
    chain: Chain, data: ChainData, komos: Sequence[PathProblem]
) -> tuple[list[Any], list[bool]]:
    """Leaves of the data, and which have a leading axis because problems differ."""
    if len(komos) == 1:
        leaves = jax.tree.leaves(data)
        return leaves, [False] * len(leaves)
    every = []
    for b, k in enumerate(komos):
        other, numbers, _ = k.chain()
        if other != chain:
            raise ObjectiveError(
                f"worlds[{b}] has another structure than worlds[0]: other frames,"
                " joints, kinds of shapes or colliding pairs; only numbers may differ."
            )
        every.append([np.asarray(a) for a in jax.tree.leaves(numbers)])
    columns = list(zip(*every, strict=True))
    varied = [any((a != c[0]).any() for a in c) for c in columns]
    stacked = [np.stack(c) if v else c[0] for c, v in zip(columns, varied, strict=True)]
    return stacked, varied


def _aimed(
    data: ChainData,
    leaves: list[Any],
    varied: list[bool],
    placed: Sequence[list[RowLocation]],
    targets: Mapping[Any, Any],
    komos: Sequence[PathProblem],
) -> int:
    """Put the targets of each problem into the leaves; the number of problems."""
    count = len(komos)
    objectives = komos[0].objectives
    origins = jax.tree.leaves(data)
    for objective, given in targets.items():
        if objective not in objectives:
            raise ObjectiveError(
                f"targets has {objective!r}, which is not an objective of this"
                " problem; use what add_objective returned."
            )
        what = f"targets of {objective.name}"
        goal = float_array(what, given, "numbers (problems, D)", ObjectiveError)
        parts = placed[objectives.index(objective)]
        D = data.batches[parts[0].batch].target.shape[-1]
        goal = goal[:, None] if goal.ndim == 1 else goal
        if count == 1:
            count = len(goal)
        if goal.shape not in ((count, D), (count, 1)) or not np.isfinite(goal).all():
            raise ObjectiveError(
                f"{what} have shape {np.shape(given)}, expected ({count}, {D}), finite."
            )
        for at in parts:
            own = data.batches[at.batch].target
            k = next(i for i, a in enumerate(origins) if a is own)
            target = np.array(leaves[k])
            if not varied[k]:
                target = np.tile(target, (count, 1, 1))
            target[:, at.rows] = goal[:, None]
            leaves[k], varied[k] = target, True
    return count
