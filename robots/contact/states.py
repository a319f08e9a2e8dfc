"""States in which the links of a robot are tested for contact, and usual distances."""

import numpy as np
from jaxtyping import Float

from ..kinematics.forward import forward_pass
from ..world.fit_collisions import unfitted
from ..world.frame_tree import FrameTree
from .bodies import body_radii, frame_bodies
from .collision_pairs import can_collide

MAX_CLEARANCE = 0.01
"""Distance that a path usually keeps from other links, of robots of 0.5 m and more [m];
with a larger one more links are fitted closer, and more pairs excluded."""
CLEARANCE_PER_SIZE = 0.02
"""The same, as a fraction of the size of a smaller robot."""


def home_within_limits(tree: FrameTree) -> Float[np.ndarray, " nq"]:
    """Return the home, its coordinates outside of their limits in their middle."""
    K = tree.model.kinematics
    lower, upper = K.limits
    is_inside = (lower <= K.home) & (K.home <= upper)
    nearest = np.clip(K.home, lower, upper)
    with np.errstate(invalid="ignore"):
        middle = (lower + upper) / 2
    return np.where(is_inside, K.home, np.where(np.isfinite(middle), middle, nearest))


def random_states(
    tree: FrameTree, samples: int, rng: np.random.Generator
) -> Float[np.ndarray, "samples nq"]:
    """Return states uniform within the limits, or within ±pi of home without any."""
    K = tree.model.kinematics
    home, (lower, upper) = home_within_limits(tree), K.limits
    low = np.where(np.isfinite(lower), lower, home - np.pi)
    high = np.where(np.isfinite(upper), upper, home + np.pi)
    # One limit alone may lie beyond the range about home.
    q = rng.uniform(np.minimum(low, high), np.maximum(low, high), (samples, len(home)))
    for first, _ in K.tree.balls:
        w = rng.normal(size=(samples, 4))
        q[:, first : first + 4] = w / np.linalg.norm(w, axis=1, keepdims=True)
    return q


def usual_clearance(tree: FrameTree) -> float:
    """Return the distance that a path usually keeps between links of a world [m].

    It is smaller for small worlds: a fraction of the diagonal of the box around the
    bodies at home, before a fit and without half-spaces.
    """
    R, p = forward_pass(tree.model.kinematics, home_within_limits(tree)).frames
    corners = []
    for i, frame in enumerate(map(unfitted, tree.frames)):
        for group in frame_bodies(frame) if can_collide(frame) else []:
            radii = body_radii(group.body)[:, None]
            bounded = np.isfinite(radii[:, 0])
            centers = (p[i] + np.asarray(group.body.p) @ R[i].T)[bounded]
            corners += [centers - radii[bounded], centers + radii[bounded]]
    if not corners:
        return MAX_CLEARANCE
    size = float(np.linalg.norm(np.ptp(np.concatenate(corners), axis=0)))
    return min(MAX_CLEARANCE, CLEARANCE_PER_SIZE * size)
