"""Distances of bodies swept along straight ways between configurations: lower bounds.

A way is cut into parts. In the middle of each the bodies are measured, and on it their
distance falls by no more than `BodyMotion.loss` says.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.compilation.precision import full_matmul_precision
from posewise.robots.contact.body_table import NO_PAIR_NUMBER, PLANE_KINDS
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.kinematics.manifold import difference, integrate
from posewise.robots.kinematics.motion_bounds import dof_rates

from ..pair_types import PairTypes
from .body_motion import BodyMotion, bounds_of_motion
from .contact_tangents import frame_contacts
from .frame_contacts import Indices, Shapes, core_radii
from .near_pairs import PairBatch, PairLocation
from .sources import PairSource


class Parts(NamedTuple):
    """Parts of straight ways, those of a way one after the other."""

    middle: Float[Array, "*batch parts nq"]
    """Configurations in the middle of the parts."""
    half: Float[Array, "*batch parts nv"]
    """Tangent vectors from the middles to the ends of the parts."""


def parts_of_ways(
    K: Kinematics,
    begin: Float[Array, "*batch nq"],
    end: Float[Array, "*batch nq"],
    count: int,
) -> Parts:
    """Return equal parts of straight ways between configurations."""
    step = difference(K.tree, begin, end)[..., None, :]
    fraction = ((np.arange(count) + 0.5) / count).astype(begin.dtype)[:, None]
    xp = begin.__array_namespace__()
    starts = xp.broadcast_to(
        begin[..., None, :], (*begin.shape[:-1], count, begin.shape[-1])
    )
    half = step / (2 * count) * np.ones_like(fraction)
    return Parts(integrate(K.tree, starts, fraction * step), half)


def swept_distances(
    types: PairTypes,
    K: Kinematics,
    R: Float[Array, "rows nodes 3 3"],
    p: Float[Array, "rows nodes 3"],
    twists: Float[Array, "rows dofs 6"],
    half: Float[Array, "rows nv"],
    shapes: Shapes,
    table: Indices,
    cutoff: Float[Array, ""] | None,
) -> Float[jax.Array, "rows ends"]:
    """Return lower bounds of distances on intervals, differentiable as distances are.

    Args:
        types: of the pairs; static.
        K: kinematics.
        R: rotations of what carries the bodies, in the middle of the intervals.
        p: positions [m].
        twists: of the dofs.
        half: tangent vectors from the middles to the ends.
        shapes: of the bodies, see `complete_shapes`.
        table: which bodies there are, on what, and which pairs of them.
        cutoff: bounds above it need not be close [m]; None: all are.
    """
    motion, location, farthest = _motion(types, K, R, p, twists, half, shapes, table)
    if cutoff is not None:
        # What is beyond both in the middle is beyond the cutoff everywhere.
        farthest = cutoff + jax.lax.stop_gradient(farthest)
    # Of two frames each pair of bodies counts, since others than the nearest may move.
    one_each, of_bodies = _by_bodies(types, table)
    each = frame_contacts(
        one_each, R, p, shapes, of_bodies, None if cutoff is None else farthest
    )
    lower: jax.Array = _lower_bounds(
        types, len(table["ends"]), motion, location, each.distance, each.normal
    )
    return lower


@partial(jax.jit, static_argnums=0)
@full_matmul_precision
def _motion(
    types: PairTypes,
    K: Kinematics,
    R: jax.Array,
    p: jax.Array,
    twists: jax.Array,
    half: jax.Array,
    shapes: Shapes,
    table: Indices,
) -> tuple[BodyMotion, PairLocation, jax.Array]:
    """Return the motion of bodies, their pairs, and the farthest of all motions [m].

    Pairs (pairs, rows) are along one axis.
    """
    node = table["body_frame"]
    centers = p[:, node] + jnp.einsum("rbij,bj->rbi", R[:, node], shapes.pose[..., 3])
    moves = jnp.asarray(K.tree.node_dof_mask)[node]
    rates = dof_rates(K, half)
    size = core_radii(shapes, table)[None], jnp.asarray(shapes.radius)[None]
    has_planes = not PLANE_KINDS.isdisjoint(types.kinds)
    bounds, radii = bounds_of_motion(has_planes, K, twists, rates, centers, size, moves)
    motion = BodyMotion.of(bounds, twists * rates[..., None], moves, centers, radii)
    of_shapes = shapes._asdict() | {"core_radius": core_radii(shapes, table)}
    of_shapes["body_pose"] = of_shapes.pop("pose")
    params = {k: jnp.asarray(v)[None] for k, v in (table | of_shapes).items()}
    batch = PairBatch([PairSource(types, R, p, params)])
    location = batch.locate(np.arange(len(p) * len(table["kind"])))
    moved = motion.relative(motion.displacement, location)
    is_pair = jnp.repeat(table["kind"] != NO_PAIR_NUMBER, len(p))
    return (
        motion,
        location,
        jnp.max(jnp.where(is_pair & jnp.isfinite(moved), moved, 0.0)),
    )


def _by_bodies(types: PairTypes, table: Indices) -> tuple[PairTypes, Indices]:
    """Return a table in which each pair of bodies is that of two frames."""
    if not types.has_unions:
        return types, table
    row, other = table["end_row"], {k: v for k, v in table.items() if k != "end_row"}
    ends = {name: table[name][row] for name in ("ends", "margin")}
    return types._replace(has_unions=False), other | ends


@partial(jax.jit, static_argnums=(0, 1))
def _lower_bounds(
    types: PairTypes,
    ends: int,
    motion: BodyMotion,
    location: PairLocation,
    distance: jax.Array,
    normal: jax.Array,
) -> jax.Array:
    """Return lower bounds of distances of pairs of frames (rows, ends).

    Args:
        types: of the pairs; static.
        ends: number of pairs of frames; static.
        motion: of the bodies.
        location: all pairs of bodies.
        distance: of each pair of bodies in the middle of the intervals (rows, pairs).
        normal: of their nearest points, zero for what is not measured.
    """
    rows, pairs = distance.shape
    normals = jnp.moveaxis(normal, 0, 1).reshape(-1, 3)
    middle = distance.T.reshape(-1)
    is_measured = jnp.any(normals != 0, -1)
    lower = jnp.where(is_measured, middle - motion.loss(location, normals), middle)
    if not types.has_unions:
        return lower.reshape(pairs, rows).T
    # What could not be computed is the least.
    known = jax.lax.stop_gradient(jnp.where(jnp.isnan(lower), -jnp.inf, lower))
    least = jax.ops.segment_min(known, location.end, rows * ends)
    is_least = known == least[location.end]
    place = jnp.where(is_least, jnp.arange(len(lower)), len(lower) - 1)
    first = jax.ops.segment_min(place, location.end, rows * ends)
    return lower[jnp.minimum(first, len(lower) - 1)].reshape(rows, ends)
