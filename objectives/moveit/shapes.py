"""Shapes of MoveIt's collision objects."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.robots.errors import ConfigError
from posewise.robots.geometry.shapes import (
    Box,
    Convex,
    Cylinder,
    Mesh,
    Plane,
    Shape,
    Sphere,
)
from posewise.robots.validation import CONVERSION_ERRORS, MAX_NUMBER, is_bounded

from .messages import Message

KINDS = {1: "box", 2: "sphere", 3: "cylinder", 4: "cone", 5: "prism"}
"""Types of `shape_msgs/SolidPrimitive`."""
SHAPE_KEYS = {"primitive": "primitives", "mesh": "meshes", "plane": "planes"}
"""Keys of the shapes of each kind, in the order in which MoveIt numbers them."""
NUM_CONE_SIDES = 24
"""Number of sides of the hull around a cone; more make it narrower and slower."""

IDENTITY = np.array([0, 0, 0, 1.0, 0, 0, 0])


class SceneShape(NamedTuple):
    """A shape of an object."""

    shape: Shape
    pose: Float[np.ndarray, "7"]
    """As the message says it, in the object."""
    offset: Float[np.ndarray, "7"] = IDENTITY
    """Pose of the shape in that pose; planes have one."""


def read_shapes(obj: Message, skipped: list[str]) -> Iterator[SceneShape]:
    """Yield the shapes of a collision object, with their poses in it.

    Args:
        obj: a `moveit_msgs/CollisionObject`.
        skipped: gets a phrase for each shape that cannot be used.
    """
    for kind, key in SHAPE_KEYS.items():
        shapes = obj.messages(key)
        poses = [m.pose() for m in obj.messages(f"{kind}_poses")]
        poses += [IDENTITY] * (len(shapes) - len(poses))
        for shape, pose in zip(shapes, poses, strict=False):
            try:
                if kind == "primitive":
                    yield SceneShape(primitive(shape), pose)
                elif kind == "mesh":
                    yield SceneShape(_mesh(shape), pose)
                else:
                    yield SceneShape(Plane(), pose, _plane_offset(shape))
            except ConfigError as error:
                skipped.append(f"{shape.key} ({error})")


def kind_of_primitive(message: Message) -> str:
    """Return the name of the type of a `SolidPrimitive`, in small letters."""
    kind = message.text("type") or "1"
    return (KINDS.get(int(kind), kind) if kind.isdecimal() else kind).lower()


def primitive(message: Message) -> Shape:
    """Return the shape of a `SolidPrimitive`.

    Raises:
        ConfigError: for sizes that do not fit, and a prism.
        LoadError: for another type.
    """
    name = kind_of_primitive(message)
    sizes = message.numbers("dimensions").reshape(-1).tolist()
    count = {"box": 3, "sphere": 1, "cylinder": 2, "cone": 2}.get(name)
    if name == "prism":
        raise ConfigError("a prism, which posewise does not read; give it as a mesh")
    if count is None:
        raise message.fail("type", "box, sphere, cylinder or cone (1 to 4)")
    if len(sizes) != count:
        raise message.fail("dimensions", f"{count} numbers for a {name}")
    if name == "box":
        return Box(sizes)
    if name == "sphere":
        return Sphere(sizes[0])
    height, radius = sizes
    if name == "cylinder":
        return Cylinder(height, radius)
    # The hull encloses the cone: its sides are tangents of the circle.
    angles = 2 * np.pi * np.arange(NUM_CONE_SIDES) / NUM_CONE_SIDES
    r = radius / np.cos(np.pi / NUM_CONE_SIDES)
    rim = np.stack([r * np.cos(angles), r * np.sin(angles), 0 * angles], 1)
    return Convex(np.concatenate([rim - [0, 0, height / 2], [[0, 0, height / 2]]]))


def _mesh(message: Message) -> Shape:
    import trimesh

    vertices = [
        [v.get(k, 0.0) for k in "xyz"] if isinstance(v, dict) else v
        for v in message.value("vertices", [])
    ]
    faces = [
        t.get("vertex_indices") if isinstance(t, dict) else t
        for t in message.value("triangles", [])
    ]
    try:
        corners = np.asarray(vertices, float).reshape(-1, 3)
        triangles = np.asarray(faces, int).reshape(-1, 3)
    except CONVERSION_ERRORS:
        raise message.fail("triangles", "triples of indices of vertices") from None
    if len(triangles) and not (0 <= triangles).all() & (triangles < len(corners)).all():
        raise message.fail("triangles", f"indices from 0 to {len(corners) - 1}")
    if not len(triangles) or not is_bounded(corners):
        raise ConfigError(f"no triangles of vertices up to {MAX_NUMBER:g} m")
    # vertices are not merged, which overflows where they are far away
    return Mesh(trimesh.Trimesh(corners, triangles, process=False))


def _plane_offset(message: Message) -> Float[np.ndarray, "7"]:
    """Return the pose of the half-space below the plane a x + b y + c z + d = 0."""
    *normal, d = message.numbers("coef", [0, 0, 0, 0]).reshape(-1).tolist()
    largest = float(np.abs(normal).max())
    if not largest or not is_bounded(d / largest):
        raise ConfigError("its normal is zero, or it is too far away")
    normal, d = [x / largest for x in normal], d / largest
    length = float(np.linalg.norm(normal))
    n = np.array(normal) / length
    return np.array([*(-d / length * n), *_turn_of_z(n)])


def _turn_of_z(n: Float[np.ndarray, "3"]) -> Float[np.ndarray, "4"]:
    """Return the quaternion that turns the z axis to a unit vector."""
    q = np.array([1 + n[2], -n[1], n[0], 0.0])
    norm = float(np.linalg.norm(q))
    return q / norm if norm > 1e-9 else np.array([0.0, 1, 0, 0])
