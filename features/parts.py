"""Convex parts of frames as arrays of compiled programs.

The functions take orientations R (m, 3, 3) and origins p (m, 3) of some frames. Sizes
and numbers of parts and their poses in the frames are data, in arrays whose names begin
with a prefix; only kinds of parts and classes of their numbers are static.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise import collision
from posewise.compilation.arrays import Array
from posewise.compilation.capacity import Capacity, capacity_at_hand, capacity_class
from posewise.robots.contact.body_table import (
    CORES_BY_RANK,
    HULL_RANK,
    MIN_VERTICES,
    BodyArrays,
    bodies_of_frames,
    make_core,
    pad_vertices,
)
from posewise.robots.world.frame import Frame

from .symbol import Arrays, TracedArrays

PARKED_DISTANCE = 1e6
"""Distance below its frame of a part that stands for none [m]: farther than any sight,
so that it hides nothing and is the nearest of no others."""


class PartKinds(NamedTuple):
    """Kinds of the convex parts of some frames, group by group."""

    ranks: tuple[int, ...]
    """Rank of the cores of each group."""
    prefix: str
    """Prefix of the names of their arrays."""


def all_parts(
    frames: Sequence[Frame], positions: Sequence[int], prefix: str
) -> tuple[PartKinds, Arrays]:
    """Return the parts of frames, planes included, and their arrays.

    Parts of one kind are one batch, so that a program has one computation per kind.
    Each batch ends with points that are far away, up to a class of capacity.

    Args:
        frames: with the parts.
        positions: of these frames among those whose poses are given later.
        prefix: of the names of the arrays.
    """
    bodies = bodies_of_frames(frames)
    count = np.bincount(bodies.rank, minlength=len(CORES_BY_RANK))
    classes = tuple(capacity_class(n, 1) if n else 0 for n in count.tolist())
    need = Capacity(frozenset(), (*classes, vertex_class(bodies)))
    *sizes, num_vertices = capacity_at_hand(("all parts", prefix), need).counts
    arrays: Arrays = {}
    ranks = tuple(np.flatnonzero(sizes).tolist())
    place = np.array(positions, int)
    for rank in ranks:
        rows = np.flatnonzero(bodies.rank == rank)
        missing = sizes[rank] - len(rows)
        vertices = num_vertices if rank == HULL_RANK else 0
        columns = part_columns(bodies, vertices) | {"at": place[bodies.frame]}
        for name, x in columns.items():
            absent = np.zeros((missing, *x.shape[1:]), x.dtype)
            if name == "pose":
                absent[..., :3], absent[..., 2, 3] = np.eye(3), -PARKED_DISTANCE
            arrays[f"{prefix}{rank}_{name}"] = np.concatenate([x[rows], absent])
    return PartKinds(ranks, prefix), arrays


def part_columns(bodies: BodyArrays, num_vertices: int) -> Arrays:
    """Return the arrays of bodies as parts, one row for each.

    Args:
        bodies: the parts.
        num_vertices: number of vertices of each part, zeros for those that are no
            hulls; 0: none.
    """
    columns: Arrays = {
        "at": bodies.frame,
        "pose": bodies.pose,
        "half": bodies.half,
        "radii": bodies.radii,
        "radius": bodies.radius,
    }
    if num_vertices:
        no_hull = np.zeros((1, num_vertices, 3))
        vertices = pad_vertices(bodies.vertices, num_vertices)
        # The row of a body that is no hull is -1.
        columns["vertices"] = np.concatenate([vertices, no_hull])[bodies.hull]
    return columns


def vertex_class(bodies: BodyArrays) -> int:
    """Return the class of the number of vertices of hulls; 0 without hulls."""
    if not len(bodies.vertices):
        return 0
    return capacity_class(bodies.vertices.shape[1], MIN_VERTICES)


def posed_parts(
    parts: PartKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: TracedArrays,
) -> Iterator[collision.Body]:
    """Yield the parts at their poses in the world, one batch for each kind."""
    for rank in parts.ranks:
        group = with_prefix(arrays, f"{parts.prefix}{rank}_")
        core = part_core(CORES_BY_RANK[rank], group)
        yield collision.Body(core, group["radius"], *part_poses(R, p, group))


def part_core(core: type[collision.Core], arrays: TracedArrays) -> collision.Core:
    """Return the cores of parts, all of one type; see `part_columns`."""
    rows = np.arange(len(arrays["at"]))
    # a table that has no hulls may be that of a program that serves some
    vertices = arrays.get("vertices", np.zeros((len(rows), 1, 3)))
    return make_core(core, arrays["half"], arrays["radii"], rows, vertices)


def part_poses(
    R: Float[jax.Array, "m 3 3"], p: Float[jax.Array, "m 3"], arrays: TracedArrays
) -> tuple[Float[jax.Array, "n 3 3"], Float[jax.Array, "n 3"]]:
    """Return orientations and centres of parts in the world.

    Args:
        R: orientations of frames.
        p: origins of frames.
        arrays: with the frame of each part, "at", and its "pose" there (n, 3, 4).
    """
    R_frame, pose = gather_rows(R, arrays["at"]), arrays["pose"]
    centre = jnp.einsum("nij,nj->ni", R_frame, pose[:, :, 3])
    return R_frame @ pose[:, :, :3], centre + gather_rows(p, arrays["at"])


def with_prefix(arrays: TracedArrays, prefix: str) -> dict[str, Any]:
    """Return the arrays whose names begin with a prefix, without it."""
    return {
        name.removeprefix(prefix): x
        for name, x in arrays.items()
        if name.startswith(prefix)
    }


def gather_rows(
    x: Float[Array, "m ..."], rows: Int[Array, " n"]
) -> Float[jax.Array, "n ..."]:
    """Return x[rows], computed as a product with a one-hot matrix."""
    # The reverse derivative of an index is a scatter, which is slow on CPUs and under
    # vmap; that of a product is a product.
    one_hot = (jnp.asarray(rows)[:, None] == np.arange(len(x))).astype(x.dtype)
    return jnp.tensordot(one_hot, x, 1)
