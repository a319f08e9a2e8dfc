"""The MuJoCo twin against our own kinematics, masses and distances, and mechanics."""

import builtins

import numpy as np
import pytest
import trimesh
from helpers.stable_scenes import boxes, table, turned
from helpers.worlds import TYPES, random_pose, random_q

import posewise as pw
from posewise.logic.geometry.frame_groups import closest_separation, find_object
from posewise.robots.contact.bounding_boxes import body_volumes
from posewise.robots.kinematics.joint_types import JOINT_TYPES
from posewise.robots.models import model_names
from posewise.robots.simulation.motion import SimulationError
from posewise.robots.simulation.twin import Twin
from posewise.robots.world.frame import Frame, Joint, Model

mujoco = pytest.importorskip("mujoco")

G = 9.81


def every_joint(rng: np.random.Generator) -> pw.Config:
    """Joints of every type, and one that follows another, on a few branches."""
    frames = []
    for k, kind in enumerate(TYPES):
        axis = np.array([0.6, 0, 0.8]) if JOINT_TYPES[kind].needs_axis else None
        parent = None if k % 5 == 0 else k - 1
        frames.append(Frame(str(k), parent, random_pose(rng), Joint(kind, kind, axis)))
    follower = Joint("hingeX", "follower", None, None, None, "hingeY", -1.5, 0.2)
    frames.append(Frame("follower", 3, random_pose(rng), follower))
    C = pw.Config()
    C.add_model(Model(tuple(frames)))
    return C


def test_poses_are_ours():
    """Poses of all frames agree at random coordinates, in all built-in models."""
    rng = np.random.default_rng(0)
    worlds = [pw.load(name) for name in model_names()]
    worlds.append(every_joint(rng))
    locked = worlds[-1].copy()
    locked.lock(list(locked.joint_names)[::2])
    for C in [*worlds, locked]:
        twin = Twin(C)
        data = mujoco.MjData(twin.model)
        bodies = [twin.model.body(str(i)).id for i in range(len(C.frames))]
        for q in random_q(C, rng, 2):
            data.qpos[:] = twin.qpos(q)
            mujoco.mj_kinematics(twin.model, data)
            ours = C.forward_pass(q).frames
            R = data.xmat[bodies].reshape(-1, 3, 3)
            np.testing.assert_allclose(data.xpos[bodies], ours.p[:-1], atol=1e-9)
            np.testing.assert_allclose(R, ours.R[:-1], atol=1e-9)
            for first in C.joints.quaternions:
                q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
            np.testing.assert_allclose(twin.q(data.qpos), q, atol=1e-9)


def test_masses_are_ours():
    C = pw.Config()
    C.load("panda")
    C.load("mug", joint="free", prefix="m_")
    for k, shape in enumerate(SHAPES.values()):
        C.add_frame(f"s{k}", joint="free", shape=shape)
    C.add_object("off", [(pw.Box([0.1, 0.1, 0.1]), None)], joint="free", mass=2.0,
                 com=[0.01, 0.02, 0.03])  # fmt: skip
    C.add_frame("point", joint="free", mass=0.5)
    C.add_frame("nothing", joint="free")
    model = Twin(C).model
    for i, frame in enumerate(C.frames):
        body = model.body(str(i))
        if frame.mass is not None:
            assert body.mass[0] == pytest.approx(frame.mass, rel=1e-9)
        elif frame.name.startswith("s"):
            expected = 1000 * body_volumes(frame)[0].sum()
            assert body.mass[0] == pytest.approx(max(expected, 1e-3), rel=1e-9)
        if frame.inertia is not None:
            moments = np.sort(np.linalg.eigvalsh(frame.inertia))
            np.testing.assert_allclose(np.sort(body.inertia), moments, rtol=1e-6)
            np.testing.assert_allclose(body.ipos, frame.com, atol=1e-12)
    off = model.body(str(C.index("off")))
    np.testing.assert_allclose(off.ipos, [0.01, 0.02, 0.03])
    np.testing.assert_allclose(off.inertia, 2 * 0.01 / 6, rtol=1e-6)


TWO = trimesh.util.concatenate(
    [trimesh.creation.box((0.1, 0.1, 0.1)).apply_translation([s, 0, 0])
     for s in (-0.1, 0.1)]
)  # fmt: skip
CORNERS = np.random.default_rng(0).normal(size=(12, 3)) * 0.06
SHAPES = {
    "sphere": pw.Sphere(0.05),
    "capsule": pw.Capsule(0.1, 0.03),
    "box": pw.Box([0.1, 0.08, 0.06]),
    "rounded box": pw.Box([0.1, 0.08, 0.06], 0.01),
    "swept segment": pw.Box([0.02, 0.02, 0.1], 0.01),
    "cylinder": pw.Cylinder(0.1, 0.04),
    "rounded cylinder": pw.Cylinder(0.1, 0.04, 0.01),
    "ellipsoid": pw.Ellipsoid([0.05, 0.04, 0.03]),
    "hull": pw.Convex(CORNERS),
    "rounded hull": pw.Convex(CORNERS, 0.01),
    "flat hull": pw.Convex(CORNERS * [1, 1, 0]),
    "mesh of two": pw.Mesh(TWO),
    "points": pw.PointCloud(CORNERS, 0.01),
}
INSCRIBED = {"rounded box": 8e-4, "rounded cylinder": 8e-4, "rounded hull": 8e-4}


def test_shapes_are_ours():
    """Distances of a ball to each shape; rays and half-spaces too."""
    rng = np.random.default_rng(1)
    C = pw.Config()
    for k, (name, shape) in enumerate(SHAPES.items()):
        C.add_frame(name, position=[k, 0, 0], quaternion=rng.normal(size=4),
                    shape=shape)  # fmt: skip
    C.add_frame("ground", position=[0, 0, -1], shape=pw.Plane())
    C.add_frame("ball", joint="free", shape=pw.Sphere(0.02))
    twin = Twin(C)
    for k, name in enumerate(SHAPES):
        for _ in range(4):
            d = rng.normal(size=3)
            C.set_pose("ball", [*(0.3 * d / np.linalg.norm(d) + [k, 0, 0]), 1, 0, 0, 0])
            ours = closest_separation(
                find_object(C, name), find_object(C, "ball")
            ).distance
            theirs = twin.distance(name, "ball", C.q)[0]
            room = INSCRIBED.get(name, 3e-5)
            assert -1e-5 <= theirs - ours <= room, name
    assert twin.distance("ground", "ball", C.q)[0] == pytest.approx(
        C.pose("ball")[2] + 0.98
    )


def colliding(C: pw.Config) -> set:
    return {tuple(sorted((t.a, t.b))) for t in Twin(C).contacts()}


def test_pairs_that_collide_are_ours():
    C = pw.Config()
    shape = pw.Box([0.2, 0.2, 0.2])
    C.add_frame("a", joint="free", shape=shape)
    C.add_frame("child", "a", joint="hingeX", position=[0.05, 0, 0], shape=shape)
    C.add_frame("fixed", "a", position=[0, 0.05, 0], shape=shape)
    C.add_frame("b", joint="free", position=[0.1, 0.01, 0], shape=shape)
    C.add_frame("ghost", joint="free", shape=shape, contact=0)
    assert colliding(C) == {tuple(sorted(p)) for p in C.pairs.names()}
    assert ("a", "child") in colliding(C) and ("a", "fixed") not in colliding(C)
    C.ignore_collisions("a", "child")
    C.ignore_collisions("b", "child")
    assert colliding(C) == {tuple(sorted(p)) for p in C.pairs.names()}
    assert len(C.pairs.names()) == 3
    assert {t.a for t in Twin(C).without_contacts(["b"]).contacts()} == {"child"}


def test_things_fall_and_are_pushed():
    C = pw.Config()
    C.add_frame("base", position=[1, 2, 3], quaternion=turned(0.3, 0.5))
    C.add_frame("a", "base", joint="free", shape=pw.Sphere(0.1), mass=2.0)
    before = C.q
    push = np.array([1.0, -2.0, 2 * G])
    motion = Twin(C).simulate(0.4, forces={"a": push})
    p = motion.poses("a")
    expected = 0.5 * (push / 2 - [0, 0, G]) * 0.4**2
    np.testing.assert_allclose(p[-1, :3] - p[0, :3], expected, atol=4e-3)
    assert motion.times[-1] == pytest.approx(0.4)
    np.testing.assert_array_equal(C.q, before)
    np.testing.assert_allclose(motion.world_at(-1).pose("a"), p[-1], atol=1e-12)
    steps = Twin(C).simulate(0.4, forces={"a": np.tile([*push, 0, 0, 0.0], (200, 1))})
    np.testing.assert_array_equal(steps.q, motion.q)


def test_contact_forces_carry_the_weight():
    touches = Twin(boxes(2)).contacts(after=0.3)
    by_pair = {("b0", "b1"): 0.3 * G, ("table", "b0"): 0.6 * G}
    for (a, b), weight in by_pair.items():
        forces = [
            t.force if (t.a, t.b) == (a, b) else -t.force
            for t in touches
            if {t.a, t.b} == {a, b}
        ]
        np.testing.assert_allclose(np.sum(forces, 0), [0, 0, weight], atol=1e-2)
    assert all(abs(np.linalg.norm(t.normal) - 1) < 1e-9 for t in touches)


def test_batches_are_what_singles_are():
    C = boxes(1)
    q = np.tile(C.q, (2, 3, 1))
    q[..., 2] += 0.01 * np.arange(6).reshape(2, 3)
    motion = Twin(C).simulate(0.2, q)
    assert motion.q.shape == (2, 3, 101, 7)
    np.testing.assert_array_equal(motion.q[1, 2], Twin(C).simulate(0.2, q[1, 2]).q)
    assert Twin(C).simulate(0.2, q[:0]).q.shape == (0, 3, 101, 7)


def test_equal_worlds_share_a_model():
    C = boxes(1)
    D = C.copy()
    D.q = C.q + 0.01
    assert Twin(C).model is Twin(D).model
    assert Twin(C).model is not Twin(C, movable_joints=["b0"]).model
    D.ignore_collisions("b0", "table")
    assert Twin(C).model is not Twin(D).model
    E = C.copy()
    E.set_attributes("b0", contact_friction=0.1)
    assert Twin(E).model.geom_friction[:, 0].min() == pytest.approx(0.1)


def pendulum() -> pw.Config:
    C = pw.Config()
    C.add_frame("swing", joint="hingeY", q=[0.1], limits=[[-0.5], [0.5]])
    C.add_frame("bob", "swing", position=[0, 0, -1], shape=pw.Sphere(0.02), mass=1.0)
    C.add_frame("twin", joint="hingeY", mimic="swing", multiplier=-2.0, offset=0.3)
    return C


def test_a_world_without_joints_stays():
    C = pw.Config()
    C.add_frame("block", shape=pw.Box([0.1, 0.1, 0.1]), contact=1)
    assert pw.Twin(C).simulate(0.01).q.shape == (6, 0)


def test_joints_are_held_or_loose():
    C = pendulum()
    still = Twin(C).simulate(2.0)
    assert np.abs(still.q - 0.1).max() < 1e-4
    twin = Twin(C, movable_joints=["swing"])
    loose = twin.simulate(2.2)
    turns = np.flatnonzero(np.diff(np.sign(loose.q[:, 0])))
    half = np.diff(loose.times[turns]).mean()
    assert half == pytest.approx(np.pi * np.sqrt(1.0 / G), rel=5e-3)
    far = twin.simulate(1.0, [0.5])
    assert np.abs(far.q).max() < 0.501


def test_followers_follow():
    C = pendulum()
    twin = Twin(C, movable_joints=["swing"])
    data = mujoco.MjData(twin.model)
    data.qpos[:] = twin.qpos()
    for _ in range(200):
        mujoco.mj_step(twin.model, data)
    follower = data.qpos[twin.model.joint("2.0").qposadr[0]]
    assert follower == pytest.approx(-2 * twin.q(data.qpos)[0] + 0.3, abs=2e-3)


def test_meshes_are_not_their_hulls():
    """A ball falls between the two cubes of one mesh."""
    C = table()
    C.add_frame("two", position=[0, 0, 0.75], shape=pw.Mesh(TWO))
    C.add_frame("ball", joint="free", position=[0, 0, 0.9], shape=pw.Sphere(0.04))
    C.q = Twin(C).simulate(1.0).q[-1]
    assert C.pose("ball")[2] == pytest.approx(0.74, abs=1e-3)


def test_moving_half_spaces_hold():
    C = pw.Config()
    C.add_frame("floor", joint="transZ", shape=pw.Plane())
    C.add_frame("a", joint="free", position=[0, 0, 0.05], shape=pw.Box([0.1, 0.1, 0.1]))
    q = Twin(C).simulate(0.5).q[-1]
    assert q[:4] == pytest.approx([0, 0, 0, 0.05], abs=1e-4)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: t.simulate(0), "seconds is 0, expected > 0"),
        (lambda t: t.simulate(1, [1.0]), "q has shape \\(1,\\), expected \\(…, 7\\)"),
        (lambda t: t.simulate(1, np.full(7, np.nan)), "without NaN"),
        (lambda t: t.simulate(1, forces={"b1": [0, 0, 1]}), "did you mean 'b0'"),
        (lambda t: t.simulate(1, forces={"b0": [1]}), "expected 3 or 6 finite numbers"),
        (lambda t: t.simulate(1, forces={"b0": np.zeros((3, 6))}), "or 500 rows"),
        (lambda t: t.simulate(1, forces={"world": [0, 0, 1]}), "name a frame"),
        (lambda t: t.q([1, 2]), "qpos has shape"),
        (lambda t: t.distance("b0", "tabel"), "did you mean 'table'"),
        (lambda t: t.contacts(after=-1), "after is -1"),
        (lambda t: Twin(t.C, movable_joints=["b"]), "No joint 'b'"),
    ],
)
def test_errors_say_what_to_do(ask, message):
    with pytest.raises(pw.PosewiseError, match=message):
        ask(Twin(boxes(1)))


def test_what_runs_away_says_so():
    with pytest.raises(SimulationError, match="unstable"):
        Twin(boxes(1)).simulate(0.1, forces={"b0": [1e15, 0, 0, 0, 1e15, 0]})


def test_without_mujoco_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def missing(name, *arguments):
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"posewise\[mujoco\]"):
        Twin(pw.Config())
