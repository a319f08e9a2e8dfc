"""Bounded convex parts of frames, and their extents.

The functions take orientations R (m, 3, 3) and origins p (m, 3) of some frames. Sizes
and numbers of parts and their poses in the frames are data, in arrays whose names begin
with a prefix; only classes of their numbers are static.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise import collision
from posewise.collision.cores import support_function
from posewise.collision.vec3_tuple import vector_components
from posewise.compilation.capacity import Capacity, capacity_at_hand, capacity_class
from posewise.features.parts import (
    PartKinds,
    part_columns,
    part_poses,
    vertex_class,
    with_prefix,
)
from posewise.features.symbol import Arrays, TracedArrays
from posewise.robots.contact.body_table import (
    HULL_RANK,
    PLANE_RANK,
    bodies_of_frames,
)
from posewise.robots.world.frame import Frame

from ..errors import PredicateError

BOX_CORNERS = np.stack(np.meshgrid(*[[0.0, 1.0]] * 3), -1).reshape(-1, 3)
"""Corners of a box (8, 3), by 0 for the lowest and 1 for the highest coordinate."""


class PartTypes(NamedTuple):
    """Static properties of the bounded parts of some frames."""

    prefix: str
    """Prefix of the names of their arrays."""
    has_hulls: bool
    """Whether some may be hulls."""


def bounded_parts(
    frames: Sequence[Frame], positions: Sequence[int], prefix: str
) -> tuple[PartTypes, Arrays]:
    """Return the parts of frames, all of which are bounded, and their arrays.

    Copies of the first part follow them, up to a class of capacity.

    Args:
        frames: with the parts.
        positions: of these frames among those whose poses are given later.
        prefix: of the names of the arrays.

    Raises:
        PredicateError: for planes, which have no size.
    """
    bodies = bodies_of_frames(frames)
    for i in bodies.frame[bodies.rank == PLANE_RANK]:
        raise PredicateError(
            f"{frames[i].name!r} is a plane, which has no size to be relaxed; name a"
            " bounded object."
        )
    num_parts = capacity_class(len(bodies.rank), 1)
    need = Capacity(frozenset(), (num_parts, vertex_class(bodies)))
    num_parts, num_vertices = capacity_at_hand(("parts", prefix), need).counts
    arrays = part_columns(bodies, num_vertices)
    arrays["at"] = np.array(positions)[bodies.frame]
    # Each part is the sum of a box, an ellipsoid, a ball, and a hull.
    arrays["half"] = np.where((bodies.rank == HULL_RANK)[:, None], 0.0, bodies.half)
    rows = np.minimum(np.arange(num_parts), len(bodies.rank)) % len(bodies.rank)
    padded = {f"{prefix}{name}": x[rows] for name, x in arrays.items()}
    return PartTypes(prefix, num_vertices > 0), padded


def count_parts(parts: PartTypes | PartKinds, arrays: Arrays) -> int:
    """Return the number of parts, with those that fill up a class."""
    if isinstance(parts, PartTypes):
        return len(arrays[f"{parts.prefix}at"])
    return sum(len(arrays[f"{parts.prefix}{rank}_at"]) for rank in parts.ranks)


def part_extents(
    parts: PartTypes,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    axes: Float[jax.Array, "*parts n 3"],
    arrays: TracedArrays,
) -> tuple[Float[jax.Array, "parts n"], Float[jax.Array, "parts n"]]:
    """Return lowest and highest coordinate of each part along axes of the world [m].

    The axes are the same for all parts, or have another axis for parts.
    """
    group = with_prefix(arrays, parts.prefix)
    R_part, centre = part_poses(R, p, group)
    axes = jnp.broadcast_to(axes, (len(centre), *axes.shape[-2:]))
    middle = jnp.einsum("nj,naj->an", centre, axes)
    core = collision.BoxPlusEllipsoid(group["half"], group["radii"])
    # The extent along d is the support function h(d) = max over x of d·x; those of the
    # summands of a Minkowski sum add up.
    d = vector_components(jnp.einsum("nij,nai->naj", R_part, axes))
    symmetric = support_function(core, d) + group["radius"]
    ends = []
    for sign in (-1.0, 1.0):
        far = symmetric
        if parts.has_hulls:
            hull = collision.Hull(group["vertices"])
            far = far + support_function(hull, tuple(sign * x for x in d))
        ends.append((middle + sign * far).T)
    return ends[0], ends[1]


def part_corners(
    parts: PartTypes,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: TracedArrays,
) -> Float[jax.Array, "parts 8 3"]:
    """Return the corners of a box around each part, along its axes, in the world."""
    R_part, _ = part_poses(R, p, with_prefix(arrays, parts.prefix))
    axes = jnp.swapaxes(R_part, -1, -2)
    low, high = part_extents(parts, R, p, axes, arrays)
    along = low[:, None] + BOX_CORNERS * (high - low)[:, None]
    return along @ axes
