"""Solves by Newton steps and by optax optimisers, with known optima."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from helpers.chain_problems import Circle, SteepCircle

import posewise as pw
from posewise import FS, OT, Status
from posewise.solvers import SOS, Options, ResidualBlock, StepBounds, solve
from posewise.solvers.first_order import solve_first_order

LBFGS = optax.lbfgs()
ADAM = optax.adam(3e-3)
OPTIONS = Options(max_iterations=20000)


class Rosenbrock:
    """A chain of `slices` points of dimension `nv`: Σ (1 - x)² + 10 (x⁺ - x²)²."""

    slices, nv, order, shared, is_large = 200, 10, 1, (), False

    def shapes(self, data, x):
        return jax.eval_shape(self.evaluate, data, x)

    def evaluate(self, data, x):
        T, n = self.slices, self.nv
        eye, kind = jnp.eye(n), jnp.full(T, SOS)
        attraction = ResidualBlock(
            1 - x, jnp.tile(-eye, (T, 1, 1, 1)), jnp.arange(T), kind
        )
        s = jnp.sqrt(data)
        y = s * (x[1:] - x[:-1] ** 2)
        old = -2 * s * x[:-1, :, None] * eye
        J = jnp.stack([old, jnp.broadcast_to(s * eye, old.shape)], 1)
        return attraction, ResidualBlock(y, J, jnp.arange(1, T), kind[1:])

    def retract(self, data, x, step):
        return x + step

    def step_bounds(self, data, x):
        return StepBounds(jnp.full_like(x, -jnp.inf), jnp.full_like(x, jnp.inf))


@pytest.mark.slow
def test_a_large_least_squares_problem():
    start = jnp.asarray(np.random.default_rng(0).uniform(-0.5, 0.5, (1, 200, 10)))
    r = solve_first_order(Rosenbrock(), LBFGS, jnp.array(10.0), start, OPTIONS)
    assert Status(int(r.status[0])) is Status.CONVERGED
    np.testing.assert_allclose(r.x, 1.0, atol=1e-2)
    assert int(r.iterations[0]) < 1000


METHODS = {
    "Newton": None,
    "L-BFGS": LBFGS,
    "Adam": ADAM,
    "NAdam": optax.nadam(3e-3),
    "AdaBelief": optax.adabelief(3e-3),
}
PROBLEMS = {
    "equation": (Circle(2.0), np.array([2, 1]) / np.sqrt(5)),
    "inequality, active": (Circle(0.6), [0.6, 0.8]),
    "inequality, far": (Circle(-0.6), [-0.6, 0.8]),
    "contradiction": (Circle(-1.5), None),
}
"""The problem, and its optimum if it has one."""


@pytest.mark.sampled
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
def test_all_methods_end_at_the_optimum(method, problem):
    chain, want = PROBLEMS[problem]
    goal, start = jnp.array([2.0, 1.0]), jnp.array([[0.3, 1.9]])
    optimizer = METHODS[method]
    if optimizer is None:
        r = solve(chain, goal, start, OPTIONS)
    else:
        many = solve_first_order(chain, optimizer, goal, start[None], OPTIONS)
        r = jax.tree.map(lambda a: a[0], many)
    if want is None:
        assert Status(int(r.status)) is Status.INFEASIBLE
        assert np.isfinite(r.x).all() and float(r.violation) > 0.1
        return
    assert Status(int(r.status)) is Status.CONVERGED
    assert float(r.kkt_residual) < OPTIONS.kkt_tolerance
    np.testing.assert_allclose(r.x[0], want, atol=1e-3)


@pytest.mark.sampled
@pytest.mark.parametrize("optimizer", [ADAM, LBFGS])
def test_a_steep_row_does_not_end_a_solve_early(optimizer):
    """Without row scaling, Adam would end at (0.82, 0.58).

    Its steps of one length leave the multiplier of the steep row out of balance.
    """
    goal, start = jnp.array([2.0, 1.0]), jnp.array([[[-1.0, 0.1]]])
    r = solve_first_order(SteepCircle(2.0), optimizer, goal, start, OPTIONS)
    is_optimal = float(r.kkt_residual[0]) < OPTIONS.kkt_tolerance
    assert is_optimal == (optimizer is LBFGS)
    want = Status.CONVERGED if is_optimal else Status.FEASIBLE
    assert Status(int(r.status[0])) is want
    np.testing.assert_allclose(r.x[0, 0], np.array([2, 1]) / np.sqrt(5), atol=1e-3)


class SharedLine:
    """Heights of T points over a line of shared slope: Σ (a t - 1)² + Σ (h - a)²."""

    slices, nv, order, shared, is_large = 20, 2, 0, (0,), False

    def shapes(self, data, x):
        return jax.eval_shape(self.evaluate, data, x)

    def evaluate(self, data, x):
        T = self.slices
        t = data * jnp.linspace(0.1, 1.0, T)
        y = jnp.stack([t * x[:, 0] - 1, x[:, 1] - x[:, 0]], 1)
        zero, one = jnp.zeros(T), jnp.ones(T)
        J = jnp.stack([jnp.stack([t, zero], 1), jnp.stack([-one, one], 1)], 1)
        return (ResidualBlock(y, J[:, None], jnp.arange(T), jnp.full(T, SOS)),)

    def retract(self, data, x, step):
        return x + step

    def step_bounds(self, data, x):
        return StepBounds(jnp.full_like(x, -jnp.inf), jnp.full_like(x, jnp.inf))


def test_methods_agree_about_the_residual_of_shared_variables():
    data, x = jnp.array(2.0), jnp.array([[0.7, 0.3]] * SharedLine.slices)
    once = Options(max_iterations=1)
    newton = solve(SharedLine(), data, x, once)
    adam = solve_first_order(SharedLine(), ADAM, data, x[None], once)
    # By hand: the gradient of a is Σ 2 t (a t - 1) - 2 (h - a).
    t = 2.0 * np.linspace(0.1, 1.0, SharedLine.slices)
    gradient = np.sum(2 * t * (0.7 * t - 1) + 0.8), -0.8
    largest = max(np.abs(2 * t * (0.7 * t - 1)).max(), 0.8)
    want = np.abs(gradient).max() / largest
    assert float(newton.kkt_residual) == pytest.approx(want, rel=1e-6)
    assert float(adam.kkt_residual[0]) == pytest.approx(want, rel=1e-6)


@pytest.mark.sampled
@pytest.mark.parametrize("limit", [1, 3])
def test_the_limit_is_the_number_of_evaluated_points(limit):
    goal, start = jnp.array([2.0, 1.0]), jnp.array([[0.3, 1.9]])
    options = Options(max_iterations=limit)
    newton = solve(Circle(2.0), goal, start, options)
    adam = solve_first_order(Circle(2.0), ADAM, goal, start[None], options)
    assert int(newton.iterations) == int(adam.iterations[0]) == limit
    for status in (newton.status, adam.status[0]):
        assert Status(int(status)) is Status.ITERATION_LIMIT


def test_bad_input_is_reported():
    goal, start = jnp.array([2.0, 1.0]), jnp.array([[[0.3, 1.9]]])
    r = solve_first_order(Circle(-0.6), ADAM, goal * jnp.nan, start, OPTIONS)
    assert Status(int(r.status[0])) is Status.BAD_INPUT
    np.testing.assert_array_equal(r.x, start)


@pytest.mark.long
def test_inverse_kinematics_with_limits_as_newton_steps_find_it():
    C = pw.Config()
    parent = "world"
    for k in range(3):
        C.add_frame(f"j{k}", parent, position=[0.4, 0, 0], joint="hingeZ")
        C.joints.set_limits(f"j{k}", [[-0.6], [0.6]])
        parent = f"j{k}"
    C.add_frame("tip", parent, position=[0.4, 0, 0])
    C.q = [0.1, 0.2, 0.3]
    komo = pw.KOMO(C)
    komo.add_control_objective(0, 0.3)
    komo.add_objective([], FS.position, ["tip"], OT.eq, target=[1.2, 0.7, 0])
    want, got = komo.solve(), komo.solve(method=ADAM, starts=2)
    assert got.status is Status.CONVERGED and got.feasible
    np.testing.assert_allclose(got.path, want.path, atol=2e-3)
    assert np.isclose(got.path, 0.6).any() and np.abs(got.path).max() <= 0.6
    np.testing.assert_allclose(got.sos, want.sos, rtol=1e-2)
    with pytest.raises(pw.ObjectiveError, match="expected 'augmented_lagrangian'"):
        komo.solve(method="newton")
