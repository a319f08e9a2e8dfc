"""rostok's events of the robot's bodies: flying apart, and dropping too low."""

from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.validation import number

from . import event_probabilities as probabilities
from . import robustness as rows
from .errors import EventError
from .event import BuiltInEvent, EventRule, RunStep, check_limit

MAX_DATA_DISTANCE = 1e9
"""Stand-in for an infinite `max_distance` in arrays [m]. No body is farther away, so
that it never counts; a finite number keeps derivatives finite."""


def _flying_apart_occurs(event: "EventFlyingApart", step: RunStep) -> bool:
    base, *others = step.robot.get_body_trajectory_point().values()
    # A NaN distance fails the comparison, so that an unmeasured body counts as far.
    near = (np.linalg.norm(base - p) <= event.max_distance for p in others)
    return not (np.isfinite(base).all() and all(near))


class EventFlyingApart(BuiltInEvent):
    """A body of the robot is too far from its first body; stops the run.

    A body without a measured position counts as too far.

    Args:
        max_distance: largest allowed distance between body positions [m].

    Raises:
        EventError: for a negative distance.
    """

    outcome = "robot flown apart"
    rule = EventRule(
        occurs=_flying_apart_occurs,
        probabilities=probabilities.flying_apart,
        robustness=rows.flying_apart_rows,
        avoidance=rows.no_flying_apart_rows,
    )

    def __init__(self, max_distance: float) -> None:
        super().__init__()
        self.max_distance = check_limit("EventFlyingApart: max_distance", max_distance)

    def row_parameters(self) -> dict[str, Any]:
        return {"max_distance": self.max_distance}

    def probability_data(self, times: Float[np.ndarray, " steps"]) -> dict[str, Any]:
        return {"max_distance": min(self.max_distance, MAX_DATA_DISTANCE)}


def _too_low_occurs(event: "EventBodyTooLow", step: RunStep) -> bool:
    base, *_ = step.robot.get_body_trajectory_point().values()
    return bool(base[1] < event.ref_height)


class EventBodyTooLow(BuiltInEvent):
    """The first body of the robot is below a given height; stops the run.

    Repaired: rostok stops without setting `state` and `step_n`.

    Args:
        ref_height: smallest allowed y coordinate [m, world].

    Raises:
        EventError: for a height that is not finite.
    """

    outcome = "robot too low"
    rule = EventRule(
        occurs=_too_low_occurs,
        probabilities=probabilities.body_too_low,
        robustness=rows.too_low_rows,
        avoidance=rows.not_too_low_rows,
        is_recorded_in_legacy=False,
    )

    def __init__(self, ref_height: float) -> None:
        super().__init__()
        label = "EventBodyTooLow: ref_height"
        self.ref_height = number(label, ref_height, error=EventError)

    def row_parameters(self) -> dict[str, Any]:
        return {"ref_height": self.ref_height}

    def probability_data(self, times: Float[np.ndarray, " steps"]) -> dict[str, Any]:
        return {"ref_height": self.ref_height}
