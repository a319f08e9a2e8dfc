"""Relaxation of support: vertical rays, and positions on annotated supports."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from posewise.features.parts import gather_rows
from posewise.robots.annotations.regions import Region
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.geometry.shapes import Box, Convex, Marker
from posewise.robots.kinematics.transforms import matrix_to_quat
from posewise.robots.world.frame import Frame, Geometry

from ..margins import (
    STRICT_MARGIN,
    SUPPORT_EDGE_MARGIN,
    SUPPORT_SURFACE_TOLERANCE,
)
from ..smooth_extrema import mellowmin_within
from .constraint_terms import Conjunction, ConstraintTerm, Disjunction, Inequality
from .object_features import (
    ObjectPair,
    PairRows,
    RowFunction,
    frame_position,
    mass_centre,
)
from .part_pairs import PartPairKinds, part_distances, part_pairs
from .rays import ray_hit_rows, ray_miss_rows

SHEET_THICKNESS = 1e-6
"""Thickness of the box that represents a rectangular support [m]; a larger one takes
more off the tolerance."""
MAX_SKEW = 1e-7
"""Deviation from a rectangle up to which a support becomes a box [m, m²]; a larger one
puts the box beyond the support."""
MIN_NORMAL_Z = 0.1
"""Least z component of the normal of a face that supports objects [1]; a larger one
rejects steeper faces."""
POINT_GEOMETRY = Geometry(Marker())


def vertical_ray_term(
    pair: ObjectPair, direction: np.ndarray, hits: bool, reach: float, error: float
) -> Inequality:
    """Return the inequality that b is, or is not, straight above or below a's centre.

    Args:
        pair: the objects.
        direction: `UP` or `DOWN`.
        hits: whether the ray must hit b, or must miss it.
        reach: length of the ray [m].
        error: bound on how far the row of a hit may be above the exact value [m].
    """
    if not hits:
        return Inequality(pair.feature(ray_miss_rows(direction, reach)))
    return Inequality(pair.feature(ray_hit_rows(direction, reach, error)), error=error)


def on_supports_term(
    pair: ObjectPair, regions: Sequence[Region], tolerance: float, bound: float
) -> ConstraintTerm:
    """Return the term that a touches one support of b, its centre straight above.

    Args:
        pair: the objects.
        regions: annotated supports of b.
        tolerance: largest distance of a contact [m].
        bound: of the predicate [m].
    """
    # Bodies overlap by the errors where a contact holds, which a solver forbids.
    error = min(0.5 * tolerance, 0.5 * bound)
    alternatives = []
    for region in regions:
        above = Inequality(pair.feature(above_support_rows(pair, region)))
        rows = touching_support_rows(pair, region, tolerance, error)
        touching = Inequality(pair.feature(rows), scale=100.0, error=error)
        alternatives.append(Conjunction((above, touching)))
    return Disjunction(tuple(alternatives), error)


def above_support_rows(pair: ObjectPair, region: Region) -> PairRows:
    """Return rows at most 0 only where a's centre is straight above a support of b.

    There is one row for each edge, one for the plane, and one that the support faces
    up.
    """
    position = frame_position(pair, region)
    edges = np.roll(region.corners, -1, 0) - region.corners
    edges /= np.linalg.norm(edges, axis=1, keepdims=True)

    def build(pair: ObjectPair) -> RowFunction:
        arrays = pair.mass_arrays() | {"region": position, "planes": region.planes}
        arrays |= {"corners": region.corners, "edges": edges}
        return RowFunction(_above, arrays, len(edges) + 2)

    return build


def touching_support_rows(
    pair: ObjectPair, region: Region, tolerance: float, error: float
) -> PairRows:
    """Return a row at most 0 only where a is within a distance of b at a support [m].

    If a is one convex part, the distance is taken at the point straight below its
    centre, so that it does not tip over. To be used with `above_support_rows`.
    """
    position, face = frame_position(pair, region), _support_geometry(region)

    def build(pair: ObjectPair) -> RowFunction:
        positions = pair.shape_positions("a")
        frames = [pair.C.frames[i] for i in pair.frames]
        single = sum(len(g) for i in positions for g in frame_bodies(frames[i])) == 1
        below = Frame("below", None, geometries=(POINT_GEOMETRY if single else face,))
        pairs = [(1 + i, 0) for i in positions]
        kinds, arrays = part_pairs([below, *frames], pairs, "touching support")
        # The support may be off b's surface by the tolerance with which it was
        # checked, and its box has a thickness: both count against the distance.
        least = tolerance - SUPPORT_SURFACE_TOLERANCE - SHEET_THICKNESS
        arrays |= pair.mass_arrays() | {"region": position, "planes": region.planes}
        arrays |= {"least": np.array(least), "error": np.array(error)}
        return RowFunction(_touching_support(kinds, single), arrays, 1)

    return build


def _support_geometry(region: Region) -> Geometry:
    """Return a support as a shape; a box if rectangular, whose distances cost less."""
    corners = region.corners
    edges = np.diff(corners, axis=0)
    middle, skew = corners.mean(0), corners[0] - corners[1] + corners[2] - corners[-1]
    if len(corners) > 4 or np.abs([edges[0] @ edges[1], *skew]).max() > MAX_SKEW:
        return Geometry(Convex(corners))
    size = np.linalg.norm(edges[:2], axis=1)
    R = np.stack([*(edges[:2] / size[:, None]), region.planes[0, :3]], -1)
    pose = np.concatenate([middle, np.asarray(matrix_to_quat(R))])
    return Geometry(Box([*size, SHEET_THICKNESS]), pose)


def _above(R: Any, p: Any, **arrays: Any) -> Any:
    # In the frame of the region. The half-space of an edge e contains the vertical
    # line through the centre where (e × up)·(c - corner) < 0. Sound: with all edges
    # and the plane, the centre is above a point of the support.
    position, plane = arrays["region"][None], arrays["planes"][0]
    R_region, p_region = gather_rows(R, position)[0], gather_rows(p, position)[0]
    centre = R_region.T @ (mass_centre(R, p, arrays) - p_region)
    up = R_region[2]
    outward = jnp.cross(arrays["edges"], up)
    beside = jnp.sum(outward * (centre - arrays["corners"]), 1) + SUPPORT_EDGE_MARGIN
    below = plane[3] - plane[:3] @ centre + STRICT_MARGIN
    facing_down = MIN_NORMAL_Z - plane[:3] @ up
    return jnp.concatenate([beside, jnp.stack([below, facing_down])])


@lru_cache(maxsize=256)
def _touching_support(kinds: PartPairKinds, single: bool) -> Callable[..., Any]:
    def touching_support(R: Any, p: Any, **arrays: Any) -> Any:
        plane = arrays["planes"][0]
        R_region, place = (gather_rows(x, arrays["region"][None])[0] for x in (R, p))
        if single:
            # The point of the support's plane straight below the centre.
            normal, centre = R_region @ plane[:3], mass_centre(R, p, arrays)
            height = normal @ (centre - place) - plane[3]
            drop = height / jnp.maximum(normal[2], MIN_NORMAL_Z)
            place = centre - drop * jnp.array([0.0, 0.0, 1.0], p.dtype)
        R_all = jnp.concatenate([R_region[None], R])
        p_all = jnp.concatenate([place[None], p])
        # Sound: the distance to b is at most that to a point of its support.
        d = part_distances(kinds, R_all, p_all, arrays)
        return (mellowmin_within(d, arrays["error"]) - arrays["least"])[None]

    return touching_support
