"""rostok's simulation of a grasp, which steps a world's twin and checks events."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.loaders.mjcf.contact_settings import TIME_STEP
from posewise.robots.simulation.run import Motor, TwinRun
from posewise.robots.simulation.twin import Twin
from posewise.robots.typing import Frames, VectorLike
from posewise.robots.validation import number

from .errors import EventError
from .event_loop import EventLoop, Events, SimulationResult
from .forces import ExternalForces, ForceTemplate
from .sensors import Sensor, environment_sensor, robot_sensor
from .trace import FLOOR, OBJECT, Trace

ROTATION_Z_UP_TO_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Rotation from the world frame (z up) to the frame of rostok's traces (y up)."""


def simulate_grasp(
    C: Config,
    obj: str,
    robot: Frames,
    motors: Mapping[str, Motor | float],
    events: Events,
    *,
    seconds: float,
    q: VectorLike | None = None,
    force: ForceTemplate | None = None,
) -> SimulationResult:
    """Simulate a grasp from rest in steps of 2 ms until an event stops it.

    The result equals that of `run_events` on the recorded trace. In the trace and for
    the force, y points up: (x, y, z) in the world is (x, z, -y) there. Contacts of an
    instant are those that acted during the step before it. Frames that belong neither
    to the object nor to the robot count as the floor.

    Args:
        C: the world; joints with motors and free joints move, all others are fixed.
        obj: frame or object with a free joint; its subtree belongs to it.
        robot: frames of the robot's bodies, the palm first; the subtree of a frame
            belongs to its body, except the subtrees of other bodies.
        motors: for each driven joint of one coordinate a `Motor`, or a constant effort
            [N or N m].
        events: events, or builders of events, in the container's order.
        seconds: longest simulated time [s], unless an event stops the run earlier.
        q: initial coordinates (nq,); by default those of the world.
        force: force law on the object, reset first. To test the grasp, bind the law to
            the EventGrasp among the events: `force.set_activation_by_event`.

    Raises:
        ConfigError: for unknown names and other invalid input.
        EventError: as in `run_events`; for a law bound to an event that is not among
            the events.
        TraceError: for names of bodies that a trace cannot have.
        SimulationError: if the simulation diverges.
        ImportError: without MuJoCo; the message names the extra.
    """
    seconds = number("seconds", seconds, "> 0 s", lambda s: s > 0)
    if not isinstance(motors, Mapping):
        raise ConfigError(
            f"motors is {motors!r}, expected a mapping from joints to motors."
        )
    loop = EventLoop(events)
    if force is not None:
        _check_force(force, loop)
        force.reset()
    run = Twin(C, movable_joints=motors).start_run(q, motors)
    recorder = _TraceRecorder(run, obj, robot)
    instants = [recorder.instant()]
    for step in range(max(round(seconds / TIME_STEP), 1)):
        run.step(_world_wrench(force, obj, step * TIME_STEP))
        instants.append(recorder.instant())
        # Events read one instant only, so that two instants suffice as their trace.
        last = recorder.trace([instants[0], instants[-1]])
        robot_data, object_data = _sensors(last)
        if not loop.step(TIME_STEP, robot_data, object_data, 1):
            break
    trace = recorder.trace(instants)
    robot_data, object_data = _sensors(trace)
    return loop.result(trace, robot_data, object_data)


def _sensors(trace: Trace) -> tuple[Sensor, Sensor]:
    return robot_sensor(trace, False), environment_sensor(trace, False)


def _world_wrench(
    force_law: ForceTemplate | None, obj: str, time: float
) -> dict[str, Float[np.ndarray, "6"]]:
    """Return the wrench on the object in the world frame, force before torque."""
    if force_law is None:
        return {}
    torque, force = np.split(force_law.calculate_spatial_force(time), 2)
    wrench = [force @ ROTATION_Z_UP_TO_Y_UP, torque @ ROTATION_Z_UP_TO_Y_UP]
    return {obj: np.concatenate(wrench)}


def _all_laws(force: ForceTemplate) -> Iterator[ForceTemplate]:
    """Yield a law and, recursively, the laws that it sums."""
    yield force
    if isinstance(force, ExternalForces):
        for part in force.forces:
            yield from _all_laws(part)


def _check_force(force: ForceTemplate, loop: EventLoop) -> None:
    """Raise an EventError for a law that can never act."""
    if not isinstance(force, ForceTemplate):
        raise EventError(f"force is {force!r}, expected a force law.")
    for law in _all_laws(force):
        event = law.event
        if event is not None and all(event is not e for e in loop.container):
            raise EventError(
                f"{type(law).__name__} is bound to an {type(event).__name__} that is"
                " not among the events, so that it would never act; pass the events"
                " themselves, not builders, and bind the law to one of them."
            )


class _Instant(NamedTuple):
    obj_pos: np.ndarray
    obj_vel: np.ndarray
    robot_pos: Float[np.ndarray, "bodies 3"]
    contacts: list[dict[str, Any]]


class _TraceRecorder:
    """Recorder of the instants of a simulation run, in the frame of traces."""

    def __init__(self, run: TwinRun, obj: str, robot: Frames) -> None:
        C = run.C
        self.run, self.obj = run, obj
        self.robot = [robot] if isinstance(robot, str) else list(robot)
        joint = C.frame(obj).joint
        if joint is None or joint.type not in ("free", "floating"):
            raise ConfigError(
                f"obj {obj!r} has no free joint, so that it cannot be grasped; add it"
                " with joint='free'."
            )
        if obj in self.robot:
            raise ConfigError(
                f"obj {obj!r} is also one of the robot's bodies; remove it from robot."
            )
        self.body_of_frame = self._body_of_frame(C)

    def _body_of_frame(self, C: Config) -> dict[str, str]:
        """Return the body of the trace that each frame belongs to."""
        roots = {C.index(b): b for b in self.robot} | {C.index(self.obj): OBJECT}
        body_of_frame = {}
        for i, frame in enumerate(C.frames):
            ancestor: int | None = i
            while ancestor is not None and ancestor not in roots:
                ancestor = C.frames[ancestor].parent
            body_of_frame[frame.name] = FLOOR if ancestor is None else roots[ancestor]
        return body_of_frame

    def instant(self) -> _Instant:
        """Return the present instant of the run."""
        position, velocity = self.run.centre_of_mass(self.obj)
        body_positions = [self.run.position(b) for b in self.robot]
        contacts = []
        for contact in self.run.contacts():
            a, b = self.body_of_frame[contact.a], self.body_of_frame[contact.b]
            # Frames of one body in contact are no contact of two bodies.
            if a != b:
                point = ROTATION_Z_UP_TO_Y_UP @ contact.point
                force = ROTATION_Z_UP_TO_Y_UP @ contact.force
                contacts.append(dict(a=a, b=b, pa=point, pb=point, f=force))
        return _Instant(
            obj_pos=ROTATION_Z_UP_TO_Y_UP @ position,
            obj_vel=ROTATION_Z_UP_TO_Y_UP @ velocity,
            robot_pos=np.reshape(body_positions, (-1, 3)) @ ROTATION_Z_UP_TO_Y_UP.T,
            contacts=contacts,
        )

    def trace(self, instants: list[_Instant]) -> Trace:
        """Return the trace of consecutive instants."""
        positions = np.stack([i.robot_pos for i in instants], 1)
        return Trace(
            dt=TIME_STEP,
            robot_ids=self.robot,
            obj_pos=np.array([i.obj_pos for i in instants]),
            obj_vel=np.array([i.obj_vel for i in instants]),
            robot_pos=dict(zip(self.robot, positions, strict=True)),
            contacts=[
                {"k": k, **contact}
                for k, instant in enumerate(instants)
                for contact in instant.contacts
            ],
        )
