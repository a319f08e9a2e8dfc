"""Contact points, contact forces, and the laws that they obey.

These features are for pairs of frames with a contact force (`KOMO.add_contact`); while
it is inactive, all rows are zero. The force acts from `b` on `a`, and the normal points
from `b` to `a`.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.collision import point_distance_and_normal
from posewise.collision.subgradients import subgradient_weights
from posewise.compilation.arrays import Array
from posewise.robots.config import Config
from posewise.robots.contact.bounding_boxes import body_boxes
from posewise.robots.contact_forces import ContactForceVariable, contact_force_variables
from posewise.robots.errors import ConfigError
from posewise.robots.typing import FrameName

from .errors import FeatureError
from .motions import PoseTuple
from .parts import PartKinds, all_parts, posed_parts
from .safe_math import norm
from .symbol import Arrays, Pose, Resolved, Symbol, TracedArrays
from .symbol_kinds import PoseSymbol

Vector = Float[jax.Array, "3"]
PartsOfPair: TypeAlias = tuple[PartKinds, PartKinds]
"""Kinds of the parts of each of the two frames."""


class ContactState(NamedTuple):
    """A contact in one slice."""

    a: Pose
    b: Pose
    point: Vector
    """Point of attack in the world [m]."""
    force: Vector
    """Force of `b` on `a`, in the world [N]."""
    normal: Vector
    """Mean unit normal of the surfaces, from `b` to `a`; at edges it changes gradually,
    as if they were round."""
    gaps: Float[jax.Array, "2"]
    """Signed distances of the point from `a` and from `b` [m]."""

    @property
    def pressure(self) -> Float[jax.Array, ""]:
        """Return the normal force [N]; positive if the frames are pushed apart."""
        return jnp.sum(self.force * self.normal)

    def tangential(self, v: Vector) -> Vector:
        """Return v without its component along the normal."""
        return v - self.normal * jnp.sum(v * self.normal)


def distances(push: ContactState) -> Float[jax.Array, "2"]:
    """Signed distances of the point of attack from `a` and from `b` [m]."""
    return push.gaps


def tangential_force(push: ContactState) -> Vector:
    """Tangential part of the contact force [N]; zero without a contact force."""
    return push.tangential(push.force)


def friction_cone(push: ContactState, friction: jax.Array) -> Float[jax.Array, "2"]:
    """Minus the normal force, and tangential minus friction · normal force [N].

    Where both are <= 0 the force pushes and lies in Coulomb's friction cone.
    """
    # Coulomb's cone is |f_t| <= μ f_n with f_n >= 0. For μ = 0 the second row alone
    # would let the force pull.
    tangential = norm(push.tangential(push.force))
    return jnp.stack([-push.pressure, tangential - friction * push.pressure])


def complementarity(push: ContactState) -> Float[jax.Array, "2"]:
    """Normal force times the point's distance from `a`, and from `b` [N m].

    Where both are zero, there is a force only at contact.
    """
    # Of the condition 0 <= f_n ⊥ d >= 0 this is the product, as in the contact-implicit
    # trajectories of Posa, Cantu and Tedrake (2014); the bounds are rows of
    # `friction_cone` and `distances`.
    return push.pressure * push.gaps


def slip_velocity(
    push: ContactState, old: tuple[Pose, Pose], tau: Float[jax.Array, ""]
) -> Vector:
    """Velocity of `a` minus that of `b` at the point of attack [m/s]."""

    # Velocity of the material point of each frame that is now at the point of attack.
    def velocity(before: Pose, now: Pose) -> Vector:
        local = now.R.T @ (push.point - now.p)
        return (push.point - (before.p + before.R @ local)) / tau

    return velocity(old[0], push.a) - velocity(old[1], push.b)


def sliding_friction(
    push: ContactState,
    old: tuple[Pose, Pose],
    tau: Float[jax.Array, ""],
    friction: jax.Array,
) -> Vector:
    """Coulomb's law of sliding: |v| f + friction · normal force · v [N m/s].

    f and v are the tangential force and slip velocity of `a`. The rows are zero where
    friction opposes slip with its largest force, or nothing slips.
    """
    # f = -μ f_n v / |v|, multiplied by |v| because the direction v / |v| is not defined
    # at rest.
    v = push.tangential(slip_velocity(push, old, tau))
    f = push.tangential(push.force)
    return norm(v) * f + friction * push.pressure * v


# -- symbols -------------------------------------------------------------------------


def point_of_attack(point: Pose, *, weight: Float[jax.Array, ""]) -> Vector:
    """Point of attack of the force between two frames, in the world [m]."""
    return weight * point.p


def contact_force(force: Pose, *, weight: Float[jax.Array, ""]) -> Vector:
    """Force that `b` exerts on `a` at their contact, in the world [N]."""
    return weight * force.p


def no_force(a: Pose, b: Pose) -> Vector:
    """Zero, the tangential force of frames that do not touch [N]."""
    return jnp.zeros(3)


_POINT = PoseSymbol(point_of_attack, "contactPOA", frames=(2, 2), dim=3, unit="m")
_FORCE = PoseSymbol(contact_force, "contactForce", frames=(2, 2), dim=3, unit="N")
_NO_CONTACT = PoseSymbol(no_force, "contactConstraints", frames=(2, 2), dim=3, unit="N")


def resolve_point(C: Config, frames: Sequence[FrameName]) -> Resolved:
    """Return the symbol of `point_of_attack` for a pair of frames."""
    e = _contact_force_of(C, frames, "contactPOA")
    return Resolved(
        _POINT, np.array([C.index(e.point)]), {"weight": np.array(float(e.active))}
    )


def resolve_force(C: Config, frames: Sequence[FrameName]) -> Resolved:
    """Return the symbol of `contact_force` for a pair of frames."""
    e = _contact_force_of(C, frames, "contactForce")
    weight = np.array(_force_unit(e, frames) * e.active)
    return Resolved(_FORCE, np.array([C.index(e.force)]), {"weight": weight})


def contact_law_resolver(
    fn: Callable[..., jax.Array], name: str, dim: int, unit: str, window: int = 0
) -> Callable[..., Resolved]:
    """Return the function that resolves a contact law for a pair of named frames."""

    def resolve(
        C: Config, frames: Sequence[FrameName], friction: float | None = None
    ) -> Resolved:
        # This law is zero for pairs without a contact force; the others need one.
        if fn is tangential_force and _find_contact_force(C, frames) is None:
            return Resolved(_NO_CONTACT, np.array([C.index(f) for f in frames]), {})
        e = _contact_force_of(C, frames, name)
        side = np.array([-1.0, 1.0]) * [_has_surface(C, f) for f in frames]
        if not side.any():
            raise ConfigError(
                f"{name} on {list(frames)}: both frames are points, which have no"
                " normal; give one of them a shape."
            )
        # `active` is data, too, so that switching a contact off compiles nothing.
        parts, arrays = _parts_of_pair(C, frames)
        arrays |= {"side": side, "pull": np.array(_force_unit(e, frames))}
        arrays["active"] = np.array(float(e.active))
        if friction is not None:
            if friction < 0:
                raise FeatureError(
                    f"{name}: friction is {friction!r}, expected a number >= 0."
                )
            arrays["friction"] = np.array(float(friction))
        places = np.array([C.index(f) for f in (*frames, e.point, e.force)])
        return Resolved(_law_symbol(fn, name, parts, dim, unit, window), places, arrays)

    return resolve


def _find_contact_force(
    C: Config, frames: Sequence[FrameName]
) -> ContactForceVariable | None:
    # A set, because a force is stored once for both orders of its frames.
    pair = set(frames)
    return next((e for e in contact_force_variables(C) if set(e.names) == pair), None)


def _contact_force_of(
    C: Config, frames: Sequence[FrameName], name: str
) -> ContactForceVariable:
    for frame in frames:
        C.index(frame)
    variable = _find_contact_force(C, frames)
    if variable is None:
        known = (
            ", ".join(str(list(e.names)) for e in contact_force_variables(C)) or "none"
        )
        raise ConfigError(
            f"{name}: {list(frames)} exchange no force; add_contact of KOMO makes them."
            f" Pairs that do: {known}."
        )
    return variable


def _force_unit(e: ContactForceVariable, frames: Sequence[FrameName]) -> float:
    """Return the force on the first frame per unit of the force's coordinates [N]."""
    return e.unit if e.a == frames[0] else -e.unit


def _has_surface(C: Config, frame: str) -> bool:
    low, high = body_boxes(C.frame(frame), np.eye(3), np.zeros(3))
    return bool((high > low).any())


# Symbols are equal only if they are the same object, and compiled programs are kept by
# symbol: without this cache each bind would compile again.
@lru_cache(maxsize=512)
def _law_symbol(
    fn: Callable[..., jax.Array],
    name: str,
    parts: PartsOfPair,
    dim: int,
    unit: str,
    window: int,
) -> Symbol:
    run = partial(_moving_law if window else _still_law, fn, parts)
    return PoseSymbol(run, name, frames=(2, 2), dim=dim, unit=unit, window=window)


def _still_law(
    fn: Callable[..., jax.Array], parts: PartsOfPair, *poses: Pose, **params: Any
) -> jax.Array:
    """Return a law of the contact in one slice."""
    push = _contact_state(parts, poses, params)
    y: jax.Array = params["active"] * fn(push, *_friction_argument(params))
    return y


def _moving_law(
    fn: Callable[..., jax.Array],
    parts: PartsOfPair,
    old: PoseTuple,
    new: PoseTuple,
    *,
    tau: jax.Array,
    **params: Any,
) -> jax.Array:
    """Return a law of the contact in a slice and of the poses in the one before."""
    push = _contact_state(parts, new, params)
    friction = _friction_argument(params)
    y: jax.Array = params["active"] * fn(push, old[:2], tau, *friction)
    return y


def _contact_state(
    parts: PartsOfPair, poses: PoseTuple, params: TracedArrays
) -> ContactState:
    a, b, point, force = poses
    gap_a, out_of_a = _signed_distance(parts[0], a, point.p, params)
    gap_b, out_of_b = _signed_distance(parts[1], b, point.p, params)
    # Normals point out of each surface: that of `a` towards `b`, so it counts with -1.
    towards = params["side"][0] * out_of_a + params["side"][1] * out_of_b
    # Opposite normals may cancel; then there is no direction, and the normal is zero.
    length = norm(towards)
    normal = towards / jnp.where(length > 0, length, 1.0)
    gaps = jnp.stack([gap_a, gap_b])
    return ContactState(
        a, b, point.p, force.p * jnp.asarray(params["pull"]), normal, gaps
    )


def _signed_distance(
    parts: PartKinds, pose: Pose, point: Vector, params: TracedArrays
) -> tuple[Float[jax.Array, ""], Vector]:
    """Return the signed distance of a point from a frame's parts, and the normal."""
    posed = posed_parts(parts, pose.R[None], pose.p[None], params)
    each = [point_distance_and_normal(body, point) for body in posed]
    gap = jnp.concatenate([gaps for gaps, _ in each])
    # Equally near parts share the derivative. Those that stand for none are far away.
    weights = subgradient_weights(gap)
    return jnp.sum(weights * gap), weights @ jnp.concatenate([n for _, n in each])


def _parts_of_pair(
    C: Config, frames: Sequence[FrameName]
) -> tuple[PartsOfPair, Arrays]:
    """Return the kinds of parts of two frames, and their arrays."""
    a, arrays_a = all_parts([C.frame(frames[0])], [0], "a")
    b, arrays_b = all_parts([C.frame(frames[1])], [0], "b")
    return (a, b), arrays_a | arrays_b


def _friction_argument(params: TracedArrays) -> list[Array]:
    return [params["friction"]] if "friction" in params else []
