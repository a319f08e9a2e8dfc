"""Distances of many pairs as one function: values, derivatives, transformations."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worlds import random_q

import posewise as pw
from posewise import FS
from posewise.features.errors import FeatureError
from posewise.robots import ConfigError, Geometry
from posewise.robots.contact.gjk_numpy import min_distance
from posewise.robots.kinematics.transforms import quat_to_matrix

rng = np.random.default_rng(0)
ROCK = pw.Convex(0.1 * rng.normal(size=(12, 3)))
STONE = pw.Convex(0.1 * rng.normal(size=(40, 3)))
CUTOFF = 0.3
PAIRS_OF_BOXES = [("wall", "arm"), ("tool", "wall"), ("ball", "tool"), ("ball", "bare")]
PAIRS_OF_ALL = [
    *PAIRS_OF_BOXES,
    *(pair for a in ("arm", "tool") for b in ("floor", "rock", "can", "egg")
      for pair in ((a, b), (b, a))),
    *(("rock", "stone"), ("stone", "floor"), ("floor", "can"), ("can", "stone")),
    *(("union", "tool"), ("arm", "union"), ("union", "stone"), ("union", "floor")),
]  # fmt: skip
KINDS = ["boxes", pytest.param("all", marks=pytest.mark.slow)]


def world(kind: str) -> pw.Config:
    """Return an arm with a mimic joint and a quaternion among obstacles."""
    C = pw.Config()
    C.add_frame("wall", position=[1, 0, 0.5], shape=pw.Box([0.2, 1, 1]), contact=1)
    C.add_frame("base", position=[0, 0, 0.5], joint="transX")
    C.add_frame("arm", "base", joint="hinge", axis=[0.48, 0.6, 0.64],
                shape=pw.Capsule(0.3, 0.05), contact=1)  # fmt: skip
    C.add_frame("tool", "arm", position=[0.1, 0.3, 0], joint="quatBall", contact=1,
                shape=pw.Box([0.1, 0.12, 0.08], rounding=0.02))  # fmt: skip
    C.add_frame("link", "base", position=[-0.4, 0, 0.1], joint="hinge", mimic="arm",
                axis=[0, 0, 1], multiplier=-1.5, offset=0.1)  # fmt: skip
    C.add_frame("ball", "link", position=[0.5, 0, 0], shape=pw.Sphere(0.1), contact=1)
    C.add_frame("bare", "tool", position=[0.1, 0.2, 0])
    if kind == "all":
        tilted = [0.9, 0.1, 0.2, 0.3]
        C.add_frame("floor", shape=pw.Plane())
        C.add_frame("rock", pose=[0.5, 0.6, 0.5, *tilted], shape=ROCK)
        C.add_frame("stone", pose=[0.4, -0.6, 0.5, *tilted], shape=STONE)
        C.add_frame("can", pose=[-0.5, 0.6, 0.5, *tilted], shape=pw.Cylinder(0.3, 0.1))
        egg = pw.Ellipsoid([0.1, 0.15, 0.2])
        C.add_frame("egg", pose=[-0.5, -0.5, 0.5, *tilted], shape=egg)
        C.add_frame("union", pose=[0, 0.8, 0.5, *tilted], shape=ROCK)
        more = Geometry(pw.Capsule(0.4, 0.05), np.array([0.2, 0, 0, 1, 0, 0, 0]))
        geometries = (*C.frame("union").geometries, more)
        C.replace_frame("union", geometries=geometries)
    return C


@lru_cache
def case(kind: str) -> tuple[pw.Config, pw.PairDistances, np.ndarray]:
    """Return a world, its distances, and configurations."""
    C = world(kind)
    pairs = PAIRS_OF_BOXES if kind == "boxes" else PAIRS_OF_ALL
    return C, pw.distances(C, pairs), random_q(C, np.random.default_rng(1), 65)


def distance_by_gjk(C: pw.Config, pair: tuple[str, str]) -> float:
    """Return the distance in NumPy alone, zero where frames overlap [m]."""
    sides = []
    for name in pair:
        pose = np.asarray(C.pose(name))
        sides.append([(C.frame(name), quat_to_matrix(pose[3:]), pose[:3])])
    return min_distance(*sides).distance


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_single_pairs_and_of_another_algorithm(kind):
    C, measure, q = case(kind)
    d, J = map(np.asarray, measure.value_and_jacobian(q))
    contacts = measure.contacts(q)
    np.testing.assert_array_equal(d, measure(q))
    np.testing.assert_array_equal(d, contacts.distance)
    gap = ((contacts.point_a - contacts.point_b) * contacts.normal).sum(-1)
    np.testing.assert_allclose(gap, d, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(contacts.normal, axis=-1), 1, atol=1e-12)
    assert d.shape == (65, len(measure.pairs)) and J.shape == (*d.shape, C.nq)
    # a fourth of the pairs in each of four configurations
    for k, pair in enumerate(measure.pairs):
        row = k % 4
        C.q = q[row]
        by_gjk = distance_by_gjk(C, pair)
        assert max(d[row, k], 0) == pytest.approx(max(by_gjk, 0), abs=1e-8), pair
        if kind == "boxes":
            single, a, b = C.signed_distance(*pair)
            assert d[row, k] == pytest.approx(single, abs=1e-12)
            np.testing.assert_allclose(contacts.point_a[row, k], a, atol=1e-9)
            np.testing.assert_allclose(contacts.point_b[row, k], b, atol=1e-9)
    assert (d < 0).any() and (d > 0).any()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_by_configurations_are_differences(kind):
    C, measure, q = case(kind)
    q = q[:8]
    J = np.asarray(measure.value_and_jacobian(q)[1])
    forward = jax.jit(jax.vmap(jax.jacfwd(measure)))(q)
    np.testing.assert_allclose(forward, J, atol=1e-12)
    np.testing.assert_allclose(jax.jacrev(measure)(q[0]), J[0], atol=1e-12)
    steps = 1e-6 * np.eye(C.nq)
    moved = [np.asarray(measure(q[:, None] + sign * steps)) for sign in (1, -1)]
    differences = np.moveaxis((moved[0] - moved[1]) / 2e-6, 1, 2)
    # Where the second derivative jumps, differences are those of both sides.
    is_close = np.isclose(J, differences, rtol=1e-6, atol=1e-6)
    assert is_close.mean() > 0.995, np.argwhere(~is_close)
    np.testing.assert_allclose(J, differences, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_contacts_and_jacobians_are_differences(kind):
    """Rates of points, normals and Jacobians are differences, as Hessians need them."""
    _, measure, q = case(kind)
    direction = np.random.default_rng(3).normal(size=q.shape)

    @jax.jit
    def contacts_and_jacobians(q):
        J = jax.vmap(jax.jacrev(measure))(q)
        return (*measure.contacts(q)[1:], J, measure.value_and_jacobian(q)[1])

    _, rates = jax.jvp(contacts_and_jacobians, (q,), (direction,))
    step = 1e-6
    steps = [contacts_and_jacobians(q + k * step * direction) for k in (-1, 0, 1)]
    for rate, before, middle, after in zip(rates, *steps, strict=True):
        assert np.isfinite(rate).all()
        forward, backward = (
            np.asarray(y - x).reshape(*rate.shape[:2], -1) / step
            for x, y in ((middle, after), (before, middle))
        )
        size = 1 + np.abs(forward).max(-1)
        smooth = np.abs(forward - backward).max(-1) < 0.01 * size
        wrong = np.reshape(rate, forward.shape) - (forward + backward) / 2
        error = np.abs(wrong).max(-1) / size
        assert smooth.mean() > 0.8
        assert (error[smooth] < 1e-3).mean() > 0.99


def test_derivatives_are_those_of_the_feature_of_one_pair():
    C, measure, q = case("boxes")
    for row in q[:2]:
        C.q = row
        J = np.asarray(measure.value_and_jacobian(row)[1])
        for pair, expected in zip(measure.pairs, J, strict=True):
            d, of_feature = FS.distance.on(list(pair)).eval(C)
            np.testing.assert_allclose(of_feature[0], -expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_by_shapes_are_differences(kind):
    _, measure, q = case(kind)
    shapes = measure.shapes
    rng = np.random.default_rng(2)
    # Sizes that are zero are kinks: a capsule has no width about its segment.
    step = jax.tree.map(lambda x: rng.normal(size=x.shape) * (x != 0), shapes)
    turn = np.cross(np.eye(3), rng.normal(size=3))
    turned = shapes.pose[..., :3] @ turn
    step = step._replace(
        pose=np.concatenate([turned, rng.normal(size=(len(turned), 3, 1))], -1)
    )
    W = rng.normal(size=(3, len(measure.pairs)))

    def weighted(shapes, xp=jnp):
        return (xp.asarray(measure(q[:3], shapes)) * W).sum()

    gradient = jax.jit(jax.grad(weighted))(shapes)
    slope = float(sum((g * s).sum() for g, s in zip(gradient, step, strict=True)))
    _, by_jvp = jax.jvp(weighted, (shapes,), (step,))
    moved = [
        weighted(jax.tree.map(lambda x, s, h=h: x + h * s, shapes, step), np)
        for h in (1e-6, -1e-6)
    ]
    assert by_jvp == pytest.approx(slope, rel=1e-12)
    assert slope == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-6)


@pytest.mark.long
def test_a_thin_box_beside_a_hull_may_grow():
    C, measure, q = case("all")
    body = measure.bodies("arm")[0]
    half, larger = measure.shapes.half.copy(), world("all")
    half[body] = 0.08, 0.05, 0.1
    box = Geometry(pw.Box([0.26, 0.2, 0.3], rounding=0.05))
    larger.replace_frame("arm", geometries=(box,))
    other = pw.distances(larger, measure.pairs)
    expected = np.asarray(other(q[:3]))
    grown = measure.shapes._replace(half=half)
    np.testing.assert_allclose(measure(q[:3], grown), expected, atol=1e-12)
    np.testing.assert_array_equal(measure.with_shapes(grown)(q), measure(q, grown))


@pytest.mark.slow
def test_beyond_the_cutoff_nothing_is_measured():
    C, measure, q = case("boxes")
    near = pw.distances(C, measure.pairs, cutoff=CUTOFF)
    d, J = map(np.asarray, measure.value_and_jacobian(q))
    is_far = d >= CUTOFF
    assert 0.2 < is_far.mean() < 0.9
    np.testing.assert_array_equal(near(q), np.minimum(d, CUTOFF))
    J = np.where(is_far[..., None], 0, J)
    np.testing.assert_array_equal(near.value_and_jacobian(q)[1], J)
    by_jax = jax.vmap(jax.jacfwd(near))(q)
    np.testing.assert_allclose(by_jax, J, atol=1e-12)
    np.testing.assert_array_equal((near.contacts(q).normal == 0).all(-1), is_far)
    least = pw.distances(C, measure.pairs, cutoff=1e-12)(q)
    np.testing.assert_array_equal(least, np.minimum(d, 1e-12))


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 200])
def test_batches_of_any_size_are_computed_row_by_row(n):
    _, measure, q = case("boxes")
    rows = np.arange(n) % len(q)
    np.testing.assert_allclose(measure(q[rows]), measure(q)[rows], atol=1e-14)


@pytest.mark.parametrize("shape", [(), (2, 3), (2, 0), (1, 1, 4)], ids=str)
def test_leading_axes_stay(shape):
    C, measure, q = case("boxes")
    q = np.resize(q, (*shape, C.nq))
    d, J = measure.value_and_jacobian(q)
    rows = np.asarray(measure(q.reshape(-1, C.nq))).reshape(d.shape)
    np.testing.assert_allclose(d, rows, atol=1e-14)
    assert J.shape == (*shape, len(measure.pairs), C.nq)
    assert measure.contacts(q).point_a.shape == (*shape, len(measure.pairs), 3)


def test_configurations_may_be_lists_integers_and_jax_arrays():
    C, measure, _ = case("boxes")
    expected = measure(np.ones(C.nq))
    for q in ([1] * C.nq, np.ones(C.nq, int), jnp.ones(C.nq), np.ones(C.nq, "f4")):
        np.testing.assert_array_equal(measure(q), expected)
        np.testing.assert_array_equal(measure.value_and_jacobian(q)[0], expected)
    traced = jax.jit(measure)(np.ones(C.nq, int))
    np.testing.assert_allclose(traced, expected, atol=1e-13)


def scanned(measure, q):
    return jax.lax.scan(lambda carry, x: (carry, measure(x)), 0, q)[1]


def linearized(measure, q):
    value, tangent = jax.linearize(measure, q)
    return value + tangent(jnp.zeros_like(q))


@pytest.mark.sampled("jit-nested")
@pytest.mark.parametrize(
    "fn",
    [
        lambda measure, q: jax.jit(measure)(q),
        lambda measure, q: jax.jit(lambda m, q: m(q))(measure, q),
        lambda measure, q: jax.vmap(measure)(q),
        lambda measure, q: jax.vmap(jax.vmap(measure))(q[:, None])[:, 0],
        lambda measure, q: jax.jit(jax.vmap(jax.vmap(measure)))(q[None])[0],
        scanned,
        lambda measure, q: jax.checkpoint(measure)(q),
        linearized,
        lambda measure, q: jax.vjp(measure, q)[0],
    ],
    ids="jit argument vmap nested jit-nested scan checkpoint linearize vjp".split(),
)
@pytest.mark.long
def test_transformed_functions_have_the_same_values(fn):
    _, measure, q = case("boxes")
    q = jnp.asarray(q[:4])
    np.testing.assert_allclose(fn(measure, q), measure(q), atol=1e-13)


@pytest.mark.slow
def test_sets_of_shapes_and_cutoffs_have_axes_of_their_own():
    C, measure, q = case("boxes")
    q, cutoffs, factors = q[:3], np.array([0.1, 0.3, np.inf]), np.array([0.5, 1.0, 2.0])
    sets = [measure.shapes._replace(radius=f * measure.shapes.radius) for f in factors]
    stacked = jax.tree.map(lambda *x: np.stack(x), *sets)
    expected = np.array([measure(q, shapes) for shapes in sets])
    by_shapes = jax.jit(jax.vmap(measure, (None, 0)))(q, stacked)
    np.testing.assert_allclose(by_shapes, expected, atol=1e-13)
    paired = jax.jit(jax.vmap(measure))(q, stacked)
    np.testing.assert_allclose(paired, expected[range(3), range(3)], atol=1e-13)
    nested = jax.vmap(jax.vmap(measure, (0, None)), (None, 0))(q, stacked)
    np.testing.assert_allclose(nested, expected, atol=1e-13)
    limited = pw.distances(C, measure.pairs, cutoff=CUTOFF)

    def cut(cutoff):
        return replace(limited, cutoff=cutoff)(q)

    d = np.asarray(measure(q))
    expected = np.minimum(d, cutoffs[:, None, None])
    np.testing.assert_allclose(jax.vmap(cut)(cutoffs), expected, atol=1e-13)
    slopes = jax.vmap(jax.jacfwd(cut))(cutoffs[:2])
    np.testing.assert_array_equal(slopes, d > cutoffs[:2, None, None])


def test_another_world_of_the_same_robot_needs_no_second_trace():
    C, measure, q = case("boxes")
    other = world("boxes")
    other.set_pose("wall", [0.7, 0.2, 0.4, 0.9, 0.1, 0.3, 0.2])
    second = pw.distances(other, measure.pairs)
    traces = []

    @jax.jit
    def fn(m, q):
        traces.append(0)
        return m(q)

    for m in (measure, second, pickle.loads(pickle.dumps(second))):
        np.testing.assert_allclose(fn(m, q[0]), m(q[0]), atol=1e-13)
    assert len(traces) == 1
    assert not np.allclose(measure(q[0]), second(q[0]))


def test_threads_get_the_same_values():
    _, measure, q = case("boxes")
    q = np.resize(q, (200, q.shape[1]))
    expected = measure(q)
    with ThreadPoolExecutor(4) as pool:
        for d in pool.map(measure, [q] * 8):
            np.testing.assert_array_equal(d, expected)


@pytest.mark.slow
def test_single_precision_is_that_of_the_values():
    _, measure, q = case("boxes")
    d, J = measure.value_and_jacobian(q[:4])
    with jax.enable_x64(False):
        single = pw.distances(world("boxes"), measure.pairs)
        values = single.value_and_jacobian(q[:4])
        forward = jax.jit(jax.vmap(jax.jacfwd(single)))(np.asarray(q[:4], "f4"))
    assert {x.dtype for x in (*values, forward)} == {np.dtype("f4")}
    np.testing.assert_allclose(values[0], d, atol=1e-5)
    np.testing.assert_allclose(values[1], J, atol=1e-3)
    np.testing.assert_allclose(forward, J, atol=1e-3)


def test_a_world_without_joints_has_distances():
    C = pw.Config()
    C.add_frame("wall", shape=pw.Box([0.2, 2, 2]))
    C.add_frame("ball", position=[1, 0, 0], shape=pw.Sphere(0.1))
    measure = pw.distances(C, [("ball", "wall"), ("ball", "ball")])
    for shape in ((3,), (1, 2), (0,)):
        d, J = measure.value_and_jacobian(np.zeros((*shape, 0)))
        np.testing.assert_allclose(d, np.broadcast_to([0.8, -0.2], (*shape, 2)))
        assert J.shape == (*shape, 2, 0)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_touching_and_coincident_bodies_have_finite_derivatives(kind):
    """Centres that coincide, parallel faces, aligned axes and touching bodies."""
    C = pw.Config()
    shapes = {
        "box": pw.Box([0.2, 0.2, 0.2]),
        "ball": pw.Sphere(0.1),
        "rod": pw.Capsule(0.2, 0.1),
    }
    if kind == "all":
        corners = np.array(np.meshgrid(*[[-0.1, 0.1]] * 3)).reshape(3, -1).T
        shapes |= {
            "can": pw.Cylinder(0.2, 0.1),
            "egg": pw.Ellipsoid([0.1, 0.1, 0.1]),
            "hull": pw.Convex(corners),
        }
    for name, shape in shapes.items():
        C.add_frame(f"{name} a", joint="transX", shape=shape)
        C.add_frame(f"{name} b", shape=shape)
    pairs = [(f"{a} a", f"{b} b") for a in shapes for b in shapes]
    measure = pw.distances(C, pairs)
    x = np.array([0.0, 0.1, 0.2, 0.2 + 1e-12, 0.2 - 1e-12, 0.3])
    q = np.broadcast_to(x[:, None], (len(x), C.nq))
    d, J = map(np.asarray, measure.value_and_jacobian(q))
    expected = np.broadcast_to(x[:, None] - 0.2, d.shape)
    # The shortest way out of what is concentric may be along any axis.
    np.testing.assert_allclose(d[1:], expected[1:], atol=1e-6)
    assert np.isfinite(d).all() and np.isfinite(J).all()
    assert np.isfinite(jax.jit(jax.vmap(jax.jacrev(measure)))(q)).all()
    slopes = jax.jit(jax.grad(lambda s: measure(q, s).sum()))(measure.shapes)
    assert np.isfinite(slopes.radius).all()
    moving = [C.joint_names.index(a) for a, _ in pairs]
    np.testing.assert_allclose(J[2:, range(len(pairs)), moving], 1, atol=1e-5)


def test_what_is_unknown_is_nan():
    C, measure, q = case("boxes")
    q = q[:2].copy()
    q[0, 1] = np.nan
    d, J = map(np.asarray, measure.value_and_jacobian(q))
    assert np.isnan(d[0]).all() and np.isfinite(d[1]).all() and np.isnan(J[0]).any()
    near = pw.distances(C, measure.pairs, cutoff=CUTOFF)
    assert np.isnan(near(q)[0]).all()
    assert np.isnan(jax.jit(near)(q[0])).all()
    unknown = measure.shapes._replace(radius=np.nan * measure.shapes.radius)
    assert np.isnan(measure(q, unknown)).all()


NAMES = [("ball", "wall")]
WRONG_WORLDS = {
    "pairs is empty": dict(pairs=[]),
    "No frame 'nobody'": dict(pairs=[("ball", "nobody")]),
    "The world has no collision shape": dict(pairs=[("ball", "world")]),
    r"pairs \[\('a', 'b'\)\]: two half-spaces": dict(pairs=[*NAMES, ("a", "b")]),
    r"pairs\[0\] is 'ball', expected two names": dict(pairs=("ball", "wall")),
    r"pairs\[1\] is \('ball',\), expected two": dict(pairs=[*NAMES, ("ball",)]),
    r"pairs\[0\] is \(1, 2\), expected two": dict(pairs=[(1, 2)]),
    r"pairs\[0\] is 3, expected two": dict(pairs=3),
    "cutoff is 0, expected a distance": dict(pairs=NAMES, cutoff=0),
    "cutoff is -inf, expected a distance": dict(pairs=NAMES, cutoff=-np.inf),
    "cutoff is nan, expected a distance": dict(pairs=NAMES, cutoff=np.nan),
    "cutoff is 'far', expected a distance": dict(pairs=NAMES, cutoff="far"),
    r"cutoff is \[1, 2\], expected a distance": dict(pairs=NAMES, cutoff=[1, 2]),
}


@pytest.mark.parametrize("message", WRONG_WORLDS)
def test_wrong_pairs_and_cutoffs_are_refused(message):
    C = world("boxes")
    C.add_frame("a", shape=pw.Plane())
    C.add_frame("b", shape=pw.Plane())
    with pytest.raises((FeatureError, ConfigError), match=message):
        pw.distances(C, **WRONG_WORLDS[message])


def test_wrong_arguments_are_refused():
    C, measure, q = case("boxes")
    for shape in ((), (0,), (C.nq + 1,), (C.nq, 1)):
        for fn in (measure, measure.contacts, measure.value_and_jacobian):
            with pytest.raises(FeatureError, match="q has shape"):
                fn(np.zeros(shape))
    with pytest.raises(FeatureError, match="q is 'zero', expected configurations"):
        measure("zero")
    two = jax.tree.map(lambda x: np.stack([x, x]), measure.shapes)
    for wrong in (3, two):
        for fn in (lambda s: measure(q, s), measure.with_shapes):
            with pytest.raises(FeatureError, match=r"shapes: .* use shapes\._replace"):
                fn(wrong)
    with pytest.raises(FeatureError, match="frame is 'nobody', expected one of the"):
        measure.bodies("nobody")


def test_pairs_may_be_any_iterable_and_come_flipped():
    C, measure, q = case("boxes")
    flipped = [(b, a) for a, b in measure.pairs]
    for pairs in ((pair for pair in flipped), np.array(flipped)):
        other = pw.distances(C, pairs)
        assert other.pairs == tuple(flipped)
        np.testing.assert_allclose(other(q), measure(q), atol=1e-14)
    assert pw.distances(C).pairs == tuple(map(tuple, C.pairs.names()))
    contacts, others = measure.contacts(q), other.contacts(q)
    np.testing.assert_allclose(others.point_a, contacts.point_b, atol=1e-9)
    np.testing.assert_allclose(others.normal, -contacts.normal, atol=1e-9)


@pytest.mark.slow
def test_derivatives_of_contacts_in_reverse():
    """Places of the table that no pair takes are infinitely far, and give no NaN."""
    C, _, q = case("boxes")
    measure = pw.distances(C, [("ball", "tool")])
    assert len(measure.table["kind"]) > 1
    slope = jax.jit(jax.jacrev(lambda q: measure.contacts(q).normal))(q[0])
    steps = 1e-6 * np.eye(C.nq)
    up, down = (measure.contacts(q[0] + s * steps).normal for s in (1, -1))
    np.testing.assert_allclose(slope[0], (up - down)[:, 0].T / 2e-6, atol=1e-6)
    assert np.abs(slope).max() > 1e-2
