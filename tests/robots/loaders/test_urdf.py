"""The URDF reader and writer against yourdfpy, MuJoCo and hand-broken files."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh
from helpers.reference_kinematics import (
    BULLET,
    EXAMPLES,
    FILES,
    foreign,
    frame_poses,
    joint_values,
    matrix,
    random_values,
)

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, LoadError
from posewise.robots.geometry.shapes import (
    Box,
    Capsule,
    Convex,
    Ellipsoid,
    Marker,
    Mesh,
    Sphere,
)
from posewise.robots.kinematics.joint_types import joint_dim
from posewise.robots.kinematics.transforms import make_pose, rpy_to_quat
from posewise.robots.loaders.number_text import pose_to_rpy
from posewise.robots.loaders.urdf.reader import read_urdf
from posewise.robots.loaders.urdf.writer import write_urdf
from posewise.robots.models import model_names, read_model
from posewise.robots.world.frame import Frame, Geometry, Joint, Model


def robot(body: str) -> str:
    return f'<robot name="r">{body}</robot>'


def write(folder: Path, text: str, name: str = "r.urdf") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.sampled
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_poses_equal_yourdfpy(path: Path):
    yourdfpy = pytest.importorskip("yourdfpy")
    model = foreign(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle = yourdfpy.URDF.load(str(path), load_meshes=False)
    rng = np.random.default_rng(0)
    for _ in range(5):
        values = random_values(model, rng)
        oracle.update_cfg({k: v[0] for k, v in values.items()})
        for name, X in frame_poses(model, values).items():
            np.testing.assert_allclose(
                matrix(X), oracle.get_transform(name), rtol=0, atol=1e-12
            )


@pytest.mark.long
@pytest.mark.sampled("panda0")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_poses_equal_mujoco(path: Path):
    mujoco = pytest.importorskip("mujoco")
    model = foreign(path)
    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.fusestatic = 0
    for part in [*spec.geoms, *spec.meshes]:
        spec.delete(part)
    for body in spec.bodies[1:]:
        body.explicitinertial, body.mass, body.inertia = True, 1.0, np.ones(3)
        body.fullinertia = np.full(6, np.nan)
    compiled = spec.compile()
    data = mujoco.MjData(compiled)
    rng = np.random.default_rng(1)
    for _ in range(5):
        values = random_values(model, rng)
        for name, value in joint_values(model, values).items():
            data.joint(name).qpos[:] = value
        mujoco.mj_kinematics(compiled, data)
        poses = frame_poses(model, values)
        names = {compiled.body(i).name for i in range(1, compiled.nbody)}
        assert len(names & poses.keys()) >= len(poses) - 1
        for name in names & poses.keys():
            T = matrix(poses[name])
            np.testing.assert_allclose(T[:3, 3], data.body(name).xpos, atol=1e-12)
            R = data.body(name).xmat.reshape(3, 3)
            np.testing.assert_allclose(T[:3, :3], R, atol=1e-12)


@pytest.mark.long
def test_counts_of_known_robots():
    model = foreign(FILES[0])
    joints = [f.joint for f in model.frames if f.joint is not None]
    assert len([j for j in joints if j.mimic is None]) == 8
    assert [j.mimic for j in joints if j.mimic] == ["panda_finger_joint1"]
    assert model.frames[0].name == "panda_link0" and model.frames[0].parent is None
    link1 = next(f for f in model.frames if f.name == "panda_link1")
    assert link1.contact == 1 and link1.mass > 0 and link1.inertia.shape == (3, 3)
    assert [g.collision for g in link1.geometries] == [True, False]
    assert link1.geometries[0].shape.source.is_file()
    pr2 = foreign(FILES[2])
    assert len(pr2.frames) == 82
    fixed = [f for f in pr2.frames if "joint_name" in f.attributes]
    assert len(fixed) == 51


FULL = robot("""
<material name="red"><color rgba="1 0 0 0.5"/></material>
<transmission name="t"><type>x</type></transmission>
<gazebo reference="b"><sensor name="${ignored}"/></gazebo>
<link name="c"/>
<link name="a">
  <inertial><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/><mass value="2"/>
    <inertia ixx="1" iyy="2" izz="3" ixy="0.1" ixz="0" iyz="0"/></inertial>
  <visual><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
  <visual><geometry><sphere radius="1"/></geometry><material name="blue"/></visual>
  <collision><origin xyz="1 0 0"/><geometry><capsule radius=".1" length="1"/></geometry>
  </collision>
</link>
<link name="b">
  <visual><geometry><cylinder radius="1" length="2"/></geometry>
    <material name="blue"><color rgba="0 0 1 1"/></material></visual>
</link>
<link name="d"/><link name="e"/><link name="f"/>
<joint name="ab" type="revolute"><parent link="a"/><child link="b"/>
  <axis xyz="0 0 2"/><limit lower="-1" upper="2" velocity="3" effort="4"/>
  <dynamics damping="0.5"/></joint>
<joint name="bc" type="prismatic"><parent link="b"/><child link="c"/>
  <mimic joint="ab" multiplier="-2" offset="0.5"/></joint>
<joint name="cd" type="continuous"><parent link="c"/><child link="d"/></joint>
<joint name="ae" type="planar"><parent link="a"/><child link="e"/>
  <axis xyz="0 0 1"/></joint>
<joint name="af" type="floating"><parent link="a"/><child link="f"/></joint>
""")


def test_every_element(tmp_path: Path):
    model = read_urdf(write(tmp_path, FULL))
    assert [f.name for f in model.frames] == ["a", "b", "c", "d", "e", "f"]
    a, b, c, d, e, f = model.frames
    assert (a.mass, a.com.tolist()) == (2.0, [0, 0, 1])
    want = [[2, -0.1, 0], [-0.1, 1, 0], [0, 0, 3]]
    np.testing.assert_allclose(a.inertia, want, atol=1e-12)
    shapes = [type(g.shape).__name__ for g in a.geometries]
    assert shapes == ["Capsule", "Box", "Sphere"]
    assert [g.color for g in a.geometries] == [None, (1, 0, 0, 0.5), (0, 0, 1, 1)]
    assert (a.contact, b.contact) == (1, 0)
    assert b.joint.axis.tolist() == [0, 0, 1]
    assert b.joint.limits.tolist() == [[-1], [2]]
    assert (b.joint.velocity.tolist(), b.joint.effort.tolist()) == ([3], [4])
    assert b.attributes == {"damping": 0.5}
    assert (c.joint.mimic, c.joint.multiplier, c.joint.offset) == ("ab", -2, 0.5)
    assert c.joint.axis.tolist() == [1, 0, 0] and c.joint.limits is None
    assert (d.joint.type, d.joint.limits) == ("continuous", None)
    assert (e.joint.dim, f.joint.dim, f.joint.axis) == (3, 7, None)


LINKS = '<link name="a"/><link name="b"/>'


def joint(kind="revolute", inner="", name="j", parent="a", child="b") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inner}</joint>'


def link(inner: str) -> str:
    return robot(f'<link name="a">{inner}</link>')


def visual(shape: str) -> str:
    return link(f"<visual><geometry>{shape}</geometry></visual>")


BROKEN = {
    "empty": ("", "empty"),
    "blank": (" \n ", "empty"),
    "not xml": ("hello", "line 1: not well-formed"),
    "unclosed": ("<robot>\n<link name='a'>\n", "line 3: not well-formed"),
    "binary": ("<robot>\x00</robot>", "not well-formed"),
    "root tag": ("<sdf/>", "expected the root <robot>"),
    "no links": (robot(""), "has no <link>"),
    "unnamed link": (robot("<link/>"), "'name' is missing"),
    "link twice": (
        robot("<link name='a'/>\n<link name='a'/>"),
        "line 2, <link name='a",
    ),
    "joint twice": (
        robot(LINKS + '<link name="c"/>' + joint() + joint(child="c")),
        "<joint name='j'>: the name is already used",
    ),
    "unknown parent": (robot(LINKS + joint(parent="aa")), "did you mean 'a'"),
    "unknown child": (robot(LINKS + joint(child="x")), "its child: No link 'x'"),
    "no child": (
        robot(LINKS + '<joint name="j" type="fixed"><parent link="a"/></joint>'),
        "has no <child>",
    ),
    "two parents": (
        robot(LINKS + '<link name="c"/>' + joint() + joint(name="k", parent="c")),
        "already the child of joint 'j'",
    ),
    "self joint": (
        robot(LINKS + joint(parent="b")),
        "form a cycle",
    ),
    "cycle": (
        robot(LINKS + joint() + joint(name="k", parent="b", child="a")),
        "form a cycle",
    ),
    "two roots": (robot(LINKS), "2 root links ('a', 'b')"),
    "type": (robot(LINKS + joint("ball")), "type is 'ball', expected one of revolute"),
    "no type": (robot(LINKS + joint("")), "'type' is missing"),
    "word": (
        robot(LINKS + joint(inner='<origin xyz="0 zero 0"/>')),
        "has 'zero', expected a finite number",
    ),
    "comma": (robot(LINKS + joint(inner='<origin xyz="0,0,0"/>')), "has '0,0,0'"),
    "two numbers": (
        robot(LINKS + joint(inner='<origin rpy="0 0"/>')),
        "has 2 numbers, expected 3",
    ),
    "nan": (robot(LINKS + joint(inner='<origin xyz="0 nan 0"/>')), "has 'nan'"),
    "infinity": (robot(LINKS + joint(inner='<axis xyz="0 inf 0"/>')), "has 'inf'"),
    "overflow": (robot(LINKS + joint(inner='<axis xyz="0 1e999 0"/>')), "'1e999'"),
    "enormous": (
        robot(LINKS + joint(inner='<origin rpy="0 1e308 0"/>')),
        "has '1e308', expected at most 1e+18 in size",
    ),
    "underscore": (robot(LINKS + joint(inner='<axis xyz="1_0 0 0"/>')), "'1_0'"),
    "zero axis": (
        robot(LINKS + joint(inner='<axis xyz="0 0 0"/>')),
        "of joint 'j': the axis [0.0, 0.0, 0.0] has no direction",
    ),
    "nan limit": (robot(LINKS + joint(inner='<limit lower="nan"/>')), "has 'nan'"),
    "mimic itself": (
        robot(LINKS + joint(inner='<mimic joint="j"/>')),
        "leads back to itself (j -> j)",
    ),
    "mimic cycle": (
        robot(
            LINKS
            + '<link name="c"/>'
            + joint(inner='<mimic joint="k"/>')
            + joint(name="k", parent="b", child="c", inner='<mimic joint="j"/>')
        ),
        "leads back to itself (j -> k -> j)",
    ),
    "xacro tag": (robot("<xacro:arm/>" + LINKS), "pass xacro_args={}"),
    "xacro value": (
        robot(LINKS + joint(inner='<origin xyz="0 0 ${h}"/>')),
        "'0 0 ${h}' is xacro",
    ),
    "entity bomb": (
        '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>' + robot("&b;"),
        "a DOCTYPE or entity declaration is not allowed",
    ),
    "outer entity": (
        '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + robot("&a;"),
        "a DOCTYPE or entity declaration is not allowed",
    ),
    "encoding": ('<?xml version="1.0" encoding="klingon"?><robot/>', "klingon"),
}


@pytest.mark.parametrize("text, says", BROKEN.values(), ids=BROKEN.keys())
def test_broken_files_say_what_is_wrong(tmp_path: Path, text: str, says: str):
    path = write(tmp_path, text)
    with pytest.raises(LoadError) as caught:
        read_urdf(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path):
    for path in (tmp_path / "no.urdf", tmp_path):
        with pytest.raises(LoadError, match="cannot be read"):
            read_urdf(path)


def test_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "big.urdf"
    with path.open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(LoadError, match="expected at most"):
        read_urdf(path)
    monkeypatch.setattr("posewise.robots.loaders.xmltree.MAX_ELEMENTS", 100)
    path.write_text(robot("<a/>" * 100))
    with pytest.raises(LoadError, match="more than 100 elements"):
        read_urdf(path)


def test_infinite_limits_are_none(tmp_path: Path):
    inner = '<limit lower="-inf" upper="1e10" velocity="inf" effort="1e308"/>'
    frame = read_urdf(write(tmp_path, robot(LINKS + joint(inner=inner)))).frames[1]
    assert frame.joint.limits is None
    assert frame.joint.velocity is None and frame.joint.effort is None
    inner = '<limit lower="-1" upper="inf"/>'
    frame = read_urdf(write(tmp_path, robot(LINKS + joint(inner=inner)))).frames[1]
    assert frame.joint.limits.tolist() == [[-1], [np.inf]]


def write_mesh(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    trimesh.creation.box([1, 2, 3]).export(path)
    return path


def mesh_in(*names: str) -> str:
    shape = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    return link("".join(shape.format(n) for n in names))


def test_missing_meshes_warn_once(tmp_path: Path):
    path = write(tmp_path, mesh_in("a.stl", "b.stl", "package://x/c.stl", "d.dae"))
    with pytest.warns(UserWarning) as caught:
        model = read_urdf(path)
    assert len(caught) == 1
    assert "4 meshes are left out: 'a.stl' (not found in " in str(caught[0].message)
    assert model.frames[0].geometries == ()


def test_meshes_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for place in ("arm", "else/tool", "ros/hand", "ament/share/eye"):
        write_mesh(tmp_path / f"{place}/meshes/m.stl")
    write(tmp_path, "<package/>", "arm/package.xml")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ros"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "ament"))
    names = [f"package://{n}/meshes/m.stl" for n in ("arm", "tool", "hand", "eye")]
    names += ["../../meshes/m.stl", f"file://{tmp_path}/arm/meshes/m.stl"]
    path = write(tmp_path, mesh_in(*names), "arm/urdf/deep/r.urdf")
    model = read_urdf(path, packages={"tool": tmp_path / "else/tool"})
    sources = [g.shape.source for g in model.frames[0].geometries]
    places = ["arm", "else/tool", "ros/hand", "ament/share/eye", "arm", "arm"]
    real = tmp_path.resolve()
    assert sources == [real / p / "meshes/m.stl" for p in places]


def test_paths_cannot_leave_their_package(tmp_path: Path):
    secret = write_mesh(tmp_path / "secret/m.stl")
    write(tmp_path, "", "work/arm/package.xml")
    write(tmp_path, "", "work/arm/notes.txt")
    (tmp_path / "work/arm/link.stl").symlink_to(secret)
    names = [
        "../../../secret/m.stl",
        "package://arm/../../secret/m.stl",
        "package://../secret/m.stl",
        f"file://{secret}",
        str(secret),
        "../link.stl",
        "../notes.txt",
        "http://example.org/m.stl",
    ]
    path = write(tmp_path, mesh_in(*names), "work/arm/urdf/r.urdf")
    with pytest.warns(UserWarning, match="8 meshes .*outside of its package"):
        model = read_urdf(path)
    assert model.frames[0].geometries == ()
    with pytest.warns(UserWarning, match="4 meshes"):
        model = read_urdf(path, packages={"secret": secret.parent})
    assert len(model.frames[0].geometries) == 4


def assert_same(a: Model, b: Model):
    """The same frames, poses, joints and inertia."""
    assert [f.name for f in a.frames] == [f.name for f in b.frames]
    rng = np.random.default_rng(2)
    values = random_values(a, rng)
    poses = frame_poses(b, values)
    for name, X in frame_poses(a, values).items():
        np.testing.assert_allclose(matrix(X), matrix(poses[name]), atol=1e-13)
    for f, g in zip(a.frames, b.frames, strict=True):
        assert (f.parent, f.attributes, f.contact) == (
            g.parent,
            g.attributes,
            g.contact,
        )
        assert len(f.geometries) == len(g.geometries)
        np.testing.assert_equal(_numbers(f), _numbers(g))
        if f.joint is not None:
            kinds = {f.joint.type, g.joint.type}
            assert len(kinds) == 1 or kinds == {"revolute", "continuous"}
            names = ("name", "limits", "mimic", "multiplier", "offset", "velocity")
            for name in names:
                np.testing.assert_equal(getattr(f.joint, name), getattr(g.joint, name))


def _numbers(frame: Frame) -> list:
    return [frame.mass, frame.com if frame.mass is not None else None]


@pytest.mark.parametrize("name", model_names())
def test_round_trip_of_our_models(tmp_path: Path, name: str):
    model = read_model(name)
    assert_same(model, read_urdf(write(tmp_path, write_urdf(model))))


@pytest.mark.sampled
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_round_trip_of_foreign_models(tmp_path: Path, path: Path):
    model = foreign(path)
    text = write_urdf(model)
    root = EXAMPLES if EXAMPLES in path.parents else BULLET
    assert_same(model, read_urdf(write(tmp_path, text), packages={"all": root}))


def test_every_element_round_trip(tmp_path: Path):
    model = read_urdf(write(tmp_path, FULL))
    again = read_urdf(write(tmp_path, write_urdf(model)))
    assert_same(model, again)
    assert again.frames[0].geometries[1].color == (1, 0, 0, 0.5)
    np.testing.assert_allclose(again.frames[0].inertia, model.frames[0].inertia)


def test_rpy_at_and_near_the_singularity():
    rng = np.random.default_rng(3)
    for pitch in [0.3, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 2.0]:
        for _ in range(5):
            X = make_pose((0.0, 0, 0), rpy_to_quat(rng.normal(), pitch, rng.normal()))
            Y = make_pose((0.0, 0, 0), rpy_to_quat(*pose_to_rpy(X)))
            np.testing.assert_allclose(matrix(X), matrix(Y), atol=1e-15)


CHAINS = [
    "hingeX",
    "transZ",
    "transXY",
    "trans3",
    "transXYPhi",
    "phiTransXY",
    "transYPhi",
    "universal",
    "free",
    "planar",
    "_xzBc",
]


@pytest.mark.parametrize("kind", CHAINS)
def test_joints_of_rai_become_chains(tmp_path: Path, kind: str):
    rng = np.random.default_rng(4)
    dim = joint_dim(kind)
    limits = np.array([-np.ones(dim), 2 * np.ones(dim)])
    origin = make_pose((1.0, 2, 3), rng.normal(size=4))
    scale = 1.0 if kind == "free" else 2.0
    model = Model(
        (
            Frame("base", None, origin),
            Frame(
                "m",
                0,
                origin,
                Joint(kind, "m", np.array([0.0, 0.6, 0.8]), limits, scale=scale),
            ),
            Frame("tip", 1, origin),
        )
    )
    again = read_urdf(write(tmp_path, write_urdf(model)))
    assert again.frames[0].name == "world"
    q = random_values(model, rng)["m"]
    names = ["m"] if kind == "free" or dim == 1 else [f"m_{i}" for i in range(dim)]
    u = scale * q
    values = {n: u if len(names) == 1 else u[[i]] for i, n in enumerate(names)}
    want, got = frame_poses(model, {"m": q}), frame_poses(again, values)
    for name, X in want.items():
        np.testing.assert_allclose(matrix(X), matrix(got[name]), atol=1e-13)
    moving = [f.joint for f in again.frames if f.joint is not None]
    if kind != "free":
        assert [j.limits.tolist() for j in moving] == [[[-2], [4]]] * dim


def test_locked_and_mimic_joints_are_written(tmp_path: Path):
    z = np.array([0.0, 0, 1])
    model = Model(
        (
            Frame("a"),
            Frame(
                "b", 0, joint=Joint("hinge", "b", z, q=np.array([0.3]), active=False)
            ),
            Frame("c", 1, joint=Joint("hinge", "c", z, scale=2.0)),
            Frame("e", 1, joint=Joint("transX", "e", mimic="b", offset=0.1)),
            Frame(
                "d",
                2,
                joint=Joint("hingeX", "d", mimic="c", multiplier=3.0, offset=1.0),
            ),
        )
    )
    with pytest.warns(UserWarning, match="Written as joints that move: 'b'; set"):
        again = read_urdf(write(tmp_path, write_urdf(model)))
    want, got = (
        frame_poses(model, {"c": np.array([0.2])}),
        frame_poses(again, {"c": np.array([0.4]), "b": np.array([0.3])}),
    )
    for name, X in want.items():
        np.testing.assert_allclose(X, got[name], atol=1e-14)


def test_worlds_with_locked_joints_are_read_again(tmp_path: Path):
    C = Config()
    C.add_frame("a", shape=Sphere(0.1))
    C.add_frame("b", "a", joint="hingeX", limits=[-1, 1], q=0.5)
    C.add_frame("c", "b", joint="quatBall", q=[0, 1, 0, 0])
    C.add_frame("e", "b", joint="universal", mimic=None)
    C.add_frame("d", "c", position=[1, 0, 0])
    C.joints.add_named_state("ready", {"b": 0.5})
    C.lock(["b", "c", "e"])
    with pytest.warns(UserWarning) as records:
        C.write_urdf(tmp_path / "m.urdf")
    (warning,) = records
    message = str(warning.message)
    assert "move: 'b', 'e'; set" in message and "where they are: 'c'." in message
    C.pairs.write_srdf(tmp_path / "m.srdf")
    D = Config()
    D.add_file(tmp_path / "m.urdf")
    D.pairs.read_srdf(tmp_path / "m.srdf")
    D.joints.set_named_state("ready")
    assert D.joint_names == ("b", "e_0", "e_1")
    assert D.limits[:, 0].tolist() == [-1, 1]
    np.testing.assert_allclose(D.pose("d"), C.pose("d"), atol=1e-14)


def test_shapes_as_meshes(tmp_path: Path):
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    shapes = [
        Mesh(trimesh.creation.box([1, 2, 3]), scale=2.0),
        Convex(corners, rounding=0.1),
        Ellipsoid(np.array([0.1, 0.2, 0.3])),
        Marker(),
        Box(np.ones(3), rounding=0.1),
        Capsule(1.0, 0.1),
    ]
    model = Model((Frame("a/b", geometries=tuple(map(Geometry, shapes))),))
    with pytest.raises(ConfigError, match="pass meshes=folder"):
        write_urdf(model)
    text = write_urdf(model, meshes=tmp_path / "meshes")
    geometries = read_urdf(write(tmp_path, text)).frames[0].geometries
    assert len(geometries) == 10
    solid = [trimesh.load_mesh(g.shape.source) for g in geometries[:3]]
    np.testing.assert_allclose(solid[0].extents, [2, 4, 6])
    assert all(g.shape.mode == "convex" for g in geometries[:3])
    np.testing.assert_allclose(solid[1].extents, 1.2, atol=0.01)
    np.testing.assert_allclose(solid[2].extents, [0.2, 0.4, 0.6], atol=1e-6)


def test_what_cannot_be_written():
    twins = Model((Frame("a"), Frame("a", 0)))
    with pytest.raises(ConfigError, match="frame names used more than once: 'a'"):
        write_urdf(twins)
    ball = Model((Frame("a"), Frame("b", 0, joint=Joint("quatBall", "b"))))
    with pytest.raises(ConfigError, match="URDF has no ball joint"):
        write_urdf(ball)
    free = Frame("c", 0, joint=Joint("free", "c", scale=2.0))
    with pytest.raises(ConfigError, match="no free joint that mimics or is scaled"):
        write_urdf(Model((Frame("a"), free)))
    world = Model((Frame("a"), Frame("world", origin=make_pose((1.0, 0, 0)))))
    with pytest.raises(ConfigError, match="'world'"):
        write_urdf(world)
