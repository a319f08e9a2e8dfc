"""Shapes of coal that are those of our bodies, and the time of calls."""

import time
from collections.abc import Callable

from posewise.collision import Box, BoxPlusEllipsoid, Segment


def fastest_seconds(run: Callable[[], object], min_seconds: float) -> float:
    """Return the time of a call in the fastest of several rounds [s]."""
    run()
    rounds: list[float] = []
    begin = time.perf_counter()
    while len(rounds) < 15 and (
        not rounds or time.perf_counter() - begin < min_seconds
    ):
        count, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < 0.02:
            run()
            count += 1
        rounds.append(elapsed / count)
    return min(rounds)


def coal_shape(core, radius):
    """Return coal's shape of a body."""
    import coal

    match core:
        case Segment(half):
            return coal.Capsule(radius, 2 * half) if half else coal.Sphere(radius)
        case Box(half) if not half[0] and not half[1]:
            # Capsules and spheres of a world are boxes without width.
            return coal_shape(Segment(half[2]), radius)
        case Box(half):
            return coal.Box(*(2 * half))
        case BoxPlusEllipsoid(half, radii) if half[2]:
            return coal.Cylinder(radii[0], 2 * half[2])
        case BoxPlusEllipsoid(half, radii):
            return coal.Ellipsoid(*radii)
    points = coal.StdVec_Vec3s()
    for v in core.vertices:
        points.append(v)
    return coal.Convex.convexHull(points, False, "Qt")
