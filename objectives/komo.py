"""KOMO: k-order motion optimization over the slices of a path.

After Toussaint, "A tutorial on Newton methods for constrained trajectory optimization
and relations to SLAM, Gaussian process smoothing, optimal control and probabilistic
inference" (2017).
"""

from collections.abc import Callable
from typing import Any

from posewise.robots.validation import integer

from .nlp import NLP, make_nlp
from .objective import Objective, ObjectiveError
from .path_problem import PathProblem
from .solution import Solution
from .solve.alternatives import resolve_alternatives, solve_alternatives
from .solve.batches import make_batch_settings, solve_batch
from .solve.multistart import (
    AUGMENTED_LAGRANGIAN,
    best_solution,
    check_starts,
    make_settings,
    solve_starts,
)
from .solve.problem_batch import make_problem_batch
from .solve.sensitivity import target_function
from .stating import Statements


class KOMO(Statements):
    """A path problem: `phases × slices_per_phase` copies of a world's coordinates.

    Before the first slice stand `k_order` fixed copies of the present state, so that
    velocities and accelerations of the first slices start from rest. Joint limits are
    bounds of the problem; no objective is needed for them.

    Args:
        C: the world; its state at each `solve` is the start, and stays as it is.
        phases: how many phases; times of objectives count in phases.
        slices_per_phase: slices in each phase.
        k_order: highest order of any objective (0, 1 or 2).
        duration_per_phase: [s]; one number, or one for each phase.

    Raises:
        ObjectiveError: for numbers out of range, or a world without moving joints.
    """

    def solve(
        self,
        seed: Any = 0,
        starts: Any = 1,
        *,
        method: Any = AUGMENTED_LAGRANGIAN,
        tolerance: Any = 1e-3,
        progress: Any = True,
        **options: Any,
    ) -> Solution:
        """Solve from the initial path and, with `starts` > 1, from random ones too.

        A single start that stalls where constraints are violated is followed by a
        random one. An interrupt (Ctrl-C) ends it with what there is, of status
        INTERRUPTED.

        Args:
            seed: of the random starts.
            starts: how many; the best feasible solution is returned. Without costs it
                is the first one, and further starts are left out. Every second one
                begins with a larger penalty, so that they go different ways.
            method: "augmented_lagrangian" (Newton steps), or an optax optimiser such
                as `optax.lbfgs()` or `optax.adam(1e-2)`, kept for further solves so
                that nothing is compiled anew: see `posewise.solvers.first_order`.
            tolerance: rows within this count as satisfied, in scaled units.
            progress: True: a line on stderr every two seconds; False: none; or a
                function that gets a `posewise.solvers.Progress` now and then.
            **options: fields of `posewise.solvers.Options`.

        Returns:
            The best solution: feasible before infeasible, then by cost.
        """
        chosen = make_settings(self, method, tolerance, progress, options)
        given = (seed, starts, method, chosen)
        return best_solution(
            solve_alternatives(self, lambda k: solve_starts(k, *given, retry=True))
        )

    def solve_all(
        self,
        seed: Any = 0,
        starts: Any = 1,
        *,
        method: Any = AUGMENTED_LAGRANGIAN,
        tolerance: Any = 1e-3,
        progress: Any = True,
        max_solutions: Any = None,
        **options: Any,
    ) -> list[Solution]:
        """What each start of `solve` ends at, in the order of the starts.

        With `max_solutions`, starts after so many that end feasible are left out.
        """
        chosen = make_settings(self, method, tolerance, progress, options)
        if max_solutions is not None:
            given = (
                "max_solutions",
                max_solutions,
                "at least 1, or None",
                lambda n: n >= 1,
            )
            max_solutions = integer(*given, ObjectiveError)
        count = starts if max_solutions is None else max_solutions
        way = resolve_alternatives(self)[0]
        return solve_starts(way, seed, starts, method, chosen, count)

    def solve_batch(
        self,
        targets: Any = None,
        worlds: Any = None,
        starts: Any = 1,
        seed: Any = 0,
        *,
        tolerance: Any = 1e-3,
        progress: Any = True,
        mesh: Any = None,
        checkpoint_dir: Any = None,
        chunk_size: Any = 256,
        **options: Any,
    ) -> list[Solution]:
        """Solve many problems that differ in numbers only, each from many starts.

        On several hosts (after `jax.distributed.initialize`) each calls it with the
        same arguments and a mesh of the devices of all; each solves its share, and all
        get all solutions.

        Args:
            targets: for some objectives (as `add_objective` returned them) the targets
                (problems, D), or (problems,) where D is 1.
            worlds: for each problem a copy of the world with other poses, sizes,
                limits or state, but of the same frames and kinds of shapes.
            starts: of each problem, as in `solve`.
            seed: of the random starts, the same for each problem.
            tolerance: see `solve`.
            progress: see `solve`.
            mesh: a `jax.sharding.Mesh` of the devices to solve on, of any axes; None:
                JAX's default device.
            checkpoint_dir: a folder for finished solutions. Problems with a solution in
                it are not solved again, so that after an interrupt or a crash the same
                call continues.
            chunk_size: how many problems are solved between two writes to the store.
            **options: see `solve`.

        Returns:
            The best solution of each problem.

        Raises:
            ObjectiveError: for targets or worlds that do not fit, a store made by
                another problem, or a mesh without devices of this process.
        """
        way = resolve_alternatives(self)[0]
        komos: list[PathProblem] = [way]
        if worlds is not None:
            komos = [way.within(world) for world in worlds]
        chosen = make_settings(self, AUGMENTED_LAGRANGIAN, tolerance, progress, options)
        seed, starts = check_starts(way, seed, starts)
        where = make_batch_settings(mesh, checkpoint_dir, chunk_size)
        if not komos:
            return []
        problems = make_problem_batch(komos, targets or {})
        return solve_batch(problems, seed, starts, chosen, where)

    def function(
        self, wrt: Objective, *, tolerance: Any = 1e-3, **options: Any
    ) -> Callable[[Any], Any]:
        """The path (T, nq) as a JAX function of an objective's target (D,).

        It solves from the initial path (`initialize` with a solution to stay near it)
        and makes the solution exact; it may be jitted, vmapped, and differentiated
        once, forward or in reverse, by implicit differentiation. Derivatives are NaN
        where there is none; `Solution.sensitivity` says why.

        Args:
            wrt: the objective, as `add_objective` returned it.
            tolerance: see `solve`.
            **options: see `solve`.

        Raises:
            ObjectiveError: for an objective of another problem, or mode switches that
                attach what moves on a joint of its own.
        """
        chosen = make_settings(self, AUGMENTED_LAGRANGIAN, tolerance, False, options)
        return target_function(resolve_alternatives(self)[0], wrt, chosen.numbers)

    def nlp(self) -> NLP:
        """The problem for other solvers, from the initial path, as it is now.

        Raises:
            ObjectiveError: without objectives.
        """
        way = resolve_alternatives(self)[0]
        if not way.objectives:
            raise ObjectiveError("There is no objective; add one before nlp().")
        chain, data, placed = way.chain()
        start = way.starts(0, 1)[0]
        return make_nlp(way.modes(), chain, data, way.objectives, placed, start)

    def __repr__(self) -> str:
        return (
            f"KOMO({self.T} slices, k_order={self.k_order},"
            f" {len(self._objectives)} objectives"
            f"{f', {len(self.choices)} choices' if self.choices else ''})"
        )
