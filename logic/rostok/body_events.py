"""rostok's events of the robot's bodies: flown apart, and too low."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from posewise.robots.validation import number

from . import robustness as rows
from .event import EventCommands, EventError, SimulationSingleEvent, check_limit
from .sensors import SensorReading
from .trace_arrays import validate_arrays


class EventFlyingApart(SimulationSingleEvent):
    """A body of the robot is far from its first body.

    A body without a measured position counts as far away.

    Args:
        max_distance: of the bodies' positions [m].

    Raises:
        EventError: for a negative distance.
    """

    outcome = "robot flown apart"

    def __init__(self, max_distance: Any) -> None:
        super().__init__()
        self.max_distance = check_limit("EventFlyingApart: max_distance", max_distance)

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """STOP when it happens."""
        self._require_new()
        base, *others = robot_data.get_body_trajectory_point().values()
        near = (np.linalg.norm(base - p) <= self.max_distance for p in others)
        if np.isfinite(base).all() and all(near):
            return EventCommands.CONTINUE
        self._record(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.flying_apart_rows(*validate_arrays(trace, tau), self.max_distance)

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.no_flying_apart_rows(
            *validate_arrays(trace, tau), self.max_distance
        )


class EventBodyTooLow(SimulationSingleEvent):
    """The robot's first body is below a height.

    Repaired: rostok stops without `state` and `step_n`.

    Args:
        ref_height: the least y that is allowed [m, world].

    Raises:
        EventError: for no finite height.
    """

    outcome = "robot too low"

    def __init__(self, ref_height: Any) -> None:
        super().__init__()
        what = "EventBodyTooLow: ref_height"
        self.ref_height = number(what, ref_height, error=EventError)

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """STOP when it happens."""
        self._require_new()
        base, *_ = robot_data.get_body_trajectory_point().values()
        if not base[1] < self.ref_height:
            return EventCommands.CONTINUE
        if not robot_data.legacy:
            self._record(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.too_low_rows(*validate_arrays(trace, tau), self.ref_height)

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.not_too_low_rows(*validate_arrays(trace, tau), self.ref_height)
