"""From problems and starts to solutions, all with one compiled program."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..robots.checks import floats, integer, number
from ..robots.errors import unknown
from ..solvers import Options, Result, Status, solve, solve_many
from .objective import ObjectiveError
from .program import Chain, ChainData, Placed
from .solution import Solution, report_objective

if TYPE_CHECKING:
    from .komo import KOMO


def solve_starts(
    komo: "KOMO",
    komos: Sequence["KOMO"],
    targets: Mapping[Any, Any] | None,
    seed: Any,
    starts: Any,
    tolerance: Any,
    options: dict[str, Any],
) -> list[list[Solution]]:
    """All solutions of each problem.

    Args:
        komo: the problem.
        komos: the same in other worlds, or only itself.
        targets: see `KOMO.solve_batch`.
        seed: see `KOMO.solve`, as for all below.
        starts: of each problem.
        tolerance: of rows.
        options: of the solver.
    """
    seed = integer("seed", seed, "an integer >= 0", lambda n: n >= 0, ObjectiveError)
    starts = integer("starts", starts, "at least 1", lambda n: n >= 1, ObjectiveError)
    tolerance = _positive("tolerance", tolerance)
    for option, value in options.items():
        if option not in Options.__dataclass_fields__:
            known = Options.__dataclass_fields__
            raise ObjectiveError(unknown("solver option", option, known))
        _positive(option, value)
    if not komo.objectives:
        raise ObjectiveError("There is no objective; add one before solving.")
    if not komos:
        return []
    began = time.perf_counter()
    chosen = Options(**{"tolerance": 0.1 * tolerance, **options})
    chain, data, placed = komos[0].chain()
    if len(komos) == starts == 1 and not targets:
        only = jnp.asarray(komos[0].starts(seed, 1)[0], data.prefix.dtype)
        result = jax.tree.map(
            lambda a: np.asarray(a)[None], solve(chain, data, only, chosen)
        )
        return [[_solution(komo, result, 0, placed, tolerance, began)]]
    leaves, varied = _stacked(chain, data, komos)
    count = _aimed(data, leaves, varied, placed, targets or {}, komos)
    worlds = [komos[b % len(komos)] for b in range(count)]
    paths = [k.starts(seed, starts) for k in komos]
    x = np.concatenate([paths[b % len(komos)] for b in range(count)])
    owner = np.repeat(np.arange(count), starts)
    x = np.asarray(x, data.prefix.dtype)
    tree = jax.tree.structure(data)
    result = solve_many(chain, tree, leaves, varied, owner, x, chosen)
    return [
        [
            _solution(k, result, b * starts + i, placed, tolerance, began, i)
            for i in range(starts)
        ]
        for b, k in enumerate(worlds)
    ]


def best(solutions: Sequence[Solution]) -> Solution:
    """Feasible before infeasible, then by cost, or by violation."""
    worst = np.array([max(s.eq, s.ineq) for s in solutions])
    feasible = np.array([s.feasible for s in solutions])
    cost = np.array([s.sos for s in solutions])
    return solutions[int(np.lexsort((cost, np.where(feasible, 0.0, worst)))[0])]


def _stacked(
    chain: Chain, data: ChainData, komos: Sequence["KOMO"]
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
    placed: Sequence[list[Placed]],
    targets: Mapping[Any, Any],
    komos: Sequence["KOMO"],
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
        goal = floats(what, given, "numbers (problems, D)", ObjectiveError)
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


def _solution(
    komo: "KOMO",
    result: Result,
    k: int,
    placed: Sequence[list[Placed]],
    tolerance: float,
    began: float,
    start: int = 0,
) -> Solution:
    reports = []
    y = [np.asarray(group[k], float) for group in result.y]
    for objective, parts in zip(komo.objectives, placed, strict=True):
        values = np.concatenate([y[at.batch][at.rows] for at in parts])
        reports.append(report_objective(objective, values))
    x, modes = np.asarray(result.x[k], float), komo.modes()
    return Solution(
        np.stack([modes.narrow(q, t) for t, q in enumerate(x)]),
        Status(int(result.status[k])),
        tolerance,
        int(result.iterations[k]),
        tuple(reports),
        time.perf_counter() - began,
        komo.config,
        komo.tau,
        start,
        modes,
        x,
    )


def _positive(what: str, value: Any) -> float:
    return number(what, value, "a number > 0", lambda x: x > 0, ObjectiveError)
