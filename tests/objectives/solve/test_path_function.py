"""`KOMO.function`: paths, statuses and derivatives of targets in and out of reach."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worlds import central_differences

import posewise as pw
from posewise import FS, OT, Status
from posewise.solvers.differentiable import EXACT_SOLUTION

pytestmark = pytest.mark.long

FLAT = np.array([[1.0, 0, 0], [0, 1, 0]])
GOOD, NEAR, FAR = np.array([[0.9, 0.5, 0], [0.91, 0.49, 0], [5.0, 0, 0]])
UNKNOWN = np.full(3, np.nan)


def arm(hinges: int = 3, limit: float = 2.0) -> pw.Config:
    """Hinges in a plane; the tip reaches 0.4 m for each."""
    C = pw.Config()
    parent = "world"
    for k in range(hinges):
        where = [0.4 * (k > 0), 0, 0]
        C.add_frame(f"j{k}", parent, position=where, joint="hingeZ", q=[0.2 + 0.1 * k])
        C.joints.set_limits(f"j{k}", [[-limit], [limit]])
        parent = f"j{k}"
    C.add_frame("tip", parent, position=[0.4, 0, 0])
    return C


def reaching(cost: float = 0.3, **world) -> tuple[pw.KOMO, pw.Objective]:
    komo = pw.KOMO(arm(**world))
    if cost:
        komo.add_control_objective(0, cost)
    tip = komo.add_objective([], FS.position, ["tip"], scale=3 * FLAT, target=GOOD)
    return komo, tip


def turning(center: float = 0.0) -> tuple[pw.KOMO, pw.Objective]:
    """One hinge, whose tip is drawn to a target."""
    C = pw.Config()
    C.add_frame("hinge", joint="hingeZ", q=[center], limits=[[-1.0], [1.0]])
    C.add_frame("tip", "hinge", position=[0.4, 0, 0])
    komo = pw.KOMO(C)
    return komo, komo.add_objective([], FS.position, ["tip"], OT.sos, scale=FLAT)


@pytest.fixture(scope="module")
def reach():
    komo, tip = reaching()
    return komo.function(tip, with_status=True)


DERIVATIVES = {
    "jacfwd": lambda f: jax.jacfwd(f),
    "jacrev": lambda f: jax.jacrev(f),
    "jvp": lambda f: (
        lambda t: jnp.stack([jax.jvp(f, (t,), (e,))[1] for e in np.eye(3)], -1)
    ),
    "vjp": lambda f: (
        lambda t: jnp.stack([jax.vjp(f, t)[1](e[None])[0] for e in np.eye(3)])[None]
    ),
    "grad": lambda f: (
        lambda t: jnp.stack([jax.grad(lambda t, k=k: f(t)[0, k])(t) for k in range(3)])[
            None
        ]
    ),
}


@pytest.mark.long
@pytest.mark.sampled("jvp-False")
@pytest.mark.parametrize(
    ("how", "is_jitted"),
    [
        *((how, False) for how in DERIVATIVES),
        *(pytest.param(how, True, marks=pytest.mark.slow) for how in DERIVATIVES),
    ],
)
def test_derivatives_are_nan_out_of_reach(reach, how, is_jitted):
    derivative = DERIVATIVES[how](lambda target: reach(target)[0])
    if is_jitted:
        derivative = jax.jit(derivative)
    want = central_differences(lambda target: reach(target)[0], GOOD)
    np.testing.assert_allclose(derivative(GOOD), want, atol=1e-6)
    for bad in (FAR, UNKNOWN):
        got = derivative(bad)
        assert got.shape == (1, 3, 3)
        # the target's z has scale 0, so that it is no number of the problem
        assert np.isnan(got[..., :2]).all()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["jacfwd", "jacrev"])
def test_a_bad_target_of_a_batch_spoils_no_other(reach, how):
    batch = np.array([GOOD, FAR, UNKNOWN, NEAR])
    derivative = getattr(jax, how)(reach, has_aux=True)
    slopes, status = jax.vmap(derivative)(batch)
    paths, its_status = jax.vmap(reach)(batch)
    want = [Status.CONVERGED, Status.INFEASIBLE, Status.BAD_INPUT, Status.CONVERGED]
    assert status.tolist() == its_status.tolist() == want
    assert np.isfinite(paths).all()
    assert np.isnan(slopes[1:3, ..., :2]).all()
    for k in (0, 3):
        path, alone = reach(batch[k])
        assert alone == Status.CONVERGED
        np.testing.assert_allclose(paths[k], path, atol=1e-9)
        single, _ = derivative(batch[k])
        np.testing.assert_allclose(slopes[k], single, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    "of_all",
    [
        pytest.param(jax.grad, marks=pytest.mark.slow),
        pytest.param(jax.jacfwd, marks=pytest.mark.slow),
        jax.jacrev,
    ],
)
def test_masked_losses_have_finite_gradients(reach, of_all):
    """The gradient of shared parameters is that of the targets within reach."""
    z = np.array([GOOD, FAR, UNKNOWN, NEAR])

    def loss(shift, z):
        paths, status = jax.vmap(reach)(z + shift)
        each = jnp.sum(paths**2, (1, 2))
        return jnp.sum(jnp.where(status == Status.CONVERGED, each, 0.0))

    got = of_all(loss)(np.zeros(3), z)
    want = jax.grad(loss)(np.zeros(3), z[[0, 3]])
    assert np.abs(want).max() > 0.1
    np.testing.assert_allclose(got, want, atol=1e-9)
    # a loss without the mask says so
    slope = jax.grad(lambda s: jnp.sum(jax.vmap(reach)(z + s)[0]))(np.zeros(3))
    assert np.isnan(slope).all()


@pytest.mark.long
def test_a_status_has_no_tangent(reach):
    (path, status), (rate, status_rate) = jax.jvp(reach, (GOOD,), (GOOD,))
    assert jnp.issubdtype(status.dtype, jnp.integer) and status.shape == ()
    assert status_rate.dtype == jax.dtypes.float0
    assert rate.shape == path.shape == (1, 3)
    _, pull = jax.vjp(reach, GOOD)
    assert np.isfinite(pull((path, status_rate))[0]).all()


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("iterations", [1, 2, 4, 500])
def test_converged_means_an_exact_solution(iterations):
    komo, tip = reaching()
    targets = np.random.default_rng(0).uniform(-1.4, 1.4, (20, 3))
    f = komo.function(tip, with_status=True, max_iterations=iterations)
    paths, statuses = map(np.asarray, jax.vmap(f)(targets))
    C, limits = komo.config.copy(), komo.config.limits
    assert iterations < 500 or Status.CONVERGED in statuses.tolist()
    for target, (q,), status in zip(targets, paths, statuses.tolist(), strict=True):
        C.q = q
        y, J = C.eval(FS.position, ["tip"], scale=3 * FLAT, target=target)
        worst = np.abs(y).max()
        if status == Status.CONVERGED:
            # stationary: the gradient of the cost is a combination of the rows', up to
            # coordinates that are at a limit
            free = (q > limits[0] + 1e-9) & (q < limits[1] - 1e-9)
            g = (0.09 * (q - komo.config.q))[free]
            along = np.linalg.lstsq(J[:, free].T, g, rcond=None)[0]
            np.testing.assert_allclose(J[:, free].T @ along, g, atol=1e-6)
            assert worst < 1e-7
        assert (worst <= 1e-3) == (status in (Status.CONVERGED, Status.FEASIBLE))


@pytest.mark.slow
def test_a_stationary_point_that_is_no_minimum_is_not_converged():
    """The hinge points away from the target: the distance has its maximum there."""
    komo, tip = turning()
    f = komo.function(tip, with_status=True)
    path, status = f(np.array([-1.0, 0, 0]))
    slope = jax.jacrev(lambda t: f(t)[0])(np.array([-1.0, 0, 0]))
    is_minimum = abs(path[0, 0]) > 0.5
    assert (status == Status.CONVERGED) == is_minimum
    assert is_minimum or np.isnan(slope[0, 0, :2]).all()


@pytest.mark.slow
def test_kinks_and_flat_costs_have_the_derivatives_of_sensitivity():
    """One-sided at a limit without force, and of least norm where costs are flat."""
    komo, tip = turning(center=1.0)
    at_limit = 0.4 * np.array([np.cos(1.0), np.sin(1.0), 0])
    flat, its = reaching(cost=0.0)
    cases = (komo, tip, at_limit, 1e-7), (flat, its, GOOD, 1e-2)
    for problem, wrt, target, tolerance in cases:
        f = problem.function(wrt, with_status=True)
        path, status = f(target)
        assert status == Status.CONVERGED
        forward = jax.jacfwd(lambda t, f=f: f(t)[0])(target)
        reverse = jax.jacrev(lambda t, f=f: f(t)[0])(target)
        assert np.isfinite(forward).all()
        np.testing.assert_allclose(forward, reverse, atol=tolerance)
    C = flat.config.copy()
    C.q = path[0]
    J = C.eval(FS.position, ["tip"], scale=FLAT)[1]
    np.testing.assert_allclose(forward[0, :, :2], np.linalg.pinv(J), atol=1e-2)


@pytest.mark.slow
def test_the_best_of_some_starts():
    """The hinge's distance to its target has two minima, one at each limit."""
    komo, tip = turning(center=0.3)
    behind = np.array([-1.0, -0.1, 0])
    assert komo.function(tip)(behind)[0, 0] == pytest.approx(1.0)
    f = komo.function(tip, with_status=True, starts=8, seed=1)
    path, status = f(behind)
    assert status == Status.CONVERGED and path[0, 0] == pytest.approx(-1.0)
    again = komo.function(tip, with_status=True, starts=8, seed=1)
    np.testing.assert_array_equal(again(behind)[0], path)
    targets = np.array([behind, behind * [1, -1, 1], [0.4, 0.1, 0]])
    paths, _ = jax.vmap(f)(targets)
    one_by_one = [f(target)[0] for target in targets]
    np.testing.assert_allclose(paths, one_by_one, atol=1e-9)
    slopes = jax.vmap(jax.jacrev(lambda t: f(t)[0]))(targets)
    np.testing.assert_allclose(slopes[:2], 0, atol=1e-12)
    x, y, _ = targets[2]
    angle = np.array([-y, x, 0]) / (x * x + y * y)
    np.testing.assert_allclose(slopes[2, 0, 0], angle, atol=1e-9)


@pytest.mark.long
def test_a_target_of_another_shape_is_an_error(reach):
    for target in (np.zeros(2), np.zeros((4, 3)), 0.5):
        with pytest.raises(pw.ObjectiveError, match=r"expected \(3,\).*vmap"):
            jax.jit(reach)(target)
    assert reach(GOOD.tolist())[1] == Status.CONVERGED


@pytest.mark.parametrize(("name", "value"), [("starts", 0), ("seed", -1)])
def test_bad_numbers_of_starts_are_errors(name, value):
    komo, tip = reaching()
    with pytest.raises(pw.ObjectiveError, match=name):
        komo.function(tip, **{name: value})


@pytest.mark.slow
def test_training_through_targets_out_of_reach(reach):
    """An affine map from inputs to targets learns; at first many are out of reach."""
    rng = np.random.default_rng(0)
    inputs = jnp.asarray(rng.uniform(-1, 1, (8, 2)))
    goals = 0.6 + 0.2 * rng.uniform(-1, 1, (8, 3))
    begin = jnp.asarray([[1.0, 0.2], [0.1, 1.0]]), jnp.asarray([0.8, 0.5])

    def losses(parameters):
        A, b = parameters
        targets = jnp.sum(inputs[:, None] * A, -1) + b
        targets = jnp.pad(targets, ((0, 0), (0, 1)))
        paths, status = jax.vmap(reach)(targets)
        is_solved = status == Status.CONVERGED
        error = jnp.sum((paths[:, 0] - goals) ** 2, -1)
        pull = 4 + jnp.sum(targets**2, -1)
        return jnp.where(is_solved, error, pull), is_solved

    def mean_loss(parameters):
        each, is_solved = losses(parameters)
        return jnp.mean(each), is_solved

    @jax.jit
    def step(parameters):
        (loss, solved), slope = jax.value_and_grad(mean_loss, has_aux=True)(parameters)
        moved = jax.tree.map(lambda p, g: p - 0.02 * g, parameters, slope)
        return moved, loss, jnp.sum(solved)

    history, parameters = [], begin
    for _ in range(100):
        parameters, loss, solved = step(parameters)
        assert all(np.isfinite(p).all() for p in parameters)
        history.append((float(loss), int(solved)))
    loss, solved = np.transpose(history)
    assert solved[0] < 8 and (solved < 8).sum() >= 5
    assert loss[-1] < 0.3 * loss[0]


@pytest.mark.slow
def test_batches_and_derivatives_compile_no_further_solution():
    """Lanes of a batch, and the point of a derivative, are solved by known programs."""
    komo, tip = reaching(cost=0.31)
    path = komo.function(tip)
    targets = np.stack([GOOD, NEAR, GOOD])
    first = path(targets[0])
    known = EXACT_SOLUTION.num_compilations()
    assert known
    batch = jax.vmap(path)(targets)
    slopes = jax.vmap(jax.jacfwd(path))(targets)
    assert EXACT_SOLUTION.num_compilations() == known
    np.testing.assert_array_equal(batch[0], first)
    np.testing.assert_allclose(batch[1], path(NEAR), atol=1e-12)
    np.testing.assert_allclose(slopes[1], jax.jacrev(path)(NEAR), atol=1e-9)
    np.testing.assert_allclose(jax.jit(jax.vmap(path))(targets), batch, atol=1e-9)
