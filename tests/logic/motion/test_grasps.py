"""Grasps: what is held, measured by the signed distance of the fingers."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh
from helpers.gantry import add_gantry

import posewise as pw
from posewise.logic.motion import find_grasps
from posewise.logic.motion.grasp import GRASP_SAMPLING
from posewise.logic.motion.grasps import least_width
from posewise.logic.motion.robot import find_robot
from posewise.robots.errors import ConfigError
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply


def bowl() -> trimesh.Trimesh:
    """A bowl: 24 boxes around a floor."""
    parts = [trimesh.creation.cylinder(0.04, 0.006)]
    for angle in np.linspace(0, 2 * np.pi, 12, endpoint=False):
        wall = trimesh.creation.box([0.006, 0.024, 0.05])
        wall.apply_translation([0.042, 0, 0.025])
        wall.apply_transform(trimesh.transformations.rotation_matrix(angle, [0, 0, 1]))
        parts.append(wall)
    return trimesh.util.concatenate(parts)


SHAPES = {
    "box": pw.Box([0.08, 0.05, 0.1]),
    "long box": pw.Box([0.3, 0.03, 0.02]),
    "cylinder": pw.Cylinder(0.12, 0.03),
    "capsule": pw.Capsule(0.1, 0.02),
    "sphere": pw.Sphere(0.03),
    "hull": pw.Convex(trimesh.creation.icosphere(1, 0.03).vertices),
}


def world_with(shape) -> pw.Config:
    C = pw.Config()
    add_gantry(C)
    C.add_frame(
        "thing", position=[0.1, 0.2, 0.3], quaternion=[1, 0, 0, 0.3], shape=shape
    )
    return C


@pytest.mark.sampled
@pytest.mark.parametrize("name", SHAPES)
def test_fingers_touch_on_both_sides_and_the_palm_does_not(name):
    C = world_with(SHAPES[name])
    (hand,) = find_robot(C, "gantry").hands
    grasps = find_grasps(C, "thing", hand, limit=6)
    assert len(grasps) >= 3
    for grasp in grasps:
        C.set_joint(hand.joint, hand.joint_value(grasp.width))
        X = C.copy()
        # The hand moves to the grasp, or, which is the same, the object to the hand.
        X.set_pose("thing", pose_multiply(hand.pose(C), pose_inverse(grasp.pose)))
        for finger in hand.fingers:
            assert abs(X.signed_distance(finger, "thing")[0]) < 2e-3
        assert X.signed_distance(hand.link, "thing")[0] > 2e-3


def test_a_bowl_is_held_by_its_wall():
    C = world_with(pw.Mesh(bowl(), mode="decompose"))
    (hand,) = find_robot(C, "gantry").hands
    grasps = find_grasps(C, "thing", hand, limit=6)
    assert grasps and all(grasp.width < 0.02 for grasp in grasps)


def test_what_is_wider_than_the_hand_has_no_grasp():
    C = world_with(pw.Box([0.2, 0.2, 0.2]))
    (hand,) = find_robot(C, "gantry").hands
    assert find_grasps(C, "thing", hand) == []


def test_the_panda_holds_at_its_tool_frame():
    C = pw.load("panda")
    (hand,) = find_robot(C, "panda_link3").hands
    assert hand.link == "panda_hand" and hand.joint == "panda_finger_joint1"
    tool = C.pose("panda_hand_tcp")
    assert np.linalg.norm(hand.pose(C)[:3] - tool[:3]) < 2e-3
    np.testing.assert_allclose(hand.max_width, 0.08, atol=1e-6)


def test_base_joints_drive_over_the_floor():
    mobile = find_robot(pw.load("mobile"), "tool")
    assert mobile.base_joints == ("base_x", "base_y", "base_turn")
    assert find_robot(pw.load("panda"), "panda_hand").base_joints == ()


@pytest.mark.parametrize("name", ["nothing", "world", "thing"])
def test_what_is_no_robot_is_said(name):
    with pytest.raises(ConfigError, match=name):
        find_robot(world_with(pw.Box([0.1] * 3)), name)


def test_a_robot_without_fingers_is_said():
    with pytest.raises(ConfigError, match="no hand"):
        find_robot(pw.load("ur5e"), "tool0")


def test_grasps_do_not_depend_on_how_many_are_checked_at_a_time(monkeypatch):
    C = world_with(SHAPES["cylinder"])
    (hand,) = find_robot(C, "gantry").hands
    together = find_grasps(C, "thing", hand, limit=9)
    one = replace(GRASP_SAMPLING, batch_size=1)
    monkeypatch.setattr("posewise.logic.motion.grasps.GRASP_SAMPLING", one)
    monkeypatch.setattr("posewise.robots.contact.ray_casting.MAX_LINES", 7)
    one_by_one = find_grasps(C, "thing", hand, limit=9)
    assert [g.name for g in one_by_one] == [g.name for g in together]
    for a, b in zip(one_by_one, together, strict=True):
        np.testing.assert_allclose(a.pose, b.pose, atol=1e-9)


def test_a_half_space_among_the_parts_is_not_grasped():
    C = world_with([pw.Box([0.05, 0.05, 0.2]), (pw.Plane(), [0, 0, -0.1, 1, 0, 0, 0])])
    (hand,) = find_robot(C, "gantry").hands
    grasps = find_grasps(C, "thing", hand)
    assert grasps and all(grasp.width < 0.06 for grasp in grasps)
    assert least_width(C, "thing", hand) < 0.06
