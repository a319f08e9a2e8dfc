"""Nearest bodies of pairs of frames, by their collision shapes.

A frame with several bodies counts as their union: the distance of two frames is that of
their nearest bodies. Types of bodies are static; sizes, poses and margins are data.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from posewise.collision import (
    Body,
    Contact,
    Core,
    contact,
    contact_within,
    smooth_contact,
)
from posewise.collision.subgradients import subgradient_weights
from posewise.compilation.arrays import Array
from posewise.compilation.precision import full_matmul_precision
from posewise.compilation.zero_tangents import instantiate_zeros
from posewise.robots.contact.body_table import (
    CORES_OF_KIND,
    NO_PAIR_NUMBER,
    PairKind,
    make_core,
)

from ..errors import FeatureError
from ..pair_types import PairTypes
from ..symbol import Symbol, TracedArrays, ValueAndWrenches
from ..symbol_kinds import StackSymbol
from .contact_tangents import rates_of_contacts
from .frame_contacts import FrameContacts, Indices, Shapes, shapes_and_table
from .tables import FAR_DISTANCE

T = TypeVar("T")
PairFunction: TypeAlias = Callable[
    [PairTypes, jax.Array, jax.Array, TracedArrays], jax.Array
]
"""`(types, R, p, params)` to y (D,), of pairs at the poses of their frames."""


# Symbols compare by identity and are keys of compiled programs: worlds whose pairs have
# the same types get the same symbol, hence the same program.
@lru_cache(maxsize=512)
def pair_symbol(
    fn: PairFunction,
    name: str,
    types: PairTypes,
    dim: int,
    unit: str,
    value_and_wrenches: Callable[..., ValueAndWrenches] | None = None,
    sum_params: Callable[[TracedArrays], TracedArrays] | None = None,
    is_nonnegative: bool = False,
    reads_nodes: bool = False,
) -> Symbol:
    """Return the symbol of a function of pair types, poses and params of pairs.

    Args:
        fn: `(types, R, p, params)` to y (D,).
        name: of the symbol.
        types: of the pairs; static.
        dim: D.
        unit: of the rows.
        value_and_wrenches: `(types, R, p, params)`; see `Symbol.value_and_wrenches`.
        sum_params: from the params to those of a sum; see `Symbol.pair_sum`.
        is_nonnegative: whether rows are never negative.
        reads_nodes: see `Symbol.reads_nodes`.
    """

    def with_types(fn: Callable[..., T]) -> Callable[..., T]:
        return partial(_of_params, fn, types)

    return StackSymbol(
        with_types(fn),
        name,
        frames=(0, None),
        dim=dim,
        unit=unit,
        value_and_wrenches=value_and_wrenches and with_types(value_and_wrenches),
        pair_sum=sum_params and (types, sum_params),
        is_nonnegative=is_nonnegative,
        reads_nodes=reads_nodes,
    )


def _of_params(
    fn: Callable[..., T], types: PairTypes, R: Array, p: Array, **params: Array
) -> T:
    """Return a function of pair types, poses and params, which are named arguments."""
    return fn(types, R, p, params)


def smoothing_params(name: str, smoothing: float) -> dict[str, np.ndarray]:
    """Return the smoothing [m] as params of pairs.

    Exact distances have no such params, so that smoothing is compiled only if needed.

    Raises:
        FeatureError: for a smoothing that is negative or not finite.
    """
    if not 0 <= smoothing < np.inf:
        raise FeatureError(
            f"{name}: smoothing is {smoothing!r}, expected metres, 0 (exact) or more."
        )
    return {"smoothing": np.array(float(smoothing))} if smoothing else {}


class NearestBodies(NamedTuple):
    """Nearest bodies of each pair of frames."""

    distance: Float[jax.Array, " ends"]
    """Signed distance [m]; `FAR_DISTANCE` for what is no pair."""
    wrench: Float[jax.Array, "ends 6"]
    """Derivative of the distance with respect to a twist of the first frame about the
    world's origin: force, then moment."""
    weights: Float[jax.Array, "ends pairs"] | None
    """Share of each pair of bodies among the nearest ones of each pair of frames; None:
    each pair of frames has one."""
    contacts: Contact
    """Contacts of all pairs of bodies, (pairs,)."""

    @full_matmul_precision
    def weighted_mean(self, x: jax.Array) -> jax.Array:
        """Return the mean of (pairs, …) over the nearest bodies."""
        return x if self.weights is None else jnp.tensordot(self.weights, x, 1)


@full_matmul_precision
def nearest_bodies(
    types: PairTypes,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    params: TracedArrays,
    cutoff: Array | None = None,
) -> NearestBodies:
    """Return the nearest bodies of all pairs of frames.

    Args:
        types: of the pairs; static.
        R: rotations (m, 3, 3) of the frames.
        p: positions (m, 3).
        params: arrays of a `FramePairTable`.
        cutoff: distance [m] of each pair of frames beyond which lower bounds of
            distances suffice.
    """
    # The derivative of a distance holds its witness points fixed on their bodies, as
    # they are optimal (envelope theorem; Danskin 1967). A twist (v, ω) moves the point
    # p_a of the first frame by v + ω × p_a, so d changes by n·v + (p_a × n)·ω. Frames
    # that move together keep their distance: the second frame has the opposite wrench.
    if cutoff is not None and types.has_unions:
        cutoff = cutoff[params["end_row"]]
    out = measure_pairs(types, R, p, params, cutoff)
    moment = jnp.cross(out.point_a, out.normal)
    wrench = jnp.concatenate([out.normal, moment], -1)
    if not types.has_unions:
        return NearestBodies(out.distance, wrench, None, out)
    # Equally near bodies share the derivative: min has a kink there, and the mean of
    # their derivatives is one of its subgradients.
    ends = jnp.arange(len(params["margin"]))[:, None]
    belongs = (params["end_row"] == ends) & (params["kind"] != NO_PAIR_NUMBER)
    distance = jnp.where(belongs, jax.lax.stop_gradient(out.distance), FAR_DISTANCE)
    weights = jnp.where(belongs, subgradient_weights(distance, 1), 0.0)
    weights = jax.lax.stop_gradient(weights)
    near = NearestBodies(out.distance, wrench, weights, out)
    is_pair = belongs.any(1)
    return near._replace(
        distance=jnp.where(is_pair, near.weighted_mean(out.distance), FAR_DISTANCE),
        wrench=near.weighted_mean(wrench),
    )


def measure_pairs(
    types: PairTypes,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    params: TracedArrays,
    cutoff: Array | None,
) -> Contact:
    """Return the contacts of all pairs of bodies, from the first frame's to the other.

    Args:
        types: of the pairs; static.
        R: rotations (m, 3, 3) of the frames.
        p: positions (m, 3).
        params: arrays of a `FramePairTable`.
        cutoff: distance [m] of each pair beyond which lower bounds suffice.
    """
    if "smoothing" in params:
        # Smooth contacts are differentiable functions, with no rule for them.
        return _measure_pairs(types, R, p, params, cutoff)
    contacts: Contact = _exact_contacts(types, R, p, *shapes_and_table(params), cutoff)
    return contacts


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _exact_contacts(
    types: PairTypes,
    R: jax.Array,
    p: jax.Array,
    shapes: Shapes,
    table: Indices,
    cutoff: Array | None,
) -> Contact:
    params = table | shapes._asdict()
    params["body_pose"] = params.pop("pose")
    return _measure_pairs(types, R, p, params, cutoff)


# Bodies of all kinds together: the program holds the linear system of a contact once.
def _contact_rates(types: PairTypes, primals: Any, tangents: Any) -> Any:
    R, p, shapes, table, cutoff = jax.tree.map(jnp.asarray, primals)
    out: Contact = _exact_contacts(types, R, p, shapes, table, cutoff)
    distance, on_a, on_b, normal = (x[None] for x in out)
    pairs = jnp.arange(len(out.distance))[None]
    row = FrameContacts(distance, on_a, on_b, normal, pairs)
    # What is beyond the cutoff is measured, too, between balls or boxes.
    dR, dp = (
        instantiate_zeros(t, x)[None] for t, x in zip(tangents[:2], (R, p), strict=True)
    )
    rates = rates_of_contacts(
        row, (R[None], p[None], shapes, table, None), (dR, dp, tangents[2], None, None)
    )
    return out, Contact(*(x[0] for x in rates[:4]))


_exact_contacts.defjvp(_contact_rates, symbolic_zeros=True)


@full_matmul_precision
def _measure_pairs(
    types: PairTypes,
    R: jax.Array,
    p: jax.Array,
    params: Mapping[str, Array],
    cutoff: Array | None,
) -> Contact:
    """Return the contacts of all pairs, see `measure_pairs`."""
    frame, pose = params["body_frame"], params["body_pose"]
    R_body = R[frame] @ pose[..., :3]
    p_body = p[frame] + jnp.einsum("nij,nj->ni", R[frame], pose[..., 3])

    def body(core: type[Core], rows: Array) -> Body:
        half, radii, hull = (params[name][rows] for name in ("half", "radii", "hull"))
        cores = make_core(core, half, radii, hull, params["vertices"])
        return Body(cores, params["radius"][rows], R_body[rows], p_body[rows])

    def bodies(kind: PairKind) -> tuple[Body, Body]:
        core_a, core_b = CORES_OF_KIND[kind]
        return body(core_a, params["body_a"]), body(core_b, params["body_b"])

    return contacts_of_kinds(types.kinds, bodies, params, p.dtype, cutoff)


def contacts_of_kinds(
    kinds: Sequence[PairKind],
    bodies: Callable[[PairKind], tuple[Body, Body]],
    params: Mapping[str, Array],
    dtype: jnp.dtype,
    cutoff: Array | None = None,
) -> Contact:
    """Return the contacts of pairs, each measured as the kind that it is of.

    Args:
        kinds: those that are measured.
        bodies: from a kind to all pairs, as if they were of that kind.
        params: the "kind" of each pair, whether it "is_flipped", and perhaps the
            "smoothing" of all [m].
        dtype: of the contacts.
        cutoff: see `measure_pairs`.
    """
    count = len(params["kind"])
    away = jnp.broadcast_to(jnp.eye(3, dtype=dtype)[2], (count, 3))
    contacts = Contact(jnp.full(count, FAR_DISTANCE, dtype), away, away, away)
    for kind in kinds:
        a, b = bodies(kind)
        is_kind = params["kind"] == int(kind)
        if "smoothing" in params:
            out = smooth_contact(a, b, params["smoothing"])
        elif cutoff is None and len(kinds) == 1:
            out = contact(a, b)
        else:
            limit = jnp.inf if cutoff is None else cutoff
            # Of all other pairs a bound is enough, which is not used.
            out = contact_within(a, b, jnp.where(is_kind, limit, -jnp.inf))
        contacts = select_rows(is_kind, out, contacts)
    swapped = Contact(
        contacts.distance, contacts.point_b, contacts.point_a, -contacts.normal
    )
    return select_rows(params["is_flipped"], swapped, contacts)


def select_rows(mask: Bool[Array, " n"], a: T, b: T) -> T:
    """Return trees of arrays with the rows of a where a mask holds, else of b."""

    def select(x: Array, y: Array) -> jax.Array:
        return jnp.where(mask.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    selected: T = jax.tree.map(select, a, b)
    return selected


@full_matmul_precision
def wrench_of_distance(
    wrench: Float[jax.Array, "ends 6"],
    slope: Float[jax.Array, " ends"],
    params: TracedArrays,
    m: int,
) -> tuple[Float[jax.Array, "1 m 3"], Float[jax.Array, "1 m 3"]]:
    """Return force and moment on each frame, of one row that depends on distances.

    Args:
        wrench: derivative of each distance, see `NearestBodies`.
        slope: derivative of the row with respect to each distance.
        params: arrays of a `FramePairTable`.
        m: number of frames.
    """
    # A product with 0, 1 or -1, because XLA runs scatters in sequence on CPUs.
    on_first = slope[:, None] * wrench
    total = jnp.tensordot(signs_of_ends(params, m), on_first, ((0,), (0,)))
    return total[None, :, :3], total[None, :, 3:]


def signs_of_ends(params: TracedArrays, m: int) -> Float[jax.Array, "ends m"]:
    """Return 1 for the first frame of each pair, and -1 for the second one."""
    first, second = (params["ends"][:, k, None] == np.arange(m) for k in range(2))
    signs: jax.Array = first.astype(params["margin"].dtype) - second
    return signs


def vmap_instances(
    fn: Callable[[PairTypes, jax.Array, jax.Array, TracedArrays], T],
    types: PairTypes,
    R: Float[jax.Array, "*instances m 3 3"],
    p: Float[jax.Array, "*instances m 3"],
    params: TracedArrays,
) -> T:
    """Call a function for one instance, or map it over the leading axis of many.

    With many instances, params may have the leading axis too, or be shared.
    """
    if p.ndim == 2:
        return fn(types, R, p, params)
    params_axis = 0 if params["margin"].ndim > 1 else None
    # A rule of derivatives takes no NumPy arrays that are mapped over, under `jit`.
    params = {name: jnp.asarray(array) for name, array in params.items()}
    return jax.vmap(partial(fn, types), (0, 0, params_axis))(R, p, params)
