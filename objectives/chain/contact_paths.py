"""Contact forces along paths: initial values, and forces of a solution."""

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.contact.bounding_boxes import body_boxes

from .contact_forces import ContactForce
from .modes import ModeSequence

NUM_PROJECTIONS = 20
"""Number of alternating projections onto two boxes; more give closer nearest points."""


def contact_forces_along_path(
    modes: ModeSequence, x: Float[np.ndarray, "T nq"]
) -> tuple[ContactForce, ...]:
    """Return the contacts of a path of the problem's world, slice by slice."""
    forces = []
    for contact in modes.contacts:
        variable, world = contact.variable, modes.world
        points = x[:, world.joints.coordinates(variable.point)]
        values = x[:, world.joints.coordinates(variable.force)]
        for t in contact.slices:
            force = variable.unit * values[t]
            forces.append(ContactForce(variable.names, t, points[t], force))
    return tuple(sorted(forces, key=lambda force: force.slice))


def initialize_contacts(
    modes: ModeSequence, paths: Float[np.ndarray, "count T nq"]
) -> Float[np.ndarray, "count T nq"]:
    """Return paths with initial points of attack and contact forces.

    Points of attack lie between the two frames, which push each other apart with one
    unit of force.
    """
    # With no force there is no friction at first: an object on a slope would leave its
    # support before the solver finds the force that holds it.
    if not modes.contacts:
        return paths
    paths, C = paths.copy(), modes.world
    for contact in modes.contacts:
        variable = contact.variable
        point, force = (
            C.joints.coordinates(variable.point),
            C.joints.coordinates(variable.force),
        )
        paths[..., np.append(point, force)] = 0.0
        for t in contact.slices:
            names = [modes.at(t).active_frame(name) for name in variable.names]
            paths[:, t, point], away = _point_between(C, names, paths[:, t])
            length = np.linalg.norm(away, axis=1, keepdims=True)
            paths[:, t, force] = away / np.maximum(length, 1e-9)
    return paths


def _point_between(
    C: Config, names: list[str], q: Float[np.ndarray, "n nq"]
) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n 3"]]:
    """Return points between (or inside both of) the boxes around two frames' bodies.

    The second array is the offset from each point to the centre of the first box.
    """
    frames = C.forward_pass(q).frames
    boxes = []
    for name in names:
        i = C.index(name)
        low, high = body_boxes(C.frame(name), np.eye(3), np.zeros(3))
        boxes.append((frames.R[:, i], frames.p[:, i], low.min(0), high.max(0)))
    R, p, low, high = boxes[0]
    center = p + R @ (low + high) / 2
    # Alternating projections onto two convex sets converge to their nearest points
    # (Cheney and Goldstein 1959).
    x = p
    for _ in range(NUM_PROJECTIONS):
        y = _project_to_boxes(x, *boxes[1])
        x = _project_to_boxes(y, *boxes[0])
    between = (x + y) / 2
    return between, center - between


def _project_to_boxes(
    x: Float[np.ndarray, "n 3"],
    R: Float[np.ndarray, "n 3 3"],
    p: Float[np.ndarray, "n 3"],
    low: Float[np.ndarray, "3"],
    high: Float[np.ndarray, "3"],
) -> Float[np.ndarray, "n 3"]:
    """Return the points of n boxes that are nearest to n points."""
    inside = np.clip(np.einsum("nji,nj->ni", R, x - p), low, high)
    return p + np.einsum("nij,nj->ni", R, inside)
