"""Shorter paths by straight motions between random places on them.

After Geraerts and Overmars 2007, "Creating high-quality paths for motion planning".
"""

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.manifold import difference, integrate
from posewise.solvers.deadline import passed_deadline

from .free_space import FreeSpace

MIN_SAVING = 1e-6
"""Least length that a shortcut saves [rad, m]; smaller ones are rounding."""
ATTEMPTS_PER_ROUND = 16
"""Number of shortcuts that are checked together (count), of which all that save
something and do not overlap are taken. More fill calls better; fewer see the gains of
those before."""


def shorten(
    space: FreeSpace,
    corners: Float[np.ndarray, "n nq"],
    rng: np.random.Generator,
    rounds: int,
) -> Float[np.ndarray, "m nq"]:
    """Return the corners of a shorter free path with the same ends.

    A deadline that passes ends the search for it.
    """
    for _ in range(rounds):
        if len(corners) <= 2 or passed_deadline():
            break
        lengths = arc_lengths(space, corners)
        ends = np.sort(rng.uniform(0, lengths[-1], (ATTEMPTS_PER_ROUND, 2)), 1)
        a = points_at(space, corners, lengths, ends[:, 0])
        b = points_at(space, corners, lengths, ends[:, 1])
        direct = np.linalg.norm(difference(space.K.tree, a, b), axis=1)
        saved = ends[:, 1] - ends[:, 0] - direct
        saves = np.flatnonzero(saved > MIN_SAVING)
        saves = saves[space.reachable(a[saves], b[saves]) >= 1]
        is_kept, places = np.ones(len(corners), bool), [lengths]
        points, shortcuts = [corners], np.zeros((0, 2))
        for k in saves[np.argsort(-saved[saves], kind="stable")]:
            first, last = ends[k]
            if ((shortcuts[:, 0] < last) & (first < shortcuts[:, 1])).any():
                continue
            shortcuts = np.vstack([shortcuts, ends[k]])
            is_kept &= (lengths < first) | (lengths > last)
            points.append(np.stack([a[k], b[k]]))
            places.append(ends[k])
        keep = np.concatenate([is_kept, np.ones(2 * len(shortcuts), bool)])
        order = np.argsort(np.concatenate(places)[keep], kind="stable")
        corners = np.concatenate(points)[keep][order]
    return corners


def arc_lengths(
    space: FreeSpace, corners: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, " n"]:
    """Return the length of a path up to each corner."""
    steps = difference(space.K.tree, corners[:-1], corners[1:])
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(steps, axis=1))])


def points_at(
    space: FreeSpace,
    corners: Float[np.ndarray, "n nq"],
    lengths: Float[np.ndarray, " n"],
    at: Float[np.ndarray, " k"],
) -> Float[np.ndarray, "k nq"]:
    """Return the configurations of a path at some lengths."""
    before = np.searchsorted(lengths, at, side="right") - 1
    segment = np.clip(before, 0, len(corners) - 2)
    span = np.maximum(lengths[segment + 1] - lengths[segment], 1e-12)
    fraction = np.clip((at - lengths[segment]) / span, 0.0, 1.0)
    step = difference(space.K.tree, corners[segment], corners[segment + 1])
    return integrate(space.K.tree, corners[segment], fraction[:, None] * step)


def points_with_corners(
    space: FreeSpace, corners: Float[np.ndarray, "n nq"], count: int
) -> Float[np.ndarray, "count nq"]:
    """Return points along a path with the corners among them, about evenly spread.

    With fewer points than corners they are evenly spread, and corners are cut.
    """
    if len(corners) == 1:
        return np.tile(corners, (count, 1))
    lengths = arc_lengths(space, corners)
    if count < len(corners):
        return points_at(space, corners, lengths, np.linspace(0, lengths[-1], count))
    # Each further point goes where points are farthest apart.
    parts, steps = np.ones(len(corners) - 1, int), np.diff(lengths)
    for _ in range(count - len(corners)):
        parts[np.argmax(steps / parts)] += 1
    lengths_of_points = [
        np.linspace(lengths[k], lengths[k + 1], n, endpoint=False)
        for k, n in enumerate(parts)
    ]
    return points_at(
        space,
        corners,
        lengths,
        np.append(np.concatenate(lengths_of_points), lengths[-1]),
    )
