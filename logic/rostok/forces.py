"""rostok's laws of external forces, which test a grasp: what disturbs the object when.

A simulation asks the law of the object at each step, `calculate_spatial_force`. The
wrench is about the object's centre of mass, in the world, whose y is up as in rostok's
traces: torque [N m], then force [N]. It acts from a time on, or once an event that is
bound to the law has happened; "Repaired" says where `legacy=True` differs.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.validation import float_array, integer, number

from .event import EventError, SimulationSingleEvent, check_kind, check_limit

Wrench = Float[np.ndarray, "6"]


class ForceTemplate(ABC):
    """A force on an object over time; subclass it for a law of your own.

    Args:
        start_time: from which it acts [s].
        legacy: as rostok computes it.

    Raises:
        EventError: for a negative time.
    """

    def __init__(self, start_time: Any = 0.0, *, legacy: bool = False) -> None:
        self.start_time = check_limit(f"{type(self).__name__}: start_time", start_time)
        self.legacy = legacy
        self.event: SimulationSingleEvent | None = None
        self.reset()

    def reset(self) -> None:
        """Forget the steps so far, for a new run."""
        self.active_steps = 0
        self.active_since = np.inf

    def set_activation_by_event(self, event: Any, use_time: bool = False) -> None:
        """Let the force act once an event has happened.

        Args:
            event: of the run, e.g. its EventGrasp.
            use_time: whether it also acts from its start time on, whichever is first;
                otherwise it has no start time any more.

        Raises:
            EventError: for what is no event.
        """
        self.event = check_kind(self, event, SimulationSingleEvent)
        if not use_time:
            self.start_time = np.inf

    def is_active(self, time: float) -> bool:
        """Whether it acts at a time [s], with the event's present state."""
        happened = self.event is not None and self.event.state
        return bool(happened or time >= self.start_time)

    def calculate_spatial_force(self, time: Any) -> Wrench:
        """Torque [N m] and force [N] of the step that begins at a time [s]."""
        time = number(f"{type(self).__name__}: time", time, error=EventError)
        if not self.is_active(time):
            return np.zeros(6)
        self.active_since = min(self.active_since, self.start_time, time)
        wrench = self.active_wrench(time)
        self.active_steps += 1
        return wrench

    @abstractmethod
    def active_wrench(self, time: float) -> Wrench:
        """Torque and force of an active step."""


class YaxisSin(ForceTemplate):
    """A sin(ω (t - t₀)) + A₀ along y, t₀ being the time from which it acts.

    Repaired: in rostok t₀ is the start time, so that the force is NaN when an event
    starts it.

    Args:
        amp: A [N].
        amp_offset: A₀ [N].
        freq: ω [rad/s].
        start_time: see `ForceTemplate`.
        legacy: see `ForceTemplate`.

    Raises:
        EventError: for what is no finite number.
    """

    def __init__(
        self,
        amp: Any = 5.0,
        amp_offset: Any = 1.0,
        freq: Any = 5.0,
        start_time: Any = 0.0,
        *,
        legacy: bool = False,
    ) -> None:
        super().__init__(start_time, legacy=legacy)
        self.amp = number("YaxisSin: amp", amp, error=EventError)
        self.amp_offset = number("YaxisSin: amp_offset", amp_offset, error=EventError)
        self.freq = number("YaxisSin: freq", freq, error=EventError)

    def active_wrench(self, time: float) -> Wrench:
        since = self.start_time if self.legacy else self.active_since
        with np.errstate(invalid="ignore"):
            shake = np.sin(self.freq * (time - since))
        return _wrench_of_force(0.0, self.amp * shake + self.amp_offset, 0.0)


class NullGravity(ForceTemplate):
    """What balances the object's weight: -m g.

    Args:
        mass: of the object [kg].
        gravity: g [m/s²].
        start_time: see `ForceTemplate`.

    Raises:
        EventError: for a mass that is not > 0, or no vector.
    """

    def __init__(
        self, mass: Any, gravity: Any = (0.0, -9.81, 0.0), start_time: Any = 0.0
    ) -> None:
        super().__init__(start_time)
        positive = lambda x: x > 0
        self.mass = number("NullGravity: mass", mass, "> 0 kg", positive, EventError)
        what, expected = "NullGravity: gravity", "three finite numbers (m/s²)"
        self.gravity = float_array(what, gravity, expected, EventError)
        if self.gravity.shape != (3,) or not np.isfinite(self.gravity).all():
            raise EventError(f"{what} is {gravity!r}, expected {expected}.")

    def active_wrench(self, time: float) -> Wrench:
        return _wrench_of_force(*(-self.mass * self.gravity))


class RandomForces(ForceTemplate):
    """A force of constant size and random direction, anew every few steps.

    "3d": uniform over the sphere. "2d": uniform over the circle in the x-z plane, which
    is turned about z by an angle.

    Legacy: draws of NumPy's old generator, in rostok's order.

    Args:
        amp: its size [N].
        width_step: for how many active steps it is held.
        start_time: see `ForceTemplate`.
        dimension: "3d" or "2d".
        angle: of the circle's plane [rad].
        seed: of the directions.
        legacy: see `ForceTemplate`.

    Raises:
        EventError: for numbers that do not fit, and another dimension.
    """

    def __init__(
        self,
        amp: Any,
        width_step: Any = 20,
        start_time: Any = 0.0,
        dimension: Any = "3d",
        angle: Any = 0.0,
        *,
        seed: Any = 0,
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
        what, natural = "RandomForces: seed", lambda x: x >= 0
        self.seed = integer(what, seed, "an integer >= 0", natural, EventError)
        super().__init__(start_time, legacy=legacy)

    def reset(self) -> None:
        """See `ForceTemplate`: the same directions come again."""
        super().reset()
        make = np.random.RandomState if self.legacy else np.random.default_rng
        self.rng: Any = make(self.seed)
        self.held = np.zeros(6)

    def active_wrench(self, time: float) -> Wrench:
        if self.active_steps % self.width_step == 0:
            self.held = self.amp * self._direction()
        return self.held.copy()

    def _direction(self) -> Wrench:
        phi = self.rng.uniform(0, 2 * np.pi)
        if self.dimension == "2d":
            x, z = np.cos(phi), np.sin(phi)
            return _wrench_of_force(x * np.cos(self.angle), x * np.sin(self.angle), z)
        z = self.rng.uniform(-1, 1)
        across = np.sqrt(1 - z**2)
        return _wrench_of_force(across * np.cos(phi), across * np.sin(phi), z)


class ClockXZForces(ForceTemplate):
    """A force of constant size in the x-z plane, which turns on every few steps.

    From one step of the angle, from x to z.

    Repaired: in rostok it never turns, and acts in the x-y plane.

    Args:
        amp: its size [N].
        angle_step: by which it turns [rad].
        width_step: for how many active steps it is held.
        start_time: see `ForceTemplate`.
        legacy: see `ForceTemplate`.

    Raises:
        EventError: for numbers that do not fit.
    """

    def __init__(
        self,
        amp: Any,
        angle_step: Any = np.pi / 6,
        width_step: Any = 20,
        start_time: Any = 0.0,
        *,
        legacy: bool = False,
    ) -> None:
        super().__init__(start_time, legacy=legacy)
        self.amp = number("ClockXZForces: amp", amp, error=EventError)
        what = "ClockXZForces: angle_step"
        self.angle_step = number(what, angle_step, error=EventError)
        self.width_step = _check_width_step("ClockXZForces", width_step)

    def active_wrench(self, time: float) -> Wrench:
        if self.legacy:
            angle = self.angle_step
            return self.amp * _wrench_of_force(np.cos(angle), np.sin(angle), 0.0)
        angle = self.angle_step * (1 + self.active_steps // self.width_step)
        return self.amp * _wrench_of_force(np.cos(angle), 0.0, np.sin(angle))


class ExternalForces(ForceTemplate):
    """The sum of laws, each active by its own time or event.

    Args:
        forces: the laws.

    Raises:
        EventError: for what is no law.
    """

    def __init__(self, forces: Iterable[Any]) -> None:
        self.forces: list[ForceTemplate] = []
        for force in forces:
            self.add_force(force)
        super().__init__()

    def add_force(self, force: Any) -> None:
        """One more law."""
        self.forces.append(check_kind(self, force, ForceTemplate))

    def reset(self) -> None:
        """See `ForceTemplate`: all the laws."""
        super().reset()
        for force in self.forces:
            force.reset()

    def set_activation_by_event(self, event: Any, use_time: bool = False) -> None:
        """See `ForceTemplate`: all the laws."""
        for force in self.forces:
            force.set_activation_by_event(event, use_time)

    def is_active(self, time: float) -> bool:
        """See `ForceTemplate`: always, but for what the laws say."""
        return True

    def active_wrench(self, time: float) -> Wrench:
        wrenches = [force.calculate_spatial_force(time) for force in self.forces]
        return np.sum([np.zeros(6), *wrenches], axis=0)


def _wrench_of_force(x: float, y: float, z: float) -> Wrench:
    """A wrench without torque."""
    return np.array([0.0, 0.0, 0.0, x, y, z])


def _check_width_step(law: str, value: Any) -> int:
    what, expected = f"{law}: width_step", "an integer > 0"
    return integer(what, value, expected, lambda x: x > 0, EventError)
