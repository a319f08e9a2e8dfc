"""Vertical lines through bodies: where each enters and leaves them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .gjk_numpy import PosedFrame
from .ray_casting import intersect_lines

MAX_CARRIED_GAP = 5e-3
"""Distance up to which a surface below an object carries it [m]; less takes what is
placed within the tolerance of a solver for something in the air."""


class VerticalSpans(NamedTuple):
    """The stretches of vertical lines that are in convex bodies."""

    bottom: Float[np.ndarray, "lines bodies"]
    """Heights at which lines enter bodies [m]; inf: they miss."""
    top: Float[np.ndarray, "lines bodies"]
    """Heights at which lines leave bodies [m]; -inf: they miss."""
    frames: Int[np.ndarray, " bodies"]
    """For each body the number of its frame among those given."""


def vertical_spans(
    frames: Sequence[PosedFrame], places: Float[np.ndarray, "lines 2"]
) -> VerticalSpans:
    """Return where vertical lines enter and leave the convex bodies of frames.

    Args:
        frames: with their orientations and origins in the world.
        places: x and y of the lines [m].
    """
    points = np.column_stack([places, np.zeros(len(places))])
    missed = np.zeros((len(places), 0))
    bottoms, tops, owners = [missed], [missed], list[int]()
    for k, (frame, R, p) in enumerate(frames):
        up = np.broadcast_to(R.T @ [0.0, 0.0, 1.0], points.shape)
        spans = intersect_lines(frame, (points - p) @ R, up)
        bottoms.append(spans[0])
        tops.append(spans[1])
        owners += [k] * spans[0].shape[1]
    numbers = np.array(owners, int)
    return VerticalSpans(np.concatenate(bottoms, 1), np.concatenate(tops, 1), numbers)


def columns_of_box(
    low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"], count: int
) -> Float[np.ndarray, "lines 2"]:
    """Return x and y of the middles of columns of a box.

    Args:
        low: its lower corner [m].
        high: its upper corner [m].
        count: of columns along each edge.
    """
    steps = (np.arange(count) + 0.5) / count
    x, y = np.meshgrid(*(low[:2] + (high - low)[:2] * steps[:, None]).T)
    return np.column_stack([x.ravel(), y.ravel()])
