"""Poses of a hand with something in it: free where nothing below the link collides."""

import numpy as np
import pytest
from helpers.gantry import gantry_world

import posewise as pw
from posewise.logic.motion.free_poses import are_free
from posewise.logic.motion.keyframes import solve_keyframes
from posewise.logic.motion.robot import find_robot

GAP = 0.01


def holding() -> pw.Config:
    """The gantry, which alone moves, with the block in its fingers."""
    C = gantry_world()
    C.attach("hand", "block")
    C.set_pose("block", [0, 0, -0.05, 1, 0, 0, 0], "hand")
    C.joints.select(["gantry", "hand", "left"])
    return C


def pose(x: float, z: float) -> list[float]:
    return [x, 0, z, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("x", "z", "free"),
    [
        (0.0, 0.3, True),  # above the table
        (0.0, 0.105, False),  # the block is nearer to the table than the gap
        (0.0, 0.115, True),
        (0.3, 0.205, False),  # the same above the low shelf
        (0.3, 0.215, True),
        (0.16, 0.115, False),  # the block beside the shelf, and too near
        (0.145, 0.115, True),
    ],
)
def test_poses_are_free_where_the_hand_and_what_it_holds_are(x, z, free):
    X = holding()
    pairs = X.pairs.indices()
    poses, starts = np.array([pose(0.0, 0.3), pose(x, z)]), np.array([X.q, X.q])
    required = np.full(len(pairs), GAP)
    assert are_free(X, "hand", poses, starts, pairs, required).tolist() == [True, free]
    # Pairs that may overlap do not count.
    assert are_free(X, "hand", poses, starts, pairs, required - 2 * GAP).all()


def test_fingers_are_as_in_the_starts():
    X = holding()
    X.detach("block")
    X.set_pose("block", pose(-0.5, 0.05))
    X.joints.select(["gantry", "hand", "left"])
    # A post between the fingers, when they are open.
    X.add_frame("post", shape=pw.Box([0.02, 0.03, 0.1]), position=[0, 0, 0.05])
    opened, closed = X.q, X.q
    opened[-1], closed[-1] = 0.04, 0.0
    pairs = X.pairs.indices()
    poses = np.array([pose(0, 0.11)] * 2)
    starts = np.array([opened, closed])
    required = np.full(len(pairs), 1e-3)
    free = are_free(X, "hand", poses, starts, pairs, required)
    assert free.tolist() == [True, False]


@pytest.mark.long
def test_poses_that_are_not_free_have_no_keyframes_and_others_keep_their_order():
    C = gantry_world()
    C.joints.select(["gantry", "hand", "left"])
    robot = find_robot(C, "gantry")
    poses = np.array([pose(0.3, 0.05), pose(0, 0.3), pose(0, 0.0), pose(-0.1, 0.4)])
    keyframes = solve_keyframes(C, robot, "hand", list(poses), [C.q] * 4)
    assert solve_keyframes(C, robot, "hand", [], []) == []
    assert [keyframe is None for keyframe in keyframes] == [True, False, True, False]
    for keyframe, target in zip(keyframes[1::2], poses[1::2], strict=True):
        C.q = keyframe.q
        np.testing.assert_allclose(C.pose("hand"), target, atol=1e-4)
