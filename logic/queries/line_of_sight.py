"""Nothing between a camera and a thing, and all of it in the picture: as rows.

All lines of sight to a convex part are in the hull of the camera's origin and the
part. Where no other part meets that hull, each ray that meets the part meets it first.
The hull is that of a box about the part, so rows are distances of polytopes, which
tell the way out of any depth.

What stands on something touches its hull all the same. So of an object that is one
convex part only the copy K', shrunk by s about its box's centre c, must be unhidden.
In the picture, which is convex, K' covers the part's image A shrunk about the image of
c by at least l = s d / (s d + (1 - s) d_c), d the least depth and d_c that of c. The
number N of pixels of a convex image of area A and perimeter P (pixels) satisfies

    A - P/2 <= N <= A + P/2 + 1

(Bokowski, Hadwiger and Wills 1972; Nosarzewska 1948), and A >= P r / 2 for an image
that holds a disc of radius r. So at least the share

    (l² - l/r) / (1 + 1/r + 1/(π r²))

of all pixels shows it. Where this allows no s < 1, there is no shrinking. That any
pixel shows a thing takes r >= 1, which is a row too: the image of a ball in it.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise import collision
from posewise.features import Feature
from posewise.features.safe_math import amax, amin, norm
from posewise.robots.config import Config
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.contact.ray_casting import intersect_lines
from posewise.robots.geometry.bounding_boxes import body_boxes
from posewise.robots.geometry.hulls import hull_planes
from posewise.robots.world.agents import Camera
from posewise.robots.world.frame import Frame

from ..errors import PredicateError
from ..geometry.frame_groups import FrameGroup, has_collision_shape
from ..margins import STRICT_MARGIN
from ..relaxed.object_features import ObjectPair
from ..relaxed.parts import PartKinds, all_parts, gather_rows, posed_parts
from .pixel_visibility import (
    RASTER_PIXELS,
    box_corners,
    find_camera,
    find_visible_object,
)
from .sight_cone_clearance import sight_clearances

MIN_DEPTH_RATIO = 0.75
"""No part of what is seen is nearer than this share of the depth of its middle."""


def visibility_feature(C: Config, name: str, camera: str, threshold: float) -> Feature:
    """At most 0 only where that share of a thing is visible; see `Visible`.

    Rows: for each frame with shapes six sides of the view frustum and the nearest
    depth; that it is thick enough to be met; then clearances of the lines of sight to
    all other parts [m].

    Raises:
        PredicateError: for a plane.
        ConfigError: for unknown names, and a thing that no ray can meet.
    """
    target, made = find_visible_object(C, name), find_camera(C, camera)
    shrink = _shrink_factor(target, made, threshold)
    frames = [i for i in range(len(C.frames)) if has_collision_shape(C, i)]
    return _pair(C, target, made, frames).feature(_sight_rows(made, shrink))


def unoccluded_feature(
    C: Config, name: str, camera: str, frames: Sequence[int]
) -> Feature:
    """At most 0 only where none of these frames is before a thing; clearances [m]."""
    target, made = find_visible_object(C, name), find_camera(C, camera)
    return _pair(C, target, made, frames).feature(_sight_rows(None, 1.0))


def _pair(
    C: Config, target: FrameGroup, camera: Camera, frames: Sequence[int]
) -> ObjectPair:
    """The thing; and the camera's frame with those that may hide it from there."""
    eye = C.index(camera.name)
    hiding = [
        i for i in frames if i not in target.frames and not _encloses_camera(C, i, eye)
    ]
    others = tuple(i for i in hiding if i != eye)
    return ObjectPair(C, target, FrameGroup(C, camera.name, (eye, *others)), False)


def _encloses_camera(C: Config, frame: int, eye: int) -> bool:
    """Whether the camera is in all parts of a frame, and fixed to it."""
    nodes = C.tree.model.layout.tree.frame_nodes
    if nodes[frame] != nodes[eye]:
        return False
    poses = C.forward_pass().frames
    here = (poses.p[eye] - poses.p[frame]) @ poses.R[frame]
    enter, leave = intersect_lines(C.frames[frame], here[None], np.array([[1.0, 0, 0]]))
    return bool(((enter < 0) & (leave > 0)).all())


def _sight_rows(camera: Camera | None, shrink: float) -> Any:
    """Clearances of the sight of things, for a camera after the sides of its view."""

    def build(pair: ObjectPair) -> Any:
        solid = pair.shape_positions("a")
        boxes = [_box(pair.C.frames[pair.frames[i]]) for i in solid]
        low, high = (np.array(x) for x in zip(*boxes, strict=True))
        corners = box_corners(low, high).reshape(8, -1, 3).swapaxes(0, 1)
        eye = len(pair.a.frames)
        others = list(range(eye + 1, len(pair.frames)))
        others = [i for i in others if has_collision_shape(pair.C, pair.frames[i])]
        parts, arrays = all_parts([pair.C.frames[pair.frames[i]] for i in others], "b")
        arrays |= {
            "corners": corners,
            "shrink": np.array(shrink),
            "of_a": np.array(solid),
            "of_b": np.array(others, int),
            "eye": np.array([eye]),
        }
        sides = 0
        if camera is not None:
            balls = [_inner_ball(pair.C.frames[pair.frames[i]]) for i in solid]
            thickest = int(np.argmax([radius for _, radius in balls]))
            arrays |= _frustum(camera) | {
                "thickest": np.array([thickest]),
                "ball": balls[thickest][0],
                "radius": np.array(balls[thickest][1]),
                "pixel": np.array((1 + _max_slope(camera)) / RASTER_PIXELS),
            }
            sides = 7 * len(solid) + 1
        count = sum(len(arrays[f"b{g}_0"]) for g in range(len(parts.kinds)))
        rows = sides + len(solid) * count
        return _sight_function(parts, camera is not None), arrays, rows

    return build


def _box(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the box about all parts of a frame, in the frame."""
    low, high = body_boxes(frame, np.eye(3), np.zeros(3))
    if not np.isfinite(high - low).all():
        raise PredicateError(
            f"{frame.name!r} is a plane, of which no camera sees all; name something"
            " bounded."
        )
    return low.min(0), high.max(0)


def _frustum(camera: Camera) -> dict[str, np.ndarray]:
    """Outward normals of the four sides in the camera's frame; near and far."""
    high = np.tan(camera.vertical_fov / 2)
    wide = high * camera.width / camera.height
    normals = np.array([[-wide, 1, 0], [-wide, -1, 0], [-high, 0, 1], [-high, 0, -1]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return {"normals": normals, "depths": np.array([camera.near, camera.far])}


def _shrink_factor(target: FrameGroup, camera: Camera, threshold: float) -> float:
    """How much of a single convex part must be unhidden; 1: all of any other thing."""
    frames = [target.C.frames[i] for i in target.collision_frames]
    if len(frames) != 1 or sum(len(g) for g in frame_bodies(frames[0])) != 1:
        return 1.0
    low, high = _box(frames[0])
    centre, radius = _inner_ball(frames[0])
    radius -= float(np.linalg.norm(centre - (low + high) / 2))
    if radius <= 0 or threshold <= 0:
        return 1.0
    r = (
        MIN_DEPTH_RATIO
        * radius
        / np.linalg.norm(high - low)
        * RASTER_PIXELS
        / (1 + _max_slope(camera))
    )
    least = threshold * (1 + 1 / r + 1 / (np.pi * r**2))
    linear = (1 / r + np.sqrt(1 / r**2 + 4 * least)) / 2
    if linear >= 1:
        return 1.0
    odds = linear / (1 - linear) / MIN_DEPTH_RATIO
    return float(odds / (1 + odds))


def _max_slope(camera: Camera) -> float:
    """Of the flattest sight: a thing's image is no wider than its diameter times
    1 + slope, by its least depth.
    """
    return float(np.tan(camera.vertical_fov / 2) * max(1, camera.width / camera.height))


def _inner_ball(frame: Frame) -> tuple[Float[np.ndarray, "3"], float]:
    """Centre and radius of a ball in the thickest part of a frame; 0: it is flat."""
    found: list[tuple[np.ndarray, float]] = [(np.zeros(3), 0.0)]
    for group in frame_bodies(frame):
        body: Any = group.body
        if isinstance(body.core, collision.Hull):
            planes = [hull_planes(points) for points in body.core.vertices]
            inner = [p[:, 3].min() if len(p) else 0.0 for p in planes]
        else:
            half = np.asarray(body.core.half)
            inner = half + getattr(body.core, "radii", np.zeros_like(half))
            inner = inner.min(-1)
        found += zip(body.p, inner + body.radius, strict=True)
    centre, radius = max(found, key=lambda ball: ball[1])
    return centre, float(radius)


@lru_cache(maxsize=256)
def _sight_function(parts: PartKinds, frustum: bool) -> Any:
    def sight(R: Any, p: Any, **arrays: Any) -> Any:
        eye_R, eye = (gather_rows(x, arrays["eye"])[0] for x in (R, p))
        turn, place = (gather_rows(x, arrays["of_a"]) for x in (R, p))
        corners = arrays["corners"]
        around = jnp.einsum("fij,fkj->fki", turn, corners) + place[:, None] - eye
        middle = jnp.mean(around, 1, keepdims=True)
        found = []
        if frustum:
            inside, thickest = around @ eye_R, arrays["thickest"]
            ball = (
                gather_rows(turn, thickest)[0] @ arrays["ball"]
                + gather_rows(place, thickest)[0]
            )
            depth = (ball - eye) @ eye_R[:, 0]
            found.append(_outside(inside, arrays).ravel())
            found.append(_too_thin(inside, depth, arrays)[None])
        seen = middle + arrays["shrink"] * (around - middle)
        hull = jnp.concatenate([jnp.zeros_like(middle), seen], 1)
        edges, at = turn.swapaxes(1, 2), arrays["of_b"]
        for body in posed_parts(parts, gather_rows(R, at), gather_rows(p, at), arrays):
            seen_from = body._replace(p=body.p - eye)
            found.append(
                (STRICT_MARGIN - sight_clearances(hull, edges, seen_from)).ravel()
            )
        return jnp.concatenate(found)

    return sight


def _outside(
    corners: Float[jax.Array, "f 8 3"], arrays: dict[str, jax.Array]
) -> Float[jax.Array, "f 7"]:
    """How far boxes, seen in the camera's frame, are out of the picture [m]."""
    sides = amax(corners @ arrays["normals"].T, 1)
    depth = corners[:, :, 0]
    near, far = arrays["depths"]
    nearest = amin(depth)
    more = [near - nearest, amax(depth) - far]
    more.append(MIN_DEPTH_RATIO * jnp.mean(depth, 1) - nearest)
    return jnp.concatenate([sides, jnp.stack(more, -1)], 1)


def _too_thin(
    corners: Float[jax.Array, "f 8 3"], depth: Any, arrays: dict[str, jax.Array]
) -> Float[jax.Array, ""]:
    """At most 0 only where the image of the ball is as wide as two pixels [m]."""
    nearest = amin(corners[:, :, 0].reshape(-1))
    middles = jnp.mean(corners, 1)
    reach = norm(middles - middles[0]) + norm(corners[:, 0] - middles)
    diameter = 2 * amax(reach)
    return arrays["pixel"] * depth - arrays["radius"] * nearest / diameter
