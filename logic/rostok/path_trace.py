"""Traces of paths, on which rostok's exact criteria can be evaluated."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from posewise.features.motions import GRAVITY
from posewise.robots.config import Config
from posewise.robots.masses.frame_masses import frame_masses
from posewise.robots.typing import MatrixLike
from posewise.robots.validation import float_array, number, require_finite

from ..geometry.frame_groups import centre_of_mass, find_object, require_shapes
from .errors import TraceError
from .grasp_simulation import ROTATION_Z_UP_TO_Y_UP
from .trace import OBJECT, Trace, TraceContact

MAX_CONTACT_GAP = 1e-3
"""Largest gap at which bodies count as in contact [m]; a larger one finds more."""


def path_trace(
    C: Config,
    path: MatrixLike,
    dt: float,
    obj: str,
    robot: Sequence[str],
    *,
    max_gap: float = MAX_CONTACT_GAP,
) -> Trace:
    """Return the trace of a path that starts at rest in the world's present state.

    Bodies of the robot are in contact with the object up to a small gap, at the middle
    of the witness points. They share the force m (a - g) on the object equally; other
    contacts are ignored. Velocities and accelerations are backward differences, as in
    KOMO. The y axis of the trace points up.

    Args:
        C: the world, which stays unchanged.
        path: coordinates (T, nq), such as `Solution.path`.
        dt: time between slices [s].
        obj: name of the grasped object or frame.
        robot: names of the robot's bodies, frames or objects, the palm first.
        max_gap: largest gap of a contact [m].

    Raises:
        TraceError: for invalid numbers, or an object without mass.
        ConfigError: for unknown names, and objects without shapes.
    """
    expected = f"(T, {C.nq}) finite numbers"
    array = float_array("path", path, expected, TraceError)
    require_finite("path", array, TraceError)
    if array.ndim != 2 or array.shape[1] != C.nq:
        raise TraceError(f"path has shape {array.shape}, expected {expected}.")
    dt = number("dt", dt, "> 0 s", lambda x: x > 0, TraceError)
    max_gap = number("max_gap", max_gap, ">= 0 m", lambda x: x >= 0, TraceError)
    for name in (obj, *robot):
        require_shapes(find_object(C, name))
    masses = frame_masses(C.frames)
    mass = sum(masses[i].mass for i in find_object(C, obj).frames)
    if not mass > 0:
        raise TraceError(
            f"{obj!r} has no mass, but the forces on it depend on its mass; call"
            f" C.set_mass({obj!r}, 0.3)."
        )
    world, centers, body_positions, contacts_of_instant = C.copy(), [], [], []
    for q in (C.q, *array):
        world.q = q
        centers.append(centre_of_mass(find_object(world, obj)))
        body_positions.append([world.pose(_root_frame(C, n))[:3] for n in robot])
        contacts_of_instant.append(_bodies_in_contact(world, obj, robot, max_gap))
    positions = np.array(centers)
    # The object starts at rest, so that the first differences are zero.
    velocity = np.diff(positions, axis=0, prepend=positions[:1]) / dt
    acceleration = np.diff(velocity, axis=0, prepend=velocity[:1]) / dt
    force = mass * (acceleration + [0.0, 0.0, GRAVITY])
    contacts = [
        TraceContact(
            k=k,
            a=body,
            b=OBJECT,
            pa=ROTATION_Z_UP_TO_Y_UP @ point,
            pb=ROTATION_Z_UP_TO_Y_UP @ point,
            f=ROTATION_Z_UP_TO_Y_UP @ force[k] / len(bodies),
        )
        for k, bodies in enumerate(contacts_of_instant)
        for body, point in bodies
    ]
    robot_pos = np.array(body_positions) @ ROTATION_Z_UP_TO_Y_UP.T
    return Trace(
        dt=dt,
        robot_ids=tuple(robot),
        obj_pos=positions @ ROTATION_Z_UP_TO_Y_UP.T,
        obj_vel=velocity @ ROTATION_Z_UP_TO_Y_UP.T,
        robot_pos={name: robot_pos[:, i] for i, name in enumerate(robot)},
        contacts=contacts,
    )


def _root_frame(C: Config, name: str) -> str:
    return C.frames[find_object(C, name).frames[0]].name


def _bodies_in_contact(
    world: Config, obj: str, robot: Sequence[str], max_gap: float
) -> list[tuple[str, Float[np.ndarray, "3"]]]:
    """Return the robot bodies in contact with the object, and the contact points."""
    contacts = []
    for body in robot:
        distance, on_object, on_body = world.signed_distance(obj, body)
        if distance <= max_gap:
            contacts.append((body, (on_object + on_body) / 2))
    return contacts
