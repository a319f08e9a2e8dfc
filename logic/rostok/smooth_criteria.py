"""rostok's criteria as smooth functions of the probabilities of events.

A reward is an expectation over the steps at which the grasp may occur; as the
temperature falls it tends to the repaired exact reward. Residuals are vectors whose
squares a solver can minimize for the same purpose; residuals at the grasp are means
over these steps, conditional on a grasp.
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
"""Summand of denominators [1] that keeps weighted means finite if all weights are 0; a
larger one biases them towards 0."""
MIN_GRASP_PROBABILITY = 1e-6
"""Summand of denominators [1] that keeps means given a grasp finite without a grasp. A
larger value biases these means towards 0."""


def compile_precise(fn: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """Compile a function with full-precision matrix products on every device."""
    return jax.jit(full_matmul_precision(fn))


@compile_precise
def root_shortfall(reward: Scalar) -> Rows:
    """Return √(1 - reward), the residual of a reward without a natural one."""
    # The summand keeps the derivative of the root finite at reward 1.
    return jnp.sqrt(jnp.maximum(1 - reward, 0.0) + MIN_GRASP_PROBABILITY)[None]


@compile_precise
def time_reward(run: SmoothResult, max_time: Number) -> Scalar:
    """Return the smooth reward of `TimeCriterion`."""
    grasp = run.probability_of(EventGrasp)
    timeout = run.probability_of(EventContactTimeOut)
    times = np.arange(1, run.arrays.n_steps + 1) * run.arrays.dt
    otherwise = run.last_step @ jnp.minimum((times / max_time) ** 2, 1.0)
    return grasp + (1 - grasp) * (1 - timeout) * otherwise


@compile_precise
def force_reward(run: SmoothResult) -> Scalar:
    """Return the smooth reward of `ForceCriterion`."""
    net_forces, weights = _net_forces(run)
    mean = weights @ safe_math.norm(net_forces) / (weights.sum() + MIN_WEIGHT_SUM)
    any_contact = 1 - jnp.prod(1 - weights)
    no_timeout = 1 - run.probability_of(EventContactTimeOut)
    return no_timeout * any_contact / (1 + mean)


@compile_precise
def force_residual(run: SmoothResult) -> Rows:
    """Return net forces on the object [N] at all steps, over the root of their
    number."""
    net_forces, weights = _net_forces(run)
    scale = jnp.sqrt(weights @ weights + MIN_WEIGHT_SUM)
    return (weights[:, None] * net_forces).reshape(-1) / scale


@compile_precise
def cog_reward(run: SmoothResult) -> Scalar:
    """Return the smooth reward of `InstantObjectCOGCriterion`."""
    offset, any_contact = _center_offset(run)
    rewards = any_contact / (1 + safe_math.norm(offset))
    return run.first_step_of(EventGrasp) @ rewards


@compile_precise
def cog_residual(run: SmoothResult) -> Rows:
    """Return center of the contacts minus center of mass [m] at the grasp."""
    return _expectation_at_grasp(run, _center_offset(run)[0])


@compile_precise
def instant_force_reward(run: SmoothResult) -> Scalar:
    """Return the smooth reward of `InstantForceCriterion`."""
    weights, deviation = _force_deviations(run)
    total = weights.sum(-1) + MIN_WEIGHT_SUM
    standard_deviation = safe_math.sqrt((weights * deviation**2).sum(-1) / total)
    rewards = _any_contact_probability(weights) / (1 + standard_deviation)
    return run.first_step_of(EventGrasp) @ rewards


@compile_precise
def instant_force_residual(run: SmoothResult) -> Rows:
    """Return force magnitudes minus their mean [N] at the grasp, over √number."""
    weights, deviation = _force_deviations(run)
    root_count = jnp.sqrt(weights.sum(-1, keepdims=True) + MIN_WEIGHT_SUM)
    return _expectation_at_grasp(run, weights * deviation / root_count)


@compile_precise
def contacting_link_reward(run: SmoothResult) -> Scalar:
    """Return the smooth reward of `InstantContactingLinkCriterion`."""
    return run.first_step_of(EventGrasp) @ run.contacts.body[:, 1:].mean(-1)


@compile_precise
def grasp_time_reward(run: SmoothResult, total_steps: Number) -> Scalar:
    """Return the smooth reward of `GraspTimeCriterion`."""
    steps = np.arange(run.arrays.n_steps)
    return run.first_step_of(EventGrasp) @ jnp.maximum(1 - steps / total_steps, 0.0)


@compile_precise
def final_position_reward(run: SmoothResult, reference: Number) -> Scalar:
    """Return the smooth reward of `FinalPositionCriterion`."""
    distance = safe_math.norm(_displacement(run)) / reference
    # tau softplus(x / tau) is the smooth form of max(x, 0).
    rewards = run.tau * jax.nn.softplus((1 - distance) / run.tau)
    no_loss = 1 - run.probability_of(EventSlipOut)
    if any(s.event_class is EventFlyingApart for s in run.structures):
        no_loss = no_loss * (1 - run.probability_of(EventFlyingApart))
    return no_loss * (run.first_step_of(EventGrasp) @ rewards)


@compile_precise
def final_position_residual(run: SmoothResult, reference: Number) -> Rows:
    """Return the displacement of the object after the grasp, over the reference."""
    return _expectation_at_grasp(run, _displacement(run) / reference)


def _expectation_at_grasp(
    run: SmoothResult, values: Float[jax.Array, "steps d"]
) -> Float[jax.Array, " d"]:
    """Return the mean of values at the grasp, given that there is a grasp."""
    first_step = run.first_step_of(EventGrasp)
    return first_step @ values / (first_step.sum() + MIN_GRASP_PROBABILITY)


def _displacement(run: SmoothResult) -> Float[jax.Array, "steps 3"]:
    """Return the displacement from each step to the end of the run [m, world]."""
    positions = jnp.asarray(run.arrays.obj_pos)[1:]
    return run.last_step @ positions - positions


def _object_contact_probabilities(run: SmoothResult) -> Float[jax.Array, "steps J"]:
    """Return the probabilities of the object's contacts."""
    return run.contacts.contact * run.arrays.incidence[1:, :, 0]


def _any_contact_probability(
    weights: Float[jax.Array, "steps J"],
) -> Float[jax.Array, " steps"]:
    """Return the probability of at least one contact at each step."""
    return 1 - jnp.prod(1 - weights, -1)


def _net_forces(
    run: SmoothResult,
) -> tuple[Float[jax.Array, "steps 3"], Float[jax.Array, " steps"]]:
    """Return net forces on the object [N], and the weights of steps in their mean."""
    weights = _object_contact_probabilities(run)
    net_forces = (weights[..., None] * run.arrays.forces[1:]).sum(1)
    margin = 1 - safe_math.norm(net_forces) / MAX_NET_FORCE
    is_plausible = jax.nn.sigmoid(margin / run.tau)
    any_contact = _any_contact_probability(weights)
    return net_forces, run.executed * any_contact * is_plausible


def _center_offset(
    run: SmoothResult,
) -> tuple[Float[jax.Array, "steps 3"], Float[jax.Array, " steps"]]:
    """Return the offset of the contacts' center [m], and the probability of a contact.

    The center of the contacts is weighted by their forces; the offset is measured from
    the object's center of mass.
    """
    probabilities = _object_contact_probabilities(run)
    weights = (probabilities * run.contacts.strength)[..., None]
    offsets = run.arrays.points[1:] - run.arrays.obj_pos[1:, None]
    center = (weights * offsets).sum(1) / (weights.sum(1) + MIN_WEIGHT_SUM)
    return center, _any_contact_probability(probabilities)


def _force_deviations(
    run: SmoothResult,
) -> tuple[Float[jax.Array, "steps J"], Float[jax.Array, "steps J"]]:
    """Return probabilities of the object's contacts, and forces minus their mean
    [N]."""
    weights, strength = _object_contact_probabilities(run), run.contacts.strength
    total = weights.sum(-1) + MIN_WEIGHT_SUM
    mean = (weights * strength).sum(-1) / total
    return weights, strength - mean[:, None]
