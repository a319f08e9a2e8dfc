"""The trace of a path: what rostok's criteria can be asked of it, exactly."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.features.motions import GRAVITY
from posewise.robots.config import Config
from posewise.robots.simulation.masses import frame_masses
from posewise.robots.validation import float_array, number

from ..geometry.frame_groups import centre_of_mass, find_object, require_shapes
from .errors import TraceError
from .grasp_simulation import ROTATION_Z_UP_TO_Y_UP
from .trace import OBJECT, Contact, Trace

MAX_CONTACT_GAP = 1e-3
"""Gap up to which bodies touch [m]."""


def path_trace(
    C: Config,
    path: Any,
    dt: Any,
    obj: Any,
    robot: Any,
    *,
    max_gap: Any = MAX_CONTACT_GAP,
) -> Trace:
    """The trace of a path that begins at rest in the present state; y is up in it.

    Bodies of the robot touch the object up to a small gap, at the middle of the nearest
    points, and share alike what carries it: m (a - g). All else touches nothing.
    Velocities and accelerations are backward differences, as KOMO's.

    Args:
        C: the world; it stays as it is.
        path: coordinates (T, nq), such as `Solution.path`.
        dt: time between slices [s].
        obj: what is grasped: an object, or a frame.
        robot: the robot's bodies by the names of frames or objects, the palm first.
        max_gap: the gap [m].

    Raises:
        TraceError: for numbers that do not fit, or an object without mass.
        ConfigError: for unknown names, and things without shapes.
    """
    what = f"(T, {C.nq}) numbers"
    given = float_array("path", path, what, TraceError)
    if given.ndim != 2 or given.shape[1] != C.nq or not np.isfinite(given).all():
        raise TraceError(f"path has shape {given.shape}, expected {what}, finite.")
    dt = number("dt", dt, "> 0 s", lambda x: x > 0, TraceError)
    max_gap = number("touch", max_gap, ">= 0 m", lambda x: x >= 0, TraceError)
    for name in (obj, *robot):
        require_shapes(find_object(C, name))
    every = frame_masses(C.frames)
    mass = sum(every[i].mass for i in find_object(C, obj).frames)
    if not mass > 0:
        raise TraceError(
            f"{obj!r} has no mass, which forces on it are made of; give it one:"
            f" C.set_mass({obj!r}, 0.3)."
        )
    world, centres, places, found = C.copy(), [], [], []
    for q in (C.q, *given):
        world.q = q
        centres.append(centre_of_mass(find_object(world, obj)))
        places.append([world.pose(_root_frame(C, name))[:3] for name in robot])
        found.append(_bodies_in_contact(world, obj, robot, max_gap))
    positions = np.array(centres)
    velocity = np.diff(positions, axis=0, prepend=positions[:1]) / dt
    carried = np.diff(velocity, axis=0, prepend=velocity[:1]) / dt
    carried = mass * (carried + [0.0, 0.0, GRAVITY])
    contacts = [
        Contact(
            k,
            body,
            OBJECT,
            ROTATION_Z_UP_TO_Y_UP @ x,
            ROTATION_Z_UP_TO_Y_UP @ x,
            ROTATION_Z_UP_TO_Y_UP @ carried[k] / len(touching),
        )
        for k, touching in enumerate(found)
        for body, x in touching
    ]
    bodies = np.array(places) @ ROTATION_Z_UP_TO_Y_UP.T
    return Trace(
        dt,
        tuple(robot),
        positions @ ROTATION_Z_UP_TO_Y_UP.T,
        velocity @ ROTATION_Z_UP_TO_Y_UP.T,
        {name: bodies[:, i] for i, name in enumerate(robot)},
        contacts,
    )


def _root_frame(C: Config, name: str) -> str:
    return C.frames[find_object(C, name).frames[0]].name


def _bodies_in_contact(
    world: Config, obj: str, robot: Sequence[str], touch: float
) -> list[tuple[str, Float[np.ndarray, "3"]]]:
    """Bodies that touch the object, and where."""
    found = []
    for body in robot:
        distance, on_object, on_body = world.signed_distance(obj, body)
        if distance <= touch:
            found.append((body, (on_object + on_body) / 2))
    return found
