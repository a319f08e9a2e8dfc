"""Check of a path by coal: distances of all pairs of shapes, densely along it.

Poses of frames are posewise's; shapes and their distances are coal's.
"""

import coal
import numpy as np

import posewise as pw

MAX_STEP = 0.01
"""Largest change of a coordinate between two places that are checked [rad, m]."""


def least_distance(C: pw.Config, path: np.ndarray) -> float:
    """Return the least distance of all pairs that can collide along a path [m].

    Args:
        C: the world.
        path: configurations (n, nq) that are joined by straight motions.
    """
    pairs = [(C.index(a), C.index(b)) for a, b in C.collision_pairs()]
    shapes = {i: coal_shapes(C, i) for i in {i for pair in pairs for i in pair}}
    X, least = C.copy(), np.inf
    for q in dense(path):
        X.q = q
        R, p = X.forward_pass().frames
        for i, k in pairs:
            for a, T_a in shapes[i]:
                for b, T_b in shapes[k]:
                    pose_a = coal.Transform3s(R[i], p[i]) * T_a
                    pose_b = coal.Transform3s(R[k], p[k]) * T_b
                    request, result = coal.DistanceRequest(), coal.DistanceResult()
                    least = min(
                        least, coal.distance(a, pose_a, b, pose_b, request, result)
                    )
    return float(least)


def dense(path: np.ndarray) -> np.ndarray:
    """Return configurations along a path that is straight between its points."""
    places = [path[:1]]
    for a, b in zip(path[:-1], path[1:], strict=True):
        count = max(int(np.ceil(np.abs(b - a).max() / MAX_STEP)), 1)
        places.append(a + np.arange(1, count + 1)[:, None] / count * (b - a))
    return np.concatenate(places)


def coal_shapes(C: pw.Config, index: int) -> list[tuple[object, object]]:
    """Return the shapes of a frame with their poses in it."""
    result = []
    for geometry in C.frames[index].geometries:
        if not geometry.collision:
            continue
        R = rotation(np.asarray(geometry.pose[3:], float))
        T = coal.Transform3s(R, np.asarray(geometry.pose[:3], float))
        result += [(shape, T) for shape in convert(geometry.shape)]
    return result


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a unit quaternion (w, x, y, z)."""
    w, v = quaternion[0], quaternion[1:]
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def convert(shape: object) -> list[object]:
    """Return coal's shapes for one of posewise's."""
    match shape:
        case pw.Box(size=size, rounding=0.0):
            return [coal.Box(*np.asarray(size, float))]
        case pw.Cylinder(length=length, radius=radius, rounding=0.0):
            return [coal.Cylinder(radius, length)]
        case pw.Capsule(length=length, radius=radius):
            return [coal.Capsule(radius, length)]
        case pw.Sphere(radius=radius):
            return [coal.Sphere(radius)]
        case pw.Plane():
            return [coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)]
        case pw.Convex(vertices=vertices):
            return [hull(vertices)]
        case pw.Mesh():
            from posewise.robots.geometry.convex_parts import convex_parts

            return [hull(part) for part in convex_parts(shape)]
    raise TypeError(f"coal has no {shape!r}")


def hull(vertices: np.ndarray) -> object:
    points = coal.StdVec_Vec3s()
    points.extend(list(np.asarray(vertices, float)))
    return coal.ConvexBase.convexHull(points, True, "")
