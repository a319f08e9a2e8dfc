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
    again: bool = False,
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
        again: where a problem's only start stalls, solve once more from a random one.
    """
    seed = integer("seed", seed, "an integer >= 0", lambda n: n >= 0, ObjectiveError)
    starts = integer("starts", starts, "at least 1", lambda n: n >= 1, ObjectiveError)
    if not komo.objectives:
        raise ObjectiveError("There is no objective; add one before solving.")
    if not komos:
        return []
    job = _Job(komos, seed, starts, chosen, again and starts == 1)
    if not _is_newton(method):
        return [job.first_order(method)]
    if len(komos) == starts == 1 and not targets:
        return [job.alone()]
    if enough is None and all(o.type is not OT.sos for o in komo.objectives):
        enough = 1
    return job.together(targets or {}, enough)


class _Job:
    """Problems that are to be solved."""

    def __init__(
        self,
        komos: Sequence[PathProblem],
        seed: int,
        starts: int,
        chosen: "Chosen",
        again: bool,
    ) -> None:
        self.komos, self.seed, self.starts, self.again = komos, seed, starts, again
        self.began = time.perf_counter()
        self.tolerance, self.options, progress = chosen
        self.watch = Watch(progress)
        self.chain, self.data, self.placed = komos[0].chain()

    def paths(self, k: int, begin: int, end: int) -> np.ndarray:
        """Initial paths of a problem."""
        every = self.komos[k].starts(self.seed, end)[begin:]
        return np.asarray(every, self.data.prefix.dtype)

    def solution(
        self, k: int, frozen: PathProblem, data: Any, out: Result, j: int, start: int
    ) -> Solution:
        """Row j of a result, of a problem and its numbers, from one of its starts."""
        made = Solved(frozen, self.chain, data, self.placed, None, ())
        given = self.tolerance, self.began, start
        return _solution(self.komos[k], out, j, made, *given)

    def first_order(self, method: Any) -> list[Solution]:
        """All starts of one problem, by an optimiser of optax."""
        x, frozen = jnp.asarray(self.paths(0, 0, self.starts)), self.komos[0].frozen()
        given = (self.chain, method, self.data, x, self.options, self.watch)
        out = solve_first_order(*given)
        of = lambda i: self.solution(0, frozen, self.data, out, i, i)
        return [of(i) for i in range(self.starts)]

    def alone(self) -> list[Solution]:
        """One start of one problem; and another one, if that stalls."""
        found: list[Solution] = []
        frozen = self.komos[0].frozen()
        for i in range(2 if self.again else 1):
            (x,) = self.paths(0, i, i + 1)
            one = solve_watched(self.chain, self.data, x, self.options, self.watch)
            out = jax.tree.map(lambda a: np.asarray(a)[None], one)
            found.append(self.solution(0, frozen, self.data, out, 0, i))
            if found[0].status is not Status.INFEASIBLE:
                break
        return found

    def together(
        self, targets: Mapping[Any, Any], enough: int | None
    ) -> list[list[Solution]]:
        """All starts of all problems; and another one of each whose only one stalls."""
        komos, starts, data = self.komos, self.starts, self.data
        leaves, varied = _stacked(self.chain, data, komos)
        count = _aimed(data, leaves, varied, self.placed, targets, komos)
        frozen, tree = [k.frozen() for k in komos], jax.tree.structure(data)
        solutions: list[list[Solution]] = [[] for _ in range(count)]

        def solve(members: Sequence[int], begin: int, **more: Any) -> None:
            end = begin + starts
            paths = {
                k: self.paths(k, begin, end) for k in {b % len(komos) for b in members}
            }
            x = np.concatenate([paths[b % len(komos)] for b in members])
            owner = np.repeat(members, starts)
            given = (self.chain, tree, leaves, varied, owner, x, self.options)
            out, kept = solve_many(*given, self.watch, **more)
            for j, i in enumerate(kept.tolist()):
                b = int(owner[i])
                own = [a[b] if v else a for a, v in zip(leaves, varied, strict=True)]
                k, numbers = b % len(komos), jax.tree.unflatten(tree, own)
                start = begin + i % starts
                made = self.solution(k, frozen[k], numbers, out, j, start)
                solutions[b].append(made)

        solve(range(count), 0, enough=enough)
        if self.again:
            first = enumerate(s[0] for s in solutions)
            lost = [b for b, s in first if s.status is Status.INFEASIBLE]
            if lost:
                solve(lost, 1, like=count)
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
