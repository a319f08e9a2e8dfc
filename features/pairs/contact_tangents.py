"""Contacts of many pairs of frames, with derivatives by poses and shapes.

Bodies of all kinds are differentiated together: each of them selects the geometry of
its surface, so that the program holds the linear system of a contact once.
"""

from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Float

from posewise.collision import HalfSpace, Hull
from posewise.collision.contact_derivatives import (
    BodyRates,
    contact_tangents,
    twist_of_pose,
)
from posewise.collision.cores import MixedBody, MixedCore
from posewise.compilation.arrays import Array
from posewise.compilation.precision import full_matmul_precision
from posewise.compilation.zero_tangents import instantiate_zeros
from posewise.robots.contact.body_table import CORES_OF_KIND, PairKind

from ..pair_types import PairTypes
from .frame_contacts import (
    FrameContacts,
    Indices,
    Shapes,
    measure_contacts,
)

_IS_HULL, _IS_PLANE = (
    np.array([[core is chosen for core in CORES_OF_KIND[kind]] for kind in PairKind])
    for chosen in (Hull, HalfSpace)
)
"""Cores A and B of each kind of pair that are measured as hulls, as half-spaces."""
_Arguments: TypeAlias = tuple[jax.Array, jax.Array, Shapes, Indices, jax.Array | None]
"""R, p, shapes, table and cutoff of `frame_contacts`."""


def frame_contacts(
    types: PairTypes,
    R: Float[Array, "rows nodes 3 3"],
    p: Float[Array, "rows nodes 3"],
    shapes: Shapes,
    table: Indices,
    cutoff: Float[Array, ""] | None,
) -> FrameContacts:
    """Return contacts of pairs of frames, differentiable by poses and shapes.

    Derivatives are exact almost everywhere: first ones, and second ones by poses.
    Outside of traced functions a compiled program measures them, part by part.

    Args:
        types: of the pairs; static.
        R: rotations of what carries the bodies.
        p: positions [m].
        shapes: of the bodies, see `complete_shapes`.
        table: which bodies there are, on what, and which pairs of them.
        cutoff: distance above which pairs are not measured [m]; None: all are.
    """
    contacts: FrameContacts = _contacts(types, R, p, shapes, table, cutoff)
    return contacts


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _contacts(types: PairTypes, *arguments: Any) -> FrameContacts:
    return measure_contacts(types, *arguments)


def _contact_rates(types: PairTypes, primals: _Arguments, tangents: Any) -> Any:
    primals = jax.tree.map(jnp.asarray, primals)
    out: FrameContacts = _contacts(types, *primals)
    return out, rates_of_contacts(out, primals, tangents)


# Tangents of the parts stay apart, so that of those which nobody asks for nothing is
# computed.
@full_matmul_precision
def rates_of_contacts(
    out: FrameContacts, primals: _Arguments, tangents: Any
) -> FrameContacts:
    """Return the tangents of contacts.

    Args:
        out: the contacts.
        primals: R, p, shapes, table and cutoff, see `frame_contacts`.
        tangents: of these, symbolic zeros for what is fixed.
    """
    table, cutoff = primals[3:]
    # A pair may be flipped: the body that comes first in it is on the second frame.
    flip = table["is_flipped"][out.pair][..., None]
    on_a = jnp.where(flip, out.point_b, out.point_a)
    on_b = jnp.where(flip, out.point_a, out.point_b)
    is_measured = jnp.any(out.normal != 0, -1, keepdims=True)
    # Derivatives of what was not measured are not used, but have to be finite.
    normal = jnp.where(flip, -out.normal, out.normal)
    normal = jnp.where(is_measured, normal, np.array([0, 0, 1], normal.dtype))
    a, da = _moving_bodies(0, out, primals, tangents)
    b, db = _moving_bodies(1, out, primals, tangents)
    apart = jnp.where(is_measured[..., 0], out.distance, 1.0)
    contacts = apart, on_a, on_b, normal
    distance, on_a, on_b, normal = contact_tangents(a, b, contacts, da, db)
    beyond = tangents[4]
    if cutoff is None or isinstance(beyond, SymbolicZero):
        beyond = 0.0
    no_rate: Any = np.zeros(out.pair.shape, jax.dtypes.float0)
    return FrameContacts(
        jnp.where(is_measured[..., 0], distance, beyond),
        jnp.where(is_measured, jnp.where(flip, on_b, on_a), 0.0),
        jnp.where(is_measured, jnp.where(flip, on_a, on_b), 0.0),
        jnp.where(is_measured, jnp.where(flip, -normal, normal), 0.0),
        no_rate,
    )


_contacts.defjvp(_contact_rates, symbolic_zeros=True)


def _moving_bodies(
    side: int, out: FrameContacts, primals: _Arguments, tangents: Any
) -> tuple[MixedBody, BodyRates]:
    """Return the first or second bodies (rows, ends) of contacts, and their rates."""
    R, p, shapes, table, _ = primals
    dR, dp, rates = map(instantiate_zeros, tangents[:3], primals[:3])
    is_fixed = [isinstance(t, SymbolicZero) for t in tangents[2]]
    body = table["body_b" if side else "body_a"][out.pair]
    kind, node = table["kind"][out.pair], table["body_frame"][body]
    row = np.arange(len(p))[:, None]
    pose, R_node = shapes.pose[body], R[row, node]
    R_body, offset = R_node @ pose[..., :3], _rotate(R_node, pose[..., 3])
    p_body = p[row, node] + offset
    # Nodes are fewer than pairs.
    linear, angular = (v[row, node] for v in twist_of_pose(R, p, dR, dp))
    if not is_fixed[0]:
        pose_rate = rates.pose[body]
        turn, shift = R_node @ pose_rate[..., :3], _rotate(R_node, pose_rate[..., 3])
        own_linear, own_angular = twist_of_pose(R_body, p_body, turn, shift)
        linear, angular = linear + own_linear, angular + own_angular

    def core_of(shapes: Shapes) -> MixedCore:
        has_hulls = len(shapes.vertices) > 0
        return MixedCore(
            shapes.half[body],
            shapes.radii[body],
            shapes.vertices[table["hull"][body]] if has_hulls else None,
            jnp.asarray(_IS_HULL[:, side])[kind],
            jnp.asarray(_IS_PLANE[:, side])[kind],
        )

    sizes: Any = (None, None)
    if not all(is_fixed[1:]):
        sizes = core_of(rates), rates.radius[body]
    moving = MixedBody(core_of(shapes), shapes.radius[body], R_body, p_body)
    return moving, BodyRates(linear, angular, *sizes)


def _rotate(R: jax.Array, v: jax.Array) -> jax.Array:
    return jnp.einsum("...ij,...j->...i", R, v)
