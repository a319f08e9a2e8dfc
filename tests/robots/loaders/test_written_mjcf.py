"""Worlds as MJCF: MuJoCo's poses, what is read back, and what stays where it stands."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.simulators.written_worlds import (
    WORLDS,
    assert_same_pose,
    assert_same_world,
)

import posewise as pw
from posewise import ConfigError, logic
from posewise.robots.loaders.written_links import written_links

mujoco = pytest.importorskip("mujoco")


def compiled(C: pw.Config, folder):
    """MuJoCo's model of the file that a world is written to, and its data."""
    C.write_mjcf(folder / "scene.xml")
    model = mujoco.MjModel.from_xml_path(str(folder / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def assert_mujoco_agrees(C: pw.Config, model, data) -> None:
    for name in C.frame_names:
        body = model.body(name).id
        pose = np.concatenate([data.xpos[body], data.xquat[body]])
        assert_same_pose(C.pose(name), pose)


@pytest.mark.parametrize("name", WORLDS)
def test_worlds_are_read_back(name, tmp_path):
    C = WORLDS[name]()
    C.write_mjcf(tmp_path / "scene.xml")
    D = pw.Config()
    D.add_file(tmp_path / "scene.xml")
    assert_same_world(C, D)


@pytest.mark.parametrize("name", WORLDS)
def test_poses_and_masses_are_those_of_mujoco(name, tmp_path):
    C = WORLDS[name]()
    model, data = compiled(C, tmp_path)
    assert_mujoco_agrees(C, model, data)
    for frame in C.frames:
        if frame.mass is not None:
            assert model.body(frame.name).mass[0] == pytest.approx(frame.mass)


def test_a_joint_moves_in_mujoco_as_here(tmp_path):
    C = WORLDS["linkage"]()
    C.add_frame(
        "follower", "base", joint="revolute", axis=[1, 0, 0], shape=pw.Sphere(0.05),
        mass=0.1, mimic="door", multiplier=0.5, offset=0.2,
    )  # fmt: skip
    model, data = compiled(C, tmp_path)
    for name, motion in {"door": 1.3, "drawer": 0.4, "wheel": -1.0}.items():
        C.set_joint(name, motion)
        data.qpos[model.joint(name).qposadr[0]] = motion
    data.qpos[model.joint("follower").qposadr[0]] = 0.5 * 1.3 + 0.2
    mujoco.mj_kinematics(model, data)
    assert_mujoco_agrees(C, model, data)
    D = pw.Config()
    D.add_file(tmp_path / "scene.xml")
    follower = D.frame("follower").joint
    assert follower is not None and follower.mimic == "door"
    np.testing.assert_allclose([follower.multiplier, follower.offset], [0.5, 0.2])


COMPOUND = ["transXY", "trans3", "transXYPhi", "phiTransXY", "universal", "planar",
            "_xAbC", "quatBall", "XBall"]  # fmt: skip


@pytest.mark.parametrize("kind", COMPOUND)
def test_joints_of_several_coordinates(kind, tmp_path):
    C = pw.Config()
    C.add_frame("base", pose=[0.3, -0.2, 0.5, 0.8, 0.2, -0.4, 0.4])
    shape = pw.Box([0.1, 0.2, 0.3])
    C.add_frame("arm", "base", joint=kind, position=[0.1, 0, 0], shape=shape, mass=1)
    C.add_frame("tip", "arm", position=[0.2, 0.1, 0], shape=pw.Sphere(0.02))
    C.q = C.q + np.linspace(0.3, 0.6, C.nq)
    model, data = compiled(C, tmp_path)
    assert_mujoco_agrees(C, model, data)
    if "Ball" in kind:
        return  # its zero in MuJoCo is where it stands
    q = C.q - np.linspace(0.2, 0.5, C.nq)
    C.q = data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    assert_mujoco_agrees(C, model, data)


def test_locked_joints_are_fixed_and_planes_may_move(tmp_path):
    C = WORLDS["linkage"]()
    C.lock("door")
    C.add_frame("wall", "drawer", shape=pw.Plane())
    C.add_frame("ground", position=[0, 0, -2], shape=pw.Plane())
    model, data = compiled(C, tmp_path)
    assert_mujoco_agrees(C, model, data)
    assert model.body("door").jntnum[0] == 0
    kinds = [model.geom(f"{name}_0").type[0] for name in ("wall", "ground")]
    assert kinds == [mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_PLANE]


def test_what_is_not_convex_collides_as_its_parts(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box
    parts = [box((0.4, 0.1, 0.1)), box((0.1, 0.1, 0.4))]
    parts[1].apply_translation([0.25, 0, 0.15])
    C = pw.Config()
    C.add_frame("corner", shape=pw.Mesh(trimesh.util.concatenate(parts)))
    model, _ = compiled(C, tmp_path)
    assert [bool(c) for c in model.geom_contype] == [True, True, False]
    assert list(model.geom_group) == [3, 3, 2]


def settle(C: pw.Config, folder) -> float:
    """The largest distance that a body moves by in two seconds of MuJoCo [m]."""
    model, data = compiled(C, folder)
    start = data.xpos.copy()
    while data.time < 2:
        mujoco.mj_step(model, data)
    return float(np.linalg.norm(data.xpos - start, axis=1).max())


@pytest.mark.long
def test_a_solved_placement_stays_put(tmp_path):
    C = pw.Config()
    C.add_frame("table", position=[0.6, 0, 0.7], shape=pw.Box([0.8, 1.2, 0.04]))
    names = [f"cup{k}" for k in range(3)]
    for name in names:
        shape = pw.Cylinder(0.1, 0.04)
        C.add_frame(name, joint="free", position=[0, 0, 2], shape=shape, mass=0.2)
    goals = [logic.OnTopOf(name, "table") for name in names]
    goals += [logic.Upright(name) for name in names]
    (placement, *_) = pw.solve_placement(
        C, goals, names, starts=8, seed=0, count=1, progress=False
    )
    assert placement.feasible
    placement.apply(C)
    # Placed objects may overlap by the tolerance, 1 mm.
    assert settle(C, tmp_path) < 1.2e-3


def test_a_tower_stays_put(tmp_path):
    C = pw.Config()
    C.add_frame("floor", position=[0, 0, -0.05], shape=pw.Box([2, 2, 0.1]))
    for k in range(6):
        C.add_frame(
            f"box{k}", joint="free", position=[0, 0, 0.05 + 0.1 * k],
            shape=pw.Box([0.1, 0.1, 0.1]), mass=0.5,
        )  # fmt: skip
    assert settle(C, tmp_path) < 1e-3


def test_names_that_mujoco_cannot_have(tmp_path):
    C = pw.Config()
    C.add_frame("world", position=[0, 0, 1])
    with pytest.raises(ConfigError, match="'world' is not at the world's origin"):
        C.write_mjcf(tmp_path / "scene.xml")
    twice = pw.Config()
    for name in ("a", "b"):
        twice.add_model(pw.load("box", joint="free").model(), prefix=f"{name}_")
    frames = [replace(f, joint=replace(f.joint, name="j")) for f in twice.frames]
    with pytest.raises(ConfigError, match="joint names used more than once: 'j'"):
        written_links(replace(twice.model(), frames=tuple(frames)), "write_mjcf")
    D = pw.Config()
    D.add_frame("world", shape=pw.Box([1, 1, 0.1]))
    D.add_frame("cup", "world", position=[0, 0, 0.2], shape=pw.Sphere(0.1))
    E = pw.Config()
    D.write_mjcf(tmp_path / "scene.xml")
    E.add_file(tmp_path / "scene.xml")
    assert_same_world(D, E)
