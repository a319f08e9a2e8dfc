"""Lines of sight: rows for an object in view, with nothing in between.

All lines of sight to a convex part are in the convex hull of the camera's origin and
the part. If no other part intersects that hull, each ray that hits the part hits it
first. The hull is that of a box around the part, so that rows are distances of
polytopes, which have a slope at any depth of penetration. Then every pixel that would
show the object alone shows it, and only that there is one is a row more: for one of the
object's `sight_targets`, the ray towards it passes through the middle of a ball in the
object whose image is larger than a pixel.

What supports an object touches its hull, however. So of an object that is one convex
part, only the copy K', shrunk by s about the centre c of its box, must be unhidden. Let
A be what the image shows of the part, which is convex. If the image of c is in it, K'
covers A shrunk about that point by at least l = s d / (s d + (1 - s) d_c), with the
least depth d of the part and the depth d_c of c.
The number N of pixels of a convex image of area A and perimeter P (pixels) satisfies

    A - P/2 <= N <= A + P/2 + 1

(Bokowski, Hadwiger and Wills 1972; Nosarzewska 1948), and A >= P r / 2 for an image
that contains a disc of radius r. So at least the fraction

    (l² - l/r) / (1 + 1/r + 1/(π r²))

of all pixels shows it. If this allows no s < 1, nothing is shrunk; nor where the disc
leaves the image, or the part the depths between the near plane and the far one, or d is
less than a share of d_c.
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
from posewise.features.symbol import TracedArrays
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
from ..margins import RAY_CLEARANCE, STRICT_MARGIN
from ..relaxed.object_features import ObjectPair, PairRows, RowFunction
from ..relaxed.parts import count_parts
from ..relaxed.sight.rays import (
    apply_inverse,
    hit_before_near,
    target_arrays,
    target_hits,
)
from ..smooth_extrema import largest, mellowmin_within
from .pixel_visibility import (
    RASTER_PIXELS,
    box_corners,
    find_camera,
    find_visible_object,
)
from .sight_cone_clearance import sight_clearances

VIEW_ERROR = 5e-4
"""Bound on how far the row of the view may be above the largest demand on the best
target [m]; with a larger one the row is smoother, and tells less."""
MIN_DEPTH_RATIO = 0.75
"""Least depth of a part, as a fraction of the depth of its middle [1]; below it all of
the part must be unhidden, and a larger one makes the bound tighter."""
MIN_IMAGE_DEPTH = 1e-9
"""Least depth by which images are divided [m]; a larger one makes near images
smaller."""
SHRINK_BLEND_DISTANCE = 0.05
"""Distance from the limits of shrinking over which most of it sets in [m]; with a
shorter one rows are steeper there, and do not draw from far beyond."""


def visibility_feature(
    C: Config, name: FrameName, camera: str, threshold: float
) -> Feature:
    """Return rows at most 0 only where a fraction of an object is visible.

    Rows: that a pixel would show the object; then, for each of its frames with shapes,
    clearances of the lines of sight from all other parts [m].

    Args:
        C: the world.
        name: of the object.
        camera: a camera, or an agent that has one.
        threshold: the fraction; see `Visible`.

    Raises:
        PredicateError: for a plane, and an object that is too thin.
        ConfigError: for unknown names, and an object that no ray can hit.
    """
    C = C.visible_copy()
    target, view = find_visible_object(C, name), find_camera(C, camera)
    frames = [i for i in range(len(C.frames)) if has_collision_shape(C, i)]
    return _sight_pair(C, target, view, frames).feature(_sight_rows(view, threshold))


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


def _sight_rows(camera: Camera | None, threshold: float) -> PairRows:
    """Return clearances of the lines of sight, after a row of a camera's view."""

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
            "of_a": np.array(positions),
            "eye": np.array([eye]),
        }
        if camera is not None:
            shrink, radius = _shrink_factor(pair.a, camera, threshold)
            targets = target_arrays(pair.a, positions)
            arrays |= targets | {
                # of a ball around any point, inside of the ellipsoid of a target
                "scale": targets["semi_axes"].min(1),
                "edges": _image_edges(camera),
                "near": np.array(camera.near),
                "far": np.array(camera.far),
                "shrink": np.array(shrink),
                "radius": np.array(radius),
                "error": np.array(VIEW_ERROR),
            }
        dim = (camera is not None) + len(positions) * count_parts(parts, arrays)
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


def _image_edges(camera: Camera) -> Float[np.ndarray, "2"]:
    """Return half of the width and of the height of the image at unit depth [1]."""
    high = np.tan(camera.vertical_fov / 2)
    return np.array([high * camera.width / camera.height, high])


def _shrink_factor(
    target: FrameGroup, camera: Camera, threshold: float
) -> tuple[float, float]:
    """Return how much of a single convex part must be unhidden; 1 for other objects.

    Returns:
        The factor, and the radius of a ball in the part about the centre of its box
        [m], of which the image must show all.
    """
    frames = [target.C.frames[i] for i in target.collision_frames]
    if len(frames) != 1 or sum(len(g) for g in frame_bodies(frames[0])) != 1:
        return 1.0, 0.0
    low, high = _bounding_box(frames[0])
    centre, radius = _inner_ball(frames[0])
    radius -= float(np.linalg.norm(centre - (low + high) / 2))
    if radius <= 0 or threshold <= 0:
        return 1.0, 0.0
    # The raster is as wide as the image of the object, so that r is at least this.
    diameter = np.linalg.norm(high - low)
    width = (1 + _image_edges(camera).max()) * diameter
    r = MIN_DEPTH_RATIO * radius * RASTER_PIXELS / width
    # Solve (l² - l/r) / (1 + 1/r + 1/(π r²)) = threshold for l, then for s.
    area = threshold * (1 + 1 / r + 1 / (np.pi * r**2))
    linear = (1 / r + np.sqrt(1 / r**2 + 4 * area)) / 2
    if linear >= 1:
        return 1.0, 0.0
    odds = linear / (1 - linear) / MIN_DEPTH_RATIO
    return float(odds / (1 + odds)), radius


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
def _sight_function(parts: PartKinds, in_view: bool) -> Callable[..., Any]:
    def sight(R: Any, p: Any, **arrays: Any) -> Any:
        # Sound: the hull contains all lines of sight to the (shrunk) box, so that a
        # part that is clear of the hull hides nothing.
        R_eye, eye = (gather_rows(x, arrays["eye"])[0] for x in (R, p))
        R_a, p_a = (gather_rows(x, arrays["of_a"]) for x in (R, p))
        corners = arrays["corners"]
        around = jnp.einsum("fij,fkj->fki", R_a, corners) + p_a[:, None] - eye
        rows = []
        if in_view:
            boxes, middle = around @ R_eye, jnp.mean(around, 1, keepdims=True)
            rows.append(_out_of_view(boxes, R, p, arrays)[None])
            around = middle + _shrinkage(boxes, arrays) * (around - middle)
        origin = jnp.zeros_like(around[:, :1])
        hull = jnp.concatenate([origin, around], 1)
        edges, bodies = R_a.swapaxes(1, 2), posed_parts(parts, R, p, arrays)
        for body in bodies:
            relative = body._replace(p=body.p - eye)
            clearance = sight_clearances(hull, edges, relative)
            rows.append((STRICT_MARGIN - clearance).ravel())
        return jnp.concatenate(rows)

    return sight


def _shrinkage(
    corners: Float[jax.Array, "f 8 3"], arrays: TracedArrays
) -> Float[jax.Array, ""]:
    """Return how much must be unhidden: at least all beyond the limits."""
    middle, depth = jnp.mean(corners.reshape(-1, 3), 0), corners[:, :, 0].reshape(-1)
    nearest, edges = amin(depth), middle[0] * arrays["edges"]
    limits = [
        nearest - MIN_DEPTH_RATIO * middle[0],
        nearest - arrays["near"],
        arrays["far"] - amax(depth),
        amin(edges - jnp.abs(middle[1:])) - arrays["radius"],
    ]
    # Shrinking less than allowed is sound, and so is demanding more than all beyond the
    # limits: so what stands on the floor is drawn into the middle of the image.
    within = amin(jnp.stack(limits)) / SHRINK_BLEND_DISTANCE
    return 1 - within / jnp.sqrt(1 + within**2) * (1 - arrays["shrink"])


def _out_of_view(
    corners: Float[jax.Array, "f 8 3"], R: Any, p: Any, arrays: TracedArrays
) -> Float[jax.Array, ""]:
    """Return a value at most 0 only where a pixel would show the object [m].

    Args:
        corners: of its boxes, in the camera's frame.
        R: orientations of all frames.
        p: origins of all frames.
        arrays: those of the rows.
    """
    eye, frames = arrays["eye"], arrays["at"]
    R_eye, p_eye = gather_rows(R, eye)[0], gather_rows(p, eye)[0]
    R_at, p_at = gather_rows(R, frames), gather_rows(p, frames)
    turn = jnp.swapaxes(R_at, -1, -2) @ R_eye
    origin = apply_inverse(R_at, p_eye - p_at)
    point = apply_inverse(turn, jnp.asarray(arrays["point"]) - origin)
    # The raster spans the image of the object's bounds, if all of them are before the
    # camera, within the camera's image. The image of an object is no wider than its
    # diameter times 1 + slope, divided by its least depth.
    near, image = arrays["near"], jnp.asarray(arrays["edges"])
    middles = jnp.mean(corners, 1)
    diameter = 2 * amax(norm(middles - middles[0]) + norm(corners[:, 0] - middles))
    nearest = amin(corners[:, :, 0].reshape(-1))
    wide = (1 + amax(image)) * diameter / jnp.maximum(nearest, MIN_IMAGE_DEPTH)
    wide = jnp.minimum(wide, 2 * image)
    # Some pixel is no farther than half a step from a point of the raster in y and z,
    # so that its ray hits what a ball of that size is in at the depth of the ball.
    aim = point[:, 1:] / jnp.maximum(point[:, :1], near)
    aim = jnp.clip(aim, -image, image)
    spread = norm(wide) / (2 * RASTER_PIXELS)
    ray = jnp.concatenate([jnp.ones_like(aim[:, :1]), aim], 1)
    missed, depth, _ = target_hits(ray[:, None], turn, origin, arrays)
    demands = [
        missed + spread * jnp.maximum(depth, near),
        near + RAY_CLEARANCE - depth,
        depth - arrays["far"],
        hit_before_near(ray, spread, turn, origin, arrays),
    ]
    # Sound: one target that meets all demands is enough, and the mellowmin is at least
    # the minimum over targets of the largest demand.
    return mellowmin_within(largest(jnp.stack(demands)), arrays["error"])
