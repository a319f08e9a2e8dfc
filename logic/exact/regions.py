"""Annotated regions of things, used only when they are what they are said to be."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply
from posewise.robots.world.regions import Region

from ..errors import PredicateError
from ..geometry.frame_groups import FrameGroup, first_hits
from .messages import length

CAVITY_MARGIN = 1e-5
"""What rows of a cavity leave between its faces and a centre of mass [m]."""
SUPPORT_EDGE_MARGIN = 1e-4
"""What rows of a support leave between its edges and a centre of mass [m]."""
SUPPORT_SURFACE_TOLERANCE = 1e-5
"""No point of a support is farther from the surface [m]."""
SAMPLE_COUNT = 500
"""So many points of a region are checked, besides its corners."""


@dataclass(frozen=True)
class _RegionQuery:
    """A region of a thing, equal to another where their parts stand alike."""

    key: tuple[Any, ...]
    thing: FrameGroup = field(compare=False)
    region: Region = field(compare=False)


def checked_cavities(
    b: FrameGroup, holds: Callable[[FrameGroup, Float[np.ndarray, "n 3"]], Any]
) -> list[Region]:
    """The cavities of a thing.

    While its parts can move against each other, those that the parts enclose that move
    as the cavity does: then they are cavities wherever the others are.

    Args:
        b: the thing.
        holds: which points of the world are inside the thing, exactly.

    Raises:
        PredicateError: for a cavity that has other points, saying which.
    """
    found = []
    for region in _regions(b, "cavity"):
        alike = _moving_with(b, region)
        point = _not_inside(_region_query(replace(b, frames=alike), region), holds)
        if point is None:
            found.append(region)
        elif alike == b.frames:
            raise PredicateError(
                f"Region {region.name!r} of {b.name!r} is no cavity: the point"
                f" {_rounded(point)} in frame {region.frame!r} is not inside"
                f" {b.name!r} (as InsideOf tells); make the region smaller."
            )
    return found


def checked_supports(b: FrameGroup) -> list[Region]:
    """The supports of a thing, none while its parts can move against each other.

    Raises:
        PredicateError: for a support that is off the thing's surface, saying where.
    """
    found = [r for r in _regions(b, "support") if _moving_with(b, r) == b.frames]
    for region in found:
        point = _off_surface(_region_query(b, region))
        if point is not None:
            raise PredicateError(
                f"Region {region.name!r} of {b.name!r} is no support: there is no"
                f" surface of {b.name!r} within {length(SUPPORT_SURFACE_TOLERANCE)}"
                f" of the point {_rounded(point)} in frame {region.frame!r}, or its"
                " front is the wrong one."
            )
    return found


def in_cavity(
    b: FrameGroup, region: Region, points: Float[np.ndarray, "n 3"]
) -> Bool[np.ndarray, " n"]:
    """Which points of the world are in a cavity of a thing."""
    R, p = b.pose(b.C.index(region.frame))
    normals, offsets = region.planes[:, :3], region.planes[:, 3]
    return np.asarray(((points - p) @ R @ normals.T <= offsets - CAVITY_MARGIN).all(-1))


def above_support(
    b: FrameGroup, region: Region, points: Float[np.ndarray, "n 3"]
) -> Bool[np.ndarray, " n"]:
    """Which points of the world are straight above a support of a thing."""
    R, p = b.pose(b.C.index(region.frame))
    corners = region.corners @ R.T + p
    edges = np.roll(corners, -1, 0) - corners
    outward = np.cross(edges, [0.0, 0.0, 1.0])
    beside = np.einsum("nei,ei->ne", points[:, None] - corners, outward)
    normal = R @ region.planes[0, :3]
    return np.asarray((beside < 0).all(1) & ((points - corners[0]) @ normal > 0))


def regions_box(b: FrameGroup, regions: list[Region]) -> Float[np.ndarray, "2 3"]:
    """The bounding box of regions of a thing, in the world."""
    found = []
    for region in regions:
        R, p = b.pose(b.C.index(region.frame))
        found.append(region.corners @ R.T + p)
    corners = np.concatenate(found)
    return np.stack([corners.min(0), corners.max(0)])


def _regions(b: FrameGroup, kind: str) -> list[Region]:
    C: Config = b.C
    found = [r for r in C.regions if r.object == b.name and r.kind == kind]
    return [r for r in found if C.index(r.frame) in b.frames]


def _moving_with(b: FrameGroup, region: Region) -> tuple[int, ...]:
    """Those of a thing's frames that always stand alike to a region's frame."""
    moves = b.C.kinematics().tree.dof_mask
    own = moves[b.C.index(region.frame)]
    return tuple(i for i in b.frames if (moves[i] == own).all())


def _region_query(b: FrameGroup, region: Region) -> _RegionQuery:
    inverse = pose_inverse(b.C.pose(region.frame))
    poses = b.C.poses()[list(b.frames)]
    near = np.round(pose_multiply(np.tile(inverse, (len(poses), 1)), poses), 9)
    frames = tuple(b.C.frames[i] for i in b.collision_frames)
    return _RegionQuery((region, frames, (near + 0.0).tobytes()), b, region)


@lru_cache(maxsize=256)
def _not_inside(asked: _RegionQuery, holds: Any) -> np.ndarray | None:
    """A point of a cavity, in its frame, that is not inside the thing."""
    b, region = asked.thing, asked.region
    points = _sample_convex(region.inset(CAVITY_MARGIN))
    R, p = b.pose(b.C.index(region.frame))
    bad = np.flatnonzero(~holds(b, points @ R.T + p))
    return points[bad[0]] if len(bad) else None


@lru_cache(maxsize=256)
def _off_surface(asked: _RegionQuery) -> np.ndarray | None:
    """A point of a support, in its frame, that the thing's surface is not at."""
    b, region = asked.thing, asked.region
    middle = region.corners.mean(0)
    inward = middle - region.corners
    inward /= np.linalg.norm(inward, axis=1, keepdims=True)
    points = _sample_convex(region.corners + SUPPORT_EDGE_MARGIN * inward)
    R, p = b.pose(b.C.index(region.frame))
    normal = R @ region.planes[0, :3]
    start = points @ R.T + p + 2 * SUPPORT_SURFACE_TOLERANCE * normal
    hits = first_hits(b, start, np.tile(-normal, (len(start), 1)))
    bad = np.flatnonzero(
        ~(np.abs(hits - 2 * SUPPORT_SURFACE_TOLERANCE) <= SUPPORT_SURFACE_TOLERANCE)
    )
    return points[bad[0]] if len(bad) else None


def _sample_convex(corners: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "m 3"]:
    """Corners, and random points between them; always the same."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(len(corners), 0.3), SAMPLE_COUNT)
    return np.concatenate([corners, shares @ corners])


def _rounded(point: np.ndarray) -> str:
    return "(" + ", ".join(f"{x:.4f}" for x in point) + ")"
