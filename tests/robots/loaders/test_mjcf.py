"""The MJCF reader against MuJoCo's own kinematics."""

import builtins
from pathlib import Path

import numpy as np
import pytest
from helpers.reference_kinematics import (
    frame_poses,
    joint_values,
    matrix,
    random_values,
)

import posewise as pw
from posewise.robots.errors import LoadError
from posewise.robots.loaders.mjcf.reader import read_mjcf
from posewise.robots.world.frame import Model

mujoco = pytest.importorskip("mujoco")

BALL = '<geom size=".1"/>'


def mjcf(world: str, more: str = "") -> str:
    return f"<mujoco><worldbody>{world}</worldbody>{more}</mujoco>"


def body(name: str, inner: str, place: str = 'pos="1 2 3" euler="10 20 30"') -> str:
    return f'<body name="{name}" {place}>{BALL}{inner}</body>'


HINGE = '<joint name="{}" axis="1 2 2" pos=".1 -.2 .3" {}/>'
MODELS = {
    "anchor": mjcf(body("a", HINGE.format("j", ""))),
    "degrees": mjcf(body("a", HINGE.format("j", 'range="-90 45" ref="30"'))),
    "radians": '<mujoco><compiler angle="radian"/><worldbody>'
    + body("a", HINGE.format("j", 'range="-1 1" ref=".5"'))
    + "</worldbody></mujoco>",
    "ref of slide": mjcf(
        body("a", '<joint name="j" type="slide" axis="0 3 4" ref=".2" pos="1 1 1"/>')
    ),
    "three joints": mjcf(
        body(
            "a",
            HINGE.format("h", 'ref="10"')
            + '<joint name="s" type="slide" axis="1 0 1"/>'
            + '<joint name="k" axis="0 0 1" pos="0 0 .5"/>'
            + body("b", HINGE.format("l", "")),
        )
    ),
    "ball": mjcf(body("a", '<joint name="j" type="ball" pos=".3 .2 .1"/>')),
    "slide and ball": mjcf(
        body(
            "a",
            '<joint name="s" type="slide"/><joint name="j" type="ball" pos="1 0 0"/>',
        )
    ),
    "free": mjcf(body("a", '<freejoint name="j"/>' + body("b", HINGE.format("k", "")))),
    "fixed": '<mujoco><compiler fusestatic="true"/><worldbody>'
    + body("a", body("b", body("c", HINGE.format("j", ""))))
    + "</worldbody></mujoco>",
    "frames and defaults": """<mujoco><default><joint axis="0 1 0" ref="20"/></default>
        <worldbody><frame pos="1 0 0" euler="0 0 90"><body name="a">
        <joint name="j"/><geom size=".1"/><site name="tip" pos="0 0 1"/>
        <camera name="eye" euler="90 0 0"/></body></frame></worldbody></mujoco>""",
    "mimic": mjcf(
        body("a", HINGE.format("j", 'ref="20"'))
        + body("b", '<joint name="k" type="slide" ref=".3"/>')
        + body("c", '<joint name="l"/>'),
        '<equality><joint joint1="k" joint2="j" polycoef=".1 2"/>'
        '<joint joint1="l" polycoef=".4"/></equality>',
    ),
    "unnamed": mjcf(
        f"<body>{BALL}<joint/><body pos='1 0 0'>{BALL}<joint/></body></body>"
    ),
}


def write(folder: Path, text: str) -> Path:
    path = folder / "m.xml"
    path.write_text(text)
    return path


def name_of(model, kind: str, i: int) -> str:
    number = getattr(mujoco.mjtObj, f"mjOBJ_{kind}")
    return mujoco.mj_id2name(model, number, i) or f"{kind.lower()}{i}"


def largest_error(model: Model, compiled, seed: int) -> float:
    """Return the largest pose error of bodies, sites and cameras at a random qpos."""
    values = random_values(model, np.random.default_rng(seed))
    data = mujoco.MjData(compiled)
    for j in range(compiled.njnt):
        value = joint_values(model, values)[name_of(compiled, "JOINT", j)]
        start = compiled.jnt_qposadr[j]
        data.qpos[start : start + len(value)] = value
    mujoco.mj_forward(compiled, data)
    poses = frame_poses(model, values)
    worst = 0.0
    for kind, count, p, R in (
        ("BODY", compiled.nbody, data.xpos, data.xmat),
        ("SITE", compiled.nsite, data.site_xpos, data.site_xmat),
        ("CAMERA", compiled.ncam, data.cam_xpos, data.cam_xmat),
    ):
        for i in range(kind == "BODY", count):
            T = matrix(poses[name_of(compiled, kind, i)])
            worst = max(worst, np.abs(T[:3, 3] - p[i]).max())
            worst = max(worst, np.abs(T[:3, :3].ravel() - R[i]).max())
    return worst


@pytest.mark.parametrize("text", MODELS.values(), ids=MODELS.keys())
def test_poses_equal_mujoco(tmp_path: Path, text: str):
    path = write(tmp_path, text)
    model = read_mjcf(path)
    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.fusestatic = 0
    compiled = spec.compile()
    for seed in range(5):
        assert largest_error(model, compiled, seed) < 1e-12


@pytest.mark.parametrize("text", MODELS.values(), ids=MODELS.keys())
def test_home_is_the_drawn_pose(tmp_path: Path, text: str):
    path = write(tmp_path, text)
    model = read_mjcf(path)
    compiled = mujoco.MjModel.from_xml_path(str(path))
    for j in range(compiled.njnt):
        value = joint_values(model, {})[name_of(compiled, "JOINT", j)]
        start = compiled.jnt_qposadr[j]
        if compiled.neq == 0:
            np.testing.assert_allclose(
                value, compiled.qpos0[start : start + len(value)]
            )


def frames_of(tmp_path: Path, text: str) -> dict:
    return {f.name: f for f in read_mjcf(write(tmp_path, text)).frames}


def test_frames_and_limits(tmp_path: Path):
    frames = frames_of(tmp_path, MODELS["three joints"])
    assert list(frames) == ["a/h", "a/s", "a/k", "a", "b/l", "b"]
    limits = frames_of(tmp_path, MODELS["degrees"])["a/j"].joint.limits
    np.testing.assert_allclose(limits, [[-np.pi / 2], [np.pi / 4]])
    limits = frames_of(tmp_path, MODELS["radians"])["a/j"].joint.limits
    np.testing.assert_allclose(limits, [[-1], [1]])
    single = frames_of(tmp_path, MODELS["ref of slide"])
    assert list(single) == ["a"] and single["a"].joint.type == "prismatic"
    assert frames_of(tmp_path, MODELS["free"])["a"].joint.type == "free"
    unlimited = mjcf(body("a", '<joint name="j" limited="false" range="-1 1"/>'))
    assert frames_of(tmp_path, unlimited)["a"].joint.limits is None


def test_mimic_and_locked_joints(tmp_path: Path):
    frames = frames_of(tmp_path, MODELS["mimic"])
    k, l = frames["b"].joint, frames["c"].joint
    assert (k.mimic, k.multiplier) == ("j", 2)
    assert k.offset == pytest.approx(0.3 + 0.1 - 2 * np.deg2rad(20))
    assert not l.active and l.q.tolist() == [0.4]


def test_a_constraint_that_is_left_out_is_named(tmp_path: Path):
    with pytest.warns(UserWarning) as caught:
        frames = frames_of(tmp_path, mjcf(*LEFT_OUT))
    (warning,) = caught
    for part in (
        "'curve' of the joints 'j' and 'k' with polycoef [0.0, 1.0, 1.0, 0.0, 0.0]",
        "'w', which welds body 'a' and body 'b'",
        "'c', which connects a point of body 'a' and body 'c'",
        "'three' of tendon 't' (1 j + -2 k + 0.5 l) with polycoef [0.0, 1.0",
        "ball joint 'ball' of body 'd' (at most 30 degrees)",
    ):
        assert part in str(warning.message)
    assert all(f.joint is None or f.joint.mimic is None for f in frames.values())


LEFT_OUT = (
    "".join(body(n, f'<joint name="{j}"/>') for n, j in zip("abc", "jkl", strict=True))
    + body("d", '<joint name="ball" type="ball" range="0 30"/>'),
    """<tendon><fixed name="t"><joint joint="j" coef="1"/><joint joint="k" coef="-2"/>
    <joint joint="l" coef=".5"/></fixed></tendon><equality>
    <joint name="curve" joint1="j" joint2="k" polycoef="0 1 1"/>
    <weld name="w" body1="a" body2="b"/>
    <connect name="c" body1="a" body2="c" anchor="0 0 0"/>
    <tendon name="three" tendon1="t"/></equality>""",
)


FIXED = (
    '<fixed name="{}"><joint joint="j" coef="{}"/><joint joint="k" coef="{}"/></fixed>'
)


@pytest.mark.parametrize(
    "tendons, equality, multiplier, offset",
    [
        (FIXED.format("t", 1, -1), '<tendon tendon1="t"/>', 1.0, 0.0),
        (FIXED.format("t", 2, 4), '<tendon tendon1="t" polycoef="3"/>', -0.5, 0.75),
        (
            '<fixed name="t"><joint joint="k" coef="2"/></fixed>'
            '<fixed name="u"><joint joint="j" coef="3"/></fixed>',
            '<tendon tendon1="t" tendon2="u" polycoef="1 4"/>',
            6.0,
            0.5,
        ),
    ],
)
def test_tendons_that_couple_two_joints(
    tmp_path, tendons, equality, multiplier, offset
):
    joints = body("a", '<joint name="j"/>') + body("b", '<joint name="k"/>')
    couplings = f"<tendon>{tendons}</tendon><equality>{equality}</equality>"
    frames = frames_of(tmp_path, mjcf(joints, couplings))
    k = frames["b"].joint
    assert (k.mimic, k.multiplier) == ("j", multiplier)
    assert k.offset == pytest.approx(offset) and frames["a"].joint.mimic is None


def test_keys_are_named_states(tmp_path):
    joints = body("a", '<joint name="j" range="-170 -4"/>') + body(
        "b", '<joint name="k" type="ball"/>'
    )
    keys = """<keyframe><key name="up" qpos="-1 1 0 0 0"/>
    <key name="home" qpos="-1.5 0 1 0 0"/><key qpos="0 1 0 0 0"/></keyframe>"""
    C = pw.Config()
    with pytest.warns(UserWarning, match="key .key2. is outside of the limits"):
        C.add_file(write(tmp_path, mjcf(joints, keys)), prefix="x")
    assert C.q.tolist() == C.home.tolist() == [-1.5, 0, 1, 0, 0]
    assert list(C.joints.named_states) == ["up", "home", "key2"]
    C.joints.set_named_state("up")
    assert C.q.tolist() == [-1, 1, 0, 0, 0]
    C.joints.set_named_state("xkeyframes/key2")
    assert C.q[0] == C.limits[1, 0] < 0
    with pytest.raises(pw.ConfigError, match="did you mean 'home'"):
        C.joints.set_named_state("hom")


def test_constraints_that_are_left_out(tmp_path: Path):
    joints = body("a", '<joint name="j"/>') + body("b", '<joint name="k"/>')
    constraints = """<equality>
        <joint name="curve" joint1="j" joint2="k" polycoef="0 1 1"/>
        <weld name="w" body1="a" body2="b"/>
        <joint joint1="k" joint2="j"/><joint joint1="j" joint2="k"/></equality>"""
    with pytest.warns(UserWarning, match="'curve' of the joints 'j' and 'k'.*'w'"):
        frames = frames_of(tmp_path, mjcf(joints, constraints))
    assert frames["b"].joint.mimic == "j" and frames["a"].joint.mimic is None


def test_shapes_are_full_sizes(tmp_path: Path):
    geoms = """
      <geom type="plane" size="1 1 1"/>
      <body name="a"><geom type="capsule" size=".1 .5"/>
      <geom type="box" size=".1 .2 .3" pos="1 0 0" rgba="1 0 0 1"/>
      <geom type="cylinder" size=".1 .5" group="3"/>
      <geom type="ellipsoid" size=".1 .2 .3" contype="0" conaffinity="0"/>
      <geom type="sphere" size=".4" material="m"/></body>"""
    asset = '<asset><texture name="t" type="2d" file="missing.png"/>'
    asset += '<material name="m" texture="t" rgba="0 1 0 1"/></asset>'
    frames = frames_of(tmp_path, mjcf(geoms, asset))
    assert type(frames["world"].shape).__name__ == "Plane"
    geometries = {type(g.shape).__name__: g for g in frames["a"].geometries}
    capsule, box, cylinder = (geometries[n] for n in ("Capsule", "Box", "Cylinder"))
    ellipsoid, sphere = geometries["Ellipsoid"], geometries["Sphere"]
    assert capsule.shape.length == 1 and capsule.shape.radius == 0.1
    assert box.shape.size.tolist() == [0.2, 0.4, 0.6]
    assert box.pose[:3].tolist() == [1, 0, 0]
    assert box.color == (1, 0, 0, 1) and sphere.color == (0, 1, 0, 1)
    assert cylinder.shape.length == 1 and not cylinder.visual
    assert ellipsoid.shape.radii.tolist() == [0.1, 0.2, 0.3]
    assert not ellipsoid.collision
    assert [g.collision for g in frames["a"].geometries] == [True] * 4 + [False]


def test_mass_and_inertia(tmp_path: Path):
    inertial = """<body name="a"><inertial pos="0 0 1" euler="0 0 90" mass="2"
        diaginertia="1 2 2.5"/></body>"""
    a = frames_of(tmp_path, mjcf(inertial))["a"]
    assert a.mass == 2 and a.com.tolist() == [0, 0, 1]
    np.testing.assert_allclose(a.inertia, np.diag([2, 1, 2.5]), atol=1e-12)


TETRAHEDRON = '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="2 2 2"/>'


def test_meshes_are_placed_as_drawn(tmp_path: Path):
    text = mjcf(
        '<body name="a"><geom type="mesh" mesh="m" pos="1 0 0"/></body>',
        f"<asset>{TETRAHEDRON}</asset>",
    )
    (geometry,) = frames_of(tmp_path, text)["a"].geometries
    assert geometry.shape.mode == "convex"
    mesh = geometry.shape.mesh.copy().apply_transform(matrix(geometry.pose))
    np.testing.assert_allclose(mesh.bounds, [[1, 0, 0], [3, 2, 2]], atol=1e-6)


def test_missing_meshes_keep_the_kinematics(tmp_path: Path):
    text = mjcf(
        """<body name="a"><joint name="j"/><geom type="mesh" mesh="m"/>
        <body name="b" pos="1 0 0"><joint name="k"/><geom size=".1"/>
        <inertial mass="3" pos="0 0 0" diaginertia="1 1 1"/></body></body>""",
        '<asset><mesh name="m" file="no.stl"/></asset>',
    )
    with pytest.warns(UserWarning, match="no.stl.*without its meshes"):
        frames = frames_of(tmp_path, text)
    assert list(frames) == ["a", "b"]
    assert (frames["a"].mass, frames["b"].mass) == (None, 3)
    assert frames["a"].geometries == () and len(frames["b"].geometries) == 1


def test_massless_bodies_keep_the_kinematics(tmp_path: Path):
    text = mjcf("<body name='a'><joint name='j'/></body>")
    with pytest.warns(UserWarning, match="mass and inertia"):
        frames = frames_of(tmp_path, text)
    assert frames["a"].joint.name == "j" and frames["a"].mass is None


BROKEN = {
    "no xml": ("hello", "not well-formed"),
    "empty": ("", "the file is empty"),
    "other root": ("<sdf/>", "cannot read it"),
    "unknown tag": (mjcf("<cone/>"), "line 1"),
    "number": (mjcf('<body pos="a b c"/>'), "cannot read it"),
    "name twice": (mjcf(body("a", "") + body("a", "")), "repeated name 'a'"),
    "enormous": (mjcf(body("a", "<joint ref='1e308'/>")), "qpos0 has 1.74533e+306"),
    "unknown joint": (
        mjcf(body("a", ""), "<equality><joint joint1='x'/></equality>"),
        "'x'",
    ),
    "infinite axis": (
        mjcf(body("a", "<joint type='slide' axis='0 0 inf'/><geom size='.1'/>")),
        "jnt_axis has nan",
    ),
}


@pytest.mark.parametrize("text, says", BROKEN.values(), ids=BROKEN.keys())
def test_broken_files(tmp_path: Path, text: str, says: str):
    path = write(tmp_path, text)
    with pytest.raises(LoadError) as caught:
        read_mjcf(path)
    assert says in str(caught.value) and str(path) in str(caught.value)


def test_missing_file(tmp_path: Path):
    with pytest.raises(LoadError, match="no such file"):
        read_mjcf(tmp_path / "none.xml")


def test_without_mujoco(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def no_mujoco(name, *args, **kwargs):
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_mujoco)
    with pytest.raises(ImportError, match=r'pip install "posewise\[mujoco\]"'):
        read_mjcf(tmp_path / "m.xml")
