"""rostok's external force laws, which disturb the object to test a grasp.

A simulation calls `calculate_spatial_force` of a law at each step. The wrench acts at
the object's center of mass, in the world frame whose y axis points up as in rostok's
traces: torque [N m], then force [N]. It acts from a start time on, or once an event
bound to the law has occurred. "Repaired" in the docstring of a class marks where
`legacy=True` differs.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from posewise.robots.validation import float_array, integer, number

from .errors import EventError
from .event import SimulationSingleEvent, check_kind, check_limit

Wrench = Float[np.ndarray, "6"]


class ForceTemplate(ABC):
    """Force on an object over time; subclass it for a custom law.

    Args:
        start_time: time from which the force acts [s].
        legacy: whether to reproduce rostok's computation.

    Raises:
        EventError: for a negative time.
    """

    def __init__(self, start_time: float = 0.0, *, legacy: bool = False) -> None:
        self.start_time = check_limit(f"{type(self).__name__}: start_time", start_time)
        self.legacy = legacy
        self.event: SimulationSingleEvent | None = None
        self.reset()

    def reset(self) -> None:
        """Return to the state before any step, for a new run."""
        self.active_steps = 0
        self.active_since = np.inf

    def set_activation_by_event(
        self, event: SimulationSingleEvent, use_time: bool = False
    ) -> None:
        """Let the force act once an event has occurred.

        Args:
            event: event of the run, such as its EventGrasp.
            use_time: whether the force also acts from its start time on, whichever is
                earlier; otherwise the start time is dropped.

        Raises:
            EventError: for an object that is not an event.
        """
        self.event = check_kind(self, event, SimulationSingleEvent)  # type: ignore[type-abstract]
        if not use_time:
            self.start_time = np.inf

    def is_active(self, time: float) -> bool:
        """Return whether the force acts at a time [s], given the event's state now."""
        has_occurred = self.event is not None and self.event.state
        return bool(has_occurred or time >= self.start_time)

    def calculate_spatial_force(self, time: float) -> Wrench:
        """Return torque [N m] and force [N] of the step that starts at a time [s].

        Raises:
            EventError: for a time that is not finite.
        """
        time = number(f"{type(self).__name__}: time", time, error=EventError)
        if not self.is_active(time):
            return np.zeros(6)
        self.active_since = min(self.active_since, self.start_time, time)
        wrench = self.active_wrench(time)
        self.active_steps += 1
        return wrench

    @abstractmethod
    def active_wrench(self, time: float) -> Wrench:
        """Return torque [N m] and force [N] of an active step at a time [s]."""


class YaxisSin(ForceTemplate):
    """A sin(ω (t - t₀)) + A₀ along y, where t₀ is the time from which the force acts.

    Repaired: t₀ is the start time in rostok, so that the force is NaN if an event
    starts it.

    Args:
        amp: amplitude A [N].
        amp_offset: offset A₀ [N].
        freq: angular frequency ω [rad/s].
        start_time: as in `ForceTemplate`.
        legacy: as in `ForceTemplate`.

    Raises:
        EventError: for numbers that are not finite.
    """

    def __init__(
        self,
        amp: float = 5.0,
        amp_offset: float = 1.0,
        freq: float = 5.0,
        start_time: float = 0.0,
        *,
        legacy: bool = False,
    ) -> None:
        super().__init__(start_time, legacy=legacy)
        self.amp = number("YaxisSin: amp", amp, error=EventError)
        self.amp_offset = number("YaxisSin: amp_offset", amp_offset, error=EventError)
        self.freq = number("YaxisSin: freq", freq, error=EventError)

    def active_wrench(self, time: float) -> Wrench:
        since = self.start_time if self.legacy else self.active_since
        # rostok's start time is infinite once an event starts the force: sin gives NaN.
        with np.errstate(invalid="ignore"):
            sine = np.sin(self.freq * (time - since))
        return _wrench_of_force(0.0, self.amp * sine + self.amp_offset, 0.0)


class NullGravity(ForceTemplate):
    """-m g, which balances the weight of the object.

    Args:
        mass: mass m of the object [kg].
        gravity: gravity g [m/s²].
        start_time: as in `ForceTemplate`.

    Raises:
        EventError: for a mass that is not > 0, or a gravity that is not a vector.
    """

    def __init__(
        self,
        mass: float,
        gravity: ArrayLike = (0.0, -9.81, 0.0),
        start_time: float = 0.0,
    ) -> None:
        super().__init__(start_time)
        self.mass = number(
            "NullGravity: mass", mass, "> 0 kg", lambda x: x > 0, EventError
        )
        label, expected = "NullGravity: gravity", "three finite numbers (m/s²)"
        self.gravity = float_array(label, gravity, expected, EventError)
        if self.gravity.shape != (3,) or not np.isfinite(self.gravity).all():
            raise EventError(f"{label} is {gravity!r}, expected {expected}.")

    def active_wrench(self, time: float) -> Wrench:
        return _wrench_of_force(*(-self.mass * self.gravity))


class RandomForces(ForceTemplate):
    """Force of constant magnitude whose random direction changes every few steps.

    With "3d" the direction is uniform on the sphere. With "2d" it is uniform on a
    circle in the x-z plane turned about z by an angle.

    Legacy: directions come from NumPy's old generator, in rostok's order.

    Args:
        amp: magnitude [N].
        width_step: number of active steps between changes (count).
        start_time: as in `ForceTemplate`.
        dimension: "3d" or "2d".
        angle: angle by which the plane of "2d" is turned [rad].
        seed: seed of the directions.
        legacy: as in `ForceTemplate`.

    Raises:
        EventError: for invalid numbers, or another dimension.
    """

    def __init__(
        self,
        amp: float,
        width_step: int = 20,
        start_time: float = 0.0,
        dimension: Literal["3d", "2d"] = "3d",
        angle: float = 0.0,
        *,
        seed: int = 0,
        legacy: bool = False,
    ) -> None:
        self.amp = number("RandomForces: amp", amp, error=EventError)
        self.width_step = _check_width_step("RandomForces", width_step)
        if dimension not in ("3d", "2d"):
            raise EventError(
                f"RandomForces: dimension is {dimension!r}, expected '3d' or '2d'."
            )
        self.dimension = dimension
        self.angle = number("RandomForces: angle", angle, error=EventError)
        self.seed = integer(
            "RandomForces: seed", seed, "an integer >= 0", lambda x: x >= 0, EventError
        )
        super().__init__(start_time, legacy=legacy)

    def reset(self) -> None:
        super().reset()
        # The same seed again, so that every run sees the same directions.
        self.rng: np.random.RandomState | np.random.Generator
        if self.legacy:
            self.rng = np.random.RandomState(self.seed)
        else:
            self.rng = np.random.default_rng(self.seed)
        self.current_wrench = np.zeros(6)

    def active_wrench(self, time: float) -> Wrench:
        if self.active_steps % self.width_step == 0:
            self.current_wrench = self.amp * self._direction()
        return self.current_wrench.copy()

    def _direction(self) -> Wrench:
        phi = self.rng.uniform(0, 2 * np.pi)
        if self.dimension == "2d":
            x, z = np.cos(phi), np.sin(phi)
            return _wrench_of_force(x * np.cos(self.angle), x * np.sin(self.angle), z)
        # A uniform height is uniform on the sphere (Archimedes' hat-box theorem).
        z = self.rng.uniform(-1, 1)
        radius = np.sqrt(1 - z**2)
        return _wrench_of_force(radius * np.cos(phi), radius * np.sin(phi), z)


class ClockXZForces(ForceTemplate):
    """Force of constant magnitude that turns in the x-z plane every few steps.

    The first direction is one angle step from x towards z.

    Repaired: in rostok the force never turns, and acts in the x-y plane.

    Args:
        amp: magnitude [N].
        angle_step: angle of a turn [rad].
        width_step: number of active steps between turns (count).
        start_time: as in `ForceTemplate`.
        legacy: as in `ForceTemplate`.

    Raises:
        EventError: for invalid numbers.
    """

    def __init__(
        self,
        amp: float,
        angle_step: float = np.pi / 6,
        width_step: int = 20,
        start_time: float = 0.0,
        *,
        legacy: bool = False,
    ) -> None:
        super().__init__(start_time, legacy=legacy)
        self.amp = number("ClockXZForces: amp", amp, error=EventError)
        self.angle_step = number(
            "ClockXZForces: angle_step", angle_step, error=EventError
        )
        self.width_step = _check_width_step("ClockXZForces", width_step)

    def active_wrench(self, time: float) -> Wrench:
        if self.legacy:
            angle = self.angle_step
            return self.amp * _wrench_of_force(np.cos(angle), np.sin(angle), 0.0)
        angle = self.angle_step * (1 + self.active_steps // self.width_step)
        return self.amp * _wrench_of_force(np.cos(angle), 0.0, np.sin(angle))


class ExternalForces(ForceTemplate):
    """Sum of laws, each active by its own time or event.

    Args:
        forces: the laws.

    Raises:
        EventError: for an object that is not a law.
    """

    def __init__(self, forces: Iterable[ForceTemplate]) -> None:
        self.forces: list[ForceTemplate] = []
        for force in forces:
            self.add_force(force)
        super().__init__()

    def add_force(self, force: ForceTemplate) -> None:
        """Add a law to the sum.

        Raises:
            EventError: for an object that is not a law.
        """
        self.forces.append(check_kind(self, force, ForceTemplate))  # type: ignore[type-abstract]

    def reset(self) -> None:
        super().reset()
        for force in self.forces:
            force.reset()

    def set_activation_by_event(
        self, event: SimulationSingleEvent, use_time: bool = False
    ) -> None:
        for force in self.forces:
            force.set_activation_by_event(event, use_time)

    def is_active(self, time: float) -> bool:
        # Each law of the sum decides about itself.
        return True

    def active_wrench(self, time: float) -> Wrench:
        wrenches = [force.calculate_spatial_force(time) for force in self.forces]
        return np.sum([np.zeros(6), *wrenches], axis=0)


def _wrench_of_force(x: float, y: float, z: float) -> Wrench:
    """Return a wrench without torque."""
    return np.array([0.0, 0.0, 0.0, x, y, z])


def _check_width_step(law: str, value: int) -> int:
    return integer(
        f"{law}: width_step", value, "an integer > 0", lambda x: x > 0, EventError
    )
