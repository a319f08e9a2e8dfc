"""Objectives of a path problem, made of what a user passes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import PyTree

from posewise.features import FS, Feature
from posewise.features.typing import Order, ScaleLike, SymbolLike, TargetLike
from posewise.robots.typing import FrameName, Frames, VectorLike
from posewise.robots.validation import number

from ..chain.courses import Course
from ..chain.modes import ModeSwitch
from ..terms.interval import (
    SliceInterval,
    select_interval,
)
from ..terms.objective import OT, Objective, ObjectiveError, select_slices
from ..terms.typing import Slices, Times
from .deviations import enclosed_segments
from .spec import ProblemSpec, mode_sequence


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


def refuse_both(
    frame: FrameName, switches: Sequence[ModeSwitch], courses: Sequence[Course]
) -> None:
    if any(s.frame == frame for s in switches) and any(
        c.frame == frame for c in courses
    ):
        raise ObjectiveError(
            f"{frame!r} has both a course and a mode switch, expected one of them; give"
            " the course to the frame that it stands on."
        )


def resolve_interval(spec: ProblemSpec, times: Times, label: str) -> SliceInterval:
    """Return the slices that times of a problem name."""
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
