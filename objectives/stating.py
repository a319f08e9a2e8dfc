"""What is asked of a path: objectives, presets, modes and contacts, and when."""

from dataclasses import replace
from typing import Any

import numpy as np

from posewise.features import FS, Feature

from .chain.contact_forces import activate_contact
from .chain.modes import HelperFrame, build_modes
from .interval import Slices, alternatives_of, select_interval
from .objective import OT, Objective, ObjectiveError, select_slices
from .path_problem import PathProblem
from .presets.contact_constraints import contact_constraints, force_unit, friction_of
from .presets.mode_switch import make_mode_switch
from .presets.preset import Preset
from .solve.alternatives import ResolvedAlternative


class Statements(PathProblem):
    """A path problem to which statements are added."""

    def add_objective(
        self,
        times: Any,
        symbol: Any,
        frames: Any = (),
        type: Any = OT.eq,
        *,
        scale: Any = None,
        target: Any = None,
        order: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Objective:
        """Add a feature as eq, ineq (<= 0) or sos (cost) on the slices at `times`.

        Args:
            times: in phases: None or [] all slices, [t] one, [a, b] from a to b.
            symbol: an entry of `FS`, a `Feature`, or a function of poses.
            frames: of the feature; not with a `Feature`.
            type: what the feature means.
            scale: see `Feature`.
            target: see `Feature`.
            order: see `Feature`; at most k_order.
            name: for reports.
            **options: of the symbol, such as `margin`.

        Raises:
            ConfigError: for unknown frames.
            FeatureError: for a wrong order, target or scale.
            ObjectiveError: when no slice is selected or the order exceeds k_order.
        """
        if isinstance(symbol, Feature):
            feature = symbol
            given = (scale, target, order)
            if frames or options or any(v is not None for v in given):
                raise ObjectiveError(
                    "A Feature has its own frames, scale, target and order; give them"
                    " when making the Feature."
                )
        else:
            feature = Feature(
                symbol, frames, order=order, target=target, scale=scale, **options
            )
        if not isinstance(type, OT):
            raise ObjectiveError(
                f"type is {type!r}, expected OT.eq, OT.ineq or OT.sos."
            )
        label = name or _label(feature)
        slices = select_slices(times, self.slices_per_phase, self.T, label)
        made = self._checked(label, feature, type, slices)
        self._objectives.append(made)
        return made

    def _checked(
        self, label: str, feature: Feature, type: OT, slices: Slices
    ) -> Objective:
        if feature.order > self.k_order:
            raise ObjectiveError(
                f"{label}: order {feature.order} exceeds the problem's k_order"
                f" {self.k_order}; make the KOMO with k_order={feature.order}."
            )
        feature.check(self.world)
        return Objective(label, feature, type, slices)

    def add_frame(
        self, name: Any, parent: Any = "world", *, stable: bool = True, **given: Any
    ) -> None:
        """Add a helper frame, which the problem has and the world has not.

        Objectives, presets and mode switches may name it. With a joint its pose is
        part of the solution: `solution.at(t)` has it, `solution.path` has not.

        Args:
            name: a name not in use yet.
            parent: the frame it is attached to, and goes along with.
            stable: its joint has one value, the same in all slices; else one in each.
            **given: `joint`, `pose`, `shape`, … as for `Config.add_frame`.

        Raises:
            ConfigError: saying what does not fit.
        """
        made = (*self.helpers, HelperFrame(name, parent, given, stable))
        build_modes(self.config, self.switches, made, self.contacts)
        self.helpers = made

    def add_mode_switch(
        self, times: Any, mode: str, frames: Any, *, scale: Any = 10.0
    ) -> None:
        """From times[0] on, frames[1] is attached to frames[0], until it is switched.

        Everything attached to that frame comes along. Until its first switch it stands
        where it is, also on a joint of its own. It does not jump: its velocity
        is zero into the switch (in the world, or relative to what carried it before),
        and so is its acceleration where k_order is 2; and with times [a, b] its
        velocity relative to frames[0] is zero into slice b, where it is handed on.

        Args:
            times: [t] or [a, b], in phases; see `add_objective`.
            mode: "stable": at a pose that is free but the same in all slices;
                "stableOn": standing on top, at a place and angle that are the same;
                "rigid": the two frames coincide.
            frames: [parent, frame]; "world" may be the parent.
            scale: of the equality rows.

        Raises:
            ConfigError: for unknown frames or modes.
            ObjectiveError: with k_order 0, or when no slice is selected.
        """
        made, still = make_mode_switch(self, times, mode, frames, scale)
        switches = (*self.switches, made)
        build_modes(self.config, switches, self.helpers, self.contacts)
        self.switches += (made,)
        self._objectives += still

    def add_contact(
        self,
        times: Any,
        a: str,
        b: str,
        friction: Any = None,
        kind: str = "sticking",
    ) -> tuple[Objective, ...]:
        """Two frames touch, and push each other at a point, in the slices at `times`.

        The point of attack and the force, of `b` on `a`, are part of the solution in
        each of these slices: `FS.contactForce`, `FS.physics` and others speak of them,
        `Solution.forces` tells them, and elsewhere there are none. The frames do not
        overlap, and the force pushes and stays in Coulomb's cone about the normal of
        their surfaces at the point. The force alone moves nothing: ask for `FS.physics`
        or, at rest, `FS.totalForce` of what it acts on.

        Args:
            times: in phases; see `add_objective`.
            a: a frame with a shape.
            b: another.
            friction: coefficient; None: the larger of the two frames' attributes
                `contact_friction`, each 0.5 where there is none.
            kind: "sticking": the point is on both surfaces, and from slice to slice
                keeps its place in both frames; "sliding": it is on both surfaces, and
                where they slip friction is full and opposes it; "complementary": as
                sliding, but there may be a gap, with the point in its middle and no
                force. What slides is found from an initial path on which it moves.

        Returns:
            Its objectives; lengths are scaled by 10, forces by the weight of the
            lighter frame.

        Raises:
            ConfigError: for unknown frames, or ones without shapes.
            ObjectiveError: for other kinds, no slice, a pair in contact already, or
                sliding with k_order 0.
        """
        pair = a, b
        label = f"contact {a}-{b}"
        span = select_interval(times, self.slices_per_phase, self.tau, label)
        number = friction_of(self.world, pair, friction)
        unit = force_unit(self.world, pair)
        every, acting = activate_contact(self.contacts, a, b, unit, span.slices)
        C = build_modes(self.config, self.switches, self.helpers, every).named
        made = []
        rows = contact_constraints(acting, kind, number, span, self.k_order)
        for feature, type, slices in rows:
            feature.check(C)
            made.append(Objective(f"{label}: {_label(feature)}", feature, type, slices))
        self.contacts = every
        self._objectives += made
        return tuple(made)

    def add_control_objective(
        self,
        order: Any,
        scale: Any = 1.0,
        target: Any = None,
        times: Any = None,
        joints: Any = (),
        name: str | None = None,
    ) -> Objective:
        """Add the cost of being away from home (0), of speed (1), of acceleration (2).

        Orders 1 and 2 approximate time integrals of squared speed and acceleration.
        """
        symbol = FS.qHome if order == 0 else FS.qItself
        made = self.add_objective(
            times,
            symbol,
            joints,
            OT.sos,
            scale=scale,
            target=target,
            order=order,
            name=name or f"control order {order}",
        )
        if made.feature.order == 0:
            return made
        # a difference of order k stands for the time of its k steps' mean
        at = np.array(made.slices)[:, None] - np.arange(made.feature.order)
        tau = self.tau[np.maximum(at, 0)].mean(1)
        self._objectives[-1] = replace(made, weights=tuple(np.sqrt(tau).tolist()))
        return self._objectives[-1]

    def add(self, constraint: Any, times: Any = None) -> tuple[Objective, ...]:
        """Add all objectives of a preset, a predicate or a formula, or none.

        What can be met in several ways, such as `logic.Eventually`, has none before it
        is solved: `solve` tries up to 8 of them, those that a given initial path is
        nearest to, keeps the best, and says which in `Solution.alternatives`; all other
        methods take the first of these.

        Args:
            constraint: anything with `objectives(C, span)`, a `Statement`.
            times: as for `add_objective`.

        Raises:
            ConfigError: for unknown frames, or shapes that do not fit.
            ObjectiveError: as `add_objective`.
        """
        if not hasattr(constraint, "objectives"):
            raise ObjectiveError(
                f"{constraint!r} has no objectives(); use add_objective for features."
            )
        is_preset = isinstance(constraint, Preset)
        name = constraint.name if is_preset else type(constraint).__name__
        span = select_interval(times, self.slices_per_phase, self.tau, name)
        ways = tuple(
            ResolvedAlternative(
                way.name,
                tuple(
                    self._checked(f"{name}: {_label(feature)}", feature, kind, chosen)
                    for feature, kind, chosen in way.objectives
                ),
            )
            for way in alternatives_of(constraint, self.world, span)
        )
        if len(ways) > 1:
            self.choices += (ways,)
            return ()
        self._objectives += ways[0].objectives
        return ways[0].objectives


def _label(feature: Feature) -> str:
    frames = ", ".join(feature.frames)
    rate = ("", " velocity", " acceleration")[feature.order - feature.symbol.window]
    return f"{feature.symbol.name}({frames}){rate}"
