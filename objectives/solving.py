"""From problems and starts to solutions, all with one compiled program."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..robots.checks import floats, integer, number
from ..robots.errors import unknown
from ..solvers import Options, Result, Status, Watch, solve_many, solve_watched
from ..solvers.first_order import solve_first_order
from .objective import OT, ObjectiveError
from .path_problem import PathProblem
from .program import Chain, ChainData, Placed
from .sensitivity import Solved
from .solution import Solution, report_objective

NEWTON = "augmented_lagrangian"
FIRST_ORDER_ITERATIONS = 20000
"""Default limit of first-order methods: their steps are many and cheap."""
PATH_MU = 10.0
"""Initial penalty for paths; single slices, and paths on which objects change hands,
are solved faster, and more often, from a small one."""


def solve_starts(
    komo: PathProblem,
    komos: Sequence[PathProblem],
    targets: Mapping[Any, Any] | None,
    seed: Any,
    starts: Any,
    method: Any,
    chosen: "Chosen",
    enough: int | None = None,
) -> list[list[Solution]]:
    """Solutions of each problem, the best among them.

    Without costs, starts after the first one that ends feasible are left out, unless
    `enough` says otherwise.

    Args:
        komo: the problem.
        komos: the same in other worlds, or only itself.
        targets: see `KOMO.solve_batch`.
        seed: see `KOMO.solve`, as for all below.
        starts: of each problem.
        method: see `KOMO.solve`; optimisers only for a single problem.
        chosen: tolerance and options.
        enough: leave out the starts after so many that end feasible.
    """
    seed = integer("seed", seed, "an integer >= 0", lambda n: n >= 0, ObjectiveError)
    starts = integer("starts", starts, "at least 1", lambda n: n >= 1, ObjectiveError)
    if not komo.objectives:
        raise ObjectiveError("There is no objective; add one before solving.")
    if not komos:
        return []
    began = time.perf_counter()
    tolerance, options, progress = chosen
    watch = Watch(progress)
    chain, data, placed = komos[0].chain()
    if not _is_newton(method) or (len(komos) == starts == 1 and not targets):
        every = np.asarray(komos[0].starts(seed, starts), data.prefix.dtype)
        if not _is_newton(method):
            first = jnp.asarray(every)
            result = solve_first_order(chain, method, data, first, options, watch)
        else:
            one = solve_watched(chain, data, every[0], options, watch)
            result = jax.tree.map(lambda a: np.asarray(a)[None], one)
        made = Solved(komo.frozen(), chain, data, placed, every, ())
        return [
            [
                _solution(komo, result, i, made, tolerance, began, i)
                for i in range(starts)
            ]
        ]
    leaves, varied = _stacked(chain, data, komos)
    count = _aimed(data, leaves, varied, placed, targets or {}, komos)
    worlds = [komos[b % len(komos)] for b in range(count)]
    frozen = [k.frozen() for k in komos]
    paths = [k.starts(seed, starts) for k in komos]
    x = np.concatenate([paths[b % len(komos)] for b in range(count)])
    owner = np.repeat(np.arange(count), starts)
    x = np.asarray(x, data.prefix.dtype)
    tree = jax.tree.structure(data)
    if enough is None and all(o.type is not OT.sos for o in komo.objectives):
        enough = 1
    many = (chain, tree, leaves, varied, owner, x, options, watch)
    result, kept = solve_many(*many, enough)
    turn = (kept % starts).tolist()
    solutions = []
    for b, k in enumerate(worlds):
        own = [a[b] if v else a for a, v in zip(leaves, varied, strict=True)]
        numbers = jax.tree.unflatten(tree, own)
        made = Solved(frozen[b % len(komos)], chain, numbers, placed, x, ())
        at = range(*np.searchsorted(kept // starts, [b, b + 1]))
        solutions.append(
            [_solution(k, result, j, made, tolerance, began, turn[j]) for j in at]
        )
    return solutions


class Chosen(NamedTuple):
    """How a problem is to be solved."""

    tolerance: float
    """Of rows, in a solution that counts as feasible."""
    numbers: Options
    progress: Any = False
    """See `KOMO.solve`."""


def make_options(
    komo: PathProblem,
    method: Any,
    tolerance: Any,
    progress: Any,
    options: Mapping[str, Any],
) -> Chosen:
    """A user's tolerance and options, checked; others as they suit the problem.

    Raises:
        ObjectiveError: for unknown options or methods, and numbers out of range.
    """
    if not _is_newton(method) and not hasattr(method, "update"):
        raise ObjectiveError(
            f"method is {method!r}, expected {NEWTON!r} or an optax optimiser, e.g."
            " optax.lbfgs()."
        )
    if not isinstance(progress, bool) and not callable(progress):
        raise ObjectiveError(
            f"progress is {progress!r}, expected True, False, or a function that gets"
            " a posewise.solvers.Progress."
        )
    tolerance = _positive("tolerance", tolerance)
    known = Options.__dataclass_fields__
    for option, value in options.items():
        if option not in known:
            raise ObjectiveError(unknown("solver option", option, known))
        _positive(option, value)
    given = {"tolerance": 0.1 * tolerance, **options}
    if not _is_newton(method):
        given.setdefault("max_iterations", FIRST_ORDER_ITERATIONS)
    if komo.T > 1 and not komo.switches:
        given.setdefault("mu", PATH_MU)
    return Chosen(tolerance, Options(**given), progress)


def _is_newton(method: Any) -> bool:
    return isinstance(method, str) and method == NEWTON


def best(solutions: Sequence[Solution]) -> Solution:
    """Feasible before infeasible, then by cost, or by violation."""
    return min(solutions, key=Solution.rank)


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
    placed: Sequence[list[Placed]],
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
    komo: PathProblem,
    result: Result,
    k: int,
    made: Solved,
    tolerance: float,
    began: float,
    start: int = 0,
) -> Solution:
    reports = []
    y = [np.asarray(group[k], float) for group in result.y]
    for objective, parts in zip(komo.objectives, made.placed, strict=True):
        values = np.concatenate([y[at.batch][at.rows] for at in parts])
        reports.append(report_objective(objective, values))
    x, modes = np.asarray(result.x[k], float), komo.modes()
    return Solution(
        modes.narrow_path(x),
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
        komo.ways,
        made._replace(
            x=result.x[k], multipliers=tuple(m[k] for m in result.multipliers)
        ),
    )


def _positive(what: str, value: Any) -> float:
    return number(what, value, "a number > 0", lambda x: x > 0, ObjectiveError)
