"""Robots as `write_urdf` writes them, read by others: the same shapes, as far apart."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import posewise as pw
from posewise.robots.geometry.shapes import Capsule, Sphere

RNG = np.random.default_rng(5)
CAPSULES = """<robot name="r"><link name="a"><collision><origin xyz="0.1 0 0"
rpy="0.3 0.4 0.5"/><geometry><capsule radius="0.1" length="0.5"/></geometry></collision>
</link><link name="b"><visual><geometry><capsule radius="0.05" length="0.3"/></geometry>
<material name="red"><color rgba="1 0 0 1"/></material></visual><collision><geometry>
<capsule radius="0.05" length="0.3"/></geometry></collision><collision><geometry><box
size="0.1 0.2 0.1"/></geometry></collision></link><link name="c"><collision><geometry>
<capsule radius="0.06" length="0"/></geometry></collision></link><joint name="j"
type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.5 0.2 0.3"/><axis
xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint><joint
name="k" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0.1 0.3 0.3"/>
<limit lower="-2" upper="2" effort="1" velocity="1"/></joint></robot>"""


@pytest.fixture(scope="module")
def world():
    C = pw.Config()
    C.add_text(CAPSULES)
    return C


@pytest.fixture(scope="module")
def file(world, tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "w.urdf"
    world.write_urdf(path)
    return path


STATES = [*RNG.uniform(-1.5, 1.5, (6, 2))]
PAIRS = [("a", "b"), ("a", "c"), ("b", "c")]


def distances(C: pw.Config, q) -> list[float]:
    C.q = q
    return [C.signed_distance(*pair)[0] for pair in PAIRS]


def test_what_is_written_is_urdf_1_0(file):
    root = ET.parse(file).getroot()
    assert root.get("version") is None
    shapes = [geometry[0].tag for geometry in root.iter("geometry")]
    capsule = ["cylinder", "sphere", "sphere"]
    assert shapes == [*capsule, *capsule, "box", *capsule, "sphere"]


def test_pinocchio_reads_the_same_distances(world, file):
    pin = pytest.importorskip("pinocchio", reason="needs pinocchio")
    model = pin.buildModelFromUrdf(str(file))
    shapes = pin.buildGeomFromUrdf(model, str(file), pin.GeometryType.COLLISION)
    shapes.addAllCollisionPairs()
    links = [g.name.rpartition("_")[0] for g in shapes.geometryObjects]
    assert len(links) == 8
    data, placed = model.createData(), pin.GeometryData(shapes)
    for q in STATES:
        pin.computeDistances(model, data, shapes, placed, q)
        read = dict.fromkeys(PAIRS, np.inf)
        for pair, result in zip(
            shapes.collisionPairs, placed.distanceResults, strict=True
        ):
            names = links[pair.first], links[pair.second]
            if names in read:
                read[names] = min(read[names], result.min_distance)
        ours = np.array(distances(world, q))
        # of overlaps the depth of a union is no minimum over parts
        apart = ours > 0
        np.testing.assert_allclose(
            np.array([*read.values()])[apart], ours[apart], atol=1e-6
        )
        assert (np.array([*read.values()])[~apart] <= 1e-6).all()


def test_mujoco_reads_the_same_distances(world, file):
    mujoco = pytest.importorskip("mujoco", reason="needs mujoco")
    spec = mujoco.MjSpec.from_file(str(file))
    spec.compiler.fusestatic = 0
    for body in spec.bodies[1:]:
        body.explicitinertial, body.mass, body.inertia = True, 1.0, np.ones(3)
    model = spec.compile()
    data = mujoco.MjData(model)
    # without its inertia the root link belongs to the world
    names = [model.body(model.geom_bodyid[g]).name for g in range(model.ngeom)]
    links = ["a" if name == "world" else name for name in names]
    for q in STATES:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        for pair, ours in zip(PAIRS, distances(world, q), strict=True):
            read = min(
                mujoco.mj_geomDistance(model, data, i, k, 10.0, None)
                for i, a in enumerate(links)
                for k, b in enumerate(links)
                if (a, b) == pair and model.geom_contype[i] and model.geom_contype[k]
            )
            if ours > 0:
                assert read == pytest.approx(ours, abs=1e-6)
            else:
                assert read <= 1e-6


def test_pybullet_reads_the_same_distances(world, file):
    bullet = pytest.importorskip("pybullet", reason="needs pybullet")
    client = bullet.connect(bullet.DIRECT)
    try:
        body = bullet.loadURDF(str(file), useFixedBase=True)
        index = {"a": -1, "b": 0, "c": 1}
        for q in STATES:
            for joint, value in enumerate(q):
                bullet.resetJointState(body, joint, value)
            for (a, b), ours in zip(PAIRS, distances(world, q), strict=True):
                points = bullet.getClosestPoints(
                    body, body, 9.0, linkIndexA=index[a], linkIndexB=index[b]
                )
                read = min(point[8] for point in points)
                # Bullet's boxes and cylinders have margins
                assert read == pytest.approx(ours, abs=2e-3) or max(read, ours) <= 0
    finally:
        bullet.disconnect(client)


def test_yourdfpy_reads_the_same_shapes(world, file):
    yourdfpy = pytest.importorskip("yourdfpy", reason="needs yourdfpy")
    robot = yourdfpy.URDF.load(str(file), load_meshes=False)
    for name, count in (("a", 3), ("b", 4), ("c", 1)):
        shapes = robot.link_map[name].collisions
        assert len(shapes) == count
        radii = {g.geometry.sphere.radius for g in shapes if g.geometry.sphere}
        assert radii == {world.frame(name).geometries[0].shape.radius}


def test_capsules_come_back(world, file):
    D = pw.Config()
    D.add_file(file)
    for name in "abc":
        ours, read = world.frame(name).geometries, D.frame(name).geometries
        assert len(ours) == len(read)
        for g, h in zip(ours, read, strict=True):
            is_ball = isinstance(g.shape, Capsule) and g.shape.length == 0
            assert type(h.shape) is (Sphere if is_ball else type(g.shape))
            np.testing.assert_allclose(g.pose, h.pose, atol=1e-12)
            assert (g.collision, g.visual, g.color) == (h.collision, h.visual, h.color)


def test_capsules_may_be_written_as_such(world, tmp_path):
    world.write_urdf(tmp_path / "w.urdf", capsules="capsules")
    root = ET.parse(tmp_path / "w.urdf").getroot()
    assert root.get("version") == "1.1" and len(root.findall(".//capsule")) == 4
    pin = pytest.importorskip("pinocchio", reason="needs pinocchio")
    file = str(tmp_path / "w.urdf")
    model = pin.buildModelFromUrdf(file)
    shapes = pin.buildGeomFromUrdf(model, file, pin.GeometryType.COLLISION)
    assert shapes.ngeoms == 4
    with pytest.raises(pw.ConfigError, match="expected one of 'cylinders and spheres'"):
        world.write_urdf(file, capsules="spheres")


PARTS = {
    "capsule": ("0 0 0.2", "0 0 -0.2", 0.1, True),
    "other order": ("0 0 -0.2", "0 0 0.2", 0.1, True),
    "rounded in the file": ("0 0 0.2000001", "0 0 -0.2", 0.1, True),
    "beyond the ends": ("0 0 0.21", "0 0 -0.2", 0.1, False),
    "both at one end": ("0 0 0.2", "0 0 0.2", 0.1, False),
    "thinner": ("0 0 0.2", "0 0 -0.2", 0.09, False),
}


@pytest.mark.parametrize("up, down, radius, is_capsule", PARTS.values(), ids=PARTS)
def test_cylinders_with_balls_at_their_ends_are_capsules(up, down, radius, is_capsule):
    shapes = [("0 0 0", '<cylinder radius="0.1" length="0.4"/>')]
    shapes += [(xyz, f'<sphere radius="{radius}"/>') for xyz in (up, down)]
    text = "".join(
        f'<collision><origin xyz="{xyz}"/><geometry>{shape}</geometry></collision>'
        for xyz, shape in shapes
    )
    C = pw.Config()
    C.add_text(f'<robot name="r"><link name="a">{text}</link></robot>')
    kinds = [type(g.shape).__name__ for g in C.frame("a").geometries]
    assert kinds == (["Capsule"] if is_capsule else ["Cylinder", "Sphere", "Sphere"])
