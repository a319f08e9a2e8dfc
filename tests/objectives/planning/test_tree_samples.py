"""Weights of coordinates, and random configurations for trees to grow towards."""

import numpy as np
import pytest

import posewise as pw
from posewise.features.pairs.tables import MIN_WORLD_SIZE, table_of_frames
from posewise.objectives.clearance.interval_distances import FramePairs
from posewise.objectives.planning.coordinate_weights import (
    MIN_WEIGHT,
    coordinate_weights,
)
from posewise.objectives.planning.free_space import FreeSpace
from posewise.objectives.planning.tree_growth import Trees, trees_from
from posewise.objectives.planning.tree_samples import tree_samples


def pairs_of(C: pw.Config, names: list[str]) -> FramePairs:
    pairs = np.array([(C.index(name), C.index("post")) for name in names])
    table = table_of_frames(C.frames, pairs, np.zeros(len(pairs)))
    return FramePairs(*table.arrays("test", MIN_WORLD_SIZE), pairs)


def arm() -> pw.Config:
    """Return a slide, an elbow 1 m from a ball, and a wrist that turns it in place."""
    C = pw.Config()
    C.add_frame("slide", joint="transX")
    C.add_frame("shoulder", parent="slide", joint="hingeZ")
    C.add_frame("elbow", parent="shoulder", joint="hingeZ", position=[1, 0, 0])
    C.add_frame("wrist", parent="elbow", joint="hingeX", position=[1, 0, 0])
    C.add_frame("hand", parent="wrist", shape=pw.Sphere(0.1), contact=1)
    C.add_frame("post", position=[5, 5, 0], shape=pw.Sphere(0.1), contact=1)
    return C


@pytest.mark.parametrize("bend", [0.0, np.pi / 2])
def test_weights_are_the_farthest_motions_of_bodies(bend):
    C = arm()
    q = np.array([[0.3, 0.2, bend, 0.1]])
    weights = coordinate_weights(
        C.tree.model.unnamed_kinematics, pairs_of(C, ["hand"]), q, np.arange(4)
    )
    # from the shoulder to the farthest point of the hand
    reach = np.hypot(1 + np.cos(bend), np.sin(bend)) + 0.1
    np.testing.assert_allclose(
        weights, [1 / reach, 1, 1.1 / reach, MIN_WEIGHT], rtol=1e-12
    )


def test_weights_count_followers_and_nothing_that_stays():
    C = pw.Config()
    C.add_frame("leader", joint="transX", shape=pw.Sphere(0.1), contact=1)
    C.add_frame("other", joint="transX", shape=pw.Sphere(0.1), contact=1)
    C.add_frame(
        "follower",
        joint="transX",
        mimic="leader",
        multiplier=-2.0,
        shape=pw.Sphere(0.1),
        contact=1,
    )
    C.add_frame("post", position=[5, 5, 0], shape=pw.Sphere(0.1), contact=1)
    K = C.tree.model.unnamed_kinematics
    pairs = pairs_of(C, ["leader", "other", "follower"])
    q = np.zeros((1, C.nq))
    weights = coordinate_weights(K, pairs, q, np.arange(2))
    np.testing.assert_allclose(weights, [1, 0.5])
    np.testing.assert_allclose(coordinate_weights(K, pairs, q, np.array([1])), [0, 1])


def space_of(C: pw.Config, limits: np.ndarray) -> FreeSpace:
    moving = np.arange(3)
    return FreeSpace(
        C.tree.model.unnamed_kinematics,
        pairs_of(C, ["hand"]),
        np.zeros(1),
        moving,
        limits,
        np.ones(C.nq),
    )


def test_samples_lie_beyond_the_smaller_tree_as_it_is_shaped():
    limits = np.array([[-1.0, -2, -3], [1.0, 2, 3]])
    space, rng = space_of(arm(), limits), np.random.default_rng(0)
    start = np.array([0.5, 0.1, 0.2, 0.7])
    trees = trees_from(start, np.tile(start, (3, 1)))
    nodes = np.array(trees.nodes)
    # The tree of the start is one node: nothing shows its shape.
    samples = tree_samples(space, trees, start, 400, rng)
    assert np.ptp(samples[:, :3], axis=0).min() > 1.9
    # A tree that could move along one coordinate only.
    nodes[0, :30] = start
    nodes[0, :30, 1] += rng.uniform(-0.2, 0.2, 30)
    nodes[1, :40] = rng.uniform(-1, 1, (40, 4))
    trees = Trees(nodes, trees.parents, np.array([30, 40], np.int32))
    samples = tree_samples(space, trees, start, 400, rng)
    along = (samples[:, [0, 2]] == start[[0, 2]]).all(1)
    assert along.sum() == 200
    assert np.abs(samples[along, 1] - start[1]).max() > 1
    assert np.ptp(samples[~along, :3], axis=0).min() > 1.9
    assert (samples[:, 3] == start[3]).all()
    assert (samples[:, :3] >= limits[0]).all() and (samples[:, :3] <= limits[1]).all()
