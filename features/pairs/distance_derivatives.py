"""Derivatives of the distances of many pairs of frames, by Danskin's theorem."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Float

from posewise.collision import HalfSpace, Hull
from posewise.collision.contact_derivatives import vertex_weights
from posewise.compilation.arrays import Array
from posewise.compilation.precision import full_matmul_precision
from posewise.robots.contact.body_table import CORES_OF_KIND, PairKind

from ..pair_types import PairTypes
from .frame_contacts import FrameContacts, Indices, Shapes, frame_contacts

_IS_HULL, _IS_PLANE = (
    np.array([[core is chosen for core in CORES_OF_KIND[kind]] for kind in PairKind])
    for chosen in (Hull, HalfSpace)
)
"""Cores A and B of each kind of pair that are measured as hulls, as half-spaces."""


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def frame_distances(
    types: PairTypes,
    R: Float[Array, "rows nodes 3 3"],
    p: Float[Array, "rows nodes 3"],
    shapes: Shapes,
    table: Indices,
    cutoff: Float[Array, ""] | None,
) -> Float[jax.Array, "rows ends"]:
    """Return signed distances of pairs of frames, at most the cutoff.

    Derivatives by poses and shapes are exact almost everywhere. Second ones are
    refused, since those of the normals are not computed.

    Args:
        types: of the pairs; static.
        R: rotations of what carries the bodies.
        p: positions [m].
        shapes: of the bodies.
        table: which bodies there are, on what, and which pairs of them.
        cutoff: distance above which pairs are not measured [m]; None: all are.
    """
    out = frame_contacts(types, R, p, shapes, table, cutoff)
    return jnp.asarray(out.distance)


@full_matmul_precision
def _distance_tangents(types: PairTypes, primals: Any, tangents: Any) -> Any:
    R, p, shapes, table, cutoff = primals
    contacts = frame_contacts(types, *primals)
    has_moving_vertices = not isinstance(tangents[2].vertices, SymbolicZero)
    separation = _separation_at(contacts, R, p, shapes, table, has_moving_vertices)
    moving = [
        jnp.zeros(t.shape, t.dtype) if isinstance(t, SymbolicZero) else t
        for t in jax.tree.leaves(tangents[:3], is_leaf=_is_symbolic_zero)
    ]
    moving = jax.tree.unflatten(jax.tree.structure(primals[:3]), moving)
    _, moved = jax.jvp(separation, (R, p, shapes), tuple(moving))
    beyond = tangents[4]
    beyond = 0.0 if beyond is None or isinstance(beyond, SymbolicZero) else beyond
    is_measured = jnp.any(contacts.normal != 0, -1)
    return contacts.distance, jnp.where(is_measured, moved, beyond)


def _is_symbolic_zero(x: Any) -> bool:
    return isinstance(x, SymbolicZero)


frame_distances.defjvp(_distance_tangents, symbolic_zeros=True)


def _separation_at(
    contacts: FrameContacts,
    R: jax.Array,
    p: jax.Array,
    shapes: Shapes,
    table: Indices,
    has_moving_vertices: bool,
) -> Any:
    """Return a function of poses and shapes with the derivative of the distances.

    The distance is the greatest separation along any normal. By Danskin's theorem its
    derivative is that of the separation along the best one, where the witness points
    are carried along with their bodies.

    Args:
        contacts: at the poses and shapes about which the function is differentiated.
        R: rotations of what carries the bodies.
        p: positions.
        shapes: of the bodies.
        table: see `frame_distances`.
        has_moving_vertices: whether the derivative by vertices of hulls is needed.
    """
    # A pair may be flipped: the body that comes first in it is on the second frame.
    flip = table["is_flipped"][contacts.pair][..., None]
    n = jnp.where(flip, -contacts.normal, contacts.normal)
    points = contacts.point_a, contacts.point_b
    on_a, on_b = jnp.where(flip, points[1], points[0]), jnp.where(flip, *points)
    kind = table["kind"][contacts.pair]
    row = np.arange(len(p))[:, None]
    sides = []
    for k, (point, outward) in enumerate(((on_a, -n), (on_b, n))):
        body = table["body_a" if k == 0 else "body_b"][contacts.pair]
        node, pose = table["body_frame"][body], shapes.pose[body]
        R_body = R[row, node] @ pose[..., :3]
        p_body = p[row, node] + _rotate(R[row, node], pose[..., 3])
        on_body = _rotate_back(R_body, point - p_body)
        m = _rotate_back(R_body, outward)
        weights = None
        if has_moving_vertices:
            on_core = on_body - shapes.radius[body][..., None] * m
            weights = _weights_of_vertices(shapes, table["hull"][body], m, on_core)
        is_hull = jnp.asarray(_IS_HULL[:, k])[kind]
        is_plane = jnp.asarray(_IS_PLANE[:, k])[kind]
        sides.append((body, node, on_body, m, weights, is_hull, is_plane))

    def separation(R: jax.Array, p: jax.Array, shapes: Shapes) -> jax.Array:
        total = jnp.zeros_like(contacts.distance)
        for sign, side in zip((1, -1), sides, strict=True):
            body, node, on_body, m, weights, is_hull, is_plane = side
            pose = shapes.pose[body]
            on_node = _rotate(pose[..., :3], on_body) + pose[..., 3]
            point = _rotate(R[row, node], on_node) + p[row, node]
            # Support functions of Minkowski sums add up: box, ellipsoid and ball.
            grown = jnp.sum(shapes.half[body] * jnp.abs(m), -1)
            scaled = jnp.sum((shapes.radii[body] * m) ** 2, -1)
            is_round = scaled > 0
            length = jnp.sqrt(jnp.where(is_round, scaled, 1.0))
            grown = grown + jnp.where(is_round, length, 0.0)
            if weights is None:
                grown = jnp.where(is_hull, 0.0, grown)
            else:
                vertices = shapes.vertices[table["hull"][body]]
                corner = jnp.sum(weights[..., None] * vertices, -2)
                grown = jnp.where(is_hull, jnp.sum(corner * m, -1), grown)
            grown = jnp.where(is_plane, 0.0, grown) + shapes.radius[body]
            total = total + sign * jnp.sum(n * point, -1) - grown
        return total

    return separation


def _weights_of_vertices(
    shapes: Shapes, hull: jax.Array, m: jax.Array, x: jax.Array
) -> jax.Array:
    """Return shares (rows, ends, vertices) of vertices in witness points of hulls.

    Args:
        shapes: of the bodies.
        hull: of each body.
        m: outward normals in the frames of the bodies.
        x: witness points of the cores, likewise.
    """
    vertices = shapes.vertices[hull.reshape(-1)]
    last = [jnp.moveaxis(y.reshape(-1, 3), 0, -1) for y in (m, x)]
    weights = jnp.asarray(vertex_weights(jnp.moveaxis(vertices, 0, -1), *last))
    return weights.T.reshape(*hull.shape, -1)


def _rotate(R: jax.Array, v: jax.Array) -> jax.Array:
    return jnp.einsum("...ij,...j->...i", R, v)


def _rotate_back(R: jax.Array, v: jax.Array) -> jax.Array:
    return jnp.einsum("...ji,...j->...i", R, v)
