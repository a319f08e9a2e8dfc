"""KOMO: k-order motion optimization over the slices of a path.

After Toussaint, "A tutorial on Newton methods for constrained trajectory optimization
and relations to SLAM, Gaussian process smoothing, optimal control and probabilistic
inference" (2017).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Literal, Unpack, overload

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, PyTree

from posewise.compilation.compile_time import total_compile_seconds
from posewise.features.typing import Order
from posewise.robots.config import Config
from posewise.robots.typing import (
    Frames,
    MatrixLike,
    StrPath,
    VectorLike,
)
from posewise.robots.validation import integer
from posewise.solvers.deadline import time_limit
from posewise.solvers.options import SolverOptions

from .checks.findings import (
    check_problem,
    warn_of_outdated_constraints,
    warn_of_problems,
    warn_of_problems_in_batch,
)
from .planning.planner import PlannerLike
from .planning.plugged_search import resolve_planner
from .problem.nlp import NLP, make_nlp
from .problem.path_arguments import (
    parse_path,
    parse_paths,
    parse_waypoints,
)
from .problem.path_problem import PathProblem
from .problem.spec import ProblemSpec
from .solution.solution import Solution
from .solution.warm_start import WarmStart, shift_problem
from .solve.alternative_search import solve_alternatives
from .solve.alternatives import resolve_alternatives
from .solve.batches import make_batch_settings, solve_batch
from .solve.multistart import best_solution, require_objectives, solve_starts
from .solve.path_function import (
    PathFunction,
    PathFunctionWithStatus,
    path_function,
)
from .solve.planned_path import plan_path
from .solve.problem_batch import make_problem_batch
from .solve.quantities import Quantity
from .solve.settings import AUGMENTED_LAGRANGIAN, SolveSettings, make_settings
from .solve.solution_batch import SolutionBatch, batch_of_solutions
from .solve.solutions import with_compile_seconds
from .solve.stated_quantities import StatedName, with_quantities
from .solve.stops import check_max_time
from .terms.objective import Objective, ObjectiveError
from .terms.typing import ProgressLike, SolveMethod

if TYPE_CHECKING:
    from posewise.robots.visual.viewer import View


class KOMO(PathProblem):
    """A path problem: `phases × slices_per_phase` copies of a world's coordinates.

    Before the first slice is the present state, at rest or as `set_start` says, so that
    velocities and accelerations of the first slices start from there. Joint limits are
    bounds of the problem; no objective is needed for them.

    Args:
        C: the world. Each `solve` is of the world as it is then, which is not changed:
            its state is the start, and poses, shapes, limits, attachments and further
            frames count. Only presets keep numbers, see `add`.
        phases: number of phases; times of objectives count in phases.
        slices_per_phase: slices in each phase.
        k_order: highest order of any objective (0, 1, 2, or 3 for jerk).
        duration_per_phase: one number, or one for each phase [s].

    Raises:
        ObjectiveError: for numbers out of range, or a world without moving joints.
    """

    def __init__(
        self,
        C: Config,
        phases: float = 1,
        slices_per_phase: int = 1,
        k_order: Order = 0,
        duration_per_phase: float | VectorLike = 1.0,
    ) -> None:
        super().__init__(C, phases, slices_per_phase, k_order, duration_per_phase)
        self._warm: WarmStart | None = None
        self._last: Solution | None = None

    def shift(self, slices: int = 1) -> None:
        """Move on in time along the last solution: receding horizon.

        The world's state becomes that of a slice of the solution: the start of the next
        solve, which moves as the solution does there. Set `C.q` afterwards to start
        where the robot was measured to be instead. Initial path, multipliers and
        penalty are those of the solution from there on; it stays where it ends.

        Times of objectives and of mode switches do not change, and count from the new
        start: a goal at the end of the horizon recedes. A goal at a fixed time needs a
        problem with fewer slices, initialised with the solution's path.

        Args:
            slices: number of slices that have passed, from 1 to T.

        Raises:
            ObjectiveError: for another number, a mode switch that has passed, or
                without a solution of `solve` since the last shift.
        """
        if self._last is None:
            raise ObjectiveError(
                "shift() moves on along the last solution of solve(), and there is none"
                " since the last shift; solve first."
            )
        T = len(self._last.x)
        slices = integer(
            "slices",
            slices,
            f"an integer from 1 to {T}",
            lambda k: 1 <= k <= T,
            ObjectiveError,
        )
        if T != self.T:
            raise ObjectiveError(
                f"The last solution has {T} slices, since `between` asked for more than"
                f" the problem's {self.T}; make the KOMO with more slices_per_phase."
            )
        last, warm = self._last, self._last.warm_start(slices)
        end = shift_problem(self.spec, warm.record, last.path, last.tau, slices)
        self.config.q = end.q
        for course in end.courses:
            self.config.set_pose(course.frame, course.poses[0])
        self.spec = replace(
            self.spec,
            initial=end.path,
            start_velocity=end.velocity,
            courses=end.courses,
        )
        self._warm, self._last = warm, None

    def initialize(self, path: MatrixLike | VectorLike | Solution) -> None:
        """Set the initial path: (T, nq), or one configuration (nq,) for all slices.

        A solution of a similar problem also gives its multipliers and its penalty to a
        solve from a single start, if it has as many slices: after a small change, such
        as another pose of a target, that converges within a few steps. Start and goals
        are not checked again before that solve.

        A path (S, nq) of another number of slices is resampled: it takes as long as
        this problem, in equal steps, and runs straight from the present state
        to its first slice and between slices, with quaternions by the smaller angle.

        Raises:
            ObjectiveError: for a wrong shape or entries that are not finite.
        """
        warm = path.warm_start() if isinstance(path, Solution) else None
        initial = path.path if isinstance(path, Solution) else path
        self._set_initial(parse_path(self.spec, initial), warm)

    def _set_initial(
        self, path: Float[np.ndarray, "T nq"], warm: WarmStart | None = None
    ) -> None:
        self.spec, self._warm = replace(self.spec, initial=path), warm

    def initialize_waypoints(
        self,
        waypoints: MatrixLike,
        linear: bool = False,
    ) -> None:
        """Set the initial path to pass one configuration at the end of each phase.

        It starts from the present state, and is clipped to the limits.

        Args:
            waypoints: (phases, nq).
            linear: whether speed is constant between waypoints; otherwise the path is
                at rest at each waypoint.

        Raises:
            ObjectiveError: for a wrong shape or entries that are not finite.
        """
        self._set_initial(parse_waypoints(self.spec, waypoints, linear))

    def solve(
        self,
        seed: int = 0,
        starts: int = 1,
        *,
        method: SolveMethod = AUGMENTED_LAGRANGIAN,
        tolerance: float = 1e-3,
        progress: ProgressLike = True,
        max_time: float | None = None,
        **options: Unpack[SolverOptions],
    ) -> Solution:
        """Solve from the initial path and, with `starts` > 1, from random ones too.

        Where distances are kept between slices (`avoid_collisions`) and the initial
        path leads straight on and collides, the first start goes round what is in the
        way. A single start that stalls with violated constraints is followed by a
        random one. An interrupt (Ctrl-C) ends the solve with the best iterate, of
        status INTERRUPTED. A start or a joint target outside of its limits, a start in
        collision, and a goal that collides, cost a `ProblemWarning` each, before the
        solve, and are in the report.

        Args:
            seed: of the random starts.
            starts: number of starts, which the alternatives of constraints that have
                several share; the best feasible solution is returned. Without
                costs, and where distances or deviations between slices are checked, it
                is the first feasible one, and further starts are skipped; `solve_all`
                solves from all.
                Every second start begins with a larger penalty, for diversity. If no
                start leads to a certified path, that of `plan` is returned where it
                meets everything, costs aside.
            method: "augmented_lagrangian" (Newton steps), or an optax optimiser such
                as `optax.lbfgs()` or `optax.adam(1e-2)`. Pass the same object again
                in further solves, so that they do not recompile; see
                `posewise.solvers.first_order`.
            tolerance: rows within it count as satisfied, in scaled units.
            progress: True: a line on stderr every two seconds; False: none; or a
                function that is called with a `posewise.solvers.Progress`.
            max_time: wall time [s] after which the solve ends with the best that it has
                come to, as an interrupt ends it, of status TIME_LIMIT; None: no limit.
                It is heard between rounds of iterations, between starts, and while
                detours are planned. Compiling counts, but cannot be interrupted, and
                the first round of iterations is always done.
            **options: fields of `posewise.solvers.Options`, see `SolverOptions`.

        Returns:
            The best solution: feasible before infeasible, then by cost.
        """
        with time_limit(check_max_time(max_time)):
            settings = make_settings(
                self.spec,
                tolerance,
                progress,
                options,
                method=method,
                seed=seed,
                starts=starts,
                warm=self._warm,
            )
            return self._solve(settings, retry=True)

    def plan(
        self,
        seed: int = 0,
        *,
        planner: PlannerLike = "rrt-connect",
        tolerance: float = 1e-3,
        progress: ProgressLike = True,
        max_time: float | None = None,
    ) -> Solution:
        """Plan a short path that keeps its distances, without optimizing it.

        Goals are the slices that equations single out, and the last one. All
        configurations are looked for that meet what a goal demands, and the path leads
        to the first that is reached (RRT-Connect; Kuffner and LaValle 2000), within
        limits, through corners that are slices. Costs, and what is asked of velocities
        and accelerations, are left out: `Solution.retime` times the path, and
        `initialize` with it lets `solve` go on from there.

        The initial path is returned if it meets everything. What all slices between two
        goals demand, such as that a cup stays upright, is kept on the way: each step is
        projected onto it (Berenson et al. 2009), which takes seconds. What only some of
        them demand is not planned for, but checked and reported. Free bodies and ball
        joints stay.

        Args:
            seed: of the search.
            planner: "rrt-connect", "ompl" (RRT-Connect of OMPL, extra `ompl`), or an
                object with a method `plan`; see `posewise.Planner`. What it returns is
                made shorter and certified likewise. Each search of a plugged-in one
                takes at most 30 s; where it finds no way, the path stays at the start.
            tolerance: see `solve`, as for all below.
            progress: see `solve`.
            max_time: see `solve`; the best is the way to the place that is nearest to
                a goal.

        Returns:
            The path, of status FEASIBLE if it is certified and meets its goals,
            NOT_FOUND if no way was found, which does not prove that there is none.

        Raises:
            ObjectiveError: without `avoid_collisions`, for a start that is far outside
                of its limits, and for problems with mode switches, contact forces or
                prescribed motions; for an unknown planner; and for equations that hold
                in several slices, if the planner is plugged in.
            ImportError: without OMPL, if it is asked for; names the extra.
        """
        plugged = resolve_planner(planner)
        with time_limit(check_max_time(max_time)):
            settings = make_settings(self.spec, tolerance, progress, {}, seed=seed)
            return self._best(
                settings,
                lambda spec, share, _, findings: [
                    plan_path(spec, share, findings, plugged)
                ],
            )

    def check(self, tolerance: float = 1e-3) -> tuple[str, ...]:
        """Return what is wrong or doubtful about this problem, without solving it.

        Solves warn of most of it. Checked are joint limits and collisions of the start
        and of goals, numbers that are very likely degrees, millimetres or of the wrong
        sign, margins, the precision of numbers, and, which takes longest, what no path
        can meet: targets out of reach, or too far for the time, and distances that no
        joint changes.

        Args:
            tolerance: see `solve`.

        Returns:
            A sentence for each finding; none if there is nothing to say, which does
            not prove that there is a solution.
        """
        settings = make_settings(self.spec, tolerance, False, {})
        specs = resolve_alternatives(self.spec)
        every = (check_problem(spec, settings.tolerance) for spec in specs)
        return tuple(dict.fromkeys(chain.from_iterable(every)))

    def view(self, drag: Frames = (), browser: bool = True) -> "View":
        """Solve, show the path, and solve again while frames are dragged by the mouse.

        A drag sets the frame's pose in the world of this problem, and each solve begins
        at the last feasible path, without compiling. The page tells the status, what is
        violated, and whether the path is certified to be free of collisions.

        Args:
            drag: names of frames that can be dragged, such as a target.
            browser: whether to open the page, and to print its address on stderr.

        Raises:
            ImportError: without viser; names the extra.
            ConfigError: for unknown frames, with near matches.
        """
        from .solution.replanning import view_replanning

        frames = [drag] if isinstance(drag, str) else [*drag]
        for frame in frames:
            self.config.index(frame)
        best = self.solve()

        def solve_again() -> Solution:
            nonlocal best
            self.initialize(best)
            settings = make_settings(self.spec, 1e-3, False, {}, warm=self._warm)
            solution = self._solve(settings, retry=False)
            best = solution if solution.feasible else best
            return solution

        return view_replanning(best, solve_again, self.config, frames, browser)

    def _solve(self, settings: SolveSettings, retry: bool) -> Solution:
        """Solve with checked settings; see `solve`.

        Args:
            settings: of the solve.
            retry: whether a single start that stalls is followed by a random one.
        """
        return self._best(
            settings,
            lambda spec, share, again, findings: solve_starts(
                spec, share, retry=again, findings=findings
            ),
            retry,
        )

    def _best(
        self,
        settings: SolveSettings,
        solve: Callable[
            [ProblemSpec, SolveSettings, bool, tuple[str, ...]], list[Solution]
        ],
        retry: bool = False,
    ) -> Solution:
        """Return the best solution of all alternatives, and keep it as the last one.

        Args:
            settings: of the solves.
            solve: see `solve_alternatives`, with findings on the problem.
            retry: whether a single start that stalls is followed by a random one.
        """
        began = total_compile_seconds()
        goes_on = self._warm is not None and self._warm.keeps_multipliers
        # Checks take longer than a solve that goes on from one they have been made for.
        findings = () if goes_on else warn_of_problems(self.spec, settings.tolerance)
        best = best_solution(
            solve_alternatives(
                self.spec,
                settings,
                lambda spec, share, again: solve(spec, share, again, findings),
                retry,
            )
        )
        (self._last,) = with_compile_seconds([best], began)
        return self._last

    def solve_all(
        self,
        seed: int = 0,
        starts: int = 1,
        *,
        method: SolveMethod = AUGMENTED_LAGRANGIAN,
        tolerance: float = 1e-3,
        progress: ProgressLike = True,
        max_solutions: int | None = None,
        max_time: float | None = None,
        **options: Unpack[SolverOptions],
    ) -> list[Solution]:
        """Return the solution of each start of `solve`, in the order of the starts.

        With `avoid_collisions` starts after the failure of one are left out where a
        target can be met from none.

        Args:
            seed: see `solve`.
            starts: see `solve`.
            method: see `solve`.
            tolerance: see `solve`.
            progress: see `solve`.
            max_solutions: number of feasible solutions after which the remaining starts
                are skipped; None: all starts are solved.
            max_time: see `solve`.
            **options: see `solve`.
        """
        limit, began = time_limit(check_max_time(max_time)), total_compile_seconds()
        settings = make_settings(
            self.spec,
            tolerance,
            progress,
            options,
            method=method,
            seed=seed,
            starts=starts,
            warm=self._warm,
        )
        if max_solutions is not None:
            max_solutions = integer(
                "max_solutions",
                max_solutions,
                "at least 1, or None",
                lambda n: n >= 1,
                ObjectiveError,
            )
        spec = resolve_alternatives(self.spec)[0]
        count = settings.starts if max_solutions is None else max_solutions
        with limit:
            findings = warn_of_problems(self.spec, settings.tolerance)
            solutions = solve_starts(spec, settings, count, findings=findings)
        return with_compile_seconds(solutions, began)

    def solve_batch(
        self,
        targets: Mapping[Objective, VectorLike | MatrixLike] | None = None,
        worlds: Sequence[Config] | None = None,
        starts: int = 1,
        seed: int = 0,
        *,
        initial_paths: Iterable[MatrixLike | VectorLike] | None = None,
        params: Mapping[Objective, PyTree] | None = None,
        quantities: Mapping[StatedName, VectorLike | MatrixLike] | None = None,
        tolerance: float = 1e-3,
        progress: ProgressLike = True,
        mesh: Mesh | None = None,
        checkpoint_dir: StrPath | None = None,
        chunk_size: int | None = None,
        executor: Executor | None = None,
        share: tuple[int, int] | None = None,
        max_time: float | None = None,
        **options: Unpack[SolverOptions],
    ) -> SolutionBatch:
        """Solve many problems that differ only in numbers, each from many starts.

        An `executor` solves chunks of the problems in other processes, on this host or
        on many. It pickles the problem once, into `checkpoint_dir`; a chunk whose
        worker dies is solved again. Ctrl-C and `max_time` cancel the chunks that have
        not begun; a worker stores the one that it is at.

        Problems with `avoid_collisions` between slices are solved one after the other,
        as by `solve`, so that each solution is certified.

        Args:
            targets: for some objectives (as `add_objective` returned them) the targets
                (problems, D), or (problems,) if D is 1.
            worlds: for each problem a world with the same joints, with other poses,
                sizes, limits, state, and bodies around the robot.
            starts: of each problem, as in `solve`.
            seed: of the random starts, the same for each problem.
            initial_paths: for each problem the path that its first start begins from,
                as for `initialize`: (problems, T, nq), or a list of paths and of
                configurations.
                None: the initial path of this object for all problems. Without targets
                and worlds there are as many problems as paths.
            params: for some objectives the params of their functions, each array with a
                first axis of problems.
            quantities: values of further quantities of `function`, such as
                `("margin", objective)`, each with a first axis of problems.
            tolerance: see `solve`.
            progress: see `solve`.
            mesh: a `jax.sharding.Mesh` of the devices of this process to solve on, with
                any axes; None: JAX's default device.
            checkpoint_dir: a folder for finished solutions. Problems with a solution in
                it are not solved again, so that after an interrupt or a crash the same
                call continues. Its files are pickles: give a folder in which only those
                whom you trust may write.
            chunk_size: largest number of problems in a file of the folder, which one
                worker solves; None: 256, or 16 if paths are certified.
            executor: any `concurrent.futures.Executor` whose workers are processes that
                see `checkpoint_dir`, such as a `ProcessPoolExecutor` that spawns, or
                `distributed.Client().get_executor()`; None: this process solves.
            share: (k, n) solves and stores the k-th of n shares only, for job arrays.
                Problems of other shares that are not stored yet are INTERRUPTED; a call
                without a share solves all that are missing.
            max_time: see `solve`. Problems that have not ended get the last iterate of
                their best start, or their initial path with violations of infinity.
            **options: see `solve`.

        Returns:
            The best solution of each problem: a sequence, and arrays `path`, `cost`,
            `violation`, `feasible` and `status` of all of them.

        Raises:
            ObjectiveError: for targets, worlds, quantities or initial paths that do not
                fit, a folder with solutions of other problems or that cannot be
                written, an executor without a folder or whose workers end, a mesh with
                devices of other processes, or one for certified solutions.
        """
        limit, began = time_limit(check_max_time(max_time)), total_compile_seconds()
        spec = resolve_alternatives(self.spec)[0]
        specs = [spec] if worlds is None else [spec.in_world(C) for C in worlds]
        specs = with_quantities(specs, quantities or {})
        settings = make_settings(
            self.spec, tolerance, progress, options, seed=seed, starts=starts
        )
        require_objectives(spec)
        batch_settings = make_batch_settings(
            mesh, checkpoint_dir, chunk_size, executor, share
        )
        paths = None
        if initial_paths is not None:
            paths = parse_paths(specs or [spec], initial_paths)
        if not specs and not paths:
            return batch_of_solutions([])
        with limit:
            problems = make_problem_batch(specs, targets or {}, paths, params)
            warn_of_problems_in_batch(specs, targets or {}, settings.tolerance)
            solutions = solve_batch(problems, settings, batch_settings)
        return solutions.with_compile_seconds(total_compile_seconds() - began)

    @overload
    def function(
        self,
        wrt: Quantity | list[Quantity],
        *,
        with_status: Literal[False] = False,
        seed: int = 0,
        starts: int = 1,
        tolerance: float = 1e-3,
        **options: Unpack[SolverOptions],
    ) -> PathFunction: ...

    @overload
    def function(
        self,
        wrt: Quantity | list[Quantity],
        *,
        with_status: Literal[True],
        seed: int = 0,
        starts: int = 1,
        tolerance: float = 1e-3,
        **options: Unpack[SolverOptions],
    ) -> PathFunctionWithStatus: ...

    def function(
        self,
        wrt: Quantity | list[Quantity],
        *,
        with_status: bool = False,
        seed: int = 0,
        starts: int = 1,
        tolerance: float = 1e-3,
        **options: Unpack[SolverOptions],
    ) -> PathFunction | PathFunctionWithStatus:
        """Return the path (T, nq) as a JAX function of quantities of the problem.

        Quantities are the target (D,) of an objective, `wrt=objective`; the params of
        its function, a tree of arrays such as the weights of a learnt cost,
        `("params", objective)`; its `("scale", objective)`, or an option such as
        `("margin", objective)`; a number of a predicate that was added, or of a part of
        a formula, such as `("nearness", logic.NextTo("mug", "bowl"))`; the constant
        pose (7,) of a frame in its parent, before its joint, `("origin", frame)`: the
        place of an obstacle or the offset of a link; and the sizes of its shape,
        `("size", frame)`, in the order of the shape's constructor, without a rounding.
        Of a list of quantities, the path is a function of a list of their values.

        The problem is that of now, whatever changes later. The function solves from the
        initial path (`initialize` with a solution to stay near it) and makes the
        solution exact. It may be jitted, vmapped, and differentiated once, forward or
        in reverse, by implicit differentiation.
        Programs are compiled once for each structure of problem.

        With `avoid_collisions` its rows hold where they are at first: in slices, and
        half-way between them. The path is not certified; `solve` does that.

        Where there is no exact solution, as for a target out of reach, the path is the
        solver's best point and its derivative NaN; a tangent or cotangent of zero gives
        zero, so that a loss may mask such paths. At a kink the derivative is one-sided,
        and where costs are flat it is that of least norm; `Solution.sensitivity` says
        so.

        Args:
            wrt: the quantity, or a list of them; objectives as `add_objective` returned
                them, predicates equal to those that `add` was given.
            with_status: whether the function returns the path and a `Status` as an
                integer: CONVERGED for exact solutions, whose derivative exists.
            seed: of the random starts.
            starts: number of starts, as in `solve`; path and derivative are those of
                the best solution.
            tolerance: see `solve`.
            **options: see `solve`.

        Raises:
            ObjectiveError: for an objective of another problem, mode switches that
                attach a frame with a joint, or a quantity that the numbers of the
                problem are no smooth function of.
            ConfigError: for an unknown frame, or a shape without sizes.
        """
        settings = make_settings(
            self.spec, tolerance, False, options, seed=seed, starts=starts
        )
        spec = resolve_alternatives(self.spec)[0]
        warn_of_outdated_constraints(spec)
        solve = path_function(spec, wrt, settings)
        return solve if with_status else lambda value: solve(value)[0]

    def nlp(self) -> NLP:
        """Return the problem for other solvers, as it is now, from the initial path.

        Raises:
            ObjectiveError: without objectives.
        """
        spec = resolve_alternatives(self.spec)[0]
        if not spec.objectives:
            raise ObjectiveError("There is no objective; add one before nlp().")
        warn_of_outdated_constraints(spec)
        return make_nlp(spec)

    def __repr__(self) -> str:
        choices = f", {len(self.choices)} choices" if self.choices else ""
        return (
            f"KOMO({self.T} slices, k_order={self.k_order},"
            f" {len(self.objectives)} objectives{choices})"
        )
