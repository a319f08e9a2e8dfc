"""Small balls around points."""

import numpy as np
from jaxtyping import Float

from ...kinematics.transforms import IDENTITY
from ..shapes import Sphere
from .surface import CONTAINMENT_MARGIN, PosedShape

STEPS = 50
"""Motions of a ball's centre (count); the radius is too large by a fraction of about
one over their square root at most, and far less in practice."""


def ball_centre(points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "3"]:
    """Return the centre of nearly the smallest ball around points.

    The centre moves to the farthest point, by a share that falls with the number of
    steps (Bădoiu and Clarkson, Smaller core-sets for balls, 2003).
    """
    centre = (points.min(0) + points.max(0)) / 2
    best, least = centre, np.inf
    for k in range(STEPS):
        offsets = points - centre
        squared = np.einsum("ij,ij->i", offsets, offsets)
        farthest = squared.argmax()
        if squared[farthest] < least:
            best, least = centre, squared[farthest]
        centre = centre + offsets[farthest] / (k + 3)
    return best


def enclosing_sphere(points: Float[np.ndarray, "n 3"]) -> PosedShape:
    """Return nearly the smallest ball around points.

    Args:
        points: At least one, finite.
    """
    centre = ball_centre(points)
    radius = float(np.linalg.norm(points - centre, axis=1).max())
    pose = np.concatenate([centre, IDENTITY[3:]])
    return PosedShape(Sphere(radius * (1 + CONTAINMENT_MARGIN)), pose)
