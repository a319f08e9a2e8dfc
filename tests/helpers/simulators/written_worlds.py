"""Worlds that are written for simulators and read back, and their comparison."""

from collections.abc import Callable

import numpy as np
import trimesh

import posewise as pw
from posewise.robots.geometry import shapes
from posewise.robots.geometry.convex_parts import convex_parts
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.world.frame import Frame, Geometry
from posewise.robots.world.friction import contact_friction

TILTED = [0.3, -0.2, 0.5, 0.8, 0.2, -0.4, 0.4]
SHAPES = {
    "box": pw.Box([0.1, 0.2, 0.3]),
    "sphere": pw.Sphere(0.07),
    "capsule": pw.Capsule(0.2, 0.04),
    "cylinder": pw.Cylinder(0.2, 0.05),
    "ellipsoid": pw.Ellipsoid([0.05, 0.06, 0.08]),
}


def primitives() -> pw.Config:
    """A body of each shape, fixed and free, with masses and friction."""
    C = pw.Config()
    for k, (name, shape) in enumerate(SHAPES.items()):
        C.add_frame(f"fixed {name}", pose=[k, *TILTED[1:]], shape=shape)
        C.add_frame(
            name,
            joint="free",
            pose=[k, 1, *TILTED[2:]],
            shape=shape,
            mass=0.1 + k,
            contact_friction=0.25 + 0.15 * k,
        )
    return C


def linkage() -> pw.Config:
    """Joints with limits, one of them followed by another, away from their zero."""
    C = pw.Config()
    C.add_frame("base", pose=TILTED, shape=pw.Box([0.3, 0.3, 0.1]), mass=2.0)
    C.add_frame(
        "door", "base", joint="revolute", axis=[0, 0.6, 0.8], limits=[[-1.0], [2.0]],
        position=[0.2, 0, 0.3], q=[0.4], shape=pw.Box([0.1, 0.02, 0.3]), mass=1.0,
    )  # fmt: skip
    C.add_frame(
        "knob", "door", position=[0.05, 0.02, 0], shape=pw.Sphere(0.02), mass=0.1
    )
    C.add_frame(
        "drawer", "base", joint="prismatic", axis=[1, 0, 0], limits=[[0.0], [0.5]],
        position=[0, 0, -0.3], q=[0.1], shape=pw.Box([0.2, 0.2, 0.1]), mass=1.5,
    )  # fmt: skip
    C.add_frame(
        "wheel", "drawer", joint="continuous", axis=[0, 1, 0], q=[2.0],
        position=[0, 0, -0.2], shape=pw.Cylinder(0.04, 0.08), mass=0.3,
    )  # fmt: skip
    C.set_joint("door", 0.7)
    return C


def loose_chest() -> pw.Config:
    """A free body with a fixed part, a lid on a hinge, and what stands beside."""
    C = pw.Config()
    C.add_frame("floor", position=[0, 0, -0.05], shape=pw.Box([4, 4, 0.1]))
    C.add_frame(
        "chest", joint="free", pose=TILTED, shape=pw.Box([0.4, 0.3, 0.2]), mass=3.0
    )
    C.add_frame("foot", "chest", position=[0, 0, -0.12], shape=pw.Sphere(0.03))
    C.add_frame(
        "lid", "chest", joint="hinge", axis=[0, 1, 0], limits=[[-1.5], [0.0]],
        position=[0.2, 0, 0.1], shape=pw.Box([0.4, 0.3, 0.02]), mass=0.5,
    )  # fmt: skip
    C.add_frame("can", joint="free", position=[1, 0, 0.1], shape=pw.Cylinder(0.2, 0.1))
    C.ignore_collisions("lid", "can")
    return C


BALANCED = """
<robot name="top"><link name="top">
  <inertial><origin xyz=".01 .02 -.03" rpy=".3 .2 -.4"/><mass value="2"/>
    <inertia ixx=".02" iyy=".025" izz=".03" ixy=".001" ixz=".002" iyz="-.001"/>
  </inertial>
  <collision><geometry><sphere radius=".1"/></geometry></collision>
  <visual><geometry><box size=".15 .15 .15"/></geometry></visual>
</link></robot>"""


def balanced() -> pw.Config:
    """A body with a centre of mass and an inertia that are not those of its shape."""
    C = pw.Config()
    C.add_frame("stand", shape=pw.Box([1, 1, 0.1]))
    C.add_text(BALANCED, joint="free", pose=TILTED)
    return C


def meshes() -> pw.Config:
    """A convex mesh, a hull, and one that is drawn over what collides."""
    C = pw.Config()
    wedge = trimesh.convex.convex_hull([
        [0, 0, 0], [0.2, 0, 0], [0, 0.3, 0], [0.2, 0.3, 0], [0, 0, 0.1], [0, 0.3, 0.1]
    ])  # fmt: skip
    C.add_frame("wedge", joint="free", pose=TILTED, shape=pw.Mesh(wedge), mass=1.0)
    C.add_frame("hull", position=[1, 0, 0], shape=pw.Convex(wedge.vertices))
    ring = pw.Mesh(trimesh.creation.torus(0.1, 0.02, 12, 8), mode="convex")
    C.add_frame("ring", position=[0, 1, 0], shape=ring)
    return C


def kitchen() -> pw.Config:
    """A robot with a follower among its joints, and furniture that is open."""
    C = pw.load("panda")
    C.load("cupboard", pose=[1, 0, 0, 0.6, 0, 0, 0.8])
    C.load("mug", joint="free", pose=[0.5, 0.5, 0.8, 1, 0, 0, 0])
    C.set_joint("door_joint", 1.2)
    C.set_joint("panda_joint2", 0.4)
    return C


WORLDS: dict[str, Callable[[], pw.Config]] = {
    "primitives": primitives,
    "linkage": linkage,
    "loose chest": loose_chest,
    "balanced": balanced,
    "meshes": meshes,
    "kitchen": kitchen,
}


def corners(geometry: Geometry, use: str) -> np.ndarray | None:
    """Corners in the frame of a mesh or hull, or of what it collides as.

    None for other shapes.
    """
    match geometry.shape:
        case shapes.Mesh() as mesh if use == "collision":
            points = np.concatenate(convex_parts(mesh))
        case shapes.Mesh() as mesh:
            points = np.asarray(mesh.mesh.vertices)
        case shapes.Convex(vertices):
            points = vertices
        case _:
            return None
    points = points @ quat_to_matrix(geometry.pose[3:]).T + geometry.pose[:3]
    return points


def assert_same_points(a: np.ndarray, b: np.ndarray) -> None:
    """Two sets of points are equal as far as the float32 of mesh files tells."""
    apart = np.linalg.norm(a[:, None] - b, axis=-1)
    assert apart.min(0).max() < 1e-6 and apart.min(1).max() < 1e-6


def assert_same_shapes(one: Frame, other: Frame, tolerance: float) -> None:
    """Shapes that collide, and those that are drawn, are the same."""
    for use in ("collision", "visual"):
        pair = [[g for g in f.geometries if getattr(g, use)] for f in (one, other)]
        assert len(pair[0]) == len(pair[1]), (one.name, use)
        for a, b in zip(*pair, strict=True):
            points, others = corners(a, use), corners(b, use)
            if points is not None and others is not None:
                assert_same_points(points, others)
                continue
            assert type(a.shape) is type(b.shape), one.name
            sizes = [np.hstack([*vars(g.shape).values()]) for g in (a, b)]
            np.testing.assert_allclose(*sizes, atol=tolerance)
            assert_same_pose(a.pose, b.pose, tolerance)


def assert_same_pose(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-8) -> None:
    np.testing.assert_allclose(a[:3], b[:3], atol=tolerance)
    R, S = (quat_to_matrix(pose[3:] / np.linalg.norm(pose[3:])) for pose in (a, b))
    np.testing.assert_allclose(R, S, atol=tolerance)


def assert_same_world(
    C: pw.Config, D: pw.Config, pairs: bool = True, tolerance: float = 1e-8
) -> None:
    """Frames, poses, joints, shapes, masses, friction and colliding pairs are equal.

    Args:
        pairs: Whether the pairs that may collide are compared.
        tolerance: Largest difference of positions, sizes and angles [m, rad].
    """
    assert set(D.frame_names) == set(C.frame_names)
    for name in C.frame_names:
        a, b = C.frame(name), D.frame(name)
        assert_same_pose(C.pose(name), D.pose(name), tolerance)
        assert_same_shapes(a, b, tolerance)
        if any(g.collision for g in a.geometries):
            assert np.isclose(contact_friction(a), contact_friction(b))
        if a.mass is not None:
            np.testing.assert_allclose(b.mass, a.mass, rtol=1e-6)
        if a.com is not None:
            np.testing.assert_allclose(b.com, a.com, atol=1e-6)
        if a.inertia is not None:
            np.testing.assert_allclose(b.inertia, a.inertia, rtol=1e-5, atol=1e-7)
        assert_same_joint(a, b, tolerance)
    for name in C.joint_names:
        q, p = C.tree.joint_value(name), D.tree.joint_value(name)
        np.testing.assert_allclose(q[:3], p[:3], atol=tolerance)
    assert not pairs or {frozenset(p) for p in C.pairs.names()} == {
        frozenset(p) for p in D.pairs.names()
    }


def assert_same_joint(a: Frame, b: Frame, tolerance: float) -> None:
    assert (a.joint is None) == (b.joint is None), a.name
    if a.joint is None or b.joint is None:
        return
    assert a.joint.dim == b.joint.dim and a.joint.name == b.joint.name
    if a.joint.dim == 1:
        np.testing.assert_allclose(a.joint.axis, b.joint.axis, atol=tolerance)
        if a.joint.limits is None:
            assert b.joint.limits is None or np.isinf(b.joint.limits).all()
        else:
            np.testing.assert_allclose(a.joint.limits, b.joint.limits, atol=tolerance)
