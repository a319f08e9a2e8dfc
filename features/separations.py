"""Distances and witness points of named frames."""

from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from posewise.collision import Contact
from posewise.robots.config import Config
from posewise.robots.contact.body_table import solid_frame
from posewise.robots.errors import ConfigError
from posewise.robots.typing import FrameName

from .pair_types import PairTypes
from .pairs.nearest import (
    PairFunction,
    nearest_bodies,
    pair_symbol,
    smoothing_params,
    vmap_instances,
    wrench_of_distance,
)
from .pairs.tables import MIN_NAMED_SIZE, table_of_frames
from .symbol import Resolved, TracedArrays, ValueAndWrenches


def distance_resolver(
    fn: PairFunction, name: str, dim: int, unit: str, ends: Sequence[tuple[int, int]]
) -> Callable[..., Resolved]:
    """Return the function that resolves a symbol of distances of named frames.

    Args:
        fn: `(types, R, p, params)` to y (D,).
        name: of the symbol.
        dim: D.
        unit: of the rows.
        ends: pairs of frames whose distances count, as indices among the frames.
    """

    def resolve(
        C: Config, frames: Sequence[FrameName], smoothing: float = 0.0
    ) -> Resolved:
        indices = [C.index(f) for f in frames]
        shapes = [solid_frame(C.frames, i) for i in indices]
        table = table_of_frames(shapes, np.array(ends), np.zeros(len(ends)))
        # Two half-spaces are no pair of bodies.
        if len(np.unique(table.pairs.pair)) < len(ends):
            raise ConfigError(
                f"{name} on {list(frames)}: two half-spaces have no distance."
            )
        types, arrays = table.arrays(name, MIN_NAMED_SIZE, has_exact_rows=True)
        arrays |= smoothing_params(name, smoothing)
        # Only the distance has its derivative at hand, as the normal and the witness
        # points; derivatives of these depend on the curvature of the surfaces, and are
        # left to JAX.
        derived = (_LINEARIZE_NEG_DISTANCE, _as_pair_sum) if fn is neg_distance else ()
        symbol = pair_symbol(fn, name, types, dim, unit, *derived)
        return Resolved(symbol, np.array(indices), arrays)

    return resolve


def _nearest_contact(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> Contact:
    """Return the contact of the nearest bodies of each pair."""
    near = nearest_bodies(types, R, p, params)
    nearest: Contact = jax.tree.map(near.weighted_mean, near.contacts)
    return nearest


def _linearize_neg_distance(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> ValueAndWrenches:
    near = nearest_bodies(types, R, p, params)
    return -near.distance, *wrench_of_distance(
        near.wrench, -jnp.ones_like(near.distance), params, len(p)
    )


# One object for all features: it is part of the key under which `pair_symbol` keeps
# symbols, and partials are equal only if they are the same object.
_LINEARIZE_NEG_DISTANCE = partial(vmap_instances, _linearize_neg_distance)


def _as_pair_sum(params: TracedArrays) -> TracedArrays:
    """Return the params of a sum over one pair, with an infinite slack.

    Such a sum is the overlap, or minus the gap however wide it is: minus the distance.
    """
    return {**params, "slack": jnp.full_like(params["margin"][..., 0], jnp.inf)}


def neg_distance(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """Minus the signed distance of two frames [m]; positive in penetration.

    With `smoothing` τ > 0 [m] the distance has no kinks, and is less than the exact one
    by at most a few τ: see `collision.smooth_contact`.
    """
    return -nearest_bodies(types, R, p, params).distance


def vector(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """Vector from the second witness point to the first, in the world [m]."""
    out = _nearest_contact(types, R, p, params)
    return (out.distance[:, None] * out.normal)[0]


def normal(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """Unit normal from the second frame to the first, in the world."""
    return _nearest_contact(types, R, p, params).normal[0]


def point_1(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """Witness point on the first frame's surface, in the world [m]."""
    return _nearest_contact(types, R, p, params).point_a[0]


def point_2(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """Witness point on the second frame's surface, in the world [m]."""
    return _nearest_contact(types, R, p, params).point_b[0]


def _core_vectors(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """Return the vector between the cores' witness points, radii left out, per pair."""
    near = nearest_bodies(types, R, p, params)
    # The distance of the cores is that of the surfaces plus both radii. The surfaces'
    # vector vanishes at contact, where it would give a grasp no direction.
    radii = params["radius"][params["body_a"]] + params["radius"][params["body_b"]]
    length = near.contacts.distance + radii
    return near.weighted_mean(length[..., None] * near.contacts.normal)


def oppose(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """Sum of the vectors from an object's core to those of two fingers [m].

    Frames: finger, finger, object. Zero where the fingers stand opposite each other.
    """
    first, second = _core_vectors(types, R, p, params)
    total: jax.Array = first + second
    return total


def oppose_central(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """Rows of `oppose`; then 0.01 times the misalignment of fingers and object."""
    first, second = _core_vectors(types, R, p, params)

    def direction(v: jax.Array) -> jax.Array:
        square = jnp.sum(v * v)
        length = jnp.sqrt(jnp.where(square > 0, square, 1.0))
        return v / (jnp.where(square > 0, length, 0.0) + 1e-3)

    # Unit vectors, regularised by 1e-3 so that they are smooth where vectors vanish.
    # Where both fingers stand on one line through the object, the first is at -line
    # from the object and the second at +line, so that `lean` is zero.
    line = direction(p[1] - p[0])
    lean = 2 * line + direction(first) - direction(second)
    return jnp.concatenate([first + second, 0.01 * lean])
