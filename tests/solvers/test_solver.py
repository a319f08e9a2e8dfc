"""Linear algebra against dense solves, and the solver against known optima."""

from dataclasses import fields

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.chain_problems import Circle, SteepCircle, _at

import posewise as pw
from posewise import FS, OT
from posewise.solvers import (
    EQ,
    INEQ,
    SOS,
    Options,
    ResidualBlock,
    Status,
    StepBounds,
    solve,
)
from posewise.solvers.banded import solve_banded
from posewise.solvers.linear_system import assemble, newton_step, partition_variables
from posewise.solvers.merit import AugmentedLagrangian
from posewise.solvers.options import SolverOptions
from posewise.solvers.quadratic_model import linear_change
from posewise.solvers.residuals import (
    expand_columns,
    flatten,
    merge_like_blocks,
)


@pytest.mark.parametrize("T", [pytest.param(1, marks=pytest.mark.edge), 2, 3, 5, 8])
@pytest.mark.parametrize("width", [0, 1, 2])
def test_banded_solve_equals_dense(T, width):
    rng = np.random.default_rng(T + 10 * width)
    n = 3
    bands = rng.normal(size=(width + 1, T, n, n))
    H = np.zeros((T, n, T, n))
    for d in range(width + 1):
        for t in range(d, T):
            block = bands[d, t]
            if d == 0:
                block = bands[0, t] = block @ block.T + 10 * np.eye(n)
            H[t, :, t - d] = block
            H[t - d, :, t] = block.T
    for d in range(width + 1):
        bands[d, :d] = 0
    b = rng.normal(size=(T, n, 2))
    x = solve_banded(list(map(jnp.asarray, bands)), jnp.asarray(b))
    want = np.linalg.solve(H.reshape(T * n, -1), b.reshape(T * n, 2)).reshape(b.shape)
    np.testing.assert_allclose(x, want, atol=1e-12)


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("shared", "single"),
    [((), ()), ((1,), ()), ((0, 3), ()), ((), (1, 3)), ((1,), (2,)), ((0, 2), (1, 3))],
)
def test_a_step_equals_the_dense_one(shared, single):
    """Columns of shared variables add up over slices.

    `single` lists lengths of windows whose rows depend on one column each.
    """
    rng = np.random.default_rng(len(shared))
    T, n, N, D = 6, 4, 5, 3
    parts = partition_variables(n, shared)
    num_local = len(parts.local)
    place = np.zeros((T, n), int)
    place[:, parts.local] = np.arange(T * num_local).reshape(T, num_local)
    place[:, parts.shared] = T * num_local + np.arange(len(shared))
    size = T * num_local + len(shared)
    groups, dense = [], []
    for window in (1, 2, 3):
        last = rng.integers(0, T, N)
        J = rng.normal(size=(N, window, D, n))
        y = rng.normal(size=(N, D))
        kind = np.array([SOS, EQ, INEQ, SOS, INEQ])
        if window in single:
            column = rng.choice(parts.local, (N, D))
            fields = y, J[..., :1], last, kind, column
            J = J[..., :1] * (column[:, None, :, None] == np.arange(n))
        else:
            fields = y, J, last, kind
        groups.append(ResidualBlock(*map(jnp.asarray, fields)))
        np.testing.assert_array_equal(expand_columns(groups[-1], n), J)
        full = np.zeros((N, D, size))
        for i in range(N):
            for k in range(window):
                t = last[i] - (window - 1 - k)
                inside = np.arange(n) if t >= 0 else parts.shared
                for c in inside:
                    full[i, :, place[max(t, 0), c]] += J[i, k, :, c]
        dense.append(full.reshape(N * D, size))
    mu, damping = jnp.asarray(2.0), 0.3
    line = flatten(tuple(groups))
    multipliers = jnp.asarray(rng.uniform(0, 1, line.y.shape))
    lagrangian = AugmentedLagrangian(multipliers, mu, jnp.ones_like(line.y))
    weights = lagrangian.terms(line)
    A = np.concatenate(dense)
    move = rng.normal(size=(T, n))
    move[:, parts.shared] = move[0, parts.shared]
    change = np.zeros(size)
    change[place] = move
    got = linear_change(tuple(groups), jnp.asarray(move), shared)
    np.testing.assert_allclose(got, A @ change, atol=1e-12)
    slope, curvature = np.asarray(weights.slope), np.asarray(weights.curvature)
    g, H = A.T @ slope, A.T @ np.diag(curvature) @ A
    is_held = np.zeros((T, n), bool)
    is_held[2, parts.local[0]] = True
    is_held[:, list(shared)[1:]] = True
    fixed = np.isin(np.arange(size), place[is_held])
    step = np.zeros(size)
    free = ~fixed
    H_free = H[np.ix_(free, free)] + damping * np.eye(free.sum())
    step[free] = -np.linalg.solve(H_free, g[free])
    system = assemble(tuple(groups), weights, T, 2, parts)
    np.testing.assert_allclose(system.gradient, g[place], atol=1e-11)
    got, predicted = newton_step(
        system, jnp.asarray(is_held), jnp.asarray(damping), parts
    )
    np.testing.assert_allclose(got, step[place], atol=1e-11)
    want = -(g @ step + 0.5 * step @ H @ step)
    assert float(predicted) == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(
    ("wall", "want"),
    [(2.0, np.array([2, 1]) / np.sqrt(5)), (0.6, [0.6, 0.8]), (-0.6, [-0.6, 0.8])],
)
def test_a_constrained_optimum_with_multipliers(wall, want):
    r = solve(Circle(wall), jnp.array([2.0, 1.0]), jnp.array([[0.3, 1.9]]), Options())
    assert Status(int(r.status)) is Status.CONVERGED
    np.testing.assert_allclose(r.x[0], want, atol=2e-4)
    # stationarity: grad cost + λ grad constraints = 0
    p = np.asarray(r.x[0])
    slope = 2 * (p - [2, 1]) + float(r.multipliers[-2]) * 2 * p
    slope[0] += float(r.multipliers[-1])
    np.testing.assert_allclose(slope, 0, atol=5e-2)


def test_contradictory_constraints_end_as_infeasible():
    r = solve(Circle(-1.5), jnp.array([2.0, 1.0]), jnp.array([[0.3, 1.9]]), Options())
    assert Status(int(r.status)) is Status.INFEASIBLE
    assert np.isfinite(r.x).all() and float(r.violation) > 0.1


@pytest.mark.parametrize(("least", "passes"), [(1e-3, 9), (1e-9, 99)])
def test_slow_progress_ends_a_feasible_solve(least, passes):
    options = Options(max_step=1e-5, progress_tolerance=least, max_iterations=99)
    r = solve(Circle(2.0), jnp.array([2.0, 1.0]), jnp.array([[0.0, 1.0]]), options)
    assert Status(int(r.status)) is Status.FEASIBLE
    assert float(r.violation) < 1e-4
    assert int(r.iterations) == passes


class Plain(Circle):
    """Nearest point to `data`: one step solves it."""

    def evaluate(self, data, x):
        return (ResidualBlock((x[0] - data)[None], jnp.eye(2)[None, None], *_at(SOS)),)


@pytest.mark.sampled
@pytest.mark.parametrize(("begin", "passes"), [([2.0, 1.0], 1), ([0.3, 0.8], 2)])
def test_a_step_that_gains_nothing_is_not_evaluated(begin, passes):
    """Iterations evaluate points: the start, and the end of a step."""
    options = Options(damping=1e-12, damping_min=1e-12, max_step=10.0)
    r = solve(Plain(2.0), jnp.array([2.0, 1.0]), jnp.array([begin]), options)
    assert Status(int(r.status)) is Status.CONVERGED and int(r.iterations) == passes
    np.testing.assert_allclose(r.x[0], [2, 1], atol=1e-7)


def test_like_blocks_are_merged_in_order():
    rng = np.random.default_rng(0)
    groups = []
    for rows, window in ((2, 1), (3, 1), (1, 2), (2, 1)):
        n = int(rng.integers(2, 5))
        J = jnp.asarray(rng.normal(size=(n, window, rows, 4)))
        y, kind = rng.normal(size=(n, rows)), rng.integers(0, 3, n)
        last = rng.integers(0, 6, n)
        groups.append(
            ResidualBlock(jnp.asarray(y), J, jnp.asarray(last), jnp.asarray(kind))
        )
    together = merge_like_blocks(tuple(groups))
    assert [r.J.shape[1] for r in together] == [1, 2, 1]
    for of in (lambda g: flatten(g).y, lambda g: flatten(g).kind):
        np.testing.assert_array_equal(of(together), of(tuple(groups)))
    each = [
        (r.last_slice[i], r.J[i, :, j])
        for r in groups
        for i, j in np.ndindex(r.y.shape)
    ]
    columns = [
        (r.last_slice[i], r.J[i, :, 0]) for r in together for i in range(len(r.y))
    ]
    for (last, J), (same, alike) in zip(each, columns, strict=True):
        np.testing.assert_array_equal(J, alike)
        assert last == same


class FalsePromise(Circle):
    """Derivatives that predict a small decrease each time, which never happens."""

    def evaluate(self, data, x):
        y = jnp.stack([jnp.ones(()), x[0, 0]])
        claimed = jnp.array([[0.0, 0.0], [1e9, 0.0]])
        return (ResidualBlock(y[None], claimed[None, None], *_at(SOS)),)


@pytest.mark.long
@pytest.mark.parametrize("promised", [5, 50])
def test_a_solve_whose_steps_gain_nothing_ends_feasible(promised):
    options = Options(step_tolerance=0.0)
    start = jnp.array([[np.sqrt(promised * options.cost_tolerance), 0.0]])
    r = solve(FalsePromise(2.0), jnp.zeros(2), start, options)
    assert Status(int(r.status)) is Status.FEASIBLE
    assert int(r.iterations) == 9


def test_a_curved_constraint_does_not_slow_a_stiff_solve():
    """The path follows a circle under a large penalty, from opposite the optimum."""
    options = Options(mu=1e6, progress_tolerance=1e-9)
    r = solve(Circle(2.0), jnp.array([2.0, 1.0]), jnp.array([[-1.0, 0.1]]), options)
    assert Status(int(r.status)) is Status.CONVERGED and int(r.iterations) < 150
    np.testing.assert_allclose(r.x[0], np.array([2, 1]) / np.sqrt(5), atol=2e-4)


class Bowl(Circle):
    """Nearest point to 1 in a bowl that is flat at the start."""

    def evaluate(self, steepness, x):
        position = x[0, 0]
        y = jnp.stack([position - 1, steepness * position**2])
        slope = jnp.array([[1.0, 0.0], [0.0, 0.0]])
        slope = slope.at[1, 0].set(2 * steepness * position)
        kind = jnp.full(2, SOS)
        return (
            ResidualBlock(y[:, None], slope[:, None, None], jnp.zeros(2, int), kind),
        )


@pytest.mark.sampled
@pytest.mark.parametrize("steepness", [1e3, 1e4])
def test_a_rejected_step_raises_the_damping_by_the_missing_curvature(steepness):
    """If damping only grew tenfold each time, the solve would stall at the start."""
    options = Options(max_step=10.0)
    r = solve(Bowl(2.0), jnp.asarray(steepness), jnp.zeros((1, 2)), options)
    assert Status(int(r.status)) is Status.CONVERGED
    position = float(r.x[0, 0])
    assert 2 * steepness**2 * position**3 + position == pytest.approx(1.0, rel=1e-2)


def solve_steep_circle(**options):
    begin = jnp.array([[-1.0, 0.1]])
    return solve(SteepCircle(2.0), jnp.array([2.0, 1.0]), begin, Options(**options))


def test_a_steep_row_makes_no_narrow_valley_of_a_penalty():
    """The solve follows the circle halfway round."""
    r = solve_steep_circle()
    assert Status(int(r.status)) is Status.CONVERGED
    np.testing.assert_allclose(r.x[0], np.array([2, 1]) / np.sqrt(5), atol=2e-4)


@pytest.mark.sampled
@pytest.mark.parametrize("position", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("direction", [1e-3, 1.0, 1e3])
def test_scales_of_equations_do_not_decide_about_success(position, direction):
    C = pw.Config()
    parent = "world"
    for k in range(4):
        C.add_frame(f"j{k}", parent, position=[0.4, 0, 0], joint="hingeZ")
        parent = f"j{k}"
    C.add_frame("tip", parent, position=[0.4, 0, 0])
    C.q = [0.9, -0.7, 1.1, 0.4]
    place, along = C.pose("tip")[:3], C.eval(FS.vectorX, ["tip"])[0]
    C.q = [0.1, 0.2, 0.1, 0.1]
    komo = pw.KOMO(C)
    komo.add_control_objective(0, 0.1)
    for symbol, target, scale in (
        (FS.position, place, position),
        (FS.vectorX, along, direction),
    ):
        komo.add_objective([], symbol, ["tip"], OT.eq, target=target, scale=scale)
    s = komo.solve(tolerance=1e-3 * min(position, direction))
    assert s.status is Status.CONVERGED and s.iterations < 100
    C.q = s.q
    np.testing.assert_allclose(C.pose("tip")[:3], place, atol=2e-3)
    np.testing.assert_allclose(C.eval(FS.vectorX, ["tip"])[0], along, atol=2e-3)


def test_a_small_kkt_residual_gives_the_multiplier_of_a_steep_row():
    r = solve_steep_circle(kkt_tolerance=1e-4)
    assert Status(int(r.status)) is Status.CONVERGED
    assert float(r.kkt_residual) < 1e-4 and int(r.iterations) < 80
    # its multiplier is of the row as it is stated
    assert float(r.multipliers[-2]) == pytest.approx(1e-3 * (np.sqrt(5) - 1), rel=1e-3)


class Corner:
    """Lowest point that a bound, a wall and a line allow; the cost pulls far beyond."""

    slices, nv, order, shared, is_large = 1, 2, 0, (), False

    def __init__(self, low: float, wall: float):
        self.low, self.wall = low, wall

    def shapes(self, data, x):
        return jax.eval_shape(self.evaluate, data, x)

    def evaluate(self, data, x):
        far = jnp.array([[0.1, 0.02], [0.02, 0.1]])
        cost = ResidualBlock((far @ (x[0] - data))[None], far[None, None], *_at(SOS))
        wall = ResidualBlock(
            (self.wall - x[0, 1:])[None], -jnp.eye(2)[None, None, 1:], *_at(INEQ)
        )
        normal = jnp.array([[1.0, -3.0]])
        line = ResidualBlock((normal @ x[0] + 2)[None], normal[None, None], *_at(INEQ))
        return cost, wall, line

    def retract(self, data, x, step):
        return jnp.maximum(x + step, self.low)

    def step_bounds(self, data, x):
        return StepBounds(self.low - x, jnp.full_like(x, jnp.inf))


@pytest.mark.parametrize(
    ("low", "wall", "want", "passes"),
    [
        (-1.0, 0.5, [-1, 0.5], 5),
        (0.0, -1.0, [0, 2 / 3], 4),
        (0.3, 0.2, [0.3, 2.3 / 3], 4),
    ],
)
def test_steps_that_run_into_bounds_and_inequalities(low, wall, want, passes):
    """No trial ends beyond them; without prediction it takes 8, 6 and 6 iterations."""
    options = Options(mu=1e4, max_step=10.0)
    start = jnp.array([[5.0, 6.0]])
    r = solve(Corner(low, wall), jnp.array([-20.0, -30.0]), start, options)
    assert Status(int(r.status)) is Status.CONVERGED and int(r.iterations) <= passes
    np.testing.assert_allclose(r.x[0], want, atol=2e-4)


class Hinged:
    """Nearest point to (2, 1) outside of two discs, with overlaps as rows."""

    slices, nv, order, shared, is_large = 1, 2, 0, (), False
    discs = np.array([[2.0, 0.6], [1.7, 1.4]])

    def shapes(self, data, x):
        return jax.eval_shape(self.evaluate, data, x)

    def evaluate(self, data, x):
        p = x[0]
        cost = ResidualBlock((p - data)[None], jnp.eye(2)[None, None], *_at(SOS))
        away = p - self.discs
        distance = jnp.sqrt(jnp.sum(away**2, 1))
        overlap = jnp.maximum(0.6 - distance, 0.0)
        slope = jnp.where(overlap[:, None] > 0, -away / distance[:, None], 0.0)
        discs = [
            ResidualBlock(
                overlap[i, None, None], slope[i, None, None, None], *_at(INEQ)
            )
            for i in range(2)
        ]
        return (cost, *discs)

    def retract(self, data, x, step):
        return x + step

    def step_bounds(self, data, x):
        return StepBounds(jnp.full_like(x, -jnp.inf), jnp.full_like(x, jnp.inf))


def test_overlaps_that_vanish_are_cut_off():
    """The optimum is where both circles meet, but most trials touch one or none."""
    r = solve(Hinged(), jnp.array([2.0, 1.0]), jnp.array([[3.0, 2.0]]), Options())
    assert Status(int(r.status)) is Status.CONVERGED and int(r.iterations) < 40
    away = np.linalg.norm(np.asarray(r.x[0]) - Hinged.discs, axis=1)
    np.testing.assert_allclose(away, 0.6, atol=2e-4)
    overlap = np.asarray(r.y[-2:])
    np.testing.assert_allclose(overlap, np.maximum(0.6 - away, 0), atol=1e-12)


def test_keywords_of_solves_are_the_options():
    keywords = set(SolverOptions.__annotations__) | {
        "tolerance",
        "feasibility_tolerance",
    }
    assert keywords == {field.name for field in fields(Options)}
