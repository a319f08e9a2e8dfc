"""Lower bounds of distances on straight ways: against samples and closed forms."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worlds import random_q

import posewise as pw
from posewise.features.errors import FeatureError
from posewise.robots import Geometry
from posewise.robots.contact.gjk_numpy import min_distance
from posewise.robots.kinematics.transforms import quat_to_matrix

ROCK = pw.Convex(0.1 * np.random.default_rng(0).normal(size=(12, 3)))
PAIRS = [
    *(("arm", b) for b in ("wall", "rock", "can", "floor", "tool")),
    *(("tool", b) for b in ("wall", "rock", "egg", "floor", "union")),
    *(("union", "wall"), ("can", "union"), ("bare", "rock"), ("egg", "wall")),
]
SAMPLES = 41


@lru_cache
def world() -> pw.Config:
    """Return an arm of all kinds of joints among bodies of all kinds."""
    C = pw.Config()
    C.add_frame("wall", position=[1, 0, 0.5], shape=pw.Box([0.2, 1, 1]))
    C.add_frame("base", position=[0, 0, 0.5], joint="transX")
    rod = pw.Capsule(0.3, 0.05)
    C.add_frame("arm", "base", joint="hinge", axis=[0.48, 0.6, 0.64], shape=rod)
    box = pw.Box([0.1, 0.12, 0.08], rounding=0.02)
    C.add_frame("tool", "arm", position=[0.1, 0.3, 0], joint="quatBall", shape=box)
    C.add_frame("union", "base", position=[-0.4, 0, 0.1], joint="hinge", mimic="arm",
                axis=[0, 0, 1], multiplier=-1.5, offset=0.1, shape=ROCK)  # fmt: skip
    more = Geometry(pw.Capsule(0.4, 0.05), np.array([0.2, 0, 0, 1, 0, 0, 0]))
    geometries = (*C.frame("union").geometries, more)
    C.replace_frame("union", geometries=geometries)
    C.add_frame("bare", "tool", position=[0.1, 0.2, 0])
    C.add_frame("floor", shape=pw.Plane())
    tilted = [0.9, 0.1, 0.2, 0.3]
    C.add_frame("rock", pose=[0.5, 0.6, 0.5, *tilted], shape=ROCK)
    C.add_frame("can", pose=[-0.5, 0.6, 0.5, *tilted], shape=pw.Cylinder(0.3, 0.1))
    egg = pw.Ellipsoid([0.1, 0.15, 0.2])
    C.add_frame("egg", pose=[-0.5, -0.5, 0.5, *tilted], shape=egg)
    return C


@lru_cache
def ways() -> tuple[np.ndarray, np.ndarray]:
    """Return where some ways begin and end."""
    rng = np.random.default_rng(1)
    return random_q(world(), rng, 4), random_q(world(), rng, 4)


def on_way(q0: np.ndarray, q1: np.ndarray, t: float) -> np.ndarray:
    """Return a configuration of the world on a way, its quaternion by slerp."""
    q = (1 - t) * q0 + t * q1
    a, b = q0[2:6], q1[2:6]
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    b = b * (1 if a @ b > 0 else -1)
    angle = np.arccos(np.clip(a @ b, -1, 1))
    q[2:6] = (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle)
    return q


def sampled_by_gjk(pairs, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """Return the least distances of samples, zero in overlap, in NumPy alone [m]."""
    C, least = world().copy(), np.full(len(pairs), np.inf)
    for t in np.linspace(0, 1, SAMPLES):
        C.q = on_way(q0, q1, t)
        for k, pair in enumerate(pairs):
            poses = [np.asarray(C.pose(name)) for name in pair]
            sides = [
                [(C.frame(name), quat_to_matrix(pose[3:]), pose[:3])]
                for name, pose in zip(pair, poses, strict=True)
            ]
            least[k] = min(least[k], max(min_distance(*sides).distance, 0))
    return least


@pytest.mark.slow
def test_no_sample_is_nearer_and_more_parts_are_closer():
    C = world()
    assert list(C.joint_names) == ["base", "arm", "tool"]
    q0, q1 = ways()
    # half-spaces have no distance in NumPy: those are compared with posewise's own
    solid = [pair for pair in PAIRS if "floor" not in pair]
    measure, of_solid = pw.distances(C, PAIRS), pw.distances(C, solid)
    every = np.array(
        [
            [on_way(*ends, t) for t in np.linspace(0, 1, 201)]
            for ends in zip(q0, q1, strict=True)
        ]
    )
    least = np.asarray(measure(every)).min(1)
    gaps = []
    for parts in (2, 8, 32):
        lower = np.asarray(measure.swept(q0, q1, parts=parts))
        assert (lower <= least + 1e-12).all()
        gaps.append(least - lower)
    assert gaps[2].max() < 1e-2 and np.median(gaps[2]) < np.median(gaps[0]) / 10
    lower = np.asarray(of_solid.swept(q0[0], q1[0]))
    by_gjk = sampled_by_gjk(solid, q0[0], q1[0])
    assert (np.maximum(lower, 0) <= by_gjk + 1e-8).all() and by_gjk.max() > 0.1


def balls() -> pw.PairDistances:
    """Return distances of a ball that moves straight from one that stands."""
    C = pw.Config()
    C.add_frame("x", joint="transX")
    C.add_frame("ball", "x", joint="transY", shape=pw.Sphere(0.1))
    C.add_frame("post", position=[0.1, 0.3, 0], shape=pw.Sphere(0.05))
    return pw.distances(C, [("ball", "post")])


@pytest.mark.parametrize(
    ("q0", "q1"),
    [
        ([-1.0, 0.0], [1.0, 0.0]),  # past it
        ([-1.0, 0.0], [0.0, 0.3]),  # towards it
        ([0.1, 0.3], [1.0, 0.0]),  # from within it
        ([-0.3, 0.5], [-0.3, 0.5]),  # none
    ],
)
def test_a_ball_that_moves_straight_is_a_capsule(q0, q1):
    q0, q1 = np.array(q0), np.array(q1)
    post, path = np.array([0.1, 0.3]), q1 - q0
    t = np.clip((post - q0) @ path / max(path @ path, 1e-9), 0, 1)
    exact = np.linalg.norm(q0 + t * path - post) - 0.15
    for parts in (4, 16, 64):
        (lower,) = balls().swept(q0, q1, parts=parts)
        half = np.linalg.norm(path) / parts / 2
        assert exact - 2 * half**2 / 0.15 - 1e-12 <= lower <= exact + 1e-12


@pytest.mark.slow
def test_derivatives_by_both_ends_are_differences():
    pairs = [("arm", "wall"), ("tool", "wall"), ("union", "wall"), ("tool", "union")]
    measure = pw.distances(world(), pairs)
    q0, q1 = (q[1] for q in ways())
    slopes = jax.jit(jax.jacrev(measure.swept, (0, 1)))
    steps = 1e-6 * np.eye(len(q0))
    for k, slope in enumerate(slopes(q0, q1)):
        by_begin, by_end = steps * (k == 0), steps * (k == 1)
        up = measure.swept(q0 + by_begin, q1 + by_end)
        down = measure.swept(q0 - by_begin, q1 - by_end)
        np.testing.assert_allclose(slope, (up - down).T / 2e-6, atol=2e-6)
        assert np.abs(slope).max() > 0.02
    # a way of no length: the two derivatives share that of the distance
    at_rest = slopes(q0, q0)
    of_point = jax.jit(jax.jacrev(measure))(q0)
    np.testing.assert_allclose(at_rest[0] + at_rest[1], of_point, atol=1e-12)
    np.testing.assert_allclose(measure.swept(q0, q0), measure(q0), atol=1e-12)


@pytest.mark.slow
def test_a_cutoff_only_caps_what_is_far():
    q0, q1 = (np.vstack([q, np.full_like(q[:1], np.nan)]) for q in ways())
    exact = np.asarray(pw.distances(world(), PAIRS).swept(q0, q1))
    near = pw.distances(world(), PAIRS, cutoff=0.2)
    capped = np.asarray(near.swept(q0, q1))
    np.testing.assert_allclose(capped[:-1], np.minimum(exact, 0.2)[:-1], atol=1e-12)
    moved = [a != "egg" for a, _ in PAIRS]
    assert np.isnan(capped[-1][moved]).all() and (capped[:-1] == 0.2).any()
    # traced, batched, and from one configuration to many
    mapped = jax.jit(jax.vmap(near.swept, (None, 0)))(q0[0], q1[:-1])
    np.testing.assert_allclose(mapped, near.swept(q0[0], q1[:-1]), atol=1e-12)


@pytest.mark.long
def test_shapes_are_arguments_with_derivatives():
    measure = balls()
    (row,) = measure.bodies("ball")

    def clearance(radius):
        radii = jnp.asarray(measure.shapes.radius).at[row].set(radius)
        shapes = measure.shapes._replace(radius=radii)
        return measure.swept(np.zeros(2), np.ones(2), shapes)[0]

    small, large = map(jax.jit(jax.value_and_grad(clearance)), (0.1, 0.2))
    np.testing.assert_allclose(large, (small[0] - 0.1, -1), atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((np.zeros(3), np.zeros(2)), r"q0 has shape \(3,\), expected \(\*batch, 2\)"),
        ((np.zeros(2), 1.0), r"q1 has shape \(\), expected"),
        ((np.zeros((2, 2)), np.zeros((3, 2))), r"q0 and q1 have shapes \(2, 2\), "),
        ((np.zeros(2), "b"), "q1 is 'b', expected configurations"),
    ],
)
def test_what_are_no_ways(arguments, says):
    with pytest.raises(FeatureError, match=says):
        balls().swept(*arguments)


@pytest.mark.parametrize("parts", [0, 1.5, "two"])
def test_what_is_no_number_of_parts(parts):
    with pytest.raises(FeatureError, match=f"parts is {parts!r}, expected an integer"):
        balls().swept(np.zeros(2), np.ones(2), parts=parts)
