"""Steps of the piecewise quadratic model, corrections and the steering of penalties."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from posewise.solvers import EQ, INEQ, SOS, Options, ResidualBlock, StepBounds
from posewise.solvers.globalization import SearchState, judge, model_rows
from posewise.solvers.merit import AugmentedLagrangian
from posewise.solvers.quadratic_model import TrialStep, minimize_model
from posewise.solvers.residuals import FlatResiduals, flatten
from posewise.solvers.schedule import squared_violation, steer_penalty
from posewise.solvers.state import Iterate, Linearization


class Rows:
    """Linear rows in one slice, with bounds of the step."""

    slices, order, shared, is_large = 1, 0, (), False

    def __init__(self, nv: int):
        self.nv = nv

    def shapes(self, data, x):
        return ()

    def evaluate(self, data, x):
        return ()

    def step_bounds(self, data, x):
        return StepBounds(*data)

    def retract(self, data, x, step):
        return x + step


def random_rows(rng: np.random.Generator, n: int, count: int):
    J = rng.normal(size=(count, 1, 1, n))
    y = rng.normal(size=(count, 1))
    kind = rng.choice([SOS, EQ, INEQ], count, p=[0.3, 0.2, 0.5])
    arrays = y, J, np.zeros(count, int), kind
    return ResidualBlock(*map(jnp.asarray, arrays))


@pytest.mark.long
@pytest.mark.sampled("10000.0")
@pytest.mark.parametrize("mu", [1.0, 1e4])
def test_steps_minimise_the_model_within_bounds(mu):
    """Most reach the minimum; the number of passes is limited."""
    shares = [share_of_possible_decrease(seed, mu) for seed in range(8)]
    assert np.median(shares) > 0.95 and np.mean(shares) > 0.8, shares


def share_of_possible_decrease(seed: int, mu: float) -> float:
    """The decrease by a step on random rows, over that by another optimiser."""
    rng = np.random.default_rng(seed)
    n, count = 6, 14
    block = random_rows(rng, n, count)
    low, high = -rng.uniform(0, 1, (1, n)), rng.uniform(0, 1, (1, n))
    lagrangian = AugmentedLagrangian(
        jnp.asarray(rng.uniform(0, 1, count)), jnp.asarray(mu), jnp.ones(count)
    )
    damping, x = 0.1, jnp.zeros((1, n))
    residuals = flatten((block,))
    start = lagrangian.merit(residuals)
    bounds = jnp.asarray(low), jnp.asarray(high)
    trial = minimize_model(
        Rows(n),
        bounds,
        x,
        (block,),
        lagrangian,
        start,
        jnp.asarray(damping),
        jnp.asarray(10.0),
    )

    def value(step):
        y = residuals.y + jnp.sum(block.J[:, 0, 0] * step, 1)
        quadratic = damping / 2 * jnp.sum(step**2)
        return lagrangian.merit(residuals._replace(y=y)) + quadratic

    function, gradient = jax.jit(value), jax.jit(jax.grad(value))
    best = minimize(
        lambda step: float(function(jnp.asarray(step))),
        np.zeros(n),
        jac=lambda step: np.asarray(gradient(jnp.asarray(step))),
        bounds=list(zip(low[0], high[0], strict=True)),
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10000},
    )
    step = np.asarray(trial.step[0])
    assert (step >= low[0] - 1e-12).all() and (step <= high[0] + 1e-12).all()
    without_damping = float(value(step)) - damping / 2 * step @ step
    assert float(trial.predicted_decrease) == pytest.approx(
        float(start) - without_damping, rel=1e-9
    )
    return (float(start) - float(value(step))) / (float(start) - best.fun)


def test_steps_are_shortened_as_a_whole():
    rng = np.random.default_rng(0)
    block = random_rows(rng, 3, 5)._replace(kind=jnp.full(5, SOS))
    lagrangian = AugmentedLagrangian(jnp.zeros(5), jnp.ones(()), jnp.ones(5))
    unbounded = jnp.full((1, 3), -jnp.inf), jnp.full((1, 3), jnp.inf)
    start = lagrangian.merit(flatten((block,)))
    whole, short = (
        minimize_model(
            Rows(3),
            unbounded,
            jnp.zeros((1, 3)),
            (block,),
            lagrangian,
            start,
            jnp.asarray(0.0),
            m,
        )
        for m in map(jnp.asarray, (10.0, 0.01))
    )
    assert np.abs(short.step).max() == pytest.approx(0.01)
    unit = whole.step / np.abs(whole.step).max()
    np.testing.assert_allclose(short.step / 0.01, unit, atol=1e-12)
    assert 0 < short.predicted_decrease < whole.predicted_decrease


def one_row(y: float, slope: float, kind: int) -> ResidualBlock:
    return ResidualBlock(
        jnp.array([[y]]),
        jnp.array([[[[slope]]]]),
        jnp.zeros(1, int),
        jnp.array([kind]),
    )


def verdict_of(before, after, predicted, rejections=0, mu=1.0, is_first=False):
    """The verdict on a step of 0.5 that leads from some rows to others."""
    rows = flatten(before)
    count = len(rows.y)
    iterate = Iterate(
        jnp.zeros((1, 1)), rows, tuple(Linearization(b.y, b.J) for b in before)
    )
    step = jnp.full((1, 1), 0.5)
    predicted = jnp.asarray(predicted)
    trial = TrialStep(step, step, predicted, predicted, jnp.ones((), bool))
    lagrangian = AugmentedLagrangian(jnp.zeros(count), jnp.asarray(mu), jnp.ones(count))
    search = SearchState(jnp.asarray(1e-2), jnp.asarray(rejections))
    verdict = judge(
        Options(),
        iterate,
        trial,
        lagrangian,
        search,
        jnp.zeros(()),
        after,
        jnp.asarray(is_first),
    )
    return verdict, model_rows(verdict, step, after, ())


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("after", "predicted", "rejections", "accepted", "damping"),
    [
        (0.5, 0.75, 0, True, 2e-3),  # as predicted
        (0.95, 0.75, 0, True, 2e-2),  # less than a quarter
        (1.5, 0.75, 0, False, 1e-2),  # a correction is tried first
        (1.5, 0.75, 1, False, 1.0),  # 2 (1.25 + 0.75) / 0.5², at most 100 times
        (0.999999, 0.75, 1, False, 1.0),
        (np.nan, 0.75, 0, False, 1.0),
        (0.9, -0.1, 1, False, 0.1),  # a step without a promise
    ],
)
def test_acceptance_and_damping(after, predicted, rejections, accepted, damping):
    before, new = one_row(1.0, -1.0, SOS), one_row(after, -1.0, SOS)
    verdict, _ = verdict_of((before,), (new,), predicted, rejections)
    assert float(verdict.iterate.x[0, 0]) == (0.5 if accepted else 0.0)
    assert float(verdict.search.damping) == pytest.approx(damping)
    assert int(verdict.search.rejections) == (0 if accepted else rejections + 1)


def test_a_rejected_step_corrects_the_model_once():
    """Equations get the model's error; inequalities are linearised where met."""
    before = one_row(1.0, -1.0, EQ), one_row(-0.5, 0.0, INEQ), one_row(-1.0, 1.0, INEQ)
    after = one_row(0.8, 9.0, EQ), one_row(0.7, 4.0, INEQ), one_row(-0.2, 1.0, INEQ)
    verdict, rows = verdict_of(before, after, 0.5)
    assert bool(verdict.is_corrected)
    # the model said 0.5, so that it is 0.3 off
    assert float(rows[0].y[0, 0]) == pytest.approx(1.3)
    assert float(rows[0].J[0, 0, 0, 0]) == -1.0
    assert float(rows[1].y[0, 0]) == pytest.approx(0.7 - 4.0 * 0.5)
    assert float(rows[1].J[0, 0, 0, 0]) == 4.0
    assert float(rows[2].y[0, 0]) == -1.0
    verdict, rows = verdict_of(before, after, 0.5, rejections=1)
    assert not bool(verdict.is_corrected)
    for row, known in zip(rows, before, strict=True):
        np.testing.assert_array_equal(row.y, known.y)
        np.testing.assert_array_equal(row.J, known.J)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("violations", "costs", "raised"),
    [
        ((0.0, 0.3), (9.0, 1.0), True),  # gives up feasibility
        ((0.2, 0.3), (9.0, 1.0), False),  # was violated about as much
        ((0.0, 1e-4), (9.0, 1.0), False),  # stays feasible
        ((0.3, 0.1), (1.0, 9.0), False),
    ],
)
def test_penalties_are_raised_before_violations_are_traded(violations, costs, raised):
    kind = jnp.array([EQ, SOS])
    before, after = (
        FlatResiduals(jnp.array([v, np.sqrt(f)]), kind)
        for v, f in zip(violations, costs, strict=True)
    )
    lagrangian = AugmentedLagrangian(jnp.zeros(2), jnp.asarray(0.1), jnp.ones(2))
    stacked = before._replace(y=jnp.stack([before.y, after.y]))
    square = squared_violation(lagrangian, before)
    steered = steer_penalty(Options(), lagrangian, square, stacked)
    assert (float(steered.mu) > 0.1) == raised
    if raised:  # the step increases the new merit
        assert float(steered.merit(after)) > float(steered.merit(before))
