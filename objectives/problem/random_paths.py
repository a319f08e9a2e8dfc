"""Random initial paths of multistart."""

import numpy as np
from jaxtyping import Float

from ..chain.contact_paths import initialize_contacts
from ..chain.modes import ModeSequence

GOAL_FRACTIONS = (0.5, 0.5, 0.5, 1.0)
"""Fraction of the way to a random configuration, cyclically over the starts.

With fractions below 1 paths end nearer to the present state, and more solves end
feasible; with 1 they reach targets that are found only from far away.
"""


def sample_initial_paths(
    modes: ModeSequence,
    q: Float[np.ndarray, " nq"],
    first_path: Float[np.ndarray, "T nq"],
    seed: int,
    count: int,
) -> Float[np.ndarray, "count T nq"]:
    """Return a given path, then random ones, all within the limits.

    A random path runs straight from the present state towards a configuration drawn
    uniformly within the limits, or within ±1 of the state for coordinates without
    limits; see `GOAL_FRACTIONS`. Coordinates that all slices share are drawn once, and
    then changed so that frames do not jump when they are attached; see
    `ModeSequence.without_jumps`. Contacts begin with points of attack between the
    frames and with small forces; see `initialize_contacts`.

    Args:
        modes: the world with its mode switches.
        q: present state of that world.
        first_path: the first of the paths.
        seed: of the random paths.
        count: number of paths, the first one included.
    """
    limits = modes.world.limits
    paths = [np.clip(first_path, *limits)]
    if count > 1:
        paths += _random_paths(modes, q, len(first_path), limits, seed, count - 1)
    return initialize_contacts(
        modes, np.stack([modes.without_jumps(path) for path in paths])
    )


def _random_paths(
    modes: ModeSequence,
    q: np.ndarray,
    T: int,
    limits: np.ndarray,
    seed: int,
    count: int,
) -> list[np.ndarray]:
    """Return random paths within the limits, before attachments are placed."""
    C = modes.world
    rng = np.random.default_rng(seed)
    low = np.where(np.isfinite(limits[0]), limits[0], np.minimum(q, limits[1]) - 1)
    high = np.where(np.isfinite(limits[1]), limits[1], np.maximum(q, low) + 1.0)
    paths = []
    progress = np.tile(np.arange(1, T + 1)[:, None] / T, (1, C.nq))
    # Slices have the same value of a shared coordinate, so it jumps to its goal.
    progress[:, modes.shared_coordinates] = 1.0
    for k in range(count):
        goal = rng.uniform(low, high)
        for first in C.joints.quaternions:
            part = slice(first, first + 4)
            goal[part] = rng.normal(size=4)
            goal[part] /= np.linalg.norm(goal[part])
            # q and -q are the same rotation: choose the sign nearer to the state.
            goal[part] *= 1.0 if goal[part] @ q[part] >= 0 else -1.0
        path = q + GOAL_FRACTIONS[k % len(GOAL_FRACTIONS)] * progress * (goal - q)
        for first in C.joints.quaternions:
            part = path[:, first : first + 4]
            part /= np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-9)
        paths.append(np.clip(path, *limits))
    return paths
