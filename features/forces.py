"""Newton's and Euler's laws for a link with its weight and contact forces."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.robots.config import Config
from posewise.robots.contact_forces import contact_force_variables
from posewise.robots.simulation.inertia import link_inertia, rigid_group
from posewise.robots.typing import FrameName

from .motions import GRAVITY, PoseTuple, angular_velocity
from .symbol import Pose, Resolved
from .symbol_kinds import PoseSymbol

Wrench = Float[jax.Array, "6"]
Vector = Float[jax.Array, "3"]


def total_force(
    body: Pose,
    *contacts: Pose,
    pull: Float[jax.Array, " n"],
    mass: Float[jax.Array, ""],
    com: Vector,
    **_: Array,
) -> Wrench:
    """Force [N] and torque [N m] that keep a link at rest, minus those of its contacts.

    In the world: upward m g minus the sum of contact forces on the link, then minus the
    sum of their torques about its centre of mass. Zero in equilibrium.
    """
    force, torque = _contact_wrench(body, contacts, pull, com)
    # Torques are taken about the centre of mass, so that weight has none.
    weight = GRAVITY * mass * jnp.array([0.0, 0.0, 1.0], force.dtype)
    return jnp.concatenate([weight - force, -torque])


def physics(
    old: PoseTuple,
    mid: PoseTuple,
    new: PoseTuple,
    *,
    tau: Float[jax.Array, "2"],
    pull: Float[jax.Array, " n"],
    mass: Float[jax.Array, ""],
    com: Vector,
    inertia: Float[jax.Array, "3 3"],
) -> Wrench:
    """Force [N] and torque [N m] that move a link, minus those of weight and contacts.

    In the world: rate of momentum, and of angular momentum about the centre of mass,
    plus `total_force`. Zero where Newton's and Euler's laws hold. Forces are those of
    the newest slice (implicit Euler): with v_t = (x_t - x_{t-1}) / tau,
    m v_t = m v_{t-1} + tau (m g + f_t).
    """
    bodies = old[0], mid[0], new[0]
    momenta = []
    for k, (a, b) in enumerate(pairwise(bodies)):
        # Newton's law holds for the centre of mass, which moves with the frame's
        # rotation when it is off the frame's origin.
        v = (b.p + b.R @ com - a.p - a.R @ com) / tau[k]
        # Inertia turns with the body: L = R I Rᵀ ω.
        omega = angular_velocity((a,), (b,), tau=tau[k])
        angular_momentum = b.R @ (inertia @ (b.R.T @ omega))
        momenta.append(jnp.concatenate([mass * v, angular_momentum]))
    # Euler's law as the rate of L, which contains the gyroscopic term ω × I ω. Each
    # momentum is that in the middle of its step; the middles are mean(tau) apart.
    change = (momenta[1] - momenta[0]) / jnp.mean(tau)
    return change + total_force(*new, pull=pull, mass=mass, com=com)


def _contact_wrench(
    body: Pose, contacts: PoseTuple, pull: jax.Array, com: jax.Array
) -> tuple[Vector, Vector]:
    """Return the sum of contact forces on a link, and their torque about its centre."""
    if not contacts:
        return jnp.zeros_like(body.p), jnp.zeros_like(body.p)
    # Frames of a contact come in pairs: its point of attack, then its force, whose
    # position is the force in its own unit.
    points = jnp.stack([x.p for x in contacts[::2]])
    forces = jnp.stack([x.p for x in contacts[1::2]]) * pull[:, None]
    arms = points - (body.p + body.R @ com)
    return jnp.sum(forces, 0), jnp.sum(jnp.cross(arms, forces), 0)


_TOTAL_FORCE = PoseSymbol(
    total_force, "totalForce", frames=(1, None), dim=6, unit="N, N m"
)
_PHYSICS = PoseSymbol(
    physics,
    "physics",
    frames=(1, None),
    dim=6,
    unit="N, N m",
    window=2,
    uses_quaternions=True,
)


def resolve_total(C: Config, frames: Sequence[FrameName]) -> Resolved:
    """Return the symbol of `total_force` for a link with its contacts."""
    return Resolved(_TOTAL_FORCE, *_link_params(C, frames))


def resolve_physics(C: Config, frames: Sequence[FrameName]) -> Resolved:
    """Return the symbol of `physics` for a link with its contacts."""
    return Resolved(_PHYSICS, *_link_params(C, frames))


def _link_params(
    C: Config, frames: Sequence[FrameName]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the frame and those of its link's contacts, and the params.

    Inactive contacts take part with a zero factor, so that activating one compiles
    nothing.
    """
    members, indices, pull = rigid_group(C, frames[0]), [C.index(frames[0])], []
    for e in contact_force_variables(C):
        # The variable is the force of b on a; b feels its reaction.
        sign = (e.a in members) - (e.b in members)
        # Forces between two frames of the same link cancel.
        if sign:
            indices += [C.index(e.point), C.index(e.force)]
            pull.append(sign * e.unit * e.active)
    mass, com, inertia = link_inertia(C, frames[0])
    numbers: dict[str, Any] = {"mass": mass, "com": com, "inertia": inertia}
    numbers["pull"] = pull
    return np.array(indices), {k: np.array(v, float) for k, v in numbers.items()}
