"""KOMO: k-order motion optimization over the slices of a path.

After Toussaint, "A tutorial on Newton methods for constrained trajectory optimization
and relations to SLAM, Gaussian process smoothing, optimal control and probabilistic
inference" (2017).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Literal, Unpack, overload

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float

from posewise.compilation.compile_time import total_compile_seconds
from posewise.features.feature import Feature
from posewise.features.typing import Order, ScaleLike, SymbolLike, TargetLike
from posewise.robots.config import Config
from posewise.robots.typing import (
    FrameName,
    Frames,
    MatrixLike,
    StrPath,
    VectorLike,
)
from posewise.robots.validation import integer
from posewise.solvers.deadline import time_limit
from posewise.solvers.options import SolverOptions

from .chain.contact_forces import ActiveContact
from .chain.modes import HelperFrame, ModeSwitch
from .checks.findings import (
    check_problem,
    warn_of_outdated_constraints,
    warn_of_problems,
    warn_of_problems_in_batch,
)
from .planning.planner import PlannerLike
from .planning.plugged_search import resolve_planner
from .problem.builder import (
    check_helper,
    check_switch,
    make_avoidance,
    make_contact,
    make_control_objective,
    make_courses,
    make_motion_limits,
    make_objective,
    make_spec,
    resolve_constraint,
)
from .problem.free_durations import free_durations, make_time_objective
from .problem.mode_switch import make_mode_switch
from .problem.nlp import NLP, make_nlp
from .problem.path_arguments import (
    parse_path,
    parse_paths,
    parse_start_velocity,
    parse_waypoints,
)
from .problem.spec import ProblemSpec, initial_path
from .solution.solution import Solution
from .solution.warm_start import WarmStart, shift_problem
from .solve.alternatives import resolve_alternatives, solve_alternatives
from .solve.batches import make_batch_settings, solve_batch
from .solve.multistart import best_solution, require_objectives, solve_starts
from .solve.planned_path import plan_path
from .solve.problem_batch import make_problem_batch
from .solve.settings import AUGMENTED_LAGRANGIAN, SolveSettings, make_settings
from .solve.solutions import with_compile_seconds
from .solve.stops import check_max_time
from .solve.target_function import (
    TargetFunction,
    TargetFunctionWithStatus,
    target_function,
)
from .terms.interval import AddedConstraint, Choice, SupportsObjectives
from .terms.objective import OT, Objective, ObjectiveError
from .terms.typing import ContactKind, ModeKind, ProgressLike, SolveMethod, Times

if TYPE_CHECKING:
    from posewise.robots.visual.viewer import View


class KOMO:
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
        self.spec: ProblemSpec = make_spec(
            C, phases, slices_per_phase, k_order, duration_per_phase
        )
        self._warm: WarmStart | None = None
        self._last: Solution | None = None

    @property
    def config(self) -> Config:
        """The world that was given."""
        return self.spec.config

    @property
    def world(self) -> Config:
        """The world with helper frames and contacts, a copy if there are any."""
        return self.spec.world

    @property
    def T(self) -> int:
        """Number of slices."""
        return self.spec.T

    @property
    def slices_per_phase(self) -> int:
        """Number of slices in each phase."""
        return self.spec.slices_per_phase

    @property
    def k_order(self) -> int:
        """Highest order of any objective."""
        return self.spec.k_order

    @property
    def tau(self) -> Float[np.ndarray, " T"]:
        """Duration of the step into each slice [s]."""
        return self.spec.tau

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """All objectives, in the order in which they were added."""
        return self.spec.objectives

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Constraints with several alternatives, of which `solve` chooses one each."""
        return self.spec.choices

    @property
    def switches(self) -> tuple[ModeSwitch, ...]:
        """Mode switches, in the order in which they were added."""
        return self.spec.switches

    @property
    def helpers(self) -> tuple[HelperFrame, ...]:
        """Helper frames, in the order in which they were added."""
        return self.spec.helpers

    @property
    def contacts(self) -> tuple[ActiveContact, ...]:
        """Contacts with forces, one for each pair of frames."""
        return self.spec.contacts

    @property
    def initial(self) -> Float[np.ndarray, "T nq"]:
        """The initial path; if none was given, the world's state in all slices.

        Raises:
            ObjectiveError: when the world's joints have changed since it was given.
        """
        return initial_path(self.spec)

    def set_start(
        self,
        *,
        velocity: VectorLike | None = None,
        previous: VectorLike | None = None,
    ) -> None:
        """Set how the world moves at the start; without arguments it is at rest.

        Where it starts is the world's state, `C.q`. The velocity is that of the step
        before, which is as long as the step into slice 0. It stays the same when the
        state changes.

        Args:
            velocity: (nv,) [rad/s, m/s]; of a quaternion, the angular velocity in the
                joint's moved frame.
            previous: the configuration (nq,) one step before the present one, instead
                of a velocity.

        Raises:
            ObjectiveError: for a wrong shape, entries that are not finite, both
                arguments, or a k_order below 2, where no objective depends on it.
        """
        start = parse_start_velocity(self.spec, velocity, previous)
        self.spec = replace(self.spec, start_velocity=start)

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
        given = path.path if isinstance(path, Solution) else path
        self._set_initial(parse_path(self.spec, given), warm)

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

    def add_objective(
        self,
        times: Times,
        symbol: SymbolLike | Feature,
        frames: Frames = (),
        type: OT = OT.eq,
        *,
        scale: ScaleLike | None = None,
        target: TargetLike | None = None,
        order: Order | None = None,
        name: str | None = None,
        between: float | None = None,
        **options: float | VectorLike,
    ) -> Objective:
        """Add a feature as eq, ineq (<= 0) or sos (cost) on the slices at `times`.

        Args:
            times: in phases: None or [] for all slices, [t] for one, [a, b] for those
                from a to b.
            symbol: an entry of `FS`, a `Feature`, or a function of poses.
            frames: of the feature; not with a `Feature`.
            type: meaning of the feature.
            scale: see `Feature`.
            target: see `Feature`. Quaternions of eq and sos are normalised. Those of
                coordinates that turn without end are met up to full turns, see
                `Config.joints.periods`; only inequalities count turns.
            order: see `Feature`; at most k_order.
            name: for reports.
            between: largest deviation of an eq or ineq of order 0 between its slices,
                where the path is straight, in the unit of the feature: the closed
                chain of two hands at one object opens there. It is measured at 15
                places between each two slices, and from the start if slice 0 is among
                them. Where it is missed, the problem is solved again with up to 8 times
                the slices, in the same time: the solution then has more slices than the
                problem. None: the objective holds in its slices only.
            **options: of the symbol, such as `margin`.

        Raises:
            ConfigError: for unknown frames.
            FeatureError: for a wrong order, target or scale.
            ObjectiveError: when no slice is selected or the order exceeds k_order, or
                for a bound with nothing between slices.
        """
        numbers = dict(scale=scale, target=target, order=order)
        objective = make_objective(
            self.spec, times, symbol, frames, type, name, numbers, options, between
        )
        self._append(objective)
        return objective

    def avoid_collisions(
        self,
        margin: float = 0.0,
        self_margin: float | None = None,
        *,
        between: bool = True,
        allow: Iterable[tuple[FrameName, FrameName, Times]] = (),
    ) -> tuple[Objective, ...]:
        """Keep all pairs that can collide at a distance, on the whole path.

        A path is straight between slices, and from the start to slice 0. A solution is
        feasible only if a bound on how far bodies move proves that no pair comes nearer
        than its margin anywhere on it; see `Solution.clearance`. A tenth of the margin,
        at most 1 mm, may be missing, so that a path may begin where an inverse
        kinematics at the same margin ends. Without a margin frames may touch, where an
        overlap of up to 0.01 mm, which rounding leaves, counts as touching.
        With k_order 0 slices are separate poses, and nothing is between them.

        Args:
            margin: least distance [m].
            self_margin: of pairs of one robot, see `Config.pairs.own_links` [m]; None:
                `margin`.
            between: whether distances are kept between slices, too.
            allow: pairs that may touch without any margin, and when: two frames or
                objects, and times as for `add_objective`. They overlap by no more than
                1 mm. What a hand holds does not collide with it anyway.

        Returns:
            Its objectives, whose rows are sums over pairs [m].

        Raises:
            ConfigError: for unknown frames.
            ObjectiveError: for numbers out of range, or when called twice.
        """
        avoidance = make_avoidance(self.spec, margin, self_margin, between, allow)
        objectives = avoidance.objectives(self.spec.T)
        self.spec = replace(self.spec, avoidance=avoidance)
        self._append(*objectives)
        return objectives

    def add_control_objective(
        self,
        order: Order,
        scale: ScaleLike = 1.0,
        target: TargetLike | None = None,
        times: Times = None,
        joints: Frames = (),
        name: str | None = None,
    ) -> Objective:
        """Add a cost of distance from home (0), of velocity (1) or acceleration (2).

        Orders 1 and 2 approximate time integrals of squared velocity and acceleration.

        Args:
            order: 0, 1 or 2; at most k_order.
            scale: see `Feature`.
            target: see `Feature`.
            times: see `add_objective`.
            joints: names of joints; empty for all joints.
            name: for reports.
        """
        objective = make_control_objective(
            self.spec, order, times, joints, name, scale, target
        )
        self._append(objective)
        return objective

    def add_motion_limits(
        self,
        velocity: float | VectorLike | None = None,
        acceleration: float | VectorLike | None = None,
        jerk: float | VectorLike | None = None,
        *,
        joints: Frames = (),
        times: Times = None,
        scale: float = 10.0,
    ) -> tuple[Objective, ...]:
        """Limit the velocity, acceleration and jerk of joints, as inequalities.

        Limits are one number, or one for each coordinate of the world (nq,), inf where
        there is none; joints that have none in all their coordinates, and quaternions,
        are not limited. On `Solution.resample(dt, rounded=True)` limits of velocity and
        acceleration hold at all times, not only in slices.

        Args:
            velocity: largest speed [rad/s, m/s]; None: `Config.joints.max_velocity`,
                the speed limits of the model.
            acceleration: largest acceleration [rad/s², m/s²], for k_order >= 2; None:
                `Config.joints.max_acceleration`, which URDF 1.2 tells.
            jerk: largest change of acceleration over time [rad/s³, m/s³], from slice to
                slice, for k_order 3; None: `Config.joints.max_jerk`, as URDF 1.2 tells.
            joints: names of joints; empty for all joints.
            times: see `add_objective`.
            scale: of the rows, which are fractions of the limits beyond them.

        Returns:
            An objective for each kind of limit.

        Raises:
            ConfigError: for unknown joints.
            ObjectiveError: for limits that are not positive, no limit at all, or a kind
                of limit that exceeds k_order.
        """
        objectives = make_motion_limits(
            self.spec, times, velocity, acceleration, jerk, joints, scale
        )
        self._append(*objectives)
        return objectives

    def free_durations(
        self,
        min: float | VectorLike | None = None,
        max: float | VectorLike | None = None,
    ) -> None:
        """Make the duration of each phase a variable; call it before adding objectives.

        All steps of a phase have the same duration, at first that of
        `duration_per_phase`; `Solution.tau` and `times` tell those that were found.
        Velocities and accelerations of all features depend on them. Weights of control
        objectives, which approximate integrals over time, are those of the durations at
        first. Constraints that count in seconds are refused.

        Args:
            min: least duration of a phase [s], one number or one for each phase; None:
                a tenth of that at first.
            max: largest duration, in the same way; None: ten times that at first.

        Raises:
            ObjectiveError: for durations that are not positive, min > max, or after
                objectives were added.
        """
        self.spec = free_durations(self.spec, min, max)

    def add_time_objective(self, scale: float = 10.0) -> Objective:
        """Add the square of the total duration as a cost, after `free_durations`.

        With limits of velocity and acceleration the motion becomes as fast as these
        allow. A small control objective, such as order 2 with scale 0.1, decides on
        joints that could take several ways in that time, and helps to converge.

        Args:
            scale: factor of the total duration [1/s].

        Raises:
            ObjectiveError: for constant durations.
        """
        objective = make_time_objective(self.spec, scale)
        self._append(objective)
        return objective

    def add_frame(
        self,
        name: FrameName,
        parent: FrameName = "world",
        *,
        stable: bool = True,
        **arguments: object,
    ) -> None:
        """Add a helper frame to the problem; the world does not get it.

        Objectives, presets and mode switches may name it. If it has a joint, its pose
        is part of the solution: `solution.world_at(t)` contains the frame,
        `solution.path` does not.

        Args:
            name: a name that is not in use yet.
            parent: the frame that it is attached to and moves with.
            stable: whether its joint has the same value in all slices; otherwise it has
                one in each slice.
            **arguments: `joint`, `pose`, `shape`, … as for `Config.add_frame`.

        Raises:
            ConfigError: saying what does not fit.
        """
        helper = HelperFrame(name, parent, arguments, stable)
        self.spec = replace(self.spec, helpers=check_helper(self.spec, helper))

    def add_mode_switch(
        self,
        times: Times,
        mode: ModeKind,
        frames: Sequence[FrameName],
        *,
        scale: float = 10.0,
    ) -> None:
        """Attach frames[1] to frames[0] from times[0] on, until its next switch.

        All that is attached to that frame moves with it. Until its first switch the
        frame stays where it is, even on a joint. It does not jump: its velocity is zero
        into the switch (in the world, or relative to the frame that carried it before),
        and so is its acceleration if k_order is 2. With times [a, b] its velocity
        relative to frames[0] is zero into slice b, where it is handed on.

        Args:
            times: [t] or [a, b], in phases; see `add_objective`.
            mode: "stable": at a pose that is free but the same in all slices;
                "stableOn": standing on top, at a position and angle that are the same
                in all slices; "rigid": the two frames coincide.
            frames: [parent, frame]; "world" may be the parent.
            scale: of the equality rows.

        Raises:
            ConfigError: for unknown frames or modes.
            ObjectiveError: with k_order 0, or when no slice is selected.
        """
        switch, objectives = make_mode_switch(self.spec, times, mode, frames, scale)
        switches = check_switch(self.spec, switch)
        self.spec = replace(self.spec, switches=switches)
        self._append(*objectives)

    def prescribe_motion(self, frame: FrameName, poses: MatrixLike) -> None:
        """Let a frame move along a given course, with all that is attached to it.

        Objectives, collisions and `solution.world_at(t)` have it where it is in each
        slice; the solution does not change its course. The frame does not collide with
        what no joint moves. Further calls replace the course and compile nothing;
        `shift` moves on along it.

        Args:
            frame: a frame of the world, such as an obstacle or a target.
            poses: world poses (T, 7), or positions (T, 3) at the frame's present
                orientation, in each slice. The course begins where the frame is, or,
                with T + 1 rows, in the first row.

        Raises:
            ConfigError: for an unknown frame, with near matches.
            ObjectiveError: for a wrong shape, entries that are not finite, or a frame
                that a mode switch attaches.
        """
        courses = make_courses(self.spec, frame, poses)
        self.spec = replace(self.spec, courses=courses)

    def add_contact(
        self,
        times: Times,
        a: FrameName,
        b: FrameName,
        friction: float | None = None,
        kind: ContactKind = "sticking",
    ) -> tuple[Objective, ...]:
        """Let two frames touch, and push each other, in the slices at `times`.

        The point of attack and the force of `b` on `a` are part of the solution in
        each of these slices, and there is none in other slices. `FS.contactForce`,
        `FS.physics` and other features are functions of them, and `Solution.forces`
        returns them. The frames do not penetrate each other, and the force pushes and
        stays in Coulomb's cone about the normal of their surfaces at the point. The
        force alone moves nothing: add `FS.physics` or, at rest, `FS.totalForce` for the
        object that it acts on.

        Args:
            times: in phases; see `add_objective`.
            a: a frame with a shape.
            b: another frame with a shape.
            friction: coefficient; None: the larger of the two frames' attributes
                `contact_friction`, each 0.5 if it has none.
            kind: "sticking": the point is on both surfaces, and from slice to slice
                keeps its position in both frames; "sliding": it is on both surfaces,
                and where they slip friction is full and opposes it; "complementary": as
                sliding, but there may be a gap, with the point at its middle and no
                force. Sliding is only found from an initial path with motion.

        Returns:
            Its objectives; lengths are scaled by 10, forces by the weight of the
            lighter frame.

        Raises:
            ConfigError: for unknown frames, or frames without shapes.
            ObjectiveError: for other kinds, no slice, a pair in contact already, or
                sliding with k_order 0.
        """
        contacts, objectives = make_contact(self.spec, times, a, b, friction, kind)
        self.spec = replace(self.spec, contacts=contacts)
        self._append(*objectives)
        return objectives

    def add(
        self, constraint: SupportsObjectives, times: Times = None
    ) -> tuple[Objective, ...]:
        """Add all objectives of a preset, a predicate or a formula, or none.

        A constraint with several alternatives, such as `logic.Eventually`, gets its
        objectives when it is solved: `solve` tries up to 8 alternatives, those that a
        given initial path violates least, keeps the best, and names it in
        `Solution.alternatives`. All other methods take the first of these.

        Presets read the sizes of shapes now; a warning tells at a solve if they have
        changed since. All else is that of the world at each solve.

        Args:
            constraint: anything with `objectives(C, interval)`, see
                `objectives.terms.interval.SupportsObjectives`.
            times: as for `add_objective`.

        Returns:
            The objectives, among them those that other constraints have stated; none if
            there are several alternatives.

        Raises:
            ConfigError: for unknown frames, or shapes that do not fit.
            ObjectiveError: as `add_objective`.
        """
        alternatives = resolve_constraint(self.spec, constraint, times)
        key = self.config.structure_key
        added = AddedConstraint(constraint, times, alternatives, key)
        constraints = (*self.spec.constraints, added)
        self.spec = replace(self.spec, constraints=constraints)
        if len(alternatives) > 1:
            choices = (*self.spec.choices, alternatives)
            self.spec = replace(self.spec, choices=choices)
            return ()
        # Constraints may have objectives in common, such as two objects that are to be
        # stable: these are stated once.
        known = {(o.feature, o.type, o.slices): o for o in self.spec.objectives}
        stated = {(o.feature, o.type, o.slices): o for o in alternatives[0].objectives}
        self._append(*(o for key, o in stated.items() if key not in known))
        return tuple(known.get(key, o) for key, o in stated.items())

    def _append(self, *objectives: Objective) -> None:
        self.spec = replace(self.spec, objectives=(*self.spec.objectives, *objectives))

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
            starts: number of starts; the best feasible solution is returned. Without
                costs it is the first feasible one, and further starts are skipped.
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
                *(self.spec, tolerance, progress, options),
                *(method, seed, starts, self._warm),
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
            settings = make_settings(
                self.spec, tolerance, progress, {}, AUGMENTED_LAGRANGIAN, seed
            )
            return self._best(
                settings,
                lambda spec, findings: [plan_path(spec, settings, findings, plugged)],
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
            lambda spec, findings: solve_starts(
                spec, settings, retry=retry, findings=findings
            ),
        )

    def _best(
        self,
        settings: SolveSettings,
        solve: Callable[[ProblemSpec, tuple[str, ...]], list[Solution]],
    ) -> Solution:
        """Return the best solution of all alternatives, and keep it as the last one.

        Args:
            settings: of the solves.
            solve: from a problem without choices, and findings on it, to solutions.
        """
        began = total_compile_seconds()
        goes_on = self._warm is not None and self._warm.keeps_multipliers
        # Checks take longer than a solve that goes on from one they have been made for.
        findings = () if goes_on else warn_of_problems(self.spec, settings.tolerance)
        best = best_solution(
            solve_alternatives(self.spec, lambda spec: solve(spec, findings))
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
            self.spec, tolerance, progress, options, method, seed, starts, self._warm
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
        tolerance: float = 1e-3,
        progress: ProgressLike = True,
        mesh: Mesh | None = None,
        checkpoint_dir: StrPath | None = None,
        chunk_size: int = 256,
        max_time: float | None = None,
        **options: Unpack[SolverOptions],
    ) -> list[Solution]:
        """Solve many problems that differ only in numbers, each from many starts.

        With several hosts (after `jax.distributed.initialize`) each calls this method
        with the same arguments and a mesh of the devices of all hosts. Each host solves
        its share, and all get all solutions.

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
            tolerance: see `solve`.
            progress: see `solve`.
            mesh: a `jax.sharding.Mesh` of the devices to solve on, with any axes; None:
                JAX's default device.
            checkpoint_dir: a folder for finished solutions. Problems with a solution in
                it are not solved again, so that after an interrupt or a crash the same
                call continues.
            chunk_size: number of problems solved between two writes to the folder.
            max_time: see `solve`. Problems that have not ended get the last iterate of
                their best start, or their initial path with violations of infinity.
            **options: see `solve`.

        Returns:
            The best solution of each problem.

        Raises:
            ObjectiveError: for targets, worlds or initial paths that do not fit, a
                folder with solutions of other problems, a mesh without devices of
                this process, or a mesh or folder for certified solutions.
        """
        limit, began = time_limit(check_max_time(max_time)), total_compile_seconds()
        spec = resolve_alternatives(self.spec)[0]
        specs = [spec] if worlds is None else [spec.in_world(C) for C in worlds]
        settings = make_settings(
            self.spec, tolerance, progress, options, seed=seed, starts=starts
        )
        require_objectives(spec)
        batch_settings = make_batch_settings(mesh, checkpoint_dir, chunk_size)
        paths = None
        if initial_paths is not None:
            paths = parse_paths(specs or [spec], initial_paths)
        if not specs and not paths:
            return []
        with limit:
            problems = make_problem_batch(specs, targets or {}, paths)
            warn_of_problems_in_batch(specs, targets or {}, settings.tolerance)
            solutions = solve_batch(problems, settings, batch_settings)
        return with_compile_seconds(solutions, began)

    @overload
    def function(
        self,
        wrt: Objective,
        *,
        with_status: Literal[False] = False,
        seed: int = 0,
        starts: int = 1,
        tolerance: float = 1e-3,
        **options: Unpack[SolverOptions],
    ) -> TargetFunction: ...

    @overload
    def function(
        self,
        wrt: Objective,
        *,
        with_status: Literal[True],
        seed: int = 0,
        starts: int = 1,
        tolerance: float = 1e-3,
        **options: Unpack[SolverOptions],
    ) -> TargetFunctionWithStatus: ...

    def function(
        self,
        wrt: Objective,
        *,
        with_status: bool = False,
        seed: int = 0,
        starts: int = 1,
        tolerance: float = 1e-3,
        **options: Unpack[SolverOptions],
    ) -> TargetFunction | TargetFunctionWithStatus:
        """Return the path (T, nq) as a JAX function of an objective's target (D,).

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
            wrt: the objective, as `add_objective` returned it.
            with_status: whether the function returns the path and a `Status` as an
                integer: CONVERGED for exact solutions, whose derivative exists.
            seed: of the random starts.
            starts: number of starts, as in `solve`; path and derivative are those of
                the best solution.
            tolerance: see `solve`.
            **options: see `solve`.

        Raises:
            ObjectiveError: for an objective of another problem, or mode switches that
                attach a frame with a joint.
        """
        settings = make_settings(
            self.spec, tolerance, False, options, seed=seed, starts=starts
        )
        spec = resolve_alternatives(self.spec)[0]
        warn_of_outdated_constraints(spec)
        solve = target_function(spec, wrt, settings)
        return solve if with_status else lambda target: solve(target)[0]

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
