"""Lines of sight: rows for an object that is fully in view, with nothing in between.

All lines of sight to a convex part are in the convex hull of the camera's origin and
the part. If no other part intersects that hull, each ray that hits the part hits it
first. The hull is that of a box around the part, so that rows are distances of
polytopes, which have a slope at any depth of penetration.

What supports an object touches its hull, however. So of an object that is one convex
part, only the copy K', shrunk by s about the centre c of its box, must be unhidden. In
the image, which is convex, K' covers the part's image A shrunk about the image of c by
at least l = s d / (s d + (1 - s) d_c), with the least depth d and the depth d_c of c.
The number N of pixels of a convex image of area A and perimeter P (pixels) satisfies

    A - P/2 <= N <= A + P/2 + 1

(Bokowski, Hadwiger and Wills 1972; Nosarzewska 1948), and A >= P r / 2 for an image
that contains a disc of radius r. So at least the fraction

    (l² - l/r) / (1 + 1/r + 1/(π r²))

of all pixels shows it. If this allows no s < 1, nothing is shrunk. That any pixel shows
an object requires r >= 1, which is a row too: the image of a ball inside of it.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise import collision
from posewise.features import Feature
from posewise.features.parts import PartKinds, all_parts, gather_rows, posed_parts
from posewise.features.safe_math import amax, amin, norm
from posewise.features.symbol import Arrays, TracedArrays
from posewise.robots.annotations.agents import Camera
from posewise.robots.config import Config
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.contact.bounding_boxes import body_boxes
from posewise.robots.contact.ray_casting import intersect_lines
from posewise.robots.geometry.hulls import hull_planes
from posewise.robots.typing import FrameName
from posewise.robots.world.frame import Frame

from ..errors import PredicateError
from ..geometry.frame_groups import FrameGroup, has_collision_shape
from ..margins import STRICT_MARGIN
from ..relaxed.object_features import ObjectPair, PairRows, RowFunction
from ..relaxed.parts import count_parts
from .pixel_visibility import (
    RASTER_PIXELS,
    box_corners,
    find_camera,
    find_visible_object,
)
from .sight_cone_clearance import sight_clearances

MIN_DEPTH_RATIO = 0.75
"""Least depth of a part, as a fraction of the depth of its middle [1]; rows are
violated below it, and a larger one makes their bound tighter."""


def visibility_feature(
    C: Config, name: FrameName, camera: str, threshold: float
) -> Feature:
    """Return rows at most 0 only where a fraction of an object is visible.

    Rows: for each frame with shapes the six sides of the view frustum and the least
    depth; that the object is thick enough to be hit; then clearances of the lines of
    sight from all other parts [m].

    Args:
        C: the world.
        name: of the object.
        camera: a camera, or an agent that has one.
        threshold: the fraction; see `Visible`.

    Raises:
        PredicateError: for a plane.
        ConfigError: for unknown names, and an object that no ray can hit.
    """
    C = C.visible_copy()
    target, view = find_visible_object(C, name), find_camera(C, camera)
    shrink = _shrink_factor(target, view, threshold)
    frames = [i for i in range(len(C.frames)) if has_collision_shape(C, i)]
    return _sight_pair(C, target, view, frames).feature(_sight_rows(view, shrink))


def unoccluded_feature(
    C: Config, name: FrameName, camera: str, frames: Sequence[int]
) -> Feature:
    """Return rows at most 0 only where no given frame is in front of an object [m]."""
    C = C.visible_copy()
    target, view = find_visible_object(C, name), find_camera(C, camera)
    return _sight_pair(C, target, view, frames).feature(_sight_rows(None, 1.0))


def _sight_pair(
    C: Config, target: FrameGroup, camera: Camera, frames: Sequence[int]
) -> ObjectPair:
    """Return the object, and the camera's frame with frames that may hide it."""
    eye = C.index(camera.name)
    others = tuple(
        i
        for i in frames
        if i != eye and i not in target.frames and not _encloses_camera(C, i, eye)
    )
    return ObjectPair(C, target, FrameGroup(C, camera.name, (eye, *others)), False)


def _encloses_camera(C: Config, frame: int, eye: int) -> bool:
    """Return whether the camera is inside of all parts of a frame, and fixed to it."""
    nodes = C.tree.model.kinematics.frame_nodes
    if nodes[frame] != nodes[eye]:
        return False
    poses = C.forward_pass().frames
    eye_in_frame = (poses.p[eye] - poses.p[frame]) @ poses.R[frame]
    enter, leave = intersect_lines(
        C.frames[frame], eye_in_frame[None], np.array([[1.0, 0, 0]])
    )
    return bool(((enter < 0) & (leave > 0)).all())


def _sight_rows(camera: Camera | None, shrink: float) -> PairRows:
    """Return clearances of the lines of sight, after the sides of a camera's view."""

    def build(pair: ObjectPair) -> RowFunction:
        pair = pair.with_visible_shapes()
        positions = pair.shape_positions("a")
        frames_a = [pair.C.frames[pair.frames[i]] for i in positions]
        boxes = [_bounding_box(frame) for frame in frames_a]
        low, high = (np.array(x) for x in zip(*boxes, strict=True))
        corners = box_corners(low, high).reshape(8, -1, 3).swapaxes(0, 1)
        eye = len(pair.a.frames)
        others = list(range(eye + 1, len(pair.frames)))
        others = [i for i in others if has_collision_shape(pair.C, pair.frames[i])]
        frames = [pair.C.frames[pair.frames[i]] for i in others]
        parts, arrays = all_parts(frames, others, "b")
        arrays |= {
            "corners": corners,
            "shrink": np.array(shrink),
            "of_a": np.array(positions),
            "eye": np.array([eye]),
        }
        view_rows = 0
        if camera is not None:
            balls = [_inner_ball(frame) for frame in frames_a]
            thickest = int(np.argmax([radius for _, radius in balls]))
            arrays |= _frustum_arrays(camera) | {
                "thickest": np.array([thickest]),
                "ball": balls[thickest][0],
                "radius": np.array(balls[thickest][1]),
                "pixel": np.array((1 + _max_slope(camera)) / RASTER_PIXELS),
            }
            view_rows = 7 * len(positions) + 1
        dim = view_rows + len(positions) * count_parts(parts, arrays)
        return RowFunction(_sight_function(parts, camera is not None), arrays, dim)

    return build


def _bounding_box(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the box around all parts of a frame, in the frame."""
    low, high = body_boxes(frame, np.eye(3), np.zeros(3))
    if not np.isfinite(high - low).all():
        raise PredicateError(
            f"{frame.name!r} is a plane, of which no camera sees all; name something"
            " bounded."
        )
    return low.min(0), high.max(0)


def _frustum_arrays(camera: Camera) -> Arrays:
    """Return outward normals of the four sides in the camera's frame; near and far."""
    high = np.tan(camera.vertical_fov / 2)
    wide = high * camera.width / camera.height
    normals = np.array([[-wide, 1, 0], [-wide, -1, 0], [-high, 0, 1], [-high, 0, -1]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return {"normals": normals, "depths": np.array([camera.near, camera.far])}


def _shrink_factor(target: FrameGroup, camera: Camera, threshold: float) -> float:
    """Return how much of a single convex part must be unhidden; 1 for other objects."""
    frames = [target.C.frames[i] for i in target.collision_frames]
    if len(frames) != 1 or sum(len(g) for g in frame_bodies(frames[0])) != 1:
        return 1.0
    low, high = _bounding_box(frames[0])
    centre, radius = _inner_ball(frames[0])
    radius -= float(np.linalg.norm(centre - (low + high) / 2))
    if radius <= 0 or threshold <= 0:
        return 1.0
    # The raster is as wide as the image of the object, so that r is at least this.
    diameter = np.linalg.norm(high - low)
    width = (1 + _max_slope(camera)) * diameter
    r = MIN_DEPTH_RATIO * radius * RASTER_PIXELS / width
    # Solve (l² - l/r) / (1 + 1/r + 1/(π r²)) = threshold for l, then for s.
    area = threshold * (1 + 1 / r + 1 / (np.pi * r**2))
    linear = (1 / r + np.sqrt(1 / r**2 + 4 * area)) / 2
    if linear >= 1:
        return 1.0
    odds = linear / (1 - linear) / MIN_DEPTH_RATIO
    return float(odds / (1 + odds))


def _max_slope(camera: Camera) -> float:
    """Return the slope of the flattest line of sight.

    The image of an object is no wider than its diameter times 1 + slope, divided by its
    least depth.
    """
    return float(np.tan(camera.vertical_fov / 2) * max(1, camera.width / camera.height))


def _inner_ball(frame: Frame) -> tuple[Float[np.ndarray, "3"], float]:
    """Return centre and radius of a ball in the thickest part of a frame; 0: flat."""
    balls: list[tuple[np.ndarray, float]] = [(np.zeros(3), 0.0)]
    for group in frame_bodies(frame):
        body: Any = group.body
        if isinstance(body.core, collision.Hull):
            planes = [hull_planes(points) for points in body.core.vertices]
            inner = [p[:, 3].min() if len(p) else 0.0 for p in planes]
        else:
            half = np.asarray(body.core.half)
            inner = half + getattr(body.core, "radii", np.zeros_like(half))
            inner = inner.min(-1)
        balls += zip(body.p, inner + body.radius, strict=True)
    centre, radius = max(balls, key=lambda ball: ball[1])
    return centre, float(radius)


@lru_cache(maxsize=256)
def _sight_function(parts: PartKinds, frustum: bool) -> Callable[..., Any]:
    def sight(R: Any, p: Any, **arrays: Any) -> Any:
        # Sound: the hull contains all lines of sight to the (shrunk) box, so that a
        # part that is clear of the hull hides nothing.
        R_eye, eye = (gather_rows(x, arrays["eye"])[0] for x in (R, p))
        R_a, p_a = (gather_rows(x, arrays["of_a"]) for x in (R, p))
        corners = arrays["corners"]
        around = jnp.einsum("fij,fkj->fki", R_a, corners) + p_a[:, None] - eye
        middle = jnp.mean(around, 1, keepdims=True)
        rows = []
        if frustum:
            inside, thickest = around @ R_eye, arrays["thickest"]
            ball = gather_rows(R_a, thickest)[0] @ arrays["ball"]
            ball = ball + gather_rows(p_a, thickest)[0]
            depth = (ball - eye) @ R_eye[:, 0]
            rows.append(_out_of_view(inside, arrays).ravel())
            rows.append(_too_thin(inside, depth, arrays)[None])
        shrunk = middle + arrays["shrink"] * (around - middle)
        hull = jnp.concatenate([jnp.zeros_like(middle), shrunk], 1)
        edges, bodies = R_a.swapaxes(1, 2), posed_parts(parts, R, p, arrays)
        for body in bodies:
            relative = body._replace(p=body.p - eye)
            clearance = sight_clearances(hull, edges, relative)
            rows.append((STRICT_MARGIN - clearance).ravel())
        return jnp.concatenate(rows)

    return sight


def _out_of_view(
    corners: Float[jax.Array, "f 8 3"], arrays: TracedArrays
) -> Float[jax.Array, "f 7"]:
    """Return how far boxes in the camera's frame are beyond each side of the view [m].

    The last of the seven values is positive for boxes that are nearer to the camera
    than `MIN_DEPTH_RATIO` allows.
    """
    sides = amax(corners @ arrays["normals"].T, 1)
    depth = corners[:, :, 0]
    near, far = arrays["depths"]
    nearest = amin(depth)
    limits = [
        near - nearest,
        amax(depth) - far,
        MIN_DEPTH_RATIO * jnp.mean(depth, 1) - nearest,
    ]
    return jnp.concatenate([sides, jnp.stack(limits, -1)], 1)


def _too_thin(
    corners: Float[jax.Array, "f 8 3"], depth: Any, arrays: TracedArrays
) -> Float[jax.Array, ""]:
    """Return a value at most 0 only where the ball's image is two pixels wide [m]."""
    nearest = amin(corners[:, :, 0].reshape(-1))
    middles = jnp.mean(corners, 1)
    reach = norm(middles - middles[0]) + norm(corners[:, 0] - middles)
    diameter = 2 * amax(reach)
    return arrays["pixel"] * depth - arrays["radius"] * nearest / diameter
