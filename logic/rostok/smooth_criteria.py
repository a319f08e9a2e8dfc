"""rostok's criteria as smooth functions of the chances of events.

A reward is an expectation over the steps at which the grasp may happen; as the
temperature falls it becomes the (repaired) exact one. Residuals are vectors whose
squares a solver may minimise, of the same wish; those of the instant of the grasp are
means over these steps, given that there is a grasp.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.precision import precise
from posewise.features import safe_math

from .body_events import EventFlyingApart
from .contact_events import EventContactTimeOut, EventSlipOut
from .grasp_events import EventGrasp
from .smooth_events import SmoothResult
from .thresholds import STRONGEST

Scalar = Float[jax.Array, ""]
Row = Float[jax.Array, " rows"]
Number = float | Scalar
FAINT = 1e-12
"""Keeps quotients of weights finite where all are zero."""
UNLIKELY = 1e-6
"""Keeps means given a grasp finite where there is none."""


def function(fn: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """Compiled, and precise on every device."""
    return jax.jit(precise(fn))


@function
def shortfall(reward: Scalar) -> Row:
    """√(1 - reward): the residual of a reward that has no natural one."""
    return jnp.sqrt(jnp.maximum(1 - reward, 0.0) + UNLIKELY)[None]


@function
def time_reward(run: SmoothResult, longest: Number) -> Scalar:
    """See `TimeCriterion`."""
    grasp, late = run.happens(EventGrasp), run.happens(EventContactTimeOut)
    times = np.arange(1, run.arrays.n_steps + 1) * run.arrays.dt
    waited = run.last @ jnp.minimum((times / longest) ** 2, 1.0)
    return grasp + (1 - grasp) * (1 - late) * waited


@function
def force_reward(run: SmoothResult) -> Scalar:
    """See `ForceCriterion`."""
    net, weights = _net_forces(run)
    mean = weights @ safe_math.norm(net) / (weights.sum() + FAINT)
    some = 1 - jnp.prod(1 - weights)
    return (1 - run.happens(EventContactTimeOut)) * some / (1 + mean)


@function
def force_residual(run: SmoothResult) -> Row:
    """Net forces on the object [N] at all steps, over the root of their number."""
    net, weights = _net_forces(run)
    scale = jnp.sqrt(weights @ weights + FAINT)
    return (weights[:, None] * net).reshape(-1) / scale


@function
def cog_reward(run: SmoothResult) -> Scalar:
    """See `InstantObjectCOGCriterion`."""
    offset, touched = _center_offset(run)
    return run.first_of(EventGrasp) @ (touched / (1 + safe_math.norm(offset)))


@function
def cog_residual(run: SmoothResult) -> Row:
    """Centre of the contacts minus centre of mass of the object [m] at the grasp."""
    return _at_grasp(run, _center_offset(run)[0])


@function
def instant_force_reward(run: SmoothResult) -> Scalar:
    """See `InstantForceCriterion`."""
    weights, deviation = _force_deviations(run)
    total = weights.sum(-1) + FAINT
    spread = safe_math.sqrt((weights * deviation**2).sum(-1) / total)
    return run.first_of(EventGrasp) @ (_touched(weights) / (1 + spread))


@function
def instant_force_residual(run: SmoothResult) -> Row:
    """How much each force on the object differs from their mean [N] at the grasp."""
    weights, deviation = _force_deviations(run)
    number = jnp.sqrt(weights.sum(-1, keepdims=True) + FAINT)
    return _at_grasp(run, weights * deviation / number)


@function
def contacting_link_reward(run: SmoothResult) -> Scalar:
    """See `InstantContactingLinkCriterion`."""
    return run.first_of(EventGrasp) @ run.touch.body[:, 1:].mean(-1)


@function
def grasp_time_reward(run: SmoothResult, total_steps: Number) -> Scalar:
    """See `GraspTimeCriterion`."""
    steps = np.arange(run.arrays.n_steps)
    return run.first_of(EventGrasp) @ jnp.maximum(1 - steps / total_steps, 0.0)


@function
def final_position_reward(run: SmoothResult, reference: Number) -> Scalar:
    """See `FinalPositionCriterion`."""
    distance = safe_math.norm(_displacement(run)) / reference
    near = run.tau * jax.nn.softplus((1 - distance) / run.tau)
    kept = 1 - run.happens(EventSlipOut)
    if any(k.event is EventFlyingApart for k in run.kinds):
        kept = kept * (1 - run.happens(EventFlyingApart))
    return kept * (run.first_of(EventGrasp) @ near)


@function
def final_position_residual(run: SmoothResult, reference: Number) -> Row:
    """Displacement of the object from the grasp to the end, over the reference."""
    return _at_grasp(run, _displacement(run) / reference)


def _at_grasp(
    run: SmoothResult, values: Float[jax.Array, "steps d"]
) -> Float[jax.Array, " d"]:
    first = run.first_of(EventGrasp)
    return first @ values / (first.sum() + UNLIKELY)


def _displacement(run: SmoothResult) -> Float[jax.Array, "steps 3"]:
    """From each step to the end of the run [m, world]."""
    positions = jnp.asarray(run.arrays.obj_pos)[1:]
    return run.last @ positions - positions


def _on_object(run: SmoothResult) -> Float[jax.Array, "steps J"]:
    """Chances of the object's contacts."""
    return run.touch.contact * run.arrays.touching[1:, :, 0]


def _touched(weights: Float[jax.Array, "steps J"]) -> Float[jax.Array, " steps"]:
    return 1 - jnp.prod(1 - weights, -1)


def _net_forces(
    run: SmoothResult,
) -> tuple[Float[jax.Array, "steps 3"], Float[jax.Array, " steps"]]:
    """Net forces on the object [N], and the weights of steps in their mean."""
    weights = _on_object(run)
    net = (weights[..., None] * run.arrays.forces[1:]).sum(1)
    sane = jax.nn.sigmoid((1 - safe_math.norm(net) / STRONGEST) / run.tau)
    return net, run.executed * _touched(weights) * sane


def _center_offset(
    run: SmoothResult,
) -> tuple[Float[jax.Array, "steps 3"], Float[jax.Array, " steps"]]:
    """Force-weighted centre of the contacts minus the object's [m], and if any."""
    weights = _on_object(run)
    pull = (weights * run.touch.strength)[..., None]
    arms = run.arrays.points[1:] - run.arrays.obj_pos[1:, None]
    return (pull * arms).sum(1) / (pull.sum(1) + FAINT), _touched(weights)


def _force_deviations(
    run: SmoothResult,
) -> tuple[Float[jax.Array, "steps J"], Float[jax.Array, "steps J"]]:
    """Chances of the object's contacts, and their forces minus the mean [N]."""
    weights, strength = _on_object(run), run.touch.strength
    total = weights.sum(-1) + FAINT
    mean = (weights * strength).sum(-1) / total
    return weights, strength - mean[:, None]
