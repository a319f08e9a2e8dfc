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

from ..exact.regions import INSET, OFF, RIM
from .distances import STRICT
from .object_features import Build, Pair, centre
from .parts import Distances, distances, distances_of, rows
from .smooth import mellowmin

THIN, FLAT = 1e-6, 1e-7
"""Thickness of a box that stands for a rectangle [m], and what it may be skew by."""
STEEPEST = 0.1
"""Least z of the normal of a face on which things stand."""
FOOT = Geometry(Marker())


def in_cavity(pair: Pair, region: Region) -> Build:
    """At most 0 only where a's centre is in a cavity of b; a row for each plane."""
    at = place_of(pair, region)

    def build(pair: Pair) -> Any:
        arrays = pair.masses() | {"region": at, "planes": region.planes}
        return _in_cavity, arrays, len(region.planes)

    return build


def above(pair: Pair, region: Region) -> Build:
    """At most 0 only where a's centre is straight above a support of b.

    A row for each edge, one for the plane, and one that lets it face up.
    """
    at = place_of(pair, region)
    edges = np.roll(region.corners, -1, 0) - region.corners
    edges /= np.linalg.norm(edges, axis=1, keepdims=True)

    def build(pair: Pair) -> Any:
        arrays = pair.masses() | {"region": at, "planes": region.planes}
        arrays |= {"corners": region.corners, "edges": edges}
        return _above, arrays, len(edges) + 2

    return build


def stands(pair: Pair, region: Region, tolerance: float, error: float) -> Build:
    """At most 0 only where a is no farther than that from b at a support [m].

    Where a is one convex part, so near at the place straight below its centre: then it
    does not tip over. Together with `above`.
    """
    at, face = place_of(pair, region), _face(region)

    def build(pair: Pair) -> Any:
        ours = pair.solid("a")
        frames = [pair.C.frames[pair.frames[i]] for i in ours]
        single = sum(len(g) for frame in frames for g in frame_bodies(frame)) == 1
        frames.append(Frame("below", None, geometries=(FOOT if single else face,)))
        pairs = [(i, len(ours)) for i in range(len(ours))]
        which, arrays = distances_of(frames, pairs)
        arrays |= pair.masses() | {"region": at, "planes": region.planes}
        arrays |= {"at": np.array(ours), "least": np.array(tolerance - OFF - THIN)}
        return _stands(which, single), arrays | {"error": np.array(error)}, 1

    return build


def place_of(pair: Pair, region: Region) -> np.ndarray:
    """Place of the region's frame among those of the pair."""
    place = pair.b.frames.index(pair.C.index(region.frame))
    return np.array(len(pair.a.frames) + place)


def _face(region: Region) -> Geometry:
    """A support as a shape; a rectangle as a box, of which distances cost less."""
    corners = region.corners
    edges = np.diff(corners, axis=0)
    middle, skew = corners.mean(0), corners[0] - corners[1] + corners[2] - corners[-1]
    if len(corners) > 4 or np.abs([edges[0] @ edges[1], *skew]).max() > FLAT:
        return Geometry(Convex(corners))
    size = np.linalg.norm(edges[:2], axis=1)
    R = np.stack([*(edges[:2] / size[:, None]), region.planes[0, :3]], -1)
    pose = np.concatenate([middle, np.asarray(matrix_to_quat(R))])
    return Geometry(Box([*size, THIN]), pose)


def _local(R: Any, p: Any, arrays: dict) -> Any:
    """a's centre in the region's frame."""
    turn, at = rows(R, arrays["region"][None])[0], rows(p, arrays["region"][None])[0]
    return turn.T @ (centre(R, p, arrays) - at)


def _in_cavity(R: Any, p: Any, **arrays: Any) -> Any:
    planes = arrays["planes"]
    return planes[:, :3] @ _local(R, p, arrays) - planes[:, 3] + INSET


def _above(R: Any, p: Any, **arrays: Any) -> Any:
    here, plane = _local(R, p, arrays), arrays["planes"][0]
    up = rows(R, arrays["region"][None])[0][2]
    outward = jnp.cross(arrays["edges"], up)
    beside = jnp.sum(outward * (here - arrays["corners"]), 1) + RIM
    over = plane[3] - plane[:3] @ here + STRICT
    facing = STEEPEST - plane[:3] @ up
    return jnp.concatenate([beside, jnp.stack([over, facing])])


@lru_cache(maxsize=256)
def _stands(which: Distances, single: bool) -> Any:
    def stands_on_support(R: Any, p: Any, **arrays: Any) -> Any:
        at, plane = arrays["at"], arrays["planes"][0]
        turn, place = (rows(x, arrays["region"][None])[0] for x in (R, p))
        if single:
            normal, here = turn @ plane[:3], centre(R, p, arrays)
            height = normal @ (here - place) - plane[3]
            drop = height / jnp.maximum(normal[2], STEEPEST)
            place = here - drop * jnp.array([0.0, 0.0, 1.0], p.dtype)
        every_R = jnp.concatenate([rows(R, at), turn[None]])
        every_p = jnp.concatenate([rows(p, at), place[None]])
        d = distances(which, every_R, every_p, arrays)
        return (mellowmin(d, arrays["error"]) - arrays["least"])[None]

    return stands_on_support
