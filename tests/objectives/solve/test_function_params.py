"""Params of users' functions in solves: data, batches, and derivatives by them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, ObjectiveError
from posewise.solvers.augmented_lagrangian import resume_compiled, solve


def network(tip, weights):
    return weights["out"] @ jnp.tanh(weights["in"] @ tip.p)


def weights(seed: int) -> dict:
    rng = np.random.default_rng(seed)
    return {"in": rng.normal(size=(6, 3)), "out": 0.3 * rng.normal(size=(2, 6))}


def problem(params, slices: int = 4) -> tuple[pw.KOMO, pw.Objective]:
    """Return a cart with a pole, and the learnt cost of its tip in two slices."""
    C = pw.Config()
    C.add_frame("cart", joint="transX", limits=[[-2.0], [2.0]], q=[0.3])
    C.add_frame("pole", "cart", joint="hingeY", limits=[[-2.0], [2.0]], q=[0.2])
    C.add_frame("tip", "pole", position=[0, 0, 0.5])
    komo = pw.KOMO(C, 1, slices, 2)
    komo.add_control_objective(order=2)
    komo.add_objective([1.0], FS.position, ["tip"], OT.sos, target=[0.5, 0, 0.4])
    if params is None:
        return komo, komo.add_objective([0.5, 1.0], lambda tip: tip.p, ["tip"])
    feature = pw.Feature(network, ["tip"], params=params)
    return komo, komo.add_objective([0.5, 1.0], feature, type=OT.sos)


def solved(komo: pw.KOMO) -> np.ndarray:
    return komo.solve(progress=False).path


def with_constants(seed: int) -> np.ndarray:
    """Return the path of a problem whose function has the weights in its closure."""
    komo, _ = problem(weights(0))
    komo.spec = problem_without_cost(komo)
    constants = weights(seed)
    komo.add_objective([0.5, 1.0], lambda p: network(p, constants), ["tip"], OT.sos)
    return solved(komo)


def problem_without_cost(komo: pw.KOMO):
    from dataclasses import replace

    return replace(komo.spec, objectives=komo.spec.objectives[:-1])


@pytest.mark.long
def test_new_params_compile_nothing():
    komo, cost = problem(weights(0))
    first = solved(komo)
    count = solve.num_compilations() + resume_compiled.num_compilations()
    for seed in (1, 2, 0):
        komo.set_params(cost, weights(seed))
        path = solved(komo)
        np.testing.assert_array_equal(path, with_constants(seed) if seed == 2 else path)
    np.testing.assert_array_equal(path, first)
    again, _ = problem(weights(5))
    assert abs(solved(again) - first).max() > 1e-3
    # One program more: that of the function with constants.
    assert solve.num_compilations() + resume_compiled.num_compilations() <= count + 1


def test_a_batch_has_params_of_each_problem():
    komo, cost = problem(weights(0))
    every = jax.tree.map(lambda *a: np.stack(a), *map(weights, range(3)))
    batch = komo.solve_batch(params={cost: every}, progress=False)
    for seed, solution in enumerate(batch):
        komo.set_params(cost, weights(seed))
        np.testing.assert_allclose(solution.path, solved(komo), atol=1e-9)


@pytest.mark.slow
def test_paths_are_differentiable_by_params():
    komo, cost = problem(weights(0))
    path = komo.function(("params", cost))
    w = weights(4)
    komo.set_params(cost, w)
    np.testing.assert_allclose(path(w), solved(komo), atol=1e-3)
    loss = jax.jit(lambda w: jnp.sum(path(w)[-1] ** 2))
    slope = jax.grad(loss)(w)
    rng, step = np.random.default_rng(1), 1e-5
    direction = jax.tree.map(lambda a: rng.normal(size=a.shape), w)
    up, down = (
        jax.tree.map(lambda a, d, k=k: a + k * step * d, w, direction) for k in (1, -1)
    )
    difference = (loss(up) - loss(down)) / (2 * step)
    products = jax.tree.map(lambda a, d: np.sum(a * d), slope, direction)
    np.testing.assert_allclose(
        sum(jax.tree.leaves(products)), difference, rtol=1e-6, atol=1e-8
    )


def test_params_are_given_to_objectives_too():
    komo, _ = problem(weights(1))
    other, _ = problem(weights(1))
    other.spec = problem_without_cost(other)
    cost = other.add_objective([0.5, 1.0], network, ["tip"], OT.sos, params=weights(0))
    other.set_params(cost, weights(1))
    np.testing.assert_array_equal(solved(other), solved(komo))
    with pytest.raises(ObjectiveError, match="target, order and params"):
        other.add_objective([1.0], cost.feature, params=weights(0))


def test_params_of_what_has_none():
    komo, constraint = problem(None)
    with pytest.raises(pw.FeatureError, match="has no params"):
        komo.set_params(constraint, 1.0)
    with pytest.raises(
        ObjectiveError, match="has no 'weights', expected one of: target, scale"
    ):
        komo.function(("weights", constraint))
    other, cost = problem(weights(0))
    with pytest.raises(
        ObjectiveError,
        match="objective is .* expected one of this problem's objectives",
    ):
        komo.set_params(cost, weights(0))
    with pytest.raises(ObjectiveError, match="expected a mapping of objectives"):
        other.solve_batch(params=[weights(0)], progress=False)
    with pytest.raises(ObjectiveError, match="a key of params is 'cost'"):
        other.solve_batch(params={"cost": weights(0)}, progress=False)
    uneven = {**weights(0), "in": np.ones((3, 6, 3))}
    with pytest.raises(pw.FeatureError, match="expected"):
        other.solve_batch(params={cost: uneven}, progress=False)
