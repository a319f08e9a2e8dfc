"""Statements of path problems: what is asked of a path, before any solve."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, PyTree

from posewise.features.feature import Feature
from posewise.features.typing import Order, ScaleLike, SymbolLike, TargetLike
from posewise.robots.config import Config
from posewise.robots.typing import (
    FrameName,
    Frames,
    MatrixLike,
    VectorLike,
)

from ..chain.contact_forces import ActiveContact
from ..chain.modes import HelperFrame, ModeSwitch
from ..presets.preset import Preset
from ..terms.interval import AddedConstraint, Choice, SupportsObjectives
from ..terms.objective import OT, Objective
from ..terms.typing import ContactKind, ModeKind, Times
from .builder import (
    check_helper,
    check_switch,
    make_avoidance,
    make_contact,
    make_courses,
    make_motion_limits,
    make_spec,
    resolve_constraint,
)
from .free_durations import free_durations, make_time_objective
from .mode_switch import make_mode_switch
from .no_overlap import keeps_all_apart, with_objects_apart, without_default
from .objective_builder import make_control_objective, make_objective
from .params import with_params
from .path_arguments import (
    parse_start_velocity,
)
from .spec import ProblemSpec, initial_path


class PathProblem:
    """A world over the slices of a path, with what is asked of it; see `KOMO`."""

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
        params: PyTree | None = None,
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
            params: of a function of poses, see `Feature` and `set_params`.
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
        objective = make_objective(
            self.spec,
            times,
            symbol,
            frames,
            type,
            scale=scale,
            target=target,
            order=order,
            params=params,
            name=name,
            between=between,
            options=options,
        )
        if keeps_all_apart(objective):
            self.spec = without_default(self.spec)
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
        self.spec = replace(without_default(self.spec), avoidance=avoidance)
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
                in all slices; "rigid": the two frames coincide; "free" and "slidingOn":
                as "stable" and "stableOn", at another pose in each slice, for objects
                that forces move.
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
        self,
        constraint: SupportsObjectives,
        times: Times = None,
        *,
        collisions: bool = True,
    ) -> tuple[Objective, ...]:
        """Add all objectives of a preset, a predicate or a formula, or none.

        A constraint with several alternatives, such as `logic.Eventually`, gets its
        objectives when it is solved: `solve` tries up to 8 alternatives, those that a
        given initial path violates least, keeps the best, and names it in
        `Solution.alternatives`. They share its starts, and after the first feasible
        path begin at the best one. All other methods take the first of these.

        Presets read the sizes of shapes now; a warning tells at a solve if they have
        changed since. All else is that of the world at each solve.

        What a predicate asks for includes that no loose object overlaps anything, as in
        `solve_placement`: an objective "no collisions" is added once, about objects on
        free joints or in a hand, in all slices, unless `avoid_collisions` or an
        objective about all pairs asks for as much. Pairs may touch; those that
        `Config.ignore_collisions` excludes do not count. Robots avoid nothing by it.

        Args:
            constraint: anything with `objectives(C, interval)`, see
                `objectives.terms.interval.SupportsObjectives`.
            times: as for `add_objective`.
            collisions: False: loose objects may overlap for this predicate.

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
        if collisions and not isinstance(constraint, Preset):
            self.spec = with_objects_apart(self.spec)
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

    def set_params(self, objective: Objective, params: PyTree) -> None:
        """Give the function of an objective other params, for the solves from now on.

        Nothing is compiled for them.

        Args:
            objective: as `add_objective` returned it, of a function with params.
            params: of the same structure and shapes.

        Raises:
            ObjectiveError: for an objective of another problem.
            FeatureError: for another structure or shape, or a feature without params.
        """
        self.spec = with_params(self.spec, objective, params)
