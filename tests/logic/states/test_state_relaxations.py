"""Relaxed states imply the exact ones on random trajectories; gradients are right."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.state_histories import temperature_history, toggle_history

import posewise as pw
from posewise import ConfigError, logic
from posewise.features.safe_math import norm
from posewise.logic import smooth_extrema
from posewise.logic.states.dirt_rules import is_dirty, wipe_step
from posewise.logic.states.relaxed import (
    temperature_envelope,
    thermal_rows,
    toggle_rows,
    water_rows,
    wiping_rows,
)
from posewise.logic.states.thermal_rules import (
    dwell_steps,
    temperature_step,
)
from posewise.logic.states.water_rules import SPOUT_OFFSET, emission

DT, STEPS, DELTA, THRESHOLD = 0.1, 60, 0.03, 0.2
T_SOURCES = np.array([500.0, 90.0, -18.0])
RATES = np.array([0.2, 0.3, 0.4])
PATHS = 300
SWIPES = 80


def smooth_paths(rng, *shape, size=0.3) -> np.ndarray:
    """Random smooth motions (*shape, STEPS, 3)."""
    t = np.linspace(0, 1, STEPS)
    waves = rng.normal(0, size, (*shape, 3, 3, 1))
    phase = rng.uniform(0, 6.28, (*shape, 3, 3, 1))
    turn = np.arange(1, 4)[:, None]
    motion = (waves * np.sin(turn * t * 4 + phase) / turn).sum(-2)
    return np.moveaxis(motion, -1, -2)


def envelope(position, sources, active, start, temperatures=T_SOURCES, rates=RATES):
    """Enclosed temperatures, gates and their bound, all from positions."""
    distance = norm(jnp.asarray(position)[:, None] - sources)
    gates = temperature_envelope.range_gates(distance - THRESHOLD, DELTA, active=active)
    args = start, gates, temperatures, rates, DT
    enclosed = temperature_envelope.temperature_envelope(*args)
    return enclosed, gates, temperature_envelope.envelope_bound(*args)


@pytest.fixture(scope="module")
def courses():
    """Random paths, sources and switches; exact temperatures, and the enclosures."""
    rng = np.random.default_rng(1)
    position = smooth_paths(rng, PATHS)
    sources = np.moveaxis(smooth_paths(rng, PATHS, 3, size=0.15), 1, 2)
    active = rng.random((PATHS, 1, 3)) < 0.8
    active = active ^ (rng.random((PATHS, STEPS, 3)) < 0.05)
    start = rng.uniform(-30, 150, PATHS)
    away = np.linalg.norm(position[:, :, None] - sources, axis=-1)
    reached = (away <= THRESHOLD) & active
    exact, now = np.empty((PATHS, STEPS)), start
    for k in range(STEPS):
        now = temperature_step(now, reached[:, k], T_SOURCES, RATES, DT)
        exact[:, k] = now
    T, gates, bound = jax.jit(jax.vmap(envelope))(position, sources, active, start)
    return exact, reached, T, gates, bound


def test_envelopes_enclose_the_exact_temperatures(courses):
    exact, reached, T, gates, bound = courses
    assert reached.any() and (exact.max(1) - exact.min(1)).max() > 100
    assert (T.lower <= exact + 1e-9).all() and (exact <= T.upper + 1e-9).all()
    assert (gates.lower <= reached).all() and (reached <= gates.upper + 1e-9).all()
    gap = T.upper - T.lower
    assert (gap <= bound + 1e-9).all()
    assert (gap > 1).any()


def test_envelopes_are_tight_while_no_gate_is_half_open(courses):
    exact, _, T, gates, bound = courses
    sure = (gates.lower == gates.upper).all((1, 2))
    assert sure.sum() >= 3
    np.testing.assert_allclose(T.lower[sure], exact[sure], rtol=1e-12)
    np.testing.assert_allclose(T.upper[sure], exact[sure], rtol=1e-12)
    assert (bound[sure] == 0).all()


@jax.jit
def thermal(T, limit, smoothing):
    """All thermal rows of many courses."""
    rows = lambda T: jnp.concatenate(
        [
            thermal_rows.reached_rows(T, limit, smoothing),
            thermal_rows.not_reached_rows(T, limit, smoothing),
            (T.upper[-1] - limit)[None],
            (limit - T.lower[-1] + thermal_rows.STRICT_MARGIN)[None],
            thermal_rows.reached_rows(T, limit, smoothing),
            thermal_rows.not_reached_rows(T, limit + 40, smoothing),
        ]
    )
    return jax.vmap(rows)(T)


@pytest.mark.parametrize("smoothing", [3.0, 0.2, 0.01])
@pytest.mark.parametrize("limit", [-5.0, 25.0, 60.0, 150.0])
def test_thermal_rows_imply_the_truth(courses, limit, smoothing):
    exact, _, T, _, bound = courses
    highest, last = exact.max(1), exact[:, -1]
    rows = thermal(T, limit, smoothing)
    hot, mild, cold, warm, cooked, unburnt = np.asarray(rows).T <= 0
    margin = np.stack([limit - highest, highest - limit, last - limit, limit - last])
    for relaxed, exact_margin in zip((hot, mild, cold, warm), margin, strict=True):
        assert not (relaxed & (exact_margin > 1e-9)).any()
    both = cooked & unburnt
    assert ((limit <= highest) & (highest < limit + 40))[both].all()
    miss = np.log(STEPS) * smoothing + np.asarray(bound[:, -1])
    assert hot[margin[0] <= -miss].all()
    assert mild[margin[1] <= -miss - thermal_rows.STRICT_MARGIN].all()
    assert cold[margin[2] <= -bound[:, -1]].all()
    assert warm[margin[3] <= -bound[:, -1] - thermal_rows.STRICT_MARGIN].all()


def test_gates_of_a_relaxed_inside_leave_room_for_its_bound():
    violation = jnp.array([[-0.2], [-0.01], [0.0], [0.04], [0.2]])
    made = temperature_envelope.range_gates(
        violation, 0.05, slack=0.04, active=jnp.array([[1], [1]] + [[1]] * 3)
    )
    assert made.upper[:4].ravel().tolist() == [1, 1, 1, 1] and made.upper[4] == 0
    assert made.lower[0] == 1 and (made.lower[2:] == 0).all()
    off = temperature_envelope.range_gates(violation, 0.05, active=0.0)
    assert (off.lower == 0).all() and (off.upper == 0).all()


def test_envelopes_enclose_the_roll_out_of_a_world():
    C = pw.Config()
    hot = {"temperature": 300, "heating_rate": 0.2}
    for name, kind in (("stove", "heatSource"), ("ice", "coldSource")):
        C.add_object(
            name, joint="free", abilities={kind: hot if kind[0] == "h" else {}}
        )
    C.add_object("egg", joint="free", abilities={"cookable": {}, "freezable": {}})
    rng = np.random.default_rng(11)
    p = np.stack([x for x in smooth_paths(rng, 3, size=0.08)], 1)
    path = np.concatenate([p, np.tile([1.0, 0, 0, 0], (STEPS, 3, 1))], -1)
    path = path.reshape(STEPS, 21)
    exact = logic.rollout(C, path, DT)["egg"].temperature
    K = C.kinematics()

    def in_box_rows(path):
        at = K.poses(path)[..., :3]
        one = lambda name: at[:, K.index(name)]
        sources = jnp.stack([one("stove"), one("ice")], 1)
        temperatures, rates = np.array([300.0, -18.0]), np.array([0.2, 0.02])
        return envelope(one("egg"), sources, 1.0, 23.0, temperatures, rates)[0]

    lowest = lambda path: (jnp.sum((T := in_box_rows(path)).lower), T)
    slope, T = jax.jit(jax.grad(lowest, has_aux=True))(path)
    assert (T.lower <= exact + 1e-9).all() and (exact <= T.upper + 1e-9).all()
    assert np.ptp(exact) > 20
    assert np.isfinite(slope).all() and np.abs(slope).max() > 0.1


def test_dwelling_cooks_exactly_in_time():
    n = dwell_steps(23.0, 70.0, 200.0, 0.3, DT)
    rng = np.random.default_rng(2)
    for _ in range(50):
        start = int(rng.integers(0, STEPS - n + 1))
        distance = rng.uniform(0, 0.6, STEPS)
        near = slice(start, start + n)
        distance[near] = rng.uniform(0, 0.21, n)
        rows = thermal_rows.dwell_rows(jnp.asarray(distance), 0.2, n, start, 0.001)
        assert rows.shape == (n,)
        if rng.random() < 0.7:
            distance[near] = np.minimum(distance[near], 0.199)
            rows = thermal_rows.dwell_rows(jnp.asarray(distance), 0.2, n, start)
        reached = (distance <= 0.2)[:, None]
        args = np.array([200.0]), np.array([0.3]), DT
        T = temperature_history(23.0, reached, *args)
        assert not (rows <= 0).all() or T[: start + n].max() >= 70.0


def test_aggregates_are_on_their_side():
    rng = np.random.default_rng(3)
    x = jnp.asarray(rng.normal(0, 3, (500, 7)))
    ordered = np.sort(x)
    largest, over, under = (
        jax.jit(partial(bound, axis=-1))
        for bound in (
            smooth_extrema.smooth_max,
            smooth_extrema.mellowmax,
            smooth_extrema.mellowmin,
        )
    )
    kth = jax.jit(smooth_extrema.kth_smallest, static_argnums=1)
    for t in (10.0, 0.02):
        slack = t * np.log(7)
        for smooth, exact, low, high in (
            (largest(x, t), ordered[:, -1], 0, slack),
            (over(x, t), ordered[:, -1], -slack, 0),
            (under(x, t), ordered[:, 0], 0, slack),
            *(
                (kth(x, i, t), ordered[:, i - 1], 0, t * np.log(8 - i))
                for i in (1, 4, 7)
            ),
        ):
            off = np.asarray(smooth) - exact
            assert (low - 1e-9 <= off).all() and (off <= high + 1e-9).all()
    mean = smooth_extrema.kth_smallest(x, 3, 1e7)
    np.testing.assert_allclose(mean, ordered[:, 2:].mean(-1), atol=1e-4)
    with pytest.raises(ConfigError, match="from 1 to 7"):
        smooth_extrema.kth_smallest(x, 8, 1.0)


@pytest.mark.parametrize("level", [1, 3])
def test_soaking_implies_caught_droplets(level):
    rng = np.random.default_rng(4)
    drops = np.flatnonzero(emission(np.ones(STEPS, bool), 0.1))
    ball = smooth_paths(rng, PATHS, size=0.1) - [0, 0, 0.3]
    spout, radius, smoothing = smooth_paths(rng, PATHS, size=0.02), 0.05, 1e-3
    column = lambda *at: water_rows.column_gap(*at, radius, smoothing)
    gap = jax.jit(column)(spout, ball)
    soaked = jax.vmap(lambda g: water_rows.soaked_rows(g, drops, level))
    row = jax.jit(soaked)(gap)[:, 0]
    away = ball - spout - SPOUT_OFFSET
    beside, above = np.hypot(away[..., 0], away[..., 1]) - radius, away[..., 2] + radius
    exact = np.maximum(beside, above)
    off = np.asarray(gap) - exact
    assert ((-1e-12 <= off) & (off <= np.log(2) * smoothing + 1e-12)).all()
    caught = np.sort(exact[:, drops])[:, level - 1]
    assert not ((row <= 0) & (caught > 0)).any()
    assert (row <= 0)[caught <= -(np.log(2) + np.log(len(drops))) * smoothing].all()
    assert 20 < (row <= 0).sum() < PATHS - 20


@pytest.mark.parametrize("wet", [False, True])
def test_wiping_implies_clean(wet):
    rng = np.random.default_rng(5)
    smoothing, n = 1e-3, 20
    flat = np.array([1.0, 0.4, 0.0])
    particles = rng.uniform(-0.2, 0.2, (SWIPES, 1, n, 3)) * flat
    particles = np.repeat(particles, STEPS, 1)
    center = smooth_paths(rng, SWIPES, size=0.08) * [1, 0.3, 0.3]
    half = np.array([0.03, 0.06, 0.04])
    low, high = center - half, center + half
    touch = np.abs(center[..., 2:]) - 0.03
    work = np.concatenate([touch] + [rng.normal(-1, 1, touch.shape)] * wet, -1)
    needed = wiping_rows.removals_needed(n, 0.5)
    row = jax.jit(
        jax.vmap(lambda *a: wiping_rows.wiped_rows(*a, needed, smoothing)[0])
    )(particles, low, high, work)
    clean = []
    for i in range(SWIPES):
        active = np.ones(n, bool)
        for t in range(STEPS):
            works = bool((work[i, t] <= 0).all())
            args = particles[i, t], low[i, t], high[i, t], works
            active = wipe_step(active, *args)
        clean.append(not is_dirty(active))
    relaxed = np.asarray(row <= 0)
    assert not (relaxed & ~np.array(clean)).any()
    assert 10 < relaxed.sum() < SWIPES - 10
    rows = np.concatenate(
        [low[:, :, None] - particles, particles - high[:, :, None]], -1
    )
    worst = np.maximum(rows.max(-1), work.max(-1)[..., None]).min(1)
    exact = np.sort(worst)[:, needed - 1]
    miss = (np.log(6 + 1 + wet) + np.log(STEPS) + np.log(n)) * smoothing
    assert relaxed[exact <= -miss].all()


@pytest.mark.parametrize(
    "count, threshold, needed", [(20, 0.5, 10), (20, 0.75, 5), (5, 0.5, 3), (1, 0.5, 1)]
)
def test_removals_needed_are_the_fewest(count, threshold, needed):
    assert wiping_rows.removals_needed(count, threshold) == needed
    assert not is_dirty(np.arange(count) >= needed, threshold)
    assert is_dirty(np.arange(count) >= needed - 1, threshold)


def test_toggling_implies_the_switches_of_the_windows():
    rng = np.random.default_rng(6)
    windows = [(3, 8), (12, 20), (25, 30)]
    near = np.zeros(40, bool)
    for first, end in windows:
        near[first:end] = True
    inward, outward = rng.uniform(0, 0.1, (2, PATHS, 40, 3))
    fingers = np.where(near[:, None], inward, 0.1 + outward)
    fingers[:, :, 1:] += rng.uniform(0, 0.1, (PATHS, 1, 2)) * near[:, None]
    for i in np.flatnonzero(rng.random(PATHS) < 0.4):
        fingers[i, rng.integers(40)] = rng.uniform(0.05, 0.15)
    toggled = jax.vmap(lambda d: toggle_rows.toggled_rows(d, windows))
    rows = np.asarray(jax.jit(toggled)(fingers))
    assert rows.shape == (PATHS, 18 + 22 * 3)
    satisfied = np.flatnonzero((rows <= 0).all(-1))
    assert 50 < len(satisfied) < PATHS - 20
    for i in satisfied[:40]:
        on = toggle_history(fingers[i].min(-1))
        assert np.flatnonzero(np.diff(on, prepend=False)).tolist() == [7, 16, 29]


@pytest.mark.parametrize(
    "windows", [[(3, 7)], [(3, 8), (8, 13)], [(36, 41)], [(-1, 9)]]
)
def test_windows_that_do_not_fit(windows):
    with pytest.raises(ConfigError, match="does not fit"):
        toggle_rows.toggled_rows(jnp.ones((40, 1)), windows)


def numeric(f, x, h=1e-6) -> np.ndarray:
    """Central differences."""
    flat = np.eye(x.size).reshape(x.size, *x.shape) * h
    return np.array([(f(x + e) - f(x - e)) / (2 * h) for e in flat]).reshape(x.shape)


FEW = 12


def temperature_of(x):
    """Summed envelopes of an object (first rows) and three sources (the others)."""
    position, sources = x[:FEW], x[FEW:].reshape(FEW, 3, 3)
    T, _, bound = envelope(position, sources, 1.0, 60.0)
    row = thermal_rows.reached_rows(T, 70.0)[0]
    return row + 0.1 * T.upper.sum() + 0.01 * T.lower.sum() + 0.001 * bound.sum()


def wiped_of(x):
    center = x[:FEW]
    particles = jnp.asarray(np.random.default_rng(8).uniform(-0.2, 0.2, (FEW, 6, 3)))
    args = particles, center - 0.1, center + 0.1, x[FEW : 2 * FEW, :1]
    return wiping_rows.wiped_rows(*args, 3, 0.02)[0]


def soaked_of(x):
    gap = water_rows.column_gap(x[:FEW], x[FEW : 2 * FEW] - 0.3, 0.05, 0.02)
    return water_rows.soaked_rows(gap, [1, 5, 9], 2, 0.02)[0]


def toggled_of(x):
    distance = jnp.stack(
        [
            norm(x[:FEW]),
            norm(x[FEW : 2 * FEW]),
        ],
        -1,
    )
    rows = toggle_rows.toggled_rows(distance, [(2, 8)], smoothing=0.05)
    return (rows * jnp.arange(len(rows))).sum()


@pytest.mark.sampled
@pytest.mark.parametrize("f", [temperature_of, wiped_of, soaked_of, toggled_of])
def test_gradients(f):
    rng = np.random.default_rng(7)
    x = rng.uniform(-0.12, 0.12, (4 * FEW, 3))
    compiled = jax.jit(f)
    gradient = np.asarray(jax.jit(jax.grad(f))(x))
    np.testing.assert_allclose(gradient, numeric(compiled, x), rtol=1e-4, atol=1e-6)
    assert np.abs(gradient).max() > 1e-3
    assert np.isfinite(jax.jit(jax.grad(f))(np.zeros_like(x))).all()
    batched = jax.jit(jax.vmap(f))(np.stack([x, 2 * x]))
    np.testing.assert_allclose(batched[0], compiled(x), rtol=1e-12)


def test_steps_that_overshoot_have_no_envelope():
    gates = temperature_envelope.Gates(jnp.ones((3, 1)), jnp.ones((3, 1)))
    with pytest.raises(ConfigError, match="take a smaller dt"):
        temperature_envelope.temperature_envelope(
            23.0, gates, np.array([200.0]), np.array([2.0]), 0.6
        )


def test_no_source_at_all():
    gates = temperature_envelope.Gates(jnp.ones((50, 0)), jnp.ones((50, 0)))
    T = temperature_envelope.temperature_envelope(80.0, gates, np.zeros(0), np.zeros(0))
    exact = temperature_history(80.0, np.zeros((50, 0), bool), np.zeros(0), np.zeros(0))
    np.testing.assert_allclose(T.lower, exact)
    np.testing.assert_allclose(T.upper, exact)


def test_rows_that_do_not_fit():
    with pytest.raises(ConfigError, match="steps 5 to 15 are not all in a trajectory"):
        thermal_rows.dwell_rows(jnp.zeros(12), 0.2, 10, 5)
    with pytest.raises(ConfigError, match="1 droplets are let go, and it takes 2"):
        water_rows.soaked_rows(jnp.zeros(12), [3], 2)
    with pytest.raises(ConfigError, match="expected steps within 0 to 11"):
        water_rows.soaked_rows(jnp.zeros(12), [3, 12], 2)
