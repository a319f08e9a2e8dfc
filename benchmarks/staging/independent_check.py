"""Distances and poses by pinocchio and coal, which share no code with posewise.

Taken from posewise are only the shapes that links have, and which pairs count. Meshes
are their exact hulls, and a half-space is the top of a large box.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import coal
import numpy as np
import pinocchio as pin

import posewise as pw

GROUND = 40.0, 2.0
"""Width and depth of the box that stands for a half-space [m]. A smaller width ends in
the reach of mobile robots."""


class Obstacle(NamedTuple):
    """A shape in the world that does not move."""

    shape: pw.Box | pw.Cylinder | pw.Capsule | pw.Sphere | pw.Convex | pw.Plane
    pose: np.ndarray
    """Position and quaternion (7,)."""


class Judge:
    """A robot as pinocchio and coal know it.

    Args:
        world: the robot alone; its shapes and the pairs that may collide count.
        description: URDF of its links and joints.
        tip: name of the frame that reaches.
    """

    def __init__(self, world: pw.Config, description: str, tip: str) -> None:
        self.model = pin.buildModelFromXML(description)
        self.data = self.model.createData()
        self.tip = self.model.getFrameId(tip)
        self.low, self.high = world.limits
        self.joints = list(world.joints.coordinate_names)
        self.links: dict[str, list[pin.GeometryObject]] = {}
        for frame in world.frames:
            bodies = [
                self._body(frame.name, k, geometry.shape, geometry.pose)
                for k, geometry in enumerate(frame.geometries)
                if geometry.collision and not isinstance(geometry.shape, pw.Marker)
            ]
            if bodies:
                self.links[frame.name] = bodies
        self.pairs = world.pairs.names()
        self.locked = locked_values(world, description)
        self.columns = [
            self.model.joints[self.model.getJointId(joint)].idx_q
            for joint in self.joints
        ]

    def _body(
        self, link: str, number: int, shape: object, pose: np.ndarray
    ) -> pin.GeometryObject:
        frame = self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)]
        geometry, offset = coal_shape(shape)
        place = frame.placement * transform(pose) * offset
        return pin.GeometryObject(
            f"{link} {number}", frame.parentJoint, place, geometry
        )

    def full(self, q: np.ndarray) -> np.ndarray:
        """Return the coordinates of all joints, with the locked ones."""
        whole = pin.neutral(self.model)
        whole[self.columns] = q
        for column, value in self.locked.items():
            whole[self.model.joints[self.model.getJointId(column)].idx_q] = value
        return whole

    def tip_at(self, q: np.ndarray) -> np.ndarray:
        """Return the position of the tip (3,)."""
        pin.framesForwardKinematics(self.model, self.data, self.full(q))
        return self.data.oMf[self.tip].translation.copy()

    def self_clearance(self, path: Iterable[np.ndarray]) -> float:
        """Return the least distance of two links in any of some configurations [m]."""
        return float(self._clearances(path, [], with_links=True).min())

    def clearances(
        self, path: Iterable[np.ndarray], obstacles: Sequence[Obstacle]
    ) -> np.ndarray:
        """Return the least distance of moving links from each obstacle (n,) [m]."""
        return self._clearances(path, obstacles, with_links=False)[1:]

    def clearance(
        self, path: Iterable[np.ndarray], obstacles: Sequence[Obstacle]
    ) -> float:
        """Return the least distance of any pair in any of some configurations [m]."""
        return float(self._clearances(path, obstacles, with_links=True).min())

    def _clearances(
        self,
        path: Iterable[np.ndarray],
        obstacles: Sequence[Obstacle],
        with_links: bool,
    ) -> np.ndarray:
        """Return least distances: of links, then of each obstacle from links."""
        scene = pin.GeometryModel()
        indices = {
            link: [scene.addGeometryObject(body) for body in bodies]
            for link, bodies in self.links.items()
        }
        owners: list[int] = []
        if with_links:
            for a, b in self.pairs:
                for i in indices[a]:
                    for k in indices[b]:
                        scene.addCollisionPair(pin.CollisionPair(i, k))
                        owners.append(0)
        for number, obstacle in enumerate(obstacles):
            geometry, offset = coal_shape(obstacle.shape)
            place = transform(obstacle.pose) * offset
            body = pin.GeometryObject(f"obstacle {number}", 0, place, geometry)
            index = scene.addGeometryObject(body)
            for link, bodies in self.links.items():
                if bodies[0].parentJoint:
                    for k in indices[link]:
                        scene.addCollisionPair(pin.CollisionPair(index, k))
                        owners.append(number + 1)
        least = np.full(len(obstacles) + 1, np.inf)
        places, data = np.array(owners, int), scene.createData()
        for q in path:
            pin.computeDistances(self.model, self.data, scene, data, self.full(q))
            distances = [result.min_distance for result in data.distanceResults]
            np.minimum.at(least, places, distances)
        return least


def locked_values(world: pw.Config, description: str) -> dict[str, float]:
    """Return the values of joints that are no coordinates, by name."""
    joints = ET.fromstring(description).findall("joint")
    sources = {}
    for joint in joints:
        name, mimic = str(joint.get("name")), joint.find("mimic")
        if joint.get("type") != "fixed" and name not in world.joints.coordinate_names:
            sources[name] = name if mimic is None else str(mimic.get("joint"))
    movable = world.copy()
    movable.unlock(sorted({*sources.values()} - {*world.joints.coordinate_names}))
    values = dict(zip(movable.joints.coordinate_names, movable.q, strict=True))
    return {name: float(values[source]) for name, source in sources.items()}


def transform(pose: np.ndarray) -> pin.SE3:
    """Return a pose (7,) as pinocchio's."""
    w, x, y, z = pose[3:]
    return pin.SE3(pin.Quaternion(w, x, y, z).normalized(), np.asarray(pose[:3]))


def coal_shape(shape: object) -> tuple[coal.CollisionGeometry, pin.SE3]:
    """Return coal's form of a shape, and its pose in the shape's frame.

    Raises:
        TypeError: for shapes that robots and scenes here do not have.
    """
    place = pin.SE3.Identity()
    match shape:
        case pw.Sphere():
            return coal.Sphere(shape.radius), place
        case pw.Capsule():
            return coal.Capsule(shape.radius, shape.length), place
        case pw.Cylinder(rounding=0.0):
            return coal.Cylinder(shape.radius, shape.length), place
        case pw.Box(rounding=0.0):
            return coal.Box(*shape.size), place
        case pw.Convex(rounding=0.0):
            return hull(shape.vertices), place
        case pw.Mesh():
            return hull(np.asarray(shape.mesh.vertices)), place
        case pw.Plane():
            width, depth = GROUND
            place.translation = np.array([0, 0, -depth / 2])
            return coal.Box(width, width, depth), place
    raise TypeError(f"{shape} has no form for coal here.")


def hull(vertices: np.ndarray) -> coal.CollisionGeometry:
    """Return the convex hull of points (n, 3)."""
    points = coal.StdVec_Vec3s()
    for vertex in vertices:
        points.append(vertex)
    return coal.Convex.convexHull(points, False, "Qt")


def dense(path: np.ndarray, step: float) -> np.ndarray:
    """Return configurations on straight lines through a path, at most a step apart."""
    parts = [path[:1]]
    for a, b in zip(path[:-1], path[1:], strict=True):
        count = max(int(np.ceil(np.abs(b - a).max() / step)), 1)
        parts.append(a + np.arange(1, count + 1)[:, None] / count * (b - a))
    return np.concatenate(parts)
