"""Places where an object is put down: they hold, are steady, and are spread out."""

import numpy as np
import pytest

import posewise as pw
from posewise import logic
from posewise.logic.motion.goal_poses import GOAL_POSE_SAMPLING, find_goal_poses

TABLE, BLOCK = [0.3, 0.2, 0.1], [0.04, 0.05, 0.06]


def world(cavity: bool = False) -> pw.Config:
    """A robot, a table or a tray with a rim on the floor, and a block."""
    C = pw.Config()
    C.add_frame("robot", shape=pw.Sphere(0.1), position=[0, -1, 0.1])
    parts = [(pw.Box(TABLE), [0, 0, 0.05, 1, 0, 0, 0])]
    for x in (-0.15, 0.15) if cavity else ():
        parts.append((pw.Box([0.02, 0.2, 0.16]), [x, 0, 0.18, 1, 0, 0, 0]))
    for y in (-0.1, 0.1) if cavity else ():
        parts.append((pw.Box([0.3, 0.02, 0.16]), [0, y, 0.18, 1, 0, 0, 0]))
    C.add_object("table", parts)
    C.add_object("block", [pw.Box(BLOCK)], position=[0.5, 0, 0.03], joint="free")
    return C


@pytest.mark.parametrize("inside", [False, True])
def test_places_hold_and_differ(inside):
    C = world(cavity=inside)
    kind = logic.InsideOf if inside else logic.OnTopOf
    predicate = kind("block", "table") & logic.InContactWith("block", "table")
    poses = find_goal_poses(C, "robot", "block", predicate, seed=0)
    assert len(poses) == GOAL_POSE_SAMPLING.max_poses
    points = np.array(poses)[:, :2]
    for pose in poses:
        C.set_pose("block", pose)
        assert predicate.holds(C)
    # Farthest from all before it: the first few are farther apart than any later ones.
    apart = np.linalg.norm(points[:, None] - points, axis=-1) + np.eye(len(points))
    assert apart[:3, :3].min() > 2 * apart.min()


def test_places_are_not_at_an_edge():
    poses = find_goal_poses(
        world(), "robot", "block", logic.OnTopOf("block", "table"), 0
    )
    room = np.array(TABLE[:2]) / 2 - GOAL_POSE_SAMPLING.edge_distance
    assert (np.abs(np.array(poses)[:, :2]) <= room + 1e-9).all()


def test_a_narrow_ledge_is_better_than_no_place():
    C = world()
    C.set_shape("table", pw.Box([0.3, GOAL_POSE_SAMPLING.edge_distance, 0.1]))
    C.set_pose("table", [0, 0, 0.05, 1, 0, 0, 0])
    predicate = logic.OnTopOf("block", "table")
    poses = find_goal_poses(C, "robot", "block", predicate, 0)
    assert poses
    C.set_pose("block", poses[0])
    assert predicate.holds(C)
