"""Our own models: the makers' kinematics, real sizes, hollow containers."""

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from helpers.reference_kinematics import (
    FILES,
    foreign,
    frame_poses,
    matrix,
    random_values,
)

from posewise.robots.errors import LoadError
from posewise.robots.geometry.shapes import Box, Capsule, Cylinder, Sphere
from posewise.robots.kinematics.joint_types import JOINT_TYPES
from posewise.robots.loaders.urdf.reader import read_urdf
from posewise.robots.models import DATA_DIR, model_info, model_names, read_model
from posewise.robots.typing import JointTypeName, ModelName

ROBOTS = [n for n in model_names() if model_info(n)["kind"] == "robot"]
PI = np.pi


def turn_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    T = np.eye(4)
    T[:2, :2] = [[c, -s], [s, c]]
    return T


def turn_x(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    T = np.eye(4)
    T[1:3, 1:3] = [[c, -s], [s, c]]
    return T


def shift(x: float, z: float) -> np.ndarray:
    T = np.eye(4)
    T[0, 3], T[2, 3] = x, z
    return T


def test_names_and_files_agree():
    files = {path.name for path in DATA_DIR.glob("*.urdf")}
    infos = [model_info(name) for name in model_names()]
    assert {info["file"] for info in infos} == files
    assert all(info["description"].endswith(".") for info in infos)
    objects = [info for info in infos if info["kind"] == "object"]
    assert all({"category", "abilities"} <= info.keys() for info in objects)
    assert len(infos) == len(ROBOTS) + len(objects)


def test_unknown_name_lists_near_ones():
    for read in (read_model, model_info):
        with pytest.raises(LoadError, match="did you mean 'panda'"):
            read("pnada")
    with pytest.raises(LoadError, match="No model '../x'"):
        read_model("../x")


def test_info_cannot_be_changed_from_outside():
    model_info("panda")["home"]["panda_joint1"] = 7
    assert model_info("panda")["home"]["panda_joint1"] == 0


@pytest.mark.parametrize("name", model_names())
def test_every_model_is_sound(name: str):
    model, info = read_model(name), model_info(name)
    joints = {f.joint.name: f.joint for f in model.frames if f.joint is not None}
    assert info.get("home", {}).keys() == joints.keys()
    names = [f.name for f in model.frames]
    roles = info.get("links", {}).values()
    links = [n for role in roles for n in ([role] if isinstance(role, str) else role)]
    assert set(links) <= set(names)
    assert set(info.get("openable_joints", [])) <= joints.keys()
    for joint in joints.values():
        assert joint.q is not None
        if joint.limits is not None:
            assert np.all(joint.limits[0] <= joint.q)
            assert np.all(joint.q <= joint.limits[1])
        assert joint.velocity > 0 and joint.effort > 0
    for frame in model.frames:
        for g in frame.geometries:
            assert isinstance(g.shape, Box | Capsule | Cylinder | Sphere)
            assert g.collision or g.color is not None
        solid = len([g for g in frame.geometries if g.collision])
        assert len(frame.geometries) == 2 * solid
        if frame.mass is not None and frame.inertia is not None:
            moments = np.linalg.eigvalsh(frame.inertia)
            assert moments[0] > 0 and moments[2] <= moments[0] + moments[1] + 1e-9


def panda_hand(q: np.ndarray) -> np.ndarray:
    """The flange by the maker's table: modified DH, (a, alpha, d) before each turn."""
    table = [
        (0, 0, 0.333),
        (0, -PI / 2, 0),
        (0, PI / 2, 0.316),
        (0.0825, PI / 2, 0),
        (-0.0825, -PI / 2, 0.384),
        (0, PI / 2, 0),
        (0.088, PI / 2, 0),
    ]
    T = np.eye(4)
    for (a, alpha, d), angle in zip(table, q, strict=True):
        T = T @ turn_x(alpha) @ shift(a, 0) @ turn_z(angle) @ shift(0, d)
    return T @ shift(0, 0.107)


def test_panda_is_the_makers():
    model = read_model("panda")
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = random_values(model, rng)
        q = np.array([values[f"panda_joint{i}"][0] for i in range(1, 8)])
        poses = frame_poses(model, values)
        flange = panda_hand(q)
        np.testing.assert_allclose(matrix(poses["panda_link8"]), flange, atol=1e-12)
        tool = flange @ turn_z(-PI / 4) @ shift(0, 0.1034)
        np.testing.assert_allclose(matrix(poses["panda_hand_tcp"]), tool, atol=1e-12)
        fingers = [poses[f"panda_{side}finger"][:3] for side in ("left", "right")]
        finger = values["panda_finger_joint1"][0]
        gap = np.linalg.norm(fingers[0] - fingers[1])
        assert gap == pytest.approx(2 * abs(finger))


def test_panda_equals_the_ros_description():
    ours, theirs = read_model("panda"), foreign(FILES[0])
    rng = np.random.default_rng(1)
    for _ in range(20):
        values = random_values(ours, rng)
        poses = frame_poses(ours, values)
        for name, X in frame_poses(theirs, values).items():
            np.testing.assert_allclose(matrix(X), matrix(poses[name]), atol=1e-12)


def test_panda_limits_are_the_data_sheets():
    joints = {f.joint.name: f.joint for f in read_model("panda").frames if f.joint}
    lower = [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]
    upper = [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]
    for i in range(7):
        joint = joints[f"panda_joint{i + 1}"]
        assert joint.limits.ravel().tolist() == [lower[i], upper[i]]
        assert joint.velocity.item() == (2.175 if i < 4 else 2.61)
        assert joint.effort.item() == (87 if i < 4 else 12)
    assert joints["panda_finger_joint2"].mimic == "panda_finger_joint1"


def test_ur5e_is_the_makers():
    d = [0.1625, 0, 0, 0.1333, 0.0997, 0.0996]
    a = [0, -0.425, -0.3922, 0, 0, 0]
    alpha = [PI / 2, 0, 0, PI / 2, -PI / 2, 0]
    model = read_model("ur5e")
    rng = np.random.default_rng(2)
    for _ in range(20):
        values = random_values(model, rng)
        poses = frame_poses(model, values)
        T = matrix(poses["base"])
        for i, q in enumerate(values.values()):
            T = T @ turn_z(q[0]) @ shift(a[i], d[i]) @ turn_x(alpha[i])
        np.testing.assert_allclose(matrix(poses["tool0"]), T, atol=1e-12)


def test_planar3_by_hand():
    values = {f"joint{i}": np.array([PI / 2]) for i in (1, 2, 3)}
    tip = frame_poses(read_model("planar3"), values)["tip"]
    np.testing.assert_allclose(tip[:3], [-0.3, 0.2, 0], atol=1e-15)


def test_mobile_base_moves_in_the_plane():
    model = read_model("mobile")
    values = {"base_x": [1.0], "base_y": [2.0], "base_turn": [PI / 2]}
    base = frame_poses(model, values)["base"]
    np.testing.assert_allclose(base, [1, 2, 0, 0.5**0.5, 0, 0, 0.5**0.5], atol=1e-15)
    arm = [f for f in model.frames if f.name.startswith("arm")]
    assert len(arm) == 7


def boxes_hold(model, values, point: np.ndarray) -> bool:
    """Whether a point is in any box or cylinder of the model."""
    poses = frame_poses(model, values)
    for frame in model.frames:
        for g in frame.geometries:
            T = matrix(poses[frame.name]) @ matrix(g.pose)
            p = np.linalg.solve(T, [*point, 1])[:3]
            if isinstance(g.shape, Box) and np.all(abs(p) <= g.shape.size / 2):
                return True
            if isinstance(g.shape, Cylinder):
                inside = np.hypot(*p[:2]) <= g.shape.radius
                if inside and abs(p[2]) <= g.shape.length / 2:
                    return True
    return False


EMPTY = {
    "mug": [(0, 0, 0.02), (0.03, 0, 0.09), (0.055, 0, 0.05)],
    "tray": [(0, 0, 0.02), (0.18, 0.13, 0.03)],
    "shelf": [(0, 0, 0.2), (0, 0.3, 0.6), (0.1, -0.3, 1.0)],
    "table": [(0, 0, 0.3)],
    "cupboard": [(0, 0, 0.2), (0, 0, 0.5), (0, 0, 0.75)],
    "microwave": [(0, 0.06, 0.15), (-0.1, 0.2, 0.25)],
    "apartment": [(2, 0, 1), (-2, 0, 1), (0, -0.5, 1)],
}
SOLID = {
    "mug": [(0, 0, 0.003), (0.039, 0, 0.05), (0.068, 0, 0.05)],
    "tray": [(0, 0, 0.003), (0.196, 0, 0.02)],
    "shelf": [(0, 0, 0.43), (0, 0.39, 0.6)],
    "table": [(0.3, 0.2, 0.73), (0.55, 0.35, 0.1)],
    "cupboard": [(0.216, 0, 0.2), (0.216, 0, 0.75), (0, 0, 0.35), (0, 0, 0.69)],
    "microwave": [(0.19, 0.06, 0.15), (0, 0, 0.28), (0, -0.2, 0.15)],
    "apartment": [(2, 0, -0.05), (0, 1, 1), (0, -0.5, 2.2), (4.06, 0, 1)],
}


@pytest.mark.parametrize("name", EMPTY)
def test_hollow_where_they_should_be(name: str):
    model = read_model(name)
    for point in EMPTY[name]:
        assert not boxes_hold(model, {}, np.array(point)), point
    for point in SOLID[name]:
        assert boxes_hold(model, {}, np.array(point)), point


def test_doors_and_drawers_open_outwards():
    for name in ("cupboard", "microwave"):
        model = read_model(name)
        for joint in model_info(name)["openable_joints"]:
            limits = {f.joint.name: f.joint.limits for f in model.frames if f.joint}
            (frame,) = [f for f in model.frames if f.joint and f.joint.name == joint]
            far = (
                np.array([0, -0.3, 0, 1.0]) if frame.joint.type == "revolute" else None
            )
            far = np.array([0, 0, 0, 1.0]) if far is None else far
            x = [
                (matrix(frame_poses(model, {joint: limit})[frame.name]) @ far)[0]
                for limit in limits[joint]
            ]
            assert x[1] > x[0] + 0.2


def test_objects_stand_on_the_ground():
    for name in set(model_names()) - set(ROBOTS) - {"apartment"}:
        model = read_model(name)
        poses = frame_poses(model, {})
        lowest = np.inf
        for frame in model.frames:
            for g in frame.geometries:
                T = matrix(poses[frame.name]) @ matrix(g.pose)
                if isinstance(g.shape, Box):
                    size = g.shape.size / 2
                elif isinstance(g.shape, Cylinder):
                    size = np.array([0, 0, g.shape.length / 2])
                else:
                    continue
                lowest = min(lowest, T[2, 3] - abs(T[2, :3]) @ size)
        assert lowest == pytest.approx(0, abs=1e-9)


def test_index_is_readable():
    path = Path(DATA_DIR) / "index.json"
    assert list(json.loads(path.read_text())) == list(model_names())
    assert len(read_urdf(DATA_DIR / "panda.urdf").frames) == 13


def test_type_aliases_list_all_models_and_joint_types():
    literal, _ = get_args(JointTypeName)
    assert set(get_args(ModelName)) == set(model_names())
    assert set(get_args(literal)) == set(JOINT_TYPES)
