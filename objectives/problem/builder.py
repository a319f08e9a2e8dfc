"""Parts of a path problem, made from what users pass to `KOMO`, and checked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from jaxtyping import Float, PyTree

from posewise.features import FS, Feature
from posewise.features.typing import Order, ScaleLike, SymbolLike, TargetLike
from posewise.robots.config import Config
from posewise.robots.typing import FrameName, Frames, MatrixLike, VectorLike
from posewise.robots.validation import float_array, integer, number, require_finite

from ..chain.contact_forces import ActiveContact, activate_contact
from ..chain.courses import Course, make_course
from ..chain.modes import HelperFrame, ModeSwitch, build_modes
from ..clearance.avoidance import AllowedContact, CollisionAvoidance
from ..presets.contact_constraints import (
    contact_constraints,
    force_unit,
    friction_coefficient,
)
from ..presets.motion_limits import motion_limits
from ..presets.preset import Preset
from ..terms.interval import (
    ResolvedAlternative,
    SliceInterval,
    SupportsObjectives,
    alternatives_of,
    select_interval,
)
from ..terms.objective import OT, Objective, ObjectiveError, select_slices
from ..terms.typing import Slices, Times
from .deviations import enclosed_segments
from .spec import ProblemSpec, mode_sequence

MAX_SLICES = 1_000_000
"""Largest number of slices of a path; more are taken for a mistake."""


def make_spec(
    C: Config,
    phases: float,
    slices_per_phase: int,
    k_order: int,
    duration_per_phase: float | VectorLike,
) -> ProblemSpec:
    """Return a problem without objectives; see `KOMO`.

    Raises:
        ObjectiveError: for numbers out of range, or a world without moving joints.
    """
    if not isinstance(C, Config):
        raise ObjectiveError(f"C is {type(C).__name__}, expected a Config.")
    slices = integer(
        "slices_per_phase",
        slices_per_phase,
        "an integer >= 1",
        lambda n: n >= 1,
        ObjectiveError,
    )
    order = integer(
        "k_order", k_order, "0, 1, 2 or 3", lambda k: 0 <= k <= 3, ObjectiveError
    )
    phases = number("phases", phases, "a number > 0", lambda x: x > 0, ObjectiveError)
    if C.nq == 0:
        raise ObjectiveError("The world has no moving joint; add one, or unlock some.")
    if not phases * slices <= MAX_SLICES:
        raise ObjectiveError(
            f"phases x slices_per_phase is {phases:g} x {slices:g}, expected at"
            f" most {MAX_SLICES} slices; use fewer."
        )
    T = max(int(np.ceil(phases * slices - 1e-9)), 1)
    tau = _step_durations(duration_per_phase, slices, T)
    return ProblemSpec(C, T, slices, order, tau)


def _step_durations(
    duration: float | VectorLike, slices_per_phase: int, T: int
) -> Float[np.ndarray, " T"]:
    """Return the duration of the step into each slice from those of the phases."""
    phases = -(-T // slices_per_phase)
    expected = f"seconds > 0: one number, or {phases}, one for each phase"
    values = float_array("duration_per_phase", duration, expected, ObjectiveError)
    is_positive = np.isfinite(values).all() and (values > 0).all()
    if values.shape not in ((), (phases,)) or not is_positive:
        raise ObjectiveError(
            f"duration_per_phase is {duration!r}, expected {expected}."
        )
    steps = np.broadcast_to(values / slices_per_phase, phases)
    return np.repeat(steps, min(slices_per_phase, T))[:T]


def make_objective(
    spec: ProblemSpec,
    times: Times,
    symbol: SymbolLike | Feature,
    frames: Frames,
    type: OT,
    *,
    scale: ScaleLike | None = None,
    target: TargetLike | None = None,
    order: Order | None = None,
    params: PyTree | None = None,
    name: str | None = None,
    between: float | None = None,
    options: Mapping[str, float | VectorLike] | None = None,
) -> Objective:
    """Return an objective of a feature; see `KOMO.add_objective`.

    Args:
        spec: the problem to which it belongs.
        times: in phases.
        symbol: an entry of `FS`, a function of poses, or a `Feature`.
        frames: of the feature; not with a `Feature`.
        type: eq, ineq or sos.
        scale: of the feature; None: not given, as are target and order.
        target: of the feature.
        order: of the feature.
        params: of a function of poses.
        name: for reports; None: the symbol and the frames.
        between: largest deviation between slices.
        options: of the symbol; None: its defaults.
    """
    if isinstance(symbol, Feature):
        feature = symbol
        is_plain = scale is None and target is None and order is None
        if frames or options or params is not None or not is_plain:
            raise ObjectiveError(
                "A Feature has its own frames, scale, target, order and params; give"
                " them when making the Feature."
            )
    else:
        feature = Feature(
            symbol,
            frames,
            order=order,
            target=target,
            scale=scale,
            params=params,
            **options or {},
        )
    if not isinstance(type, OT):
        raise ObjectiveError(f"type is {type!r}, expected OT.eq, OT.ineq or OT.sos.")
    label = name or feature_label(feature)
    slices = select_slices(times, spec.slices_per_phase, spec.T, label)
    objective = checked_objective(spec, label, feature, type, slices)
    if between is None:
        return objective
    return replace(objective, between=_bound_between(spec, objective, between))


def _bound_between(spec: ProblemSpec, objective: Objective, between: float) -> float:
    """Return the largest deviation of an objective between slices, if it may have one.

    Raises:
        ObjectiveError: for anything but a number > 0, costs, features of other orders
            than 0, and slices with nothing between them.
    """
    name, expected = objective.name, "a number > 0, in the feature's unit, or None"
    between = number("between", between, expected, lambda x: x > 0, ObjectiveError)
    if objective.type is OT.sos:
        raise ObjectiveError(
            f"{name}: between is {between:g}, but it is a cost; only OT.eq and OT.ineq"
            " have a bound between slices."
        )
    if objective.feature.order:
        raise ObjectiveError(
            f"{name}: between is {between:g}, but the feature has order"
            f" {objective.feature.order}; velocities are constant between slices, only"
            " features of order 0 have a bound there."
        )
    if not spec.k_order or not enclosed_segments(objective.slices):
        raise ObjectiveError(
            f"{name}: between is {between:g}, but nothing is between its slices; give"
            " times that select several slices, of a KOMO with k_order >= 1."
        )
    return between


def make_avoidance(
    spec: ProblemSpec,
    margin: float,
    self_margin: float | None,
    between: bool,
    allow: Iterable[tuple[str, str, Times]],
) -> CollisionAvoidance:
    """Return the distances that a path keeps; see `KOMO.avoid_collisions`."""
    if spec.avoidance is not None:
        raise ObjectiveError(
            "avoid_collisions has been called already; give all margins and allowed"
            " contacts in one call."
        )
    margin = number("margin", margin, "one number (metres)", error=ObjectiveError)
    if self_margin is None:
        self_margin = margin
    else:
        expected = "one number (metres), or None"
        self_margin = number("self_margin", self_margin, expected, error=ObjectiveError)
    allowed = tuple(
        contact for entry in allow for contact in _allowed_contacts(spec, entry)
    )
    is_between = between and spec.k_order > 0
    return CollisionAvoidance(margin, self_margin, is_between, allowed)


def _allowed_contacts(
    spec: ProblemSpec, entry: tuple[str, str, Times]
) -> list[AllowedContact]:
    """Return the pairs of frames that an entry of `allow` lets touch."""
    if isinstance(entry, str) or not isinstance(entry, Sequence) or len(entry) != 3:
        raise ObjectiveError(
            f"allow has {entry!r}, expected (frame, frame, times), with times None for"
            " the whole path."
        )
    a, b, times = entry
    C = spec.world
    slices = select_slices(times, spec.slices_per_phase, spec.T, f"allow {a}-{b}")
    names = C.frame_names
    pairs = list(product(C.pairs.solid_parts(a), C.pairs.solid_parts(b)))
    if any(i == k for i, k in pairs):
        raise ObjectiveError(
            f"allow has {a!r} and {b!r}, which are the same; name two frames or"
            " objects."
        )
    return [AllowedContact(frozenset((names[i], names[k])), slices) for i, k in pairs]


def make_control_objective(
    spec: ProblemSpec,
    order: Order,
    times: Times,
    joints: Frames,
    name: str | None,
    scale: ScaleLike,
    target: TargetLike | None,
) -> Objective:
    """Return a cost of motion; see `KOMO.add_control_objective`."""
    objective = make_objective(
        spec,
        times,
        FS.qHome if order == 0 else FS.qItself,
        joints,
        OT.sos,
        scale=scale,
        target=target,
        order=order,
        name=name or f"control order {order}",
    )
    k = objective.feature.order
    if k == 0:
        return objective
    # The sum approximates the integral ∫ |q^(k)|² dt: a difference of order k stands
    # for the mean duration of its k steps.
    steps = np.array(objective.slices)[:, None] - np.arange(k)
    tau = spec.tau[np.maximum(steps, 0)].mean(1)
    return replace(objective, weights=tuple(np.sqrt(tau).tolist()))


def make_motion_limits(
    spec: ProblemSpec,
    times: Times,
    velocity: float | VectorLike | None,
    acceleration: float | VectorLike | None,
    jerk: float | VectorLike | None,
    joints: Frames,
    scale: float,
) -> tuple[Objective, ...]:
    """Return an objective for each kind of limit; see `KOMO.add_motion_limits`."""
    objectives = []
    for name, feature in motion_limits(
        spec.config, velocity, acceleration, jerk, joints, scale, spec.k_order
    ):
        objective = make_objective(spec, times, feature, (), OT.ineq, name=name)
        weights = spec.tau[list(objective.slices)] ** -feature.order
        objectives.append(replace(objective, weights=tuple(weights.tolist())))
    return tuple(objectives)


def make_contact(
    spec: ProblemSpec,
    times: Times,
    a: str,
    b: str,
    friction: float | None,
    kind: str,
) -> tuple[tuple[ActiveContact, ...], tuple[Objective, ...]]:
    """Return all contacts with one more, and its objectives; see `KOMO.add_contact`."""
    pair = a, b
    label = f"contact {a}-{b}"
    interval = _interval(spec, times, label)
    coefficient = friction_coefficient(spec.world, pair, friction)
    unit = force_unit(spec.world, pair)
    contacts, contact = activate_contact(spec.contacts, a, b, unit, interval.slices)
    C = build_modes(spec.config, spec.switches, spec.helpers, contacts).with_helpers
    objectives = []
    for feature, type, slices in contact_constraints(
        contact, kind, coefficient, interval, spec.k_order
    ):
        feature.check(C)
        name = f"{label}: {feature_label(feature)}"
        objectives.append(Objective(name, feature, type, slices))
    return contacts, tuple(objectives)


def check_helper(spec: ProblemSpec, helper: HelperFrame) -> tuple[HelperFrame, ...]:
    """Return all helper frames with one more, if it fits the problem."""
    helpers = (*spec.helpers, helper)
    build_modes(spec.config, spec.switches, helpers, spec.contacts)
    return helpers


def check_switch(spec: ProblemSpec, switch: ModeSwitch) -> tuple[ModeSwitch, ...]:
    """Return all mode switches with one more, if it fits the problem."""
    _refuse_both(switch.frame, [switch], spec.courses)
    switches = (*spec.switches, switch)
    build_modes(spec.config, switches, spec.helpers, spec.contacts)
    return switches


def make_courses(
    spec: ProblemSpec, frame: FrameName, poses: MatrixLike
) -> tuple[Course, ...]:
    """Return all courses with that of a frame; see `KOMO.prescribe_motion`."""
    C, T = spec.config, spec.T
    C.tree.own_index(frame)
    expected = f"({T}, 7), ({T}, 3), or one row more, for the start"
    values = float_array("poses", poses, f"{expected}, numbers", ObjectiveError)
    shapes = [(n, d) for n in (T, T + 1) for d in (3, 7)]
    require_finite("poses", values, ObjectiveError)
    if values.shape not in shapes:
        raise ObjectiveError(
            f"poses have shape {values.shape}, expected {expected}: positions, or poses"
            " (px, py, pz, w, x, y, z)."
        )
    if values.shape[1] == 7 and not values[:, 3:].any(1).all():
        raise ObjectiveError(
            "poses have a zero quaternion, expected (w, x, y, z) of length 1."
        )
    others = tuple(course for course in spec.courses if course.frame != frame)
    courses = (*others, make_course(frame, values, C, T))
    _refuse_both(frame, spec.switches, courses)
    # Frames stay in the order in which they were given courses, as a key of programs.
    order = [course.frame for course in spec.courses]
    return tuple(sorted(courses, key=lambda c: [*order, c.frame].index(c.frame)))


def _refuse_both(
    frame: FrameName, switches: Sequence[ModeSwitch], courses: Sequence[Course]
) -> None:
    if any(s.frame == frame for s in switches) and any(
        c.frame == frame for c in courses
    ):
        raise ObjectiveError(
            f"{frame!r} has both a course and a mode switch, expected one of them; give"
            " the course to the frame that it stands on."
        )


def resolve_constraint(
    spec: ProblemSpec, constraint: SupportsObjectives, times: Times
) -> tuple[ResolvedAlternative, ...]:
    """Return the alternatives of a constraint as objectives; see `KOMO.add`.

    Raises:
        ObjectiveError: for anything without `objectives`.
    """
    if not hasattr(constraint, "objectives"):
        raise ObjectiveError(
            f"{constraint!r} has no objectives(); use add_objective for features."
        )
    if isinstance(constraint, Preset):
        name = constraint.name
    else:
        name = type(constraint).__name__
    interval = _interval(spec, times, name)
    return tuple(
        ResolvedAlternative(
            alternative.name,
            tuple(
                checked_objective(
                    spec, f"{name}: {feature_label(feature)}", feature, kind, slices
                )
                for feature, kind, slices in alternative.objectives
            ),
        )
        for alternative in alternatives_of(constraint, spec.world, interval)
    )


def _interval(spec: ProblemSpec, times: Times, label: str) -> SliceInterval:
    return select_interval(
        times, spec.slices_per_phase, spec.tau, label, bool(spec.durations)
    )


def checked_objective(
    spec: ProblemSpec, label: str, feature: Feature, type: OT, slices: Slices
) -> Objective:
    """Return an objective whose feature fits the problem."""
    if feature.order > spec.k_order:
        raise ObjectiveError(
            f"{label}: order {feature.order} exceeds the problem's k_order"
            f" {spec.k_order}; make the KOMO with k_order={feature.order}."
        )
    # Features of all joints are those of the user's joints, not of helper frames.
    mode_sequence(spec).at(-1).on_active_frames(feature).check(spec.world)
    # No rotation has a quaternion of another length than 1.
    if type is not OT.ineq:
        feature = feature.with_unit_target()
    return Objective(label, feature, type, slices)


def feature_label(feature: Feature) -> str:
    """Return the name of a feature for reports: "position(hand) velocity"."""
    frames = ", ".join(feature.frames)
    rate = ("", " velocity", " acceleration")[feature.order - feature.symbol.window]
    return f"{feature.symbol.name}({frames}){rate}"
