"""Certified clearance of paths, against dense sampling by other code."""

import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.moving_worlds import (
    distances_of_balls,
    moved_q,
    random_balls,
    random_solid,
    segment_points,
    solid_world,
)
from helpers.oracle import SHARED

import posewise as pw
from posewise import FS
from posewise.objectives.clearance.interval_distances import (
    frame_pairs,
    interval_distances,
)
from posewise.objectives.clearance.path_bounds import PathBounds, bound_path

RESOLUTION = 1e-3
ROOT = Path(__file__).parents[3]


def bounded(C, pairs, path, reach=1.0, each_segment=True) -> PathBounds:
    """Return the bounds of all pairs on each segment of a path."""
    limits = np.full((len(path) - 1, len(pairs)), reach)
    return bound_path(
        C.kinematics(),
        frame_pairs(C.frames, C.kinematics().tree, pairs),
        path,
        limits,
        RESOLUTION,
        each_segment=each_segment,
    )


def check(bounds: PathBounds, least: np.ndarray, reach: float, spacing: float) -> None:
    """Compare bounds with the least distances (segments, pairs) at dense places.

    Args:
        bounds: what is checked.
        least: the reference.
        reach: distance up to which pairs were bounded.
        spacing: by how much the true minimum may be below that at dense places.
    """
    assert (bounds.lower <= least + 1e-9).all()
    # A bound may only be as far below as was asked for.
    assert (bounds.lower >= np.minimum(least, reach) - RESOLUTION - spacing).all()
    near = least < reach - RESOLUTION
    assert near.any()
    assert np.abs(bounds.nearest - least)[near].max() < RESOLUTION + spacing


SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
"""Each seed is another tree, whose program takes seconds to compile."""


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("seed", SEEDS)
def test_balls_and_capsules_of_random_trees(seed):
    """Mimics, prismatic, planar and ball joints; several shapes a link."""
    C = solid_world(seed, random_balls)
    rng = np.random.default_rng(seed)
    pairs = C.pairs.indices()
    path = [C.q]
    for size in (0.02, 0.3, 1.0):
        path.append(moved_q(C, rng, path[-1], size))
    bounds = bounded(C, pairs, np.stack(path))
    count = 1500
    least = np.stack(
        [
            distances_of_balls(C, segment_points(C, a, b, count), pairs).min(0)
            for a, b in zip(path[:-1], path[1:], strict=True)
        ]
    )
    check(bounds, least, 1.0, 2e-3)


def least_contacts(C, path, pairs, count) -> np.ndarray:
    """Return the least distance (segments, pairs) at places, by `Config.contacts`."""
    least = np.full((len(path) - 1, len(pairs)), np.inf)
    X = C.copy()
    for t, ends in enumerate(zip(path[:-1], path[1:], strict=True)):
        for q in segment_points(C, *ends, count):
            X.q = q
            contacts = X.contacts(pairs)
            distances = [contacts[k].distance for k in range(len(pairs))]
            least[t] = np.minimum(least[t], distances)
    return least


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[1:])
def test_boxes_cylinders_and_hulls(seed):
    C = solid_world(seed, random_solid, 4, more=True)
    rng = np.random.default_rng(seed)
    pairs = C.pairs.indices()
    pairs = pairs[rng.permutation(len(pairs))[:10]]
    path = np.stack([C.q, moved_q(C, rng, C.q, 0.02), moved_q(C, rng, C.q, 0.2)])
    bounds = bounded(C, pairs, path)
    check(bounds, least_contacts(C, path, pairs, 60), 1.0, 1e-2)


@pytest.mark.slow
def test_bounds_at_rest_are_distances():
    """So are those of a batch in which another place moves."""
    C = solid_world(0, random_solid, 4, more=True)
    C.add_frame("floor", position=[0, 0, -1], shape=pw.Plane())
    rng, K, pairs = np.random.default_rng(0), C.kinematics(), C.pairs.indices()
    table = frame_pairs(C.frames, K.tree, pairs)
    q = np.stack([moved_q(C, rng, C.q, 0.5) for _ in range(3)])
    limits = np.full((3, len(pairs)), 5.0)
    step = np.zeros((3, K.nv))
    expected = np.empty((3, len(pairs)))
    for k in range(3):
        C.q = q[k]
        names = [tuple(C.frames[i].name for i in pair) for pair in pairs]
        expected[k] = [-C.eval(FS.distance, [*ends])[0][0] for ends in names]
    at_rest = interval_distances(K, table, q, step, limits)
    np.testing.assert_allclose(at_rest.lower, np.minimum(expected, 5.0), atol=1e-9)
    step[2] = 0.1
    mixed = interval_distances(K, table, q, step, limits).lower
    np.testing.assert_allclose(mixed[:2], at_rest.lower[:2], atol=1e-9)
    assert (mixed[2] <= at_rest.lower[2] + 1e-9).all()
    assert (mixed[2] < at_rest.lower[2] - 1e-3).any()


def test_planes_that_slide_and_turn():
    """A half-space turns towards balls far from its origin, and under them."""
    C = pw.Config()
    C.add_frame("lift", joint="transZ")
    C.add_frame("floor", "lift", joint="universal", shape=pw.Plane())
    C.add_frame("arm", joint="free", pose=[0.5, 0.2, 0.9, 1, 0, 0, 0])
    C.add_frame("ball", "arm", position=[3, 0, 0], shape=pw.Sphere(0.1))
    C.add_frame("box", "arm", position=[0, 1, 0], shape=pw.Box([0.3, 0.2, 0.1]))
    pairs = np.array([[C.index("floor"), C.index(n)] for n in ("ball", "box")])
    rng = np.random.default_rng(0)
    path = [C.q]
    for size in (0.03, 0.1, 0.3, 0.3):
        path.append(moved_q(C, rng, path[-1], size))
    path = np.stack(path)
    bounds = bounded(C, pairs, path, 10.0)
    least = np.empty((4, 2))
    for t in range(4):
        points = segment_points(C, path[t], path[t + 1], 1000)
        frames = C.kinematics().forward_pass(points).frames
        R, p = (np.asarray(x) for x in frames)
        normal = R[:, pairs[0, 0], :, 2]
        (ball, box), origin = pairs[:, 1], p[:, pairs[0, 0]]
        height = np.einsum("nx,nbx->nb", normal, p[:, [ball, box]] - origin[:, None])
        turned = np.einsum("nx,nxi->ni", normal, R[:, box])
        half = np.abs(turned) @ [0.15, 0.1, 0.05]
        least[t] = (height - np.stack([0 * half + 0.1, half], 1)).min(0)
    assert (least < 0).any()
    check(bounds, least, 10.0, 5e-3)


MBM = SHARED / "oracle" / "mbm"
SEGMENTS = 100


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* left out")
@pytest.mark.skipif(not MBM.is_dir(), reason="needs ../shared/oracle/mbm")
def test_ten_thousand_random_segments_of_a_real_arm():
    """A Panda of 60 spheres in 98 scenes, sampled every 1e-4 rad without the library.

    Segments are random walks from the start and from the goal, between 1e-3 and 0.3 rad
    long; every tenth one leads back.
    """
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from staging import motion_planning as mbm

    oracle = mbm.load_check()
    joints = oracle.joints("panda")
    judge, base = oracle.Robot("panda", joints), mbm.robot("panda", joints)
    rng = np.random.default_rng(0)
    scenes = [p for some in oracle.problems("panda").values() for p in some[:15]]
    misses, near, count = [], 0, 0
    for scene in scenes:
        C = mbm.world(base, scene)
        pairs = C.pairs.indices()
        is_own = C.pairs.own_links(pairs)
        path = np.empty((SEGMENTS + 1, 7))
        path[0] = scene["start"]
        for k in range(1, SEGMENTS + 1):
            # Back to where obstacles are near, on segments that are longer.
            before = (
                scene["goal" if k < 50 else "start"] if k % 10 == 0 else path[k - 1]
            )
            step = rng.normal(size=7)
            step *= 10 ** rng.uniform(-3, -0.5) / np.abs(step).max()
            path[k] = np.clip(before + step, *judge.limits)
        lower = bounded(C, pairs, path, 0.05).lower
        certified = lower[:, ~is_own].min(1), lower[:, is_own].min(1)
        for t in range(SEGMENTS):
            points = oracle.dense(path[t : t + 2], 1e-4)
            parts = np.array_split(points, len(points) // 2000 + 1)
            gaps = [judge.clearance(part, scene["obstacles"]) for part in parts]
            for bound, sampled in zip(certified, zip(*gaps, strict=True), strict=True):
                least = min(map(np.min, sampled))
                near += least < 0.05
                if bound[t] > least + 1e-9:
                    misses.append((scene["set"], scene["index"], t, bound[t], least))
            count += 1
    assert not misses
    assert count >= 10000 and near > 2000
    print(f"{count} segments, {near} distances within 5 cm, 0 misses")
