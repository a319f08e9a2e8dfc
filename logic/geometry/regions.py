"""Annotated regions of objects, used only after checking that they are correct.

A cavity must lie inside of its object, a support on its surface. Both are checked at
the corners and at random points, once for each arrangement of the object's parts.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.annotations.regions import Region
from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply
from posewise.robots.typing import RegionKind

from ..errors import PredicateError
from ..margins import CAVITY_MARGIN, SUPPORT_EDGE_MARGIN, SUPPORT_SURFACE_TOLERANCE
from .frame_groups import FrameGroup, first_hits
from .messages import length

SAMPLE_COUNT = 500
"""Number of random points of a region that are checked, besides its corners; with more
of them smaller gaps in its walls are found."""

ContainsPoints: TypeAlias = Callable[[FrameGroup, Float[np.ndarray, "n 3"]], Any]
"""Returns which points of the world are inside of an object, exactly."""


@dataclass(frozen=True)
class _RegionQuery:
    """A region of an object; equal to others with the same arrangement of parts."""

    key: tuple[Any, ...]
    group: FrameGroup = field(compare=False)
    region: Region = field(compare=False)


def checked_cavities(b: FrameGroup, contains: ContainsPoints) -> list[Region]:
    """Return the cavities of an object after checking them.

    If parts of the object can move relative to each other, only cavities are returned
    that are enclosed by the parts that move with them: these are cavities wherever the
    other parts are.

    Args:
        b: the object.
        contains: the exact check.

    Raises:
        PredicateError: for a cavity with a point outside of the object.
    """
    cavities = []
    for region in _regions(b, "cavity"):
        rigid_frames = _frames_moving_with(b, region)
        query = _region_query(replace(b, frames=rigid_frames), region)
        point = _point_outside(query, contains)
        if point is None:
            cavities.append(region)
        elif rigid_frames == b.frames:
            raise PredicateError(
                f"Region {region.name!r} of {b.name!r} is no cavity: the point"
                f" {_rounded(point)} in frame {region.frame!r} is not inside"
                f" {b.name!r} (as InsideOf tells); make the region smaller."
            )
    return cavities


def checked_supports(b: FrameGroup) -> list[Region]:
    """Return the supports of a rigid object after checking them.

    If parts of the object can move relative to each other, there are none.

    Raises:
        PredicateError: for a support with a point off the object's surface.
    """
    supports = [
        r for r in _regions(b, "support") if _frames_moving_with(b, r) == b.frames
    ]
    for region in supports:
        point = _point_off_surface(_region_query(b, region))
        if point is not None:
            raise PredicateError(
                f"Region {region.name!r} of {b.name!r} is no support: there is no"
                f" surface of {b.name!r} within {length(SUPPORT_SURFACE_TOLERANCE)}"
                f" of the point {_rounded(point)} in frame {region.frame!r}, or its"
                " front is the wrong one."
            )
    return supports


def in_cavity(
    b: FrameGroup, region: Region, points: Float[np.ndarray, "n 3"]
) -> Bool[np.ndarray, " n"]:
    """Return which points of the world are in a cavity of an object."""
    R, p = b.pose(b.C.index(region.frame))
    normals, offsets = region.planes[:, :3], region.planes[:, 3]
    return np.asarray(((points - p) @ R @ normals.T <= offsets - CAVITY_MARGIN).all(-1))


def above_support(
    b: FrameGroup, region: Region, points: Float[np.ndarray, "n 3"]
) -> Bool[np.ndarray, " n"]:
    """Return which points of the world are straight above a support of an object."""
    R, p = b.pose(b.C.index(region.frame))
    corners = region.corners @ R.T + p
    edges = np.roll(corners, -1, 0) - corners
    outward = np.cross(edges, [0.0, 0.0, 1.0])
    beside = np.einsum("nei,ei->ne", points[:, None] - corners, outward)
    normal = R @ region.planes[0, :3]
    return np.asarray((beside < 0).all(1) & ((points - corners[0]) @ normal > 0))


def regions_box(b: FrameGroup, regions: list[Region]) -> Float[np.ndarray, "2 3"]:
    """Return the bounding box of regions of an object in the world [m]."""
    corners = []
    for region in regions:
        R, p = b.pose(b.C.index(region.frame))
        corners.append(region.corners @ R.T + p)
    points = np.concatenate(corners)
    return np.stack([points.min(0), points.max(0)])


def _regions(b: FrameGroup, kind: RegionKind) -> list[Region]:
    C: Config = b.C
    regions = [
        r for r in C.annotations.regions if r.object == b.name and r.kind == kind
    ]
    return [r for r in regions if C.index(r.frame) in b.frames]


def _frames_moving_with(b: FrameGroup, region: Region) -> tuple[int, ...]:
    """Return the frames of an object that are rigidly connected to a region."""
    # Frames that the same dofs move never move relative to each other.
    moves = b.C.tree.model.kinematics.dof_mask
    region_mask = moves[b.C.index(region.frame)]
    return tuple(i for i in b.frames if (moves[i] == region_mask).all())


def _region_query(b: FrameGroup, region: Region) -> _RegionQuery:
    inverse = pose_inverse(b.C.pose(region.frame))
    poses = b.C.poses()[list(b.frames)]
    relative = pose_multiply(np.tile(inverse, (len(poses), 1)), poses)
    frames = tuple(b.C.frames[i] for i in b.collision_frames)
    # Adding 0 turns -0 into 0, so that equal poses have equal bytes.
    rounded = (np.round(relative, 9) + 0.0).tobytes()
    return _RegionQuery((region, frames, rounded), b, region)


@lru_cache(maxsize=256)
def _point_outside(query: _RegionQuery, contains: ContainsPoints) -> np.ndarray | None:
    """Return a point of a cavity, in its frame, that is outside of the object."""
    b, region = query.group, query.region
    points = _sample_convex(region.inset(CAVITY_MARGIN))
    R, p = b.pose(b.C.index(region.frame))
    bad = np.flatnonzero(~contains(b, points @ R.T + p))
    return points[bad[0]] if len(bad) else None


@lru_cache(maxsize=256)
def _point_off_surface(query: _RegionQuery) -> np.ndarray | None:
    """Return a point of a support, in its frame, that is off the object's surface."""
    b, region = query.group, query.region
    middle = region.corners.mean(0)
    inward = middle - region.corners
    inward /= np.linalg.norm(inward, axis=1, keepdims=True)
    points = _sample_convex(region.corners + SUPPORT_EDGE_MARGIN * inward)
    R, p = b.pose(b.C.index(region.frame))
    normal = R @ region.planes[0, :3]
    # Rays from twice the tolerance above must hit the surface within the tolerance.
    start = points @ R.T + p + 2 * SUPPORT_SURFACE_TOLERANCE * normal
    hits = first_hits(b, start, np.tile(-normal, (len(start), 1)))
    off = np.abs(hits - 2 * SUPPORT_SURFACE_TOLERANCE)
    bad = np.flatnonzero(~(off <= SUPPORT_SURFACE_TOLERANCE))
    return points[bad[0]] if len(bad) else None


def _sample_convex(corners: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "m 3"]:
    """Return corners and random convex combinations of them, the same every time."""
    rng = np.random.default_rng(0)
    # A Dirichlet concentration below 1 draws many points near the corners and edges.
    weights = rng.dirichlet(np.full(len(corners), 0.3), SAMPLE_COUNT)
    return np.concatenate([corners, weights @ corners])


def _rounded(point: np.ndarray) -> str:
    return "(" + ", ".join(f"{x:.4f}" for x in point) + ")"
