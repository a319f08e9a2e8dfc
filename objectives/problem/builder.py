"""Parts of a path problem beside its objectives: slices, contacts, mode switches.

They are made from what users pass to `KOMO`, and checked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from jaxtyping import Float

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
    SupportsObjectives,
    alternatives_of,
)
from ..terms.objective import OT, Objective, ObjectiveError, select_slices
from ..terms.typing import Times
from .objective_builder import (
    checked_objective,
    feature_label,
    make_objective,
    refuse_both,
    resolve_interval,
)
from .spec import ProblemSpec

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
    interval = resolve_interval(spec, times, label)
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
    refuse_both(switch.frame, [switch], spec.courses)
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
    refuse_both(frame, spec.switches, courses)
    # Frames stay in the order in which they were given courses, as a key of programs.
    order = [course.frame for course in spec.courses]
    return tuple(sorted(courses, key=lambda c: [*order, c.frame].index(c.frame)))


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
    interval = resolve_interval(spec, times, name)
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
