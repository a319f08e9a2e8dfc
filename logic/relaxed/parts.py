"""Convex parts of frames as arrays: how far they reach, and how far apart they are.

Functions of the poses of some frames. Which kinds of parts there are is static; sizes
and places in the frames are numbers, under names that begin with a prefix.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise import collision
from posewise.collision.cores import height
from posewise.collision.vectors import vector

from ...robots.bodies import frame_bodies
from ...robots.frame import Frame
from ...robots.meetings import Kinds, evaluate_groups, meetings, packed
from ..errors import PredicateError


class Parts(NamedTuple):
    """Kinds of the convex parts of frames, group by group."""

    kinds: tuple[Any, ...]
    prefix: str


def parts_of(
    frames: Sequence[Frame], prefix: str
) -> tuple[Parts, dict[str, np.ndarray]]:
    """The parts of frames, and their numbers.

    Raises:
        PredicateError: for planes, which have no size.
    """
    kinds: list[Any] = []
    arrays: dict[str, np.ndarray] = {}
    for i, frame in enumerate(frames):
        for group in frame_bodies(frame):
            body, g = group.body, len(kinds)
            if group.kind[0] is collision.HalfSpace:
                raise PredicateError(
                    f"{frame.name!r} is a plane, which has no size to be relaxed; name"
                    " something bounded."
                )
            leaves = (*body.core, *body[1:], np.full(len(group), i))
            arrays |= {f"{prefix}{g}_{k}": np.asarray(x) for k, x in enumerate(leaves)}
            kinds.append(group.kind[0])
    return Parts(tuple(kinds), prefix), arrays


def reaches(
    parts: Parts,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    axes: Float[jax.Array, "n 3"],
    arrays: dict[str, jax.Array],
) -> tuple[Float[jax.Array, "parts n"], Float[jax.Array, "parts n"]]:
    """Lowest and highest coordinate of each part along axes of the world [m]."""
    low: list[jax.Array] = []
    high: list[jax.Array] = []
    for g, core in enumerate(parts.kinds):
        n = len(core._fields)
        leaves = [arrays[f"{parts.prefix}{g}_{k}"] for k in range(n + 4)]
        frame = leaves[n + 3]
        body_R = R[frame] @ leaves[n + 1]
        centre = p[frame] + jnp.einsum("nij,nj->ni", R[frame], leaves[n + 2])
        middle = jnp.einsum("nj,aj->an", centre, axes)
        for sign, ends in ((-1.0, low), (1.0, high)):
            d = jnp.einsum("nij,ai->naj", body_R, sign * axes)
            far = height(core(*leaves[:n]), vector(d)) + leaves[n]
            ends.append((middle + sign * far).T)
    return jnp.concatenate(low), jnp.concatenate(high)


class Distances(NamedTuple):
    """Kinds of the pairs of parts that meet."""

    kinds: Kinds


def distances_of(
    frames: Sequence[Frame], pairs: Sequence[tuple[int, int]]
) -> tuple[Distances, dict[str, np.ndarray]]:
    """All pairs of parts of pairs of frames, and their numbers.

    `table` has, for each pair of frames, where the distances of its parts are.
    """
    meets = meetings(frames, pairs)
    kinds, arrays = packed(meets)
    owner = np.concatenate([m.pair for m in meets])
    table = [np.flatnonzero(owner == k) for k in range(len(pairs))]
    arrays |= {"at": np.array(pairs), "all": np.concatenate(table)}
    return Distances(kinds), arrays


def distances(
    which: Distances,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: dict[str, jax.Array],
) -> Float[jax.Array, " pairs"]:
    """Signed distance of each pair of parts [m], one pair of frames after the other."""
    at = arrays["at"]
    found = evaluate_groups(which.kinds, R[at], p[at], arrays).distance
    return found[arrays["all"]]
