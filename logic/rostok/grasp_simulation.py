"""rostok's simulation of a grasp, live: a world's twin is stepped, events are asked."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.simulation.model import TIMESTEP
from posewise.robots.simulation.run import TwinRun
from posewise.robots.simulation.twin import Twin
from posewise.robots.validation import number

from .errors import EventError
from .event_loop import EventLoop, SimulationResult
from .forces import ExternalForces, ForceTemplate
from .sensors import Sensor, environment_sensor, robot_sensor
from .trace import FLOOR, OBJECT, Trace

ROTATION_Z_UP_TO_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""From the world, whose z is up, to rostok's, whose y is."""


def simulate_grasp(
    C: Config,
    obj: Any,
    robot: Any,
    motors: Any,
    events: Any,
    *,
    seconds: Any,
    q: Any = None,
    force: Any = None,
) -> SimulationResult:
    """Simulate a grasp from rest in steps of 2 ms, until an event stops it.

    The result is that of `run_events` on its own trace. The trace, and the force, have
    y up: (x, y, z) of the world is (x, z, -y) there. Contacts of an instant are those
    that acted during the step that led to it; what is neither the object nor the robot
    counts as the floor.

    Args:
        C: the world; joints with motors are loose, free ones too, all others held.
        obj: frame or object with a free joint; what hangs from it belongs to it.
        robot: frames that stand for the robot's bodies, the palm first; what hangs from
            one belongs to it, but for the other bodies.
        motors: for joints of one coordinate a `Motor`, or a constant effort [N, N m].
        events: events, or builders of events, in the container's order.
        seconds: the longest time; without a stop the run ends then.
        q: where it starts (nq,); default: where the world is.
        force: a law of forces on the object, reset first. To test the grasp, bind it to
            the EventGrasp among the events: `force.set_activation_by_event`.

    Raises:
        ConfigError: for unknown names, and input that does not fit.
        EventError: see `run_events`; for a law bound to an event that is not asked.
        TraceError: for names of bodies that a trace cannot have.
        SimulationError: when the simulation runs away.
        ImportError: without MuJoCo; names the extra.
    """
    seconds = number("seconds", seconds, "> 0 s", lambda s: s > 0)
    if not isinstance(motors, Mapping):
        raise ConfigError(f"motors is {motors!r}, expected a mapping from joints.")
    walk = EventLoop(events)
    if force is not None:
        _check_force(force, walk)
        force.reset()
    run = Twin(C, movable_joints=motors).start_run(q, motors)
    recorder = _TraceRecorder(run, obj, robot)
    instants = [recorder.instant()]
    for step in range(max(round(seconds / TIMESTEP), 1)):
        run.step(_wrench(force, obj, step * TIMESTEP))
        instants.append(recorder.instant())
        last = recorder.trace([instants[0], instants[-1]])
        if not walk.step(TIMESTEP, *_sensors(last), 1):
            break
    trace = recorder.trace(instants)
    return walk.result(trace, *_sensors(trace))


def _sensors(trace: Trace) -> tuple[Sensor, Sensor]:
    return robot_sensor(trace, False), environment_sensor(trace, False)


def _wrench(
    force: ForceTemplate | None, obj: str, time: float
) -> dict[str, Float[np.ndarray, "6"]]:
    """On the object, force first, in the world."""
    if force is None:
        return {}
    torque, push = np.split(force.calculate_spatial_force(time), 2)
    return {
        obj: np.concatenate(
            [push @ ROTATION_Z_UP_TO_Y_UP, torque @ ROTATION_Z_UP_TO_Y_UP]
        )
    }


def _all_laws(force: ForceTemplate) -> Iterator[ForceTemplate]:
    """A law, and those that it sums."""
    yield force
    if isinstance(force, ExternalForces):
        for part in force.forces:
            yield from _all_laws(part)


def _check_force(force: Any, walk: EventLoop) -> None:
    if not isinstance(force, ForceTemplate):
        raise EventError(f"force is {force!r}, expected a law of forces.")
    for law in _all_laws(force):
        event = law.event
        if event is not None and all(event is not e for e in walk.container):
            raise EventError(
                f"{type(law).__name__} is bound to an {type(event).__name__} that is"
                " not among the events, so that it would never act; give the events"
                " themselves, not builders, and bind it to one of them."
            )


class _Instant(NamedTuple):
    obj_pos: np.ndarray
    obj_vel: np.ndarray
    robot_pos: Float[np.ndarray, "bodies 3"]
    contacts: list[dict[str, Any]]


class _TraceRecorder:
    """Reads a run as a trace does."""

    def __init__(self, run: TwinRun, obj: str, robot: Any) -> None:
        C = run.twin.C
        self.run, self.obj = run, obj
        self.robot = [robot] if isinstance(robot, str) else list(robot)
        joint = C.frame(obj).joint
        if joint is None or joint.type not in ("free", "floating"):
            raise ConfigError(
                f"obj {obj!r} has no free joint, and cannot be grasped; add it with"
                " joint='free'."
            )
        if obj in self.robot:
            raise ConfigError(f"obj {obj!r} is one of the robot's bodies, too.")
        self.sides = self._sides(C)

    def _sides(self, C: Config) -> dict[str, str]:
        """For each frame the body of a trace that it belongs to."""
        named = {C.index(b): b for b in self.robot} | {C.index(self.obj): OBJECT}
        sides = {}
        for i in range(len(C.frames)):
            at: int | None = i
            while at is not None and at not in named:
                at = C.frames[at].parent
            sides[C.frames[i].name] = FLOOR if at is None else named[at]
        return sides

    def instant(self) -> _Instant:
        """Of now."""
        position, velocity = self.run.centre_of_mass(self.obj)
        bodies = [self.run.position(b) for b in self.robot]
        contacts = []
        for touch in self.run.contacts():
            a, b = self.sides[touch.a], self.sides[touch.b]
            if a != b:
                point = ROTATION_Z_UP_TO_Y_UP @ touch.point
                f = ROTATION_Z_UP_TO_Y_UP @ touch.force
                contacts.append(dict(a=a, b=b, pa=point, pb=point, f=f))
        return _Instant(
            ROTATION_Z_UP_TO_Y_UP @ position,
            ROTATION_Z_UP_TO_Y_UP @ velocity,
            np.reshape(bodies, (-1, 3)) @ ROTATION_Z_UP_TO_Y_UP.T,
            contacts,
        )

    def trace(self, instants: list[_Instant]) -> Trace:
        """Of instants that follow each other."""
        positions = np.stack([i.robot_pos for i in instants], 1)
        return Trace(
            TIMESTEP,
            self.robot,
            np.array([i.obj_pos for i in instants]),
            np.array([i.obj_vel for i in instants]),
            dict(zip(self.robot, positions, strict=True)),
            [{"k": k, **c} for k, i in enumerate(instants) for c in i.contacts],
        )
