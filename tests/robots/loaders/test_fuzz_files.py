"""Files broken at random are read or refused: no crash, no hang, no NaN, no peeking."""

import json
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import trimesh
from helpers.bddl_texts import PACKING
from helpers.fuzzing import NUMBER, careful, mutated
from helpers.planning_texts import KEYFRAMES, REQUEST, SCENE, SCENE_TEXT, SRDF
from helpers.problem_files import RICH

import posewise as pw
from posewise import logic
from posewise.cli.path_file import read_path_file
from posewise.cli.problem_file import (
    make_path_problem,
    make_placement_arguments,
    read_problem,
)
from posewise.robots.geometry.mesh_files import (
    read_convex_parts,
    read_mesh,
    read_points,
)
from posewise.robots.loaders.dispatch import read_file
from posewise.robots.models import DATA_DIR

MJCF = b"""<mujoco model="m"><compiler angle="radian" meshdir="."/>
<default><joint damping="1"/><default class="big"><geom size=".2 .1"/></default>
</default>
<asset><mesh name="cube" file="cube.stl" scale="1 1 2"/></asset>
<worldbody><body name="a" pos="0 0 1" euler="0 .1 0"><freejoint name="f"/>
<geom type="capsule" class="big" fromto="0 0 0 0 0 .3"/><geom type="mesh" mesh="cube"/>
<body name="b" quat="1 0 0 1"><joint name="j" axis="0 1 1" range="-1 1" ref=".1"/>
<geom type="box" size=".1 .2 .3" mass="2"/><site name="s" pos="0 0 .1"/></body>
<body name="c"><joint name="k" type="slide"/><inertial pos="0 0 0" mass="1"
 diaginertia="1 1 1"/></body></body></worldbody>
<equality><joint joint1="k" joint2="j" polycoef="0 .5 0 0 0"/></equality>
<contact><exclude body1="a" body2="c"/></contact></mujoco>"""
MESHED = b"""<robot name="r"><link name="base"><visual>
<origin xyz="0 0 1" rpy="0 .1 0"/><geometry><mesh filename="cube.stl" scale="1 2 1"/>
</geometry></visual><inertial>
<mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
</link><link name="arm"><collision><geometry><cylinder radius=".1" length="1"/>
</geometry></collision></link><joint name="j" type="revolute"><parent link="base"/>
<child link="arm"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1"
 velocity="2"/></joint></robot>"""
XACRO = b"""<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="reach" default="0.4"/><xacro:property name="n" value="${2 * pi}"/>
<xacro:macro name="seg" params="name parent"><link name="${name}"/>
<joint name="${name}_j" type="revolute"><parent link="${parent}"/>
<child link="${name}"/><origin xyz="0 0 $(arg reach)"/>
<limit lower="-1" upper="${n}"/></joint></xacro:macro>
<link name="base"/><xacro:seg name="a" parent="base"/>
<xacro:if value="${n > 1}"><xacro:seg name="b" parent="a"/></xacro:if></robot>"""
LENIENT = b"""<robot name="r"><material name="m"><color rgba="255 0 0 1"/></material>
<link name="a"><collision><geometry><cone/></geometry></collision><visual><geometry>
<mesh filename="package:\\\\x\\cube.stl"/></geometry></visual><inertial>
<mass value="-1"/></inertial></link><link name="b"/><link name="c"/>
<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>
<joint name="k" type="revolute"><parent link="a"/><child link="c"/>
<limit lower="1" upper="-1" velocity="0"/><mimic joint="j" offset=".5"/></joint>
</robot>"""
G = b"""Include: <part.g>
base: { X: [0 0 1 1 0 0 0], shape: ssBox, size: [1 1 .1 .02], color: [.8 .7 .6] }
arm (base): { Q: "t(0 0 .3) d(90 1 0 0)", joint: hingeX, limits: [-1 1], q: .5 }
hand (arm): { Q: [0 .1 .2], shape: mesh, mesh: <cube.stl>, mass: .3, contact: -1 }
lift (hand): { joint: hingeX, mimic: arm, scale: .5 }
Edit arm: { limits: [-2 2] }
Delete part: {}
"""
YML = b"""base: {X: [0, 0, 1], shape: box, size: [1, 1, 0.1]}
arm (base): {joint: hingeX, limits: [-1, 1], Q: "t(0 0 .3)"}
hand (arm): {shape: mesh, mesh: <cube.stl>}
"""
PLACING = b"""scene: {models: [table], objects: {mug: {joint: free,
  parts: [{shape: "Box([.1, .1, .1])"}], position: [0, 0, 1]}}}
placement: {movable: [mug], starts: 4}
predicates: ["OnTopOf(mug, table)"]
"""


# Texts in which all numbers that become part of a world occur.
NUMBERS_OF_URDF = b"""<robot name="r"><link name="base"><visual>
<origin xyz="0 .5 1" rpy=".3 .1 .2"/><geometry><mesh filename="cube.stl"
 scale="1 2 1"/></geometry></visual><collision><geometry><box size="1 2 3"/></geometry>
</collision><collision><geometry><capsule radius=".3" length=".5"/></geometry>
</collision><inertial><origin xyz="0 .5 1" rpy=".3 .1 .2"/><mass value="2"/>
<inertia ixx="1" ixy=".1" ixz=".1" iyy="1" iyz=".1" izz="1"/></inertial></link>
<link name="arm"/><link name="hand"/><link name="tip"/><link name="rail"/>
<link name="car"/><link name="flap"/>
<joint name="j" type="revolute"><origin xyz=".1 .2 .3" rpy=".3 .1 .2"/>
<parent link="base"/><child link="arm"/><axis xyz=".1 .2 1"/>
<limit lower="-1" upper="1" effort="1" velocity="2"/><dynamics damping=".1"/></joint>
<joint name="k" type="revolute"><parent link="arm"/><child link="hand"/>
<limit lower="-3" upper="2" velocity="3"/>
<mimic joint="j" multiplier="1.5" offset=".5"/></joint>
<joint name="l" type="revolute"><parent link="hand"/><child link="tip"/>
<limit lower="-3" upper="2"/><mimic joint="k" multiplier="1.5" offset=".5"/></joint>
<joint name="m" type="prismatic"><parent link="base"/><child link="rail"/>
<limit lower="-1" upper="2"/></joint>
<joint name="n" type="fixed"><parent link="rail"/><child link="car"/></joint>
<joint name="o" type="revolute"><parent link="car"/><child link="flap"/>
<mimic joint="n" offset=".5"/></joint></robot>"""
NUMBERS_OF_SDF = b"""<sdf version="1.10" xmlns:posewise="urn:posewise"><world name="w">
<include><uri>model://none</uri><name>x</name></include>
<model name="r"><pose degrees="true">.1 .2 .3 10 20 30</pose><link name="base">
<inertial><mass>2</mass><pose>0 .5 1 .3 .1 .2</pose><inertia><ixx>1</ixx><ixy>.1</ixy>
<iyy>1</iyy><iyz>.1</iyz><izz>1</izz></inertia></inertial>
<visual name="v"><pose>0 .5 1 .3 .1 .2</pose><geometry><mesh><uri>cube.stl</uri>
<scale>1 2 1</scale></mesh></geometry><material><diffuse>.1 .2 .3 1</diffuse></material>
</visual><collision name="c"><geometry><box><size>1 2 3</size></box></geometry>
<surface><friction><ode><mu>.5</mu></ode></friction></surface></collision>
<collision name="d"><geometry><capsule><radius>.3</radius><length>.5</length></capsule>
</geometry></collision><collision name="e"><geometry><plane><normal>.1 .2 1</normal>
</plane></geometry></collision></link><link name="arm"><pose relative_to="j"
 rotation_format="quat_xyzw">.1 .2 .3 .1 .2 .3 .4</pose></link><link name="hand"/>
<joint name="j" type="revolute"><pose relative_to="base">.1 .2 .3 0 0 .1</pose>
<parent>base</parent><child>arm</child><axis><xyz>.1 .2 1</xyz><limit><lower>-1</lower>
<upper>1</upper><effort>1</effort><velocity>2</velocity></limit><dynamics>
<damping>.1</damping></dynamics><posewise:position>.1</posewise:position></axis></joint>
<joint name="k" type="prismatic"><parent>arm</parent><child>hand</child><axis>
<xyz expressed_in="base">0 0 1</xyz><mimic joint="j"><multiplier>1.5</multiplier>
<offset>.5</offset><reference>.1</reference></mimic></axis></joint></model></world></sdf>"""
NUMBERS_OF_USD = b"""#usda 1.0
(
    defaultPrim = "scene"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "scene"
{
  def Xform "base" (prepend apiSchemas = ["PhysicsMassAPI"])
  {
    double3 xformOp:translate = (.1, .2, .3)
    quatd xformOp:orient = (1, .2, .3, .4)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]
    float physics:mass = .5
    point3f physics:centerOfMass = (.1, .2, .3)
    float3 physics:diagonalInertia = (1, 2, 3)
    quatf physics:principalAxes = (1, .2, .3, .4)
    def Capsule "body" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
      double height = .5
      double radius = .1
      float3 xformOp:scale = (2, 2, 2)
      uniform token[] xformOpOrder = ["xformOp:scale"]
    }
    def Mesh "hull" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
      point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, .5)]
      int[] faceVertexCounts = [3, 3, 3, 3]
      int[] faceVertexIndices = [2, 1, 0, 0, 1, 3, 1, 2, 3, 0, 3, 2]
    }
  }
  def Cube "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])
  {
    double size = .5
    color3f[] primvars:displayColor = [(.2, .4, .6)]
  }
  def PhysicsRevoluteJoint "joint"
  {
    rel physics:body0 = </scene/base>
    rel physics:body1 = </scene/arm>
    uniform token physics:axis = "Y"
    point3f physics:localPos0 = (.1, .2, .3)
    quatf physics:localRot1 = (1, .2, .3, .4)
    float physics:lowerLimit = -30
    float physics:upperLimit = 60
  }
}
"""
NUMBERS_OF_MJCF = b"""<mujoco><asset><mesh name="cube" file="cube.stl" scale="1 1 2"/>
</asset><worldbody><body name="a" pos="1 2 3" axisangle="0 .5 .2 .3">
<joint name="j" axis="0 1 1" range="-1 1" ref=".1" pos=".1 .2 .3"/>
<joint name="k" type="slide" ref=".2" range="-1 1"/><geom type="mesh" mesh="cube"/>
<geom type="capsule" size=".2" fromto="0 0 0 0 0 .3"/>
<geom type="box" size=".1 .2 .3" pos=".1 .2 .3" density="2"/>
<site pos="0 0 .1"/><camera pos=".1 .2 .3"/><body name="b" euler=".1 .2 .3">
<joint name="l"/><inertial pos=".1 0 0" mass="1" diaginertia="1 1 1"/></body></body>
</worldbody><keyframe><key qpos=".1 .2 .3"/></keyframe>
<equality><joint joint1="l" joint2="j" polycoef=".1 .5 0 0 0"/></equality></mujoco>"""
NUMBERS_OF_G = b"""base: { X: [.1 .2 .3 1 .2 .3 .4], shape: ssBox, size: [1 1 .1 .02] }
a (base): { Q: "t(.1 .2 .3) d(30 .1 .2 .3) r(.5 .1 .2 .3) q(1 .2 .3 .4) E(.1 .2 .3)",
 joint: hinge, axis: [.1 .2 .3], limits: [-1 1], q: .4, joint_scale: .5,
 ctrl_limits: [1 2 3] }
b (a): { Q: "t(.1 .2 .3) p(.1 .2 .3 1 .2 .3 .4)", joint: transXYPhi, joint_scale: 2,
 limits: [-1 -1 -1 1 1 1] }
c (b): { joint: quatBall, q: [1 .2 .3 .4], mass: .3, inertia: [.1 .2 .3] }
d (c): { joint: transX, q: .5, joint_active: False, joint_scale: 2 }
e (d): { joint: hingeX, q: .5, joint_active: False, joint_scale: 2, shape: capsule,
 size: [.5 .1] }
"""
NUMBERS_OF_A_SCENE = b"""scene:
  frames:
    a: {pose: [.1, .2, .3, 1, .2, .3, .4], joint: hinge, axis: [.1, .2, .3],
      limits: [[-1.1], [1.2]], q: [.5]}
    b: {parent: a, position: [.1, .2, .3], quaternion: [1, .2, .3, .4], mass: .5,
      shape: "Box([.1, .2, .3])"}
    c: {parent: b, joint: hinge, mimic: a, multiplier: .5, offset: .3}
    d: {parent: c, joint: quatBall, q: [1, .2, .3, .4], shape: "Capsule(.5, .1)"}
  rooms: {size: [20, 30], resolution: .5, rooms: {}}
"""


def build(file: Path) -> None:
    """A world from a description; its poses are numbers."""
    C = pw.Config()
    C.add_file(file)
    assert np.isfinite(C.q).all() and not np.isnan(C.limits).any()
    poses = C.kinematics().forward_pass(C.q).frames.p if C.nq else C.q
    assert np.isfinite(np.asarray(poses)).all()


def build_from_text(file: Path) -> None:
    """A world from the text of a description, whose folder is unknown."""
    pw.Config().add_text(file.read_text(errors="replace"))


def measure(file: Path) -> None:
    """A mesh; its vertices are numbers."""
    assert np.isfinite(read_mesh(file).vertices).all()


def unpack(file: Path) -> None:
    """All that rai keeps in an .h5."""
    for reader in (measure, read_convex_parts, read_points):
        with suppress(pw.ConfigError):
            reader(file)


def define(file: Path) -> None:
    logic.bddl.load(file)


def state(file: Path) -> None:
    """A problem file, up to what is solved."""
    problem = read_problem(file)
    if "komo" in problem.sections:
        make_path_problem(problem)
    if "placement" in problem.sections:
        make_placement_arguments(problem)


def arm() -> pw.Config:
    """The robot of the SRDF and of MoveIt's messages."""
    C = pw.Config()
    C.add_frame("base", shape=pw.Box([0.1, 0.1, 0.1]))
    C.add_frame("arm", "base", position=[0, 0, 0.3], joint="hingeX", limits=[[-1], [1]])
    C.add_frame("j", "arm", joint="hingeX", limits=[[-1], [1]], shape=pw.Sphere(0.1))
    return C


def annotate(file: Path) -> None:
    """An SRDF of a world that has its robot."""
    C = arm()
    C.pairs.read_srdf(file)
    for values in C.joints.named_states.values():
        assert all(np.isfinite(value).all() for value in values.values())


def plan(file: Path) -> None:
    """A scene of MoveIt, with its robot."""
    C = pw.load_moveit(file, robot=arm()).world
    assert np.isfinite(C.poses()).all()


def demand(file: Path) -> None:
    """A request of MoveIt, in an intact scene."""
    scene = file.with_name("scene.yaml")
    scene.write_bytes(SCENE)
    pw.load_moveit(scene, file, arm())


def recall(file: Path) -> None:
    """A trajectory, by the library and by the command line."""
    with suppress(pw.LoadError):
        assert np.isfinite(pw.Trajectory.load(file).times).all()
    read_path_file(file, arm())


def motion(suffix: str) -> bytes:
    """A trajectory of two joints, as a file."""
    C = arm()
    komo = pw.KOMO(C, 1, 3, 1)
    komo.add_control_objective(1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"m.{suffix}"
        komo.solve().resample(0.2).save(file)
        return file.read_bytes()


def mesh(kind: str) -> bytes:
    contents = trimesh.creation.box([1, 2, 3]).export(file_type=kind)
    return contents if isinstance(contents, bytes) else contents.encode()


def as_json(text: bytes) -> bytes:
    yaml = pytest.importorskip("yaml", reason="YAML needs pyyaml")
    return json.dumps(yaml.safe_load(text)).encode()


def h5() -> bytes:
    h5py = pytest.importorskip("h5py", reason=".h5 needs h5py")
    import io

    box, data = trimesh.creation.box([1, 2, 3]), io.BytesIO()
    with h5py.File(data, "w") as file:
        file["mesh/vertices"], file["mesh/faces"] = box.vertices, box.faces
        file["decomp/vertices"], file["decomp/parts"] = box.vertices, [0, 4]
        file["points/vertices"] = box.vertices
    return data.getvalue()


Case = tuple[str, Callable[[], bytes], Callable[[Path], None]]
CASES: dict[str, Case] = {
    "URDF": ("m.urdf", lambda: MESHED, build),
    "a lenient URDF": ("m.urdf", lambda: LENIENT, build),
    "text": ("m.urdf", lambda: MESHED, build_from_text),
    "text of MJCF": ("m.xml", lambda: MJCF, build_from_text),
    "a file without a suffix": ("m", lambda: MESHED, build),
    "xacro": ("m.xacro", lambda: XACRO, build),
    "a cupboard": ("m.urdf", lambda: (DATA_DIR / "cupboard.urdf").read_bytes(), build),
    "MJCF": ("m.xml", lambda: MJCF, build),
    "g": ("m.g", lambda: G, build),
    "SDF": ("m.sdf", lambda: NUMBERS_OF_SDF, build),
    "USD": ("m.usda", lambda: NUMBERS_OF_USD, build),
    "keyframes": ("m.xml", lambda: KEYFRAMES, build),
    "SRDF": ("m.srdf", lambda: SRDF, annotate),
    "a scene of MoveIt": ("m.yaml", lambda: SCENE, plan),
    "a scene in JSON": ("m.json", lambda: as_json(SCENE), plan),
    "a scene as text": ("m.scene", lambda: SCENE_TEXT, plan),
    "a request of MoveIt": ("m.yaml", lambda: REQUEST, demand),
    **{
        f"a trajectory ({kind})": (f"m.{kind}", partial(motion, kind), recall)
        for kind in ("csv", "json", "npz")
    },
    "g in YAML": ("m.yml", lambda: YML, build),
    "BDDL": ("m.bddl", PACKING.encode, define),
    "a path problem": ("m.yaml", RICH.encode, state),
    "a placement": ("m.yaml", lambda: PLACING, state),
    "h5": ("m.h5", h5, unpack),
    **{
        kind: (f"m.{kind}", lambda kind=kind: mesh(kind), measure)
        for kind in ("stl", "obj", "ply", "off", "glb", "dae")
    },
}


@pytest.fixture
def folder(tmp_path):
    """A folder in which a file has the neighbours that it names."""
    # Packages are also looked for beside the folder above, where other tests keep some.
    place = tmp_path / "models/robot/place"
    place.mkdir(parents=True)
    (place / "robot.urdf").write_bytes((DATA_DIR / "planar3.urdf").read_bytes())
    (place / "cube.stl").write_bytes(mesh("stl"))
    (place / "part.g").write_text("part: { shape: sphere, size: [.1] }")
    return place


def fuzz(name: str, folder: Path, seeds: range) -> None:
    file, make, read = CASES[name]
    good, path = make(), folder / file
    path.write_bytes(good)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        read(path)
    for seed in seeds:
        path.write_bytes(mutated(good, np.random.default_rng(seed)))
        try:
            with careful(folder):
                read(path)
        except BaseException as error:
            error.add_note(f"{name}, seed {seed}")
            raise


@pytest.mark.sampled
@pytest.mark.parametrize("name", CASES)
def test_broken_files_are_read_or_refused(name, folder):
    if name == "dae":
        pytest.importorskip("collada", reason=".dae needs pycollada")
    if name == "xacro":
        pytest.importorskip("xacro", reason="xacro files need the package xacro")
    if name == "USD":
        pytest.importorskip("pxr", reason="USD needs usd-core")
    fuzz(name, folder, range(12))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_thousand_broken_files(name, folder):
    fuzz(name, folder, range(1000))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.sampled
@pytest.mark.parametrize(
    "number",
    [
        "1e308",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("-1e308", "1e160", "9e17")),
        pytest.param("5e-324", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("file", "text", "read"),
    [
        ("m.urdf", NUMBERS_OF_URDF, build),
        ("m.xml", NUMBERS_OF_MJCF, build),
        ("m.sdf", NUMBERS_OF_SDF, build),
        ("m.usda", NUMBERS_OF_USD, build),
        ("m.g", NUMBERS_OF_G, build),
        ("m.yaml", NUMBERS_OF_A_SCENE, state),
        ("m.off", mesh("off"), measure),
    ],
)
def test_any_number_may_be_absurd(file, text, read, number, folder):
    if file == "m.xml":
        pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    if file == "m.usda":
        pytest.importorskip("pxr", reason="USD needs usd-core")
    path = folder / file
    path.write_bytes(text)
    read(path)
    places = [m.span() for m in NUMBER.finditer(text)]
    for begin, end in places:
        path.write_bytes(text[:begin] + number.encode() + text[end:])
        with careful(folder):
            read(path)
    path.write_bytes(NUMBER.sub(number.encode(), text))
    with careful(folder):
        read(path)


def tree(folder: Path) -> Path:
    """A model's folder, beside what is none of its business."""
    (folder / "secret.stl").write_bytes(mesh("stl"))
    (folder / "secret.g").write_text("hidden: { shape: sphere, size: [.1] }")
    (folder / "secret.xml").write_text("<mujoco><compiler/></mujoco>")
    place = folder / "package" / "model"
    place.mkdir(parents=True)
    (place.parent / "package.xml").write_text("<package/>")
    for name in ("stl", "g", "xml"):
        (place / f"link.{name}").symlink_to(folder / f"secret.{name}")
    return place


ELSEWHERE = "../../secret", "link", "{}/secret"
INCLUDE = "<mujoco><include file='{}.xml'/><worldbody/></mujoco>"
ASSET = """<mujoco><asset><mesh name='m' file='{}.stl'/></asset><worldbody>
<body name='b'><joint/><geom type='mesh' mesh='m'/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("where", ELSEWHERE)
@pytest.mark.parametrize(
    ("file", "text", "refused"),
    [
        ("m.g", "Include: <{}.g>\n", True),
        ("m.g", "ChDir: <../../..>\nInclude: <{}.g>\n", True),
        ("m.xml", INCLUDE, True),
        ("m.g", "a: {{ shape: mesh, mesh: <{}.stl> }}\n", False),
        ("m.g", "a: {{ shape: ssCvx, size: [.1], core: <{}.stl> }}\n", False),
        ("m.xml", ASSET, False),
    ],
)
def test_files_of_elsewhere_are_left_alone(file, text, refused, where, tmp_path):
    if file == "m.xml":
        pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    place = tree(tmp_path)
    path = place / file
    path.write_text(text.format(where.format(tmp_path)))
    with careful(place):
        if refused:
            with pytest.raises(pw.PosewiseError, match="outside of|no such file"):
                read_file(path)
        else:
            with pytest.warns(UserWarning, match="outside of|lies outside"):
                model = read_file(path)[0]
            shapes = [g for frame in model.frames for g in frame.geometries]
            assert shapes == []


HARD = {
    "a name that no file can have": (
        "m.urdf",
        "<robot name='r'><link name='a'><visual><geometry><mesh filename='{}.stl'/>"
        "</geometry></visual></link></robot>".format("x" * 5000),
    ),
    "words without end": ("m.bddl", "(define (problem p) (" + "x" * 10**6 + "))"),
    "parentheses beside each other": (
        "m.bddl",
        f"(define (problem p) (:domain d) (:objects a) (:init {'(x a)' * 30000}) (:y))",
    ),
    "a quaternion beyond all bounds": (
        "m.yaml",
        "scene: {frames: {a: {pose: [0, 0, 0, 1e308, 1e308, 0, 0]}}}",
    ),
    "a pose out of reach": (
        "m.yml",
        "a: {joint: hingeX, X: [1e300, 1e300, 0]}\nb (a): {joint: hingeX}",
    ),
    "a turn beyond all bounds": (
        "m.urdf",
        "<robot name='r'><link name='a'/><link name='b'/><link name='c'/>"
        "<joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>"
        "<joint name='k' type='revolute'><parent link='a'/><child link='c'/>"
        "<mimic joint='j' offset='.1e308'/></joint></robot>",
    ),
    "a tiny multiplier": (
        "m.urdf",
        "<robot name='r'><link name='a'/><link name='b'/><link name='c'/>"
        "<joint name='j' type='revolute'><parent link='a'/><child link='b'/></joint>"
        "<joint name='k' type='revolute'><parent link='a'/><child link='c'/>"
        "<limit lower='-1' upper='1' velocity='1'/>"
        "<mimic joint='j' multiplier='5e-324'/></joint></robot>",
    ),
    "a thousand braces": ("m.yml", "{a: " * 1000),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_knocks(name, folder):
    file, text = HARD[name]
    path = folder / file
    path.write_text(text)
    reader = {"m.bddl": define, "m.yaml": state}.get(file, build)
    with careful(folder):
        reader(path)


def test_a_name_that_no_file_can_have():
    with pytest.raises(pw.LoadError, match="No file 'xxx"):
        pw.Config().add_file("x" * 5000 + ".urdf")
