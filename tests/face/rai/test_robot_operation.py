"""`BotOp` with rai's names: times beside rai's, and what a workspace sees."""

import numpy as np
import pytest
from helpers.rai.gripper_arm import gripper_arm

import posewise as pw
import posewise.rai as ry

pytest.importorskip("mujoco")

SCENE = """
eye(base): { Q: "t(0 -1 0) d(-90 1 0 0)", shape: camera, focalLength: .9,
  width: 64, height: 36 }
ball: { X: [1.5, 0, 1], shape: sphere, size: [.2], mass: .1 }
"""


@pytest.fixture
def workspace(tmp_path) -> ry.Config:
    return gripper_arm(tmp_path, SCENE)


def test_motions_take_the_times_of_robotic(workspace):
    # Numbers of robotic 0.4.2: the time to the end after each call.
    bot, q0 = ry.BotOp(workspace, False), workspace.getJointState()
    q1 = q0 + [0.2, 0.3]
    bot.moveTo(q0 + [0.2, 0])
    assert bot.getTimeToEnd() == pytest.approx(1.09572, abs=1e-3)
    bot.moveTo(q0 + [0.2, 1.0], 5.0)
    assert bot.getTimeToEnd() == pytest.approx(1.09572 + 1.0955, abs=1e-3)
    bot.home(workspace)
    bot.move(np.stack([q1, q0, q1, q0]), [2.0])
    assert bot.getTimeToEnd() == pytest.approx(2.66667, abs=1e-3)
    bot.move(np.stack([q1, q0]), [1.0, 1.5], overwrite=True)
    assert bot.getTimeToEnd() == pytest.approx(1.5)
    bot.hold()
    bot.moveAutoTimed(np.linspace(q0, q1, 20), 0.5, 0.5)
    assert bot.getTimeToEnd() == pytest.approx(0.66482, abs=1e-4)


def test_a_workspace_follows_the_robot(workspace):
    bot = ry.BotOp(workspace, useRealRobot=False)
    goal = bot.get_qHome() + [0.3, -0.2]
    bot.moveTo(goal)
    assert bot.wait(workspace) == bot.getKeyPressed() == 0
    assert 0 >= bot.getTimeToEnd() > -0.06
    np.testing.assert_allclose(workspace.getJointState(), goal, atol=0.02)
    assert workspace.getFrame("ball").getPosition()[2] == pytest.approx(0.2, abs=1e-3)
    before = bot.get_t()
    workspace.delFrame(workspace.getFrame("ball"))
    bot.sync(workspace, 0.2)
    assert bot.get_t() == pytest.approx(before + 0.2)
    assert abs(bot.get_qDot()).max() < 0.1


def test_a_gripper_stops_at_its_width_and_at_its_limit(workspace):
    bot = ry.BotOp(workspace, False)
    assert bot.gripperDone(ry._left)
    for width, end in ((0.02, 0.02), (0.075, 0.05)):
        bot.gripperMove(ry._left, width, 0.5)
        assert not bot.gripperDone(ry._left)
        bot.wait(workspace, forTimeToEnd=False, forGripper=True)
        assert bot.getGripperPos(ry.ArgWord._left) == pytest.approx(end, abs=1e-3)
    bot.gripperClose(ry._left, speed=0.5)
    bot.wait(workspace, False, False, True)
    assert bot.getGripperPos(ry._left) < 0.02


def test_a_camera_sees_points_in_the_world(workspace):
    bot = ry.BotOp(workspace, False)
    image, depth, points = bot.getImageDepthPcl("eye")
    assert image.shape == (36, 64, 3) and depth.shape == (36, 64)
    in_world = bot.getImageDepthPcl("eye", globalCoordinates=True)[2]
    pose = workspace.C.pose("eye")
    np.testing.assert_allclose(
        np.linalg.norm(in_world - pose[:3], axis=-1), np.linalg.norm(points, axis=-1)
    )


def test_what_it_cannot_do_is_told(workspace):
    with pytest.raises(pw.ConfigError, match="no real robot.*useRealRobot=False"):
        ry.BotOp(workspace, useRealRobot=True)
    bot = ry.BotOp(workspace, False)
    with pytest.raises(pw.ConfigError, match="2 points, expected at least 16"):
        bot.moveAutoTimed(np.zeros((2, 2)))
    with pytest.raises(AttributeError, match="BotOp.sound is not in posewise"):
        bot.sound()
