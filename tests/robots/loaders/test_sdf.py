"""SDF: worlds that are written are read back; models and worlds of others are read."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest
import trimesh
from helpers.simulators.written_worlds import (
    WORLDS,
    assert_same_pose,
    assert_same_world,
)

import posewise as pw
from posewise import ConfigError, LoadError


def read(text: str, **options) -> pw.Config:
    C = pw.Config()
    C.add_text(f'<sdf version="1.9">{text}</sdf>', **options)
    return C


@pytest.mark.parametrize("name", WORLDS)
def test_worlds_are_read_back(name, tmp_path):
    C = WORLDS[name]()
    C.write_sdf(tmp_path / "scene.sdf")
    D = pw.Config()
    D.add_file(tmp_path / "scene.sdf")
    # Of what may touch, SDF has only whether links of a model do that are not adjacent.
    assert_same_world(C, D, pairs=name not in ("linkage", "loose chest", "kitchen"))


def test_limits_are_relative_to_the_state_in_the_file(tmp_path):
    C = WORLDS["linkage"]()
    C.add_frame("follower", "base", joint="revolute", axis=[1, 0, 0], mimic="door",
                multiplier=0.5, offset=0.2, shape=pw.Sphere(0.05))  # fmt: skip
    C.write_sdf(tmp_path / "scene.sdf")
    root = ET.parse(tmp_path / "scene.sdf").getroot()
    (model,) = root.findall("world/model")
    assert model.find("static") is None and model.findtext("self_collide") == "true"
    joints = {j.get("name"): j for j in model.findall("joint")}
    door = joints["door_joint"]  # links have the names of frames
    limits = [float(door.findtext(f"axis/limit/{s}")) for s in ("lower", "upper")]
    np.testing.assert_allclose(limits, [-1.7, 1.3])
    assert joints["base_fixed"].findtext("parent") == "world"
    D = pw.Config()
    D.add_file(tmp_path / "scene.sdf")
    follower = D.frame("follower").joint
    assert follower is not None and follower.mimic == "door"
    np.testing.assert_allclose([follower.multiplier, follower.offset], [0.5, 0.2])
    for world in (C, D):
        world.set_joint("door", -0.4)
    np.testing.assert_allclose(C.pose("follower"), D.pose("follower"), atol=1e-12)


def test_bare_frames_are_frames(tmp_path):
    C = pw.Config()
    C.add_frame("table", shape=pw.Box([1, 1, 0.1]))
    C.add_frame("spot", "table", position=[0.1, 0.2, 0.05])
    C.add_frame("target", position=[0, 0, 2])
    C.add_frame("cup", joint="free", position=[0, 0, 1], shape=pw.Sphere(0.1), mass=1)
    C.add_frame("rim", "cup", position=[0, 0, 0.1])
    C.write_sdf(tmp_path / "scene.sdf")
    root = ET.parse(tmp_path / "scene.sdf").getroot()
    assert len(root.findall(".//link")) == 2 and len(root.findall(".//frame")) == 3
    D = pw.Config()
    D.add_file(tmp_path / "scene.sdf")
    assert_same_world(C, D)
    for world in (C, D):
        world.set_pose("cup", [1, 0, 1, 0.6, 0.8, 0, 0])
    np.testing.assert_allclose(C.pose("rim"), D.pose("rim"), atol=1e-12)


MUG = """
<model name="mug">
  <pose>0.1 0.2 0.3 0 0 1.5707963267948966</pose>
  <link name="body">
    <pose degrees="true">0 0 0.05 0 0 90</pose>
    <inertial><mass>0.3</mass><pose>0 0 0.01 0 0 0</pose>
      <inertia><ixx>1e-4</ixx><iyy>2e-4</iyy><izz>3e-4</izz></inertia></inertial>
    <collision name="c"><pose>0 0 0.02 0 0 0</pose>
      <geometry><cylinder><radius>0.04</radius><length>0.1</length></cylinder></geometry>
      <surface><friction><ode><mu>0.8</mu><mu2>0.7</mu2></ode></friction></surface>
    </collision>
    <visual name="v">
      <geometry><sphere><radius>0.05</radius></sphere></geometry>
      <material><diffuse>0.2 0.4 0.6 1</diffuse></material>
    </visual>
  </link>
</model>"""


def test_a_rigid_model_is_an_object():
    C = read(MUG)
    frame = C.frame("mug")
    assert frame.joint is None
    # a quarter turn of the model, and one of its link
    np.testing.assert_allclose(C.pose("mug")[:3], [0.1, 0.2, 0.35])
    np.testing.assert_allclose(C.pose("mug")[3:], [0, 0, 0, 1], atol=1e-12)
    solid, drawn = frame.geometries
    assert isinstance(solid.shape, pw.Cylinder) and solid.shape.length == 0.1
    np.testing.assert_allclose(solid.pose[:3], [0, 0, 0.02])
    assert isinstance(drawn.shape, pw.Sphere) and drawn.color == (0.2, 0.4, 0.6, 1.0)
    assert frame.mass == 0.3 and frame.attributes["contact_friction"] == 0.8
    np.testing.assert_allclose(frame.com, [0, 0, 0.01])
    np.testing.assert_allclose(frame.inertia, np.diag([1e-4, 2e-4, 3e-4]))
    free = read(MUG, joint="free", prefix="my_", pose=[1, 0, 0, 1, 0, 0, 0])
    assert free.joint_names == ("my_mug",)
    np.testing.assert_allclose(free.pose("my_mug")[:3], [1.1, 0.2, 0.35])


def test_a_world_has_static_and_free_models():
    ground = (
        '<model name="ground"><static>true</static><link name="link"><collision'
        ' name="c"><geometry><plane><normal>0 1 0</normal></plane></geometry>'
        "</collision></link></model>"
    )
    twin = MUG.replace('"mug"', '"mug2"')
    C = read(f'<world name="w">{ground}{MUG}{twin}<light/></world>')
    assert C.joint_names == ("mug", "mug2") and C.frame_names[0] == "ground"
    np.testing.assert_allclose(C.pose("mug")[:3], [0.1, 0.2, 0.35])
    (plane,) = C.frame("ground").geometries
    up = pw.Feature(pw.FS.vectorZ, ["ground"])
    np.testing.assert_allclose(up.eval(C)[0], [0, 0, 1], atol=1e-12)
    w, x, y, z = plane.pose[3:]
    normal = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    np.testing.assert_allclose(normal, [0, 1, 0], atol=1e-12)


ARM = """
<model name="arm">
  <link name="base"/>
  <link name="upper"><pose relative_to="shoulder">0 0 0.5 0 0 0</pose></link>
  <link name="fore"><pose relative_to="upper">0 0 0.5 0 0 0</pose></link>
  <frame name="tool" attached_to="fore"><pose>0 0 0.25 0 0 0</pose></frame>
  <joint name="shoulder" type="revolute">
    <pose relative_to="base">0 0 1 0 0 0</pose><parent>base</parent><child>upper</child>
    <axis><xyz>0 1 0</xyz><limit><lower>-2</lower><upper>2</upper><effort>5</effort>
      <velocity>3</velocity></limit><dynamics><damping>0.1</damping></dynamics></axis>
  </joint>
  <joint name="elbow" type="prismatic"><parent>upper</parent><child>fore</child>
    <axis><xyz expressed_in="__model__">0 0 2</xyz></axis></joint>
</model>"""


def test_joints_apart_from_their_child():
    C = read(ARM)
    assert C.frame_names == ("base", "upper/shoulder", "upper", "fore", "tool")
    np.testing.assert_allclose(C.pose("tool")[:3], [0, 0, 2.25])
    C.set_joint("shoulder", np.pi / 2)
    C.set_joint("elbow", 0.1)
    np.testing.assert_allclose(C.pose("upper")[:3], [0.5, 0, 1], atol=1e-12)
    np.testing.assert_allclose(C.pose("tool")[:3], [1.35, 0, 1], atol=1e-12)
    shoulder = C.frame("upper/shoulder").joint
    assert shoulder is not None and shoulder.limits is not None
    np.testing.assert_array_equal(shoulder.limits[:, 0], [-2, 2])
    assert shoulder.effort == [5] and shoulder.velocity == [3]
    assert C.frame("upper/shoulder").attributes["damping"] == 0.1


def drake_plant():
    """An empty world of Drake, which reads SDF by the library of the format."""
    plants = pytest.importorskip("pydrake.multibody.plant", reason="needs drake")
    return plants.MultibodyPlant(0.0)


def parser(plant):
    return pytest.importorskip("pydrake.multibody.parsing").Parser(plant)


def assert_drake_agrees(C: pw.Config, plant, context, names) -> None:
    for name in names:
        X = plant.GetFrameByName(name).CalcPoseInWorld(context)
        pose = [*X.translation(), *X.rotation().ToQuaternion().wxyz()]
        assert_same_pose(C.pose(name), np.array(pose))


@pytest.mark.parametrize("name", WORLDS)
def test_drake_reads_the_same_poses_and_masses(name, tmp_path):
    plant = drake_plant()
    C = WORLDS[name]()
    C.write_sdf(tmp_path / "scene.sdf")
    parser(plant).AddModels(str(tmp_path / "scene.sdf"))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    assert_drake_agrees(C, plant, context, C.frame_names)
    for frame in C.frames:
        if frame.mass is not None:
            owner = plant.GetFrameByName(frame.name).model_instance()
            body = plant.GetBodyByName(frame.name, owner)
            assert body.default_mass() == pytest.approx(frame.mass)


def test_drake_moves_joints_in_the_same_way():
    plant = drake_plant()
    turned = ARM.replace("0 0 1 0 0 0", ".1 0 1 .3 .2 .1")
    turned = turned.replace("0 0 0.5 0 0 0", "0 .1 0.5 .1 .7 0")
    C = read(turned)
    parser(plant).AddModelsFromString(f'<sdf version="1.9">{turned}</sdf>', "sdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    for shoulder, elbow in ((0.0, 0.0), (0.7, 0.1), (-1.2, 0.4)):
        plant.GetJointByName("shoulder").set_angle(context, shoulder)
        plant.GetJointByName("elbow").set_translation(context, elbow)
        C.set_joint("shoulder", shoulder)
        C.set_joint("elbow", elbow)
        assert_drake_agrees(C, plant, context, ("upper", "fore", "tool"))


def test_placement_frames_and_names_that_models_share():
    link = '<link name="{}"><pose>0 0 1 0 0 0</pose></link>'
    links = link.format("a") + link.format("b")
    joint = '<joint name="j" type="fixed"><parent>a</parent><child>b</child></joint>'
    models = [
        f'<model name="{m}" placement_frame="b"><pose>{m} 0 0 0 0 0</pose>{links}'
        f"{joint}</model>"
        for m in (1, 2)
    ]
    C = read("".join(models))
    assert set(C.frame_names) == {"1/a", "1/b", "2/a", "2/b"}
    np.testing.assert_allclose(C.pose("2/b")[:3], [2, 0, 0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("revolute", "universal", "type 'universal' stand still"),
        ('<link name="base"/>', '<link name="base"/><include/>', "within a model"),
        ("<lower>-2", "<lower>7", "lower 7.0 is above"),
    ],
)
def test_what_is_left_out(old, new, message):
    with pytest.warns(UserWarning, match=message):
        C = read(ARM.replace(old, new))
    assert "tool" in C.frame_names


def test_a_world_includes_models(tmp_path):
    place = tmp_path / "models" / "mug"
    (place / "meshes").mkdir(parents=True)
    trimesh.creation.box([0.1, 0.1, 0.2]).export(place / "meshes" / "mug.stl")
    mesh = "<mesh><uri>meshes/mug.stl</uri></mesh>"
    (place / "mug-1.9.sdf").write_text(f"<sdf>{MUG.replace(SHAPE, mesh)}</sdf>")
    (place / "model.config").write_text("<model><sdf>mug-1.9.sdf</sdf></model>")
    (tmp_path / "worlds").mkdir()
    file = tmp_path / "worlds" / "w.sdf"
    one = "<include><uri>model://mug</uri></include>"
    two = (
        "<include><uri>../models/mug</uri><name>fixed mug</name><static>true</static>"
        "<pose>1 0 0 0 0 0</pose></include>"
    )
    file.write_text(f"<sdf><world name='w'>{one}{two}</world></sdf>")
    C = pw.Config()
    C.add_file(file, packages={"mug": place})
    assert C.frame_names == ("mug", "fixed mug") and C.joint_names == ("mug",)
    np.testing.assert_allclose(C.pose("fixed mug")[:3], [1, 0, 0.05])
    np.testing.assert_allclose(C.pose("mug")[:3], [0.1, 0.2, 0.35])
    assert C.frame("mug").geometries[0].shape.mesh.volume == pytest.approx(0.002)
    lost = one.replace("mug", "none")
    file.write_text(f"<sdf><world name='w'>{lost}{two}</world></sdf>")
    D = pw.Config()
    with pytest.warns(UserWarning, match="'model://none' is not found"):
        D.add_file(file)
    assert D.frame_names == ("fixed mug",)
    # A file outside of the package of the world is not read.
    (tmp_path / "worlds" / "deep").mkdir()
    (tmp_path / "worlds" / "deep" / "w.sdf").write_text(
        f"<sdf><world name='w'>{two.replace('../', '../../')}{MUG}</world></sdf>"
    )
    with pytest.warns(UserWarning, match="is not found"):
        pw.Config().add_file(tmp_path / "worlds" / "deep" / "w.sdf")


SHAPE = "<cylinder><radius>0.04</radius><length>0.1</length></cylinder>"


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("<heightmap/>", "this shape is unknown"),
        ("<box><size>1 x 1</size></box>", "has 'x'"),
        ("<mesh><uri>model://none/a.stl</uri></mesh>", "a.stl"),
        ("<sphere><radius>-1</radius></sphere>", "radius"),
    ],
)
def test_shapes_that_are_left_out(shape, message):
    with pytest.warns(UserWarning, match=message):
        C = read(MUG.replace(SHAPE, shape))
    assert len(C.frame("mug").geometries) == 1 and C.frame("mug").missing_shapes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no <model>"),
        ("<world name='a'/><world name='b'/>", "several worlds"),
        ("<model name='m'/>", "has no <link>"),
        (MUG + MUG, "used twice"),
        (ARM.replace("<child>fore", "<child>far"), "expected links of its"),
        (ARM.replace("<child>fore", "<child>upper"), "already the child"),
        (ARM.replace('name="fore"', 'name="base"'), "used twice"),
        (ARM.replace('relative_to="upper"', 'relative_to="x"'), "No link, joint or"),
        (ARM.replace('relative_to="upper"', 'relative_to="fore"'), "each other: fore"),
        (ARM.replace("<parent>base", "<parent>fore"), "form a cycle"),
        (ARM.replace("0 1 0</xyz>", "0 0 0</xyz>"), "has no direction"),
        (ARM.replace("0 0 1 0 0 0", "0 0 1 0 0"), "has 5 numbers, expected 6"),
        (ARM.replace("0 0 1 0 0 0", "0 0 nan 0 0 0"), "expected a finite number"),
        (ARM.replace('type="revolute"', ""), "attribute 'type' is missing"),
    ],
)
def test_files_that_are_refused(text, message):
    with pytest.raises(LoadError, match=message):
        read(text)


def test_worlds_that_sdf_cannot_express(tmp_path):
    C = pw.Config()
    C.add_frame("base", joint="transXY", shape=pw.Sphere(0.1))
    with pytest.raises(ConfigError, match="several coordinates"):
        C.write_sdf(tmp_path / "a.sdf")
    D = pw.Config()
    D.add_frame("world", shape=pw.Sphere(0.1))
    with pytest.raises(ConfigError, match="SDF reserves"):
        D.write_sdf(tmp_path / "a.sdf")
