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

from posewise.compilation.precision import full_matmul_precision
from posewise.features import safe_math

from .body_events import EventFlyingApart
from .contact_events import EventContactTimeOut, EventSlipOut
from .grasp_events import EventGrasp
from .smooth_events import SmoothResult
from .thresholds import MAX_NET_FORCE

Scalar = Float[jax.Array, ""]
Rows = Float[jax.Array, " rows"]
Number = float | Scalar
MIN_WEIGHT_SUM = 1e-12
"""Keeps quotients of weights finite where all are zero."""
MIN_GRASP_PROBABILITY = 1e-6
"""Keeps means given a grasp finite where there is none."""


def compile_precise(fn: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """Compiled, and precise on every device."""
    return jax.jit(full_matmul_precision(fn))


@compile_precise
def root_shortfall(reward: Scalar) -> Rows:
    """√(1 - reward): the residual of a reward that has no natural one."""
    return jnp.sqrt(jnp.maximum(1 - reward, 0.0) + MIN_GRASP_PROBABILITY)[None]


@compile_precise
def time_reward(run: SmoothResult, longest: Number) -> Scalar:
    """See `TimeCriterion`."""
    grasp, late = (
        run.probability_of(EventGrasp),
        run.probability_of(EventContactTimeOut),
    )
    times = np.arange(1, run.arrays.n_steps + 1) * run.arrays.dt
    waited = run.last_step @ jnp.minimum((times / longest) ** 2, 1.0)
    return grasp + (1 - grasp) * (1 - late) * waited


@compile_precise
def force_reward(run: SmoothResult) -> Scalar:
    """See `ForceCriterion`."""
    net, weights = _net_forces(run)
    mean = weights @ safe_math.norm(net) / (weights.sum() + MIN_WEIGHT_SUM)
    some = 1 - jnp.prod(1 - weights)
    return (1 - run.probability_of(EventContactTimeOut)) * some / (1 + mean)


@compile_precise
def force_residual(run: SmoothResult) -> Rows:
    """Net forces on the object [N] at all steps, over the root of their number."""
    net, weights = _net_forces(run)
    scale = jnp.sqrt(weights @ weights + MIN_WEIGHT_SUM)
    return (weights[:, None] * net).reshape(-1) / scale


@compile_precise
def cog_reward(run: SmoothResult) -> Scalar:
    """See `InstantObjectCOGCriterion`."""
    offset, touched = _center_offset(run)
    return run.first_step_of(EventGrasp) @ (touched / (1 + safe_math.norm(offset)))


@compile_precise
def cog_residual(run: SmoothResult) -> Rows:
    """Centre of the contacts minus centre of mass of the object [m] at the grasp."""
    return _expectation_at_grasp(run, _center_offset(run)[0])


@compile_precise
def instant_force_reward(run: SmoothResult) -> Scalar:
    """See `InstantForceCriterion`."""
    weights, deviation = _force_deviations(run)
    total = weights.sum(-1) + MIN_WEIGHT_SUM
    spread = safe_math.sqrt((weights * deviation**2).sum(-1) / total)
    return run.first_step_of(EventGrasp) @ (
        _any_contact_probability(weights) / (1 + spread)
    )


@compile_precise
def instant_force_residual(run: SmoothResult) -> Rows:
    """How much each force on the object differs from their mean [N] at the grasp."""
    weights, deviation = _force_deviations(run)
    number = jnp.sqrt(weights.sum(-1, keepdims=True) + MIN_WEIGHT_SUM)
    return _expectation_at_grasp(run, weights * deviation / number)


@compile_precise
def contacting_link_reward(run: SmoothResult) -> Scalar:
    """See `InstantContactingLinkCriterion`."""
    return run.first_step_of(EventGrasp) @ run.contacts.body[:, 1:].mean(-1)


@compile_precise
def grasp_time_reward(run: SmoothResult, total_steps: Number) -> Scalar:
    """See `GraspTimeCriterion`."""
    steps = np.arange(run.arrays.n_steps)
    return run.first_step_of(EventGrasp) @ jnp.maximum(1 - steps / total_steps, 0.0)


@compile_precise
def final_position_reward(run: SmoothResult, reference: Number) -> Scalar:
    """See `FinalPositionCriterion`."""
    distance = safe_math.norm(_displacement(run)) / reference
    near = run.tau * jax.nn.softplus((1 - distance) / run.tau)
    kept = 1 - run.probability_of(EventSlipOut)
    if any(k.event is EventFlyingApart for k in run.structures):
        kept = kept * (1 - run.probability_of(EventFlyingApart))
    return kept * (run.first_step_of(EventGrasp) @ near)


@compile_precise
def final_position_residual(run: SmoothResult, reference: Number) -> Rows:
    """Displacement of the object from the grasp to the end, over the reference."""
    return _expectation_at_grasp(run, _displacement(run) / reference)


def _expectation_at_grasp(
    run: SmoothResult, values: Float[jax.Array, "steps d"]
) -> Float[jax.Array, " d"]:
    first = run.first_step_of(EventGrasp)
    return first @ values / (first.sum() + MIN_GRASP_PROBABILITY)


def _displacement(run: SmoothResult) -> Float[jax.Array, "steps 3"]:
    """From each step to the end of the run [m, world]."""
    positions = jnp.asarray(run.arrays.obj_pos)[1:]
    return run.last_step @ positions - positions


def _object_contact_probabilities(run: SmoothResult) -> Float[jax.Array, "steps J"]:
    """Chances of the object's contacts."""
    return run.contacts.contact * run.arrays.incidence[1:, :, 0]


def _any_contact_probability(
    weights: Float[jax.Array, "steps J"],
) -> Float[jax.Array, " steps"]:
    return 1 - jnp.prod(1 - weights, -1)


def _net_forces(
    run: SmoothResult,
) -> tuple[Float[jax.Array, "steps 3"], Float[jax.Array, " steps"]]:
    """Net forces on the object [N], and the weights of steps in their mean."""
    weights = _object_contact_probabilities(run)
    net = (weights[..., None] * run.arrays.forces[1:]).sum(1)
    sane = jax.nn.sigmoid((1 - safe_math.norm(net) / MAX_NET_FORCE) / run.tau)
    return net, run.executed * _any_contact_probability(weights) * sane


def _center_offset(
    run: SmoothResult,
) -> tuple[Float[jax.Array, "steps 3"], Float[jax.Array, " steps"]]:
    """Force-weighted centre of the contacts minus the object's [m], and if any."""
    weights = _object_contact_probabilities(run)
    pull = (weights * run.contacts.strength)[..., None]
    arms = run.arrays.points[1:] - run.arrays.obj_pos[1:, None]
    return (pull * arms).sum(1) / (
        pull.sum(1) + MIN_WEIGHT_SUM
    ), _any_contact_probability(weights)


def _force_deviations(
    run: SmoothResult,
) -> tuple[Float[jax.Array, "steps J"], Float[jax.Array, "steps J"]]:
    """Chances of the object's contacts, and their forces minus the mean [N]."""
    weights, strength = _object_contact_probabilities(run), run.contacts.strength
    total = weights.sum(-1) + MIN_WEIGHT_SUM
    mean = (weights * strength).sum(-1) / total
    return weights, strength - mean[:, None]
