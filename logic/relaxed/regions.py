"""Annotated regions of things as rows: in a cavity, and on a support."""

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.geometry.shapes import Box, Convex, Marker
from posewise.robots.kinematics.transforms import matrix_to_quat
from posewise.robots.world.frame import Frame, Geometry
from posewise.robots.world.regions import Region

from ..exact.regions import (
    CAVITY_MARGIN,
    SUPPORT_EDGE_MARGIN,
    SUPPORT_SURFACE_TOLERANCE,
)
from ..smooth_extrema import mellowmin_within
from .contact import STRICT_MARGIN
from .object_features import ObjectPair, PairRows, mass_centre
from .parts import PartPairKinds, gather_rows, part_distances, part_pairs

SHEET_THICKNESS, MAX_SKEW = 1e-6, 1e-7
"""Thickness of a box that stands for a rectangle [m], and what it may be skew by."""
MIN_NORMAL_Z = 0.1
"""Least z of the normal of a face on which things stand."""
POINT_GEOMETRY = Geometry(Marker())


def cavity_rows(pair: ObjectPair, region: Region) -> PairRows:
    """At most 0 only where a's centre is in a cavity of b; a row for each plane."""
    at = frame_position(pair, region)

    def build(pair: ObjectPair) -> Any:
        arrays = pair.mass_arrays() | {"region": at, "planes": region.planes}
        return _in_cavity, arrays, len(region.planes)

    return build


def above_support_rows(pair: ObjectPair, region: Region) -> PairRows:
    """At most 0 only where a's centre is straight above a support of b.

    A row for each edge, one for the plane, and one that lets it face up.
    """
    at = frame_position(pair, region)
    edges = np.roll(region.corners, -1, 0) - region.corners
    edges /= np.linalg.norm(edges, axis=1, keepdims=True)

    def build(pair: ObjectPair) -> Any:
        arrays = pair.mass_arrays() | {"region": at, "planes": region.planes}
        arrays |= {"corners": region.corners, "edges": edges}
        return _above, arrays, len(edges) + 2

    return build


def touching_support_rows(
    pair: ObjectPair, region: Region, tolerance: float, error: float
) -> PairRows:
    """At most 0 only where a is no farther than that from b at a support [m].

    Where a is one convex part, so near at the place straight below its centre: then it
    does not tip over. Together with `above_support_rows`.
    """
    at, face = frame_position(pair, region), _face(region)

    def build(pair: ObjectPair) -> Any:
        ours = pair.shape_positions("a")
        frames = [pair.C.frames[pair.frames[i]] for i in ours]
        single = sum(len(g) for frame in frames for g in frame_bodies(frame)) == 1
        frames.append(
            Frame("below", None, geometries=(POINT_GEOMETRY if single else face,))
        )
        pairs = [(i, len(ours)) for i in range(len(ours))]
        which, arrays = part_pairs(frames, pairs)
        arrays |= pair.mass_arrays() | {"region": at, "planes": region.planes}
        arrays |= {
            "at": np.array(ours),
            "least": np.array(tolerance - SUPPORT_SURFACE_TOLERANCE - SHEET_THICKNESS),
        }
        return _stands(which, single), arrays | {"error": np.array(error)}, 1

    return build


def frame_position(pair: ObjectPair, region: Region) -> np.ndarray:
    """Place of the region's frame among those of the pair."""
    place = pair.b.frames.index(pair.C.index(region.frame))
    return np.array(len(pair.a.frames) + place)


def _face(region: Region) -> Geometry:
    """A support as a shape; a rectangle as a box, of which distances cost less."""
    corners = region.corners
    edges = np.diff(corners, axis=0)
    middle, skew = corners.mean(0), corners[0] - corners[1] + corners[2] - corners[-1]
    if len(corners) > 4 or np.abs([edges[0] @ edges[1], *skew]).max() > MAX_SKEW:
        return Geometry(Convex(corners))
    size = np.linalg.norm(edges[:2], axis=1)
    R = np.stack([*(edges[:2] / size[:, None]), region.planes[0, :3]], -1)
    pose = np.concatenate([middle, np.asarray(matrix_to_quat(R))])
    return Geometry(Box([*size, SHEET_THICKNESS]), pose)


def _local(R: Any, p: Any, arrays: dict) -> Any:
    """a's centre in the region's frame."""
    turn, at = (
        gather_rows(R, arrays["region"][None])[0],
        gather_rows(p, arrays["region"][None])[0],
    )
    return turn.T @ (mass_centre(R, p, arrays) - at)


def _in_cavity(R: Any, p: Any, **arrays: Any) -> Any:
    planes = arrays["planes"]
    return planes[:, :3] @ _local(R, p, arrays) - planes[:, 3] + CAVITY_MARGIN


def _above(R: Any, p: Any, **arrays: Any) -> Any:
    here, plane = _local(R, p, arrays), arrays["planes"][0]
    up = gather_rows(R, arrays["region"][None])[0][2]
    outward = jnp.cross(arrays["edges"], up)
    beside = jnp.sum(outward * (here - arrays["corners"]), 1) + SUPPORT_EDGE_MARGIN
    over = plane[3] - plane[:3] @ here + STRICT_MARGIN
    facing = MIN_NORMAL_Z - plane[:3] @ up
    return jnp.concatenate([beside, jnp.stack([over, facing])])


@lru_cache(maxsize=256)
def _stands(which: PartPairKinds, single: bool) -> Any:
    def stands_on_support(R: Any, p: Any, **arrays: Any) -> Any:
        at, plane = arrays["at"], arrays["planes"][0]
        turn, place = (gather_rows(x, arrays["region"][None])[0] for x in (R, p))
        if single:
            normal, here = turn @ plane[:3], mass_centre(R, p, arrays)
            height = normal @ (here - place) - plane[3]
            drop = height / jnp.maximum(normal[2], MIN_NORMAL_Z)
            place = here - drop * jnp.array([0.0, 0.0, 1.0], p.dtype)
        every_R = jnp.concatenate([gather_rows(R, at), turn[None]])
        every_p = jnp.concatenate([gather_rows(p, at), place[None]])
        d = part_distances(which, every_R, every_p, arrays)
        return (mellowmin_within(d, arrays["error"]) - arrays["least"])[None]

    return stands_on_support
