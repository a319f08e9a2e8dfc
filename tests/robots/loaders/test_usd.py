"""USD: worlds that are written are read back; stages of others are read."""

import numpy as np
import pytest
from helpers.simulators.written_worlds import WORLDS, assert_same_world

import posewise as pw
from posewise import ConfigError, LoadError

pxr = pytest.importorskip("pxr", reason="USD needs the extra usd")
for _module in ("Usd", "UsdPhysics", "UsdValidation"):
    pytest.importorskip(f"pxr.{_module}")


@pytest.mark.parametrize("suffix", ["usda", "usd"])
@pytest.mark.parametrize("name", WORLDS)
def test_worlds_are_read_back(name, suffix, tmp_path):
    C = WORLDS[name]()
    file = tmp_path / f"scene.{suffix}"
    C.write_usd(file)
    D = pw.Config()
    D.add_file(file)
    assert_same_world(C, D, tolerance=2e-6)


@pytest.mark.parametrize("name", WORLDS)
def test_stages_are_valid_and_have_the_bodies(name, tmp_path):
    C = WORLDS[name]()
    C.write_usd(tmp_path / "scene.usda")
    stage = pxr.Usd.Stage.Open(str(tmp_path / "scene.usda"))
    validators = pxr.UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    context = pxr.UsdValidation.ValidationContext(validators)
    assert [e.GetMessage() for e in context.Validate(stage)] == []
    bodies = [p for p in stage.Traverse() if p.HasAPI(pxr.UsdPhysics.RigidBodyAPI)]
    assert len(bodies) == sum(f.joint is not None for f in C.frames)


def test_mimics_are_read_back(tmp_path):
    C = WORLDS["linkage"]()
    C.add_frame("follower", "base", joint="revolute", axis=[1, 0, 0], mimic="door",
                multiplier=0.5, offset=0.2, shape=pw.Sphere(0.05))  # fmt: skip
    C.write_usd(tmp_path / "scene.usda")
    D = pw.Config()
    D.add_file(tmp_path / "scene.usda")
    for world in (C, D):
        world.set_joint("door", -0.4)
    np.testing.assert_allclose(C.pose("follower"), D.pose("follower"), atol=1e-6)


def read(folder, text: str, **options) -> pw.Config:
    (folder / "stage.usda").write_text(f"#usda 1.0\n{text}")
    C = pw.Config()
    C.add_file(folder / "stage.usda", **options)
    return C


MUG = """(
    defaultPrim = "mug"
    metersPerUnit = 0.01
    upAxis = "Y"
    kilogramsPerUnit = 0.001
)
def Xform "mug" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
    double3 xformOp:translate = (10, 20, 30)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    float physics:mass = 300
    point3f physics:centerOfMass = (0, 1, 0)
    float3 physics:diagonalInertia = (1000, 2000, 3000)

    def Xform "geo"
    {
        double3 xformOp:scale = (2, 2, 2)
        uniform token[] xformOpOrder = ["xformOp:scale"]

        def Cylinder "wall" (prepend apiSchemas = ["PhysicsCollisionAPI"])
        {
            uniform token axis = "Y"
            double height = 5
            double radius = 2
            uniform token purpose = "guide"
        }
        def Cube "label"
        {
            double size = 1
            double3 xformOp:translate = (0, 0, 3)
            float3 xformOp:scale = (1, 2, 0.5)
            uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
            color3f[] primvars:displayColor = [(0.2, 0.4, 0.6)]
        }
        def Mesh "rim"
        {
            point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1)]
            int[] faceVertexCounts = [4, 3, 3, 3, 3]
            int[] faceVertexIndices = [3, 2, 1, 0, 0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4]
        }
    }
}
"""


def test_a_rigid_body_that_is_the_default_prim_is_an_object(tmp_path):
    C = read(tmp_path, MUG)
    frame = C.frame("mug")
    assert frame.joint is None and frame.mass == pytest.approx(0.3)
    # y up in centimetres becomes z up in metres
    np.testing.assert_allclose(C.pose("mug")[:3], [0.1, -0.3, 0.2])
    wall, label, rim = frame.geometries
    assert isinstance(wall.shape, pw.Cylinder) and wall.collision and not wall.visual
    np.testing.assert_allclose([wall.shape.length, wall.shape.radius], [0.1, 0.04])
    assert isinstance(label.shape, pw.Box) and label.visual and not label.collision
    np.testing.assert_allclose(label.shape.size, [0.02, 0.04, 0.01])
    np.testing.assert_allclose(label.pose[:3], [0, 0, 0.06], atol=1e-12)
    np.testing.assert_allclose(label.color, [0.2, 0.4, 0.6, 1], atol=1e-7)
    assert isinstance(rim.shape, pw.Mesh) and len(rim.shape.mesh.faces) == 6
    assert rim.shape.mesh.volume == pytest.approx(0.02**3 / 3)
    np.testing.assert_allclose(frame.com, [0, 0.01, 0], atol=1e-9)
    inertia = 1e-3 * 1e-4 * np.diag([1000, 2000, 3000])
    np.testing.assert_allclose(frame.inertia, inertia, rtol=1e-6)
    # The axis of the cylinder is the world's z.
    up = pw.Feature(pw.FS.vectorY, ["mug"])
    np.testing.assert_allclose(up.eval(C)[0], [0, 0, 1], atol=1e-12)
    free = read(tmp_path, MUG, joint="free", pose=[1, 0, 0, 1, 0, 0, 0], prefix="a_")
    assert free.joint_names == ("a_mug",)
    np.testing.assert_allclose(free.pose("a_mug")[:3], [1.1, -0.3, 0.2])


ARM = """(
    defaultPrim = "scene"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "scene"
{
    def Cube "ground" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double size = 2
        double3 xformOp:translate = (0, 0, -1)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    def Xform "upper" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
    {
        double3 xformOp:translate = (0, 0, 1.5)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def Sphere "ball" (prepend apiSchemas = ["PhysicsCollisionAPI"])
        {
            double radius = 0.1
        }
    }
    def Xform "loose" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
    {
        double3 xformOp:translate = (2, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def Sphere "ball" (prepend apiSchemas = ["PhysicsCollisionAPI"])
        {
            double radius = 0.1
            float3 xformOp:scale = (1, 2, 3)
            uniform token[] xformOpOrder = ["xformOp:scale"]
        }
    }
    def PhysicsRevoluteJoint "shoulder"
    {
        rel physics:body1 = </scene/upper>
        uniform token physics:axis = "Y"
        point3f physics:localPos0 = (0, 0, 1)
        point3f physics:localPos1 = (0, 0, -0.5)
        float physics:lowerLimit = -90
        float physics:upperLimit = 45
    }
}
"""


def test_joints_apart_from_their_body(tmp_path):
    C = read(tmp_path, ARM)
    assert set(C.frame_names) == {"ground", "upper/shoulder", "upper", "loose"}
    assert set(C.joint_names) == {"shoulder", "loose"}
    np.testing.assert_allclose(C.pose("upper")[:3], [0, 0, 1.5])
    np.testing.assert_allclose(C.pose("loose")[:3], [2, 0, 0])
    np.testing.assert_allclose(C.pose("ground")[:3], [0, 0, -1])
    C.set_joint("shoulder", np.pi / 2 * 0.5)
    half = 0.5 * np.sqrt(0.5)
    np.testing.assert_allclose(C.pose("upper")[:3], [half, 0, 1 + half], atol=1e-7)
    joint = C.frame("upper/shoulder").joint
    assert joint is not None and joint.limits is not None
    np.testing.assert_allclose(joint.limits[:, 0], [-np.pi / 2, np.pi / 4])
    (ball,) = C.frame("loose").geometries
    assert isinstance(ball.shape, pw.Ellipsoid)
    np.testing.assert_allclose(ball.shape.radii, [0.1, 0.2, 0.3])


def test_a_joint_whose_second_body_is_the_world(tmp_path):
    turned = ARM.replace("body1", "body0").replace("localPos0", "localPosX")
    turned = turned.replace("localPos1", "localPos0").replace("localPosX", "localPos1")
    C, D = read(tmp_path, ARM), read(tmp_path, turned)
    # The motion is that of the world in the body.
    C.set_joint("shoulder", 0.5)
    D.set_joint("shoulder", -0.5)
    np.testing.assert_allclose(C.pose("upper"), D.pose("upper"), atol=1e-7)


THIN = "double radius = 0.1\n            float3"
"""Radius of the body that is scaled."""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("RevoluteJoint", "Joint", "joints of type PhysicsJoint are not read"),
        ("</scene/upper>", "</scene/none>", "prims that do not exist"),
        ("</scene/upper>", "</scene>", "its child is no rigid body"),
        ('Sphere "ball"', 'Cone "ball"', "it is a Cone"),
        ("(1, 2, 3)", "(1, 0, 3)", "flat or has shear"),
        (THIN, THIN.replace("0.1", "-1"), "radii"),
    ],
)  # fmt: skip
def test_what_is_left_out(old, new, message, tmp_path):
    with pytest.warns(UserWarning, match=message):
        C = read(tmp_path, ARM.replace(old, new))
    assert {"ground", "upper", "loose"} <= set(C.frame_names)


def test_a_stage_without_bodies_is_an_object(tmp_path):
    text = MUG.replace('"PhysicsRigidBodyAPI", ', "").replace("PhysicsCollisionAPI", "")
    C = read(tmp_path, text.replace('(prepend apiSchemas = [""])', ""))
    assert C.frame_names == ("mug",) and len(C.frame("mug").geometries) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no shapes and no rigid bodies"),
        ("def Xform {", "OpenUSD cannot read it"),
        (
            MUG.replace("metersPerUnit = 0.01", "metersPerUnit = 0"),
            "metersPerUnit is 0",
        ),
        (MUG.replace("(10, 20, 30)", "(10, nan, 30)"), "not finite"),
        (MUG.replace("(10, 20, 30)", "(10, 1e300, 30)"), "enormous"),
    ],
)
def test_files_that_are_refused(text, message, tmp_path):
    with pytest.raises(LoadError, match=message):
        read(tmp_path, text)


def test_worlds_that_cannot_be_written(tmp_path):
    C = pw.Config()
    C.add_frame("base", joint="transXY", shape=pw.Sphere(0.1))
    with pytest.raises(ConfigError, match="several coordinates"):
        C.write_usd(tmp_path / "a.usda")
    with pytest.raises(ConfigError, match="ends in .usda"):
        C.write_usd(tmp_path / "a.sdf")
