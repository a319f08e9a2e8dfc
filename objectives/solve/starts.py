"""Random initial paths."""

import numpy as np
from jaxtyping import Float

from ..chain.contact_forces import initialize_contacts
from ..chain.modes import ModeSequence

GOAL_FRACTIONS = (0.5, 0.5, 0.5, 1.0)
"""So much of the way to a random configuration is gone, by turns: from ends nearer to
home more solves end feasible, but a few targets are found from afar only."""


def sample_initial_paths(
    modes: ModeSequence,
    q: Float[np.ndarray, " nq"],
    given: Float[np.ndarray, "T nq"],
    seed: int,
    count: int,
) -> Float[np.ndarray, "count T nq"]:
    """The given path, then random ones; all within the limits.

    A random path runs straight from the present state towards a configuration drawn
    uniformly within the limits (or within ±1 of the state where there are none), see
    `GOAL_FRACTIONS`. What slices share is drawn once, but nothing jumps where it is
    attached: see `ModeSequence.settled`. Points of attack start where the frames are
    nearest, and forces push there: see `initialize_contacts`.

    Args:
        modes: the world with its mode switches.
        q: its present state.
        given: the first path.
        seed: of the random ones.
        count: how many in all.
    """
    limits = modes.world.limits
    paths = [np.clip(given, *limits)]
    if count > 1:
        paths += _random_paths(modes, q, len(given), limits, seed, count - 1)
    return initialize_contacts(modes, np.stack([modes.settled(path) for path in paths]))


def _random_paths(
    modes: ModeSequence,
    q: np.ndarray,
    T: int,
    limits: np.ndarray,
    seed: int,
    count: int,
) -> list[np.ndarray]:
    C = modes.world
    rng = np.random.default_rng(seed)
    low = np.where(np.isfinite(limits[0]), limits[0], np.minimum(q, limits[1]) - 1)
    high = np.where(np.isfinite(limits[1]), limits[1], np.maximum(q, low) + 1.0)
    paths = []
    share = np.tile(np.arange(1, T + 1)[:, None] / T, (1, C.nq))
    share[:, modes.shared_coordinates] = 1.0
    for k in range(count):
        goal = rng.uniform(low, high)
        for first in C.quaternions:
            part = slice(first, first + 4)
            goal[part] = rng.normal(size=4)
            goal[part] /= np.linalg.norm(goal[part])
            goal[part] *= 1.0 if goal[part] @ q[part] >= 0 else -1.0
        path = q + GOAL_FRACTIONS[k % len(GOAL_FRACTIONS)] * share * (goal - q)
        for first in C.quaternions:
            part = path[:, first : first + 4]
            part /= np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-9)
        paths.append(np.clip(path, *limits))
    return paths
