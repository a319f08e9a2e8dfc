"""`Simulation` with rai's names beside plain MuJoCo, mechanics, and rai's numbers."""

import builtins

import numpy as np
import pytest
from helpers.rai.gripper_arm import gripper_arm

import posewise as pw
import posewise.rai as ry

mujoco = pytest.importorskip("mujoco")


def ball(height: float = 1.0) -> ry.Config:
    C = ry.Config()
    frame = C.addFrame("ball").setShape(ry.ST.sphere, [0.2]).setMass(0.1)
    frame.setPosition([0, 0, height])
    return C


def advance(S: ry.Simulation, steps: int, u=(), mode=ry.ControlMode.none) -> None:
    for _ in range(steps):
        S.step(u, 0.01, mode)


def test_a_ball_falls_and_rests_on_the_floor():
    C = ball()
    S = ry.Simulation(C, ry.SimulationEngine.physx, verbose=0)
    advance(S, 10)
    assert S.get_t() == pytest.approx(0.1)
    np.testing.assert_allclose(S.getState().freeVel[0, 0], [0, 0, -0.981], atol=1e-9)
    assert C.getFrame("ball").getPosition()[2] == pytest.approx(1 - 0.04905, abs=1e-3)
    advance(S, 190)
    assert C.getFrame("ball").getPosition()[2] == pytest.approx(0.2, abs=1e-4)
    S.resetTime()
    assert S.get_t() == 1.0


MJCF = """
<mujoco><option timestep="0.002" cone="elliptic"/><worldbody>
<geom type="plane" size="9 9 1" friction="1"/>
<body pos="0 0 .3" quat=".9659258 0 .2588190 0">
<geom type="box" size="1 1 .05" friction="{0}"/></body>
<body name="box" pos=".05 0 .3866025" quat=".9659258 0 .2588190 0"><freejoint/>
<geom type="box" size=".1 .1 .05" mass=".5" friction="{0}"/></body>
</worldbody></mujoco>
"""


@pytest.mark.parametrize("friction", [0.1, 0.9])
def test_a_box_on_a_slope_is_that_of_plain_mujoco(friction):
    """The slope is of 30 degrees: boxes slide at 0.1 and stay at 0.9."""
    C, turn = ry.Config(), [0.9659258, 0, 0.2588190, 0]
    start = [0.05, 0, 0.3866025]
    slope, box = ([2, 2, 0.1], [0, 0, 0.3]), ([0.2, 0.2, 0.1], start)
    for name, (size, position) in {"slope": slope, "box": box}.items():
        frame = C.addFrame(name).setShape(ry.ST.box, size).setPosition(position)
        frame.setQuaternion(turn).setAttributes({"friction": friction})
    C.getFrame("box").setMass(0.5)
    S = ry.Simulation(C, ry.SimulationEngine.physx, 0)
    model = mujoco.MjModel.from_xml_string(MJCF.format(friction))
    data = mujoco.MjData(model)
    advance(S, 40)
    for _ in range(200):
        mujoco.mj_step(model, data)
    ours, plain = C.getFrame("box").getPosition(), data.body("box").xpos
    assert bool(np.linalg.norm(plain - start) > 0.1) is (friction < 0.5)
    np.testing.assert_allclose(ours, plain, atol=5e-3)


def test_motors_follow_references_as_rais(tmp_path):
    C = gripper_arm(tmp_path)
    S = ry.Simulation(C, ry.SimulationEngine.physx, 0)
    q = C.getJointState()
    advance(S, 100, q, ry.ControlMode.position)
    np.testing.assert_allclose(S.get_q(), q, atol=1e-3)  # no weight pulls it down
    for _ in range(100):
        q[0] -= 0.005
        S.step(q, 0.01, ry.ControlMode.position)
    # rai's motors are as stiff, and lag by damping / stiffness = 0.1 s.
    assert S.get_q()[0] - q[0] == pytest.approx(0.05, abs=3e-3)
    assert S.get_qDot()[0] == pytest.approx(-0.5, abs=0.02)
    advance(S, 100, [], ry.ControlMode.none)
    np.testing.assert_allclose(C.getJointState(), q, atol=1e-3)
    advance(S, 30, [0.1, -0.2], ry.ControlMode.velocity)
    np.testing.assert_allclose(S.get_qDot(), [0.1, -0.2], atol=0.01)


def test_splines(tmp_path):
    S = ry.Simulation(gripper_arm(tmp_path), ry.SimulationEngine.physx, 0)
    assert S.getTimeToSplineEnd() == 0
    S.step([], 0.01, ry.ControlMode.spline)
    S.setSplineRef([[0.5, 0.1], [0.2, 0.2]], [1.0])
    assert S.getTimeToSplineEnd() == pytest.approx(1.0)
    S.multi_step(1.6, 0.01)
    np.testing.assert_allclose(S.get_q(), [0.2, 0.2], atol=2e-3)
    S.setSplineRef(np.zeros(2), [0.5], append=False)
    S.multi_step(1.2, 0.01)
    np.testing.assert_allclose(S.get_q(), [0, 0], atol=2e-3)
    S.resetSplineRef()
    assert S.getTimeToSplineEnd() == 0


def test_a_state_is_set_again(tmp_path):
    C = gripper_arm(tmp_path)
    box = C.addFrame("box").setShape(ry.ST.ssBox, [0.1, 0.2, 0.1, 0.01]).setMass(0.2)
    box.setPosition([0.3, 0.1, 0.9]).setQuaternion([0.8, 0.6, 0, 0])
    S = ry.Simulation(C, ry.SimulationEngine.physx, 0)
    assert [f.name for f in S.getFreeFrames()] == ["base", "box"]
    reference = C.getJointState() + 0.2
    advance(S, 20, reference, ry.ControlMode.position)
    state = S.getState()
    advance(S, 20, reference, ry.ControlMode.position)
    after, X = S.getState(), C.getFrameState()
    S.setState(state)
    for field in ("time", "q", "qDot", "freePos", "freeVel"):
        got, expected = (getattr(s, field) for s in (S.getState(), state))
        np.testing.assert_allclose(got, expected, atol=1e-6)
    np.testing.assert_allclose(box.getPose(), state.freePos[1])
    advance(S, 20, reference, ry.ControlMode.position)
    np.testing.assert_allclose(S.getState().freePos, after.freePos, atol=1e-4)
    np.testing.assert_allclose(C.getFrameState(), X, atol=1e-4)


@pytest.mark.long
def test_a_gripper_closes_and_lifts(tmp_path):
    C = gripper_arm(tmp_path)
    C.setJointState([0.0, 0.0])
    S = ry.Simulation(C, ry.SimulationEngine.physx, 0)
    assert S.getGripperWidth("l_gripper") == pytest.approx(0.04)
    assert not S.gripperIsDone("l_gripper")
    S.moveGripper("l_gripper", 0.0, 0.3)
    advance(S, 3, [0, 0], ry.ControlMode.position)
    assert not S.gripperIsDone("l_gripper")
    advance(S, 100, [0, 0], ry.ControlMode.position)
    assert S.gripperIsDone("l_gripper")
    assert S.getGripperWidth("l_gripper") == pytest.approx(0.0, abs=1e-3)

    C.setJointState([0.04], ["left"])
    box = C.addFrame("box").setShape(ry.ST.box, [0.03, 0.02, 0.03])
    box.setPosition([0.8, 0, 0.5]).setMass(0.05)
    stand = C.addFrame("stand").setShape(ry.ST.box, [0.01, 0.01, 0.1])
    stand.setPosition([0.8, 0, 0.435])
    S = ry.Simulation(C, ry.SimulationEngine.physx, 0)
    S.moveGripper("l_gripper", 0.0)
    advance(S, 100, [0, 0], ry.ControlMode.position)
    assert S.gripperIsDone("l_gripper")
    # Half the box, and half a pad.
    assert S.getGripperWidth("l_gripper") == pytest.approx(0.015, abs=1e-3)
    left, right = (C.getFrame(n).getPosition()[1] for n in ("left", "right"))
    assert left == pytest.approx(-right, abs=1e-3)
    for angle in np.linspace(0, 0.3, 100):
        S.step([-angle, angle], 0.01, ry.ControlMode.position)
    advance(S, 50)
    lifted = 0.5 + 0.4 * np.sin(0.3)
    assert box.getPosition()[2] == pytest.approx(lifted, abs=5e-3)


def test_the_kinematic_engine_moves_joints_only(tmp_path):
    C = gripper_arm(tmp_path)
    C.addFrame("ball").setShape(ry.ST.sphere, [0.1]).setMass(1.0).setPosition([2, 0, 1])
    S = ry.Simulation(C, ry.SimulationEngine.kinematic, 0)
    S.step([0.5, 0.6], 0.01, ry.ControlMode.position)
    np.testing.assert_allclose(C.getJointState(), [0.5, 0.6])
    np.testing.assert_allclose(C.getFrame("ball").getPosition(), [2, 0, 1])


def test_a_camera_sees_the_ball_fall():
    C = ball()
    camera = C.addFrame("camera").setPosition([0, -2, 0.5])
    camera.setQuaternion([0.7071068, -0.7071068, 0, 0])
    camera.setAttributes({"width": 40, "height": 40, "focalLength": 1.0})
    S = ry.Simulation(C, ry.SimulationEngine.physx, 0)
    S.setCamera(camera)
    rows = []
    for _ in range(2):
        image, depth = S.getImageAndDepth()
        assert image.shape == (40, 40, 3) == S.getScreenshot().shape
        near = np.argwhere((depth > 0) & (depth < 1.95))
        rows.append(near.mean(0)[0])
        advance(S, 40)
    fxycxy = S.setCamera(camera).fxycxy
    assert S.depthData2pointCloud(depth, fxycxy).shape == (40, 40, 3)
    assert rows[1] > rows[0] + 5  # lower in the image


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1], 0.01, ry.ControlMode.position), "expected 2 finite numbers"),
        (([np.nan, 0], 0.01, ry.ControlMode.velocity), "expected 2 finite numbers"),
        (([0, 0], 0.0, ry.ControlMode.position), "expected a time > 0"),
        (([0, 0], 0.01, ry.ControlMode.acceleration), "does not support acceleration"),
    ],
)
def test_mistakes(tmp_path, arguments, message):
    S = ry.Simulation(gripper_arm(tmp_path), ry.SimulationEngine.physx, 0)
    with pytest.raises(pw.PosewiseError, match=message):
        S.step(*arguments)
    with pytest.raises(pw.ConfigError, match="has no finger"):
        ry.Simulation(ball()).moveGripper("ball", 0.0)
    with pytest.raises(pw.FeatureError, match="make a new `Simulation`"):
        S.attach  # noqa: B018


def test_without_mujoco_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"posewise\[mujoco\]"):
        ry.Simulation(ball())
