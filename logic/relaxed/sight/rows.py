"""Relaxation of sight: the ray of a pixel hits an object, and nothing hides it.

Camera coordinates: x is depth, y left, z up. For some points of the object, the rays of
the nearest pixels are tested against the parts that the points are in. Which pixel is
the nearest changes from place to place; rows are continuous there, because between two
pixels both have to hit.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features.parts import PartKinds, all_parts, gather_rows, posed_parts
from posewise.features.symbol import Arrays, TracedArrays
from posewise.robots.annotations.agents import Camera

from ...geometry.frame_groups import FrameGroup
from ...margins import RAY_CLEARANCE, STRICT_MARGIN
from ...smooth_extrema import largest, mellowmin_within, smoothstep
from ..object_features import GroupRows, RowFunction, shape_positions
from ..parts import (
    PartTypes,
    bounded_parts,
    count_parts,
    part_corners,
    part_extents,
)
from .faces import face_arrays, seen_faces
from .lines import free_lines, hidden_boxes
from .rays import (
    apply_inverse,
    hit_before_near,
    norm,
    target_arrays,
    target_hits,
)

BLEND_DISTANCE = 0.4
"""Distance from a pixel beyond which the next one begins to count, in pixels [1]."""
UNSEEN_SLOPE = 100.0
"""Factor of what is missing for a part to be unseen within the frustum [1]; with a
smaller one solvers end in minima there, instead of leaving the frustum."""


def visible_rows(camera: Camera, error: float) -> GroupRows:
    """Return a row at most 0 only where a pixel of the camera shows an object.

    The groups are the object, the camera's frame, and the frames of all others.

    Args:
        camera: the camera of that frame.
        error: bound on how far the row may be above the largest demand on the best
            target [m].

    Raises:
        PredicateError: for objects that are too thin.
    """

    def build(groups: tuple[FrameGroup, ...]) -> RowFunction:
        a, _, others = groups
        other_parts, arrays = _other_parts(a, others)
        arrays |= target_arrays(a, shape_positions(a, 0))
        arrays |= _camera_arrays(camera, a) | {"error": np.array(float(error))}
        return RowFunction(_visible(other_parts), arrays, 1)

    return build


def out_of_view_rows(camera: Camera, error: float) -> GroupRows:
    """Return rows at most 0 only where no part has surfaces that the camera sees.

    Each part must be beyond one of the six sides of the frustum, or each of its faces
    must be so or look away from the camera, or one part of another frame must hide all
    of it. The groups are the object, the camera's frame, and the frames of all others.

    Args:
        camera: the camera of that frame.
        error: bound on how far rows may be above the value of the best side [m].
    """
    high = np.tan(camera.vertical_fov / 2)
    wide = high * camera.width / camera.height
    # Rays go through the centres of pixels, so that half a pixel at each edge of the
    # image is never seen.
    edge_y, edge_z = wide * (1 - 1 / camera.width), high * (1 - 1 / camera.height)
    sides = np.array(
        [[-edge_y, 1, 0], [-edge_y, -1, 0], [-edge_z, 0, 1], [-edge_z, 0, -1]]
    )
    sides /= np.linalg.norm(sides, axis=1, keepdims=True)
    normals = np.concatenate([sides, [[-1.0, 0, 0], [1.0, 0, 0]]])
    offsets = np.array([0.0, 0, 0, 0, -camera.near, camera.far]) + STRICT_MARGIN

    def build(groups: tuple[FrameGroup, ...]) -> RowFunction:
        a, _, others = groups
        positions = shape_positions(a, 0)
        frames = [a.C.frames[a.frames[i]] for i in positions]
        parts, arrays = bounded_parts(frames, positions, "part")
        arrays |= _camera_arrays(camera, a) | {"error": np.array(float(error))}
        arrays |= {"sides": normals, "beyond": offsets}
        # the distance from the camera to the corners of its near plane
        arrays |= {"hidden_from": camera.near * np.hypot(1.0, np.hypot(wide, high))}
        count = count_parts(parts, arrays)
        arrays |= face_arrays(frames, count)
        other_parts, other_arrays = _other_parts(a, others)
        rows = _out_of_view(parts, other_parts)
        return RowFunction(rows, arrays | other_arrays, count)

    return build


def _other_parts(a: FrameGroup, others: FrameGroup) -> tuple[PartKinds, Arrays]:
    """Return the parts of frames that come after the object's and the camera's."""
    first = len(a.frames) + 1
    frames = [others.C.frames[i] for i in others.frames]
    return all_parts(frames, range(first, first + len(frames)), "other")


def _camera_arrays(camera: Camera, a: FrameGroup) -> Arrays:
    high = np.tan(camera.vertical_fov / 2)
    edges = np.array([high * camera.width / camera.height, high])
    return {
        "eye": np.array([len(a.frames)]),
        "edges": edges,
        "pitch": np.array(2 * high / camera.height),
        "near": np.array(camera.near),
        "far": np.array(camera.far),
    }


@lru_cache(maxsize=256)
def _visible(others: PartKinds) -> Callable[..., Any]:
    def visible(R: Any, p: Any, **arrays: Any) -> Any:
        eye = arrays["eye"]
        R_eye, p_eye = gather_rows(R, eye)[0], gather_rows(p, eye)[0]
        R_at, p_at = gather_rows(R, arrays["at"]), gather_rows(p, arrays["at"])
        # The camera as each target's frame sees it.
        turn = jnp.swapaxes(R_at, -1, -2) @ R_eye
        origin = apply_inverse(R_at, p_eye - p_at)
        # Soundness needs one target with all demands at most 0: the ray of a pixel
        # hits its part beyond the near plane and before the far plane; the part is not
        # hit before the near plane; and no other part hides it.
        sight = _nearest_pixel(apply_inverse(turn, arrays["point"] - origin), arrays)
        missed, first, last = target_hits(_near_rays(sight), turn, origin, arrays)
        near = arrays["near"]
        start, end = near * sight.ray, jnp.maximum(last, near)[:, None] * sight.ray
        spread = norm(sight.offset)
        demands = [
            missed[:, None],
            near + RAY_CLEARANCE - first[:, None],
            last[:, None] - arrays["far"],
            hit_before_near(sight.ray, spread, turn, origin, arrays)[:, None],
        ]
        if others.ranks:
            bodies = posed_parts(others, R, p, arrays)
            clearance = spread * jnp.maximum(last, near) + RAY_CLEARANCE
            start, end = (p_eye + x @ R_eye.T for x in (start, end))
            demands += free_lines(start, end, p_eye, clearance, bodies)
        # Sound: one target that meets all demands is enough, and the mellowmin is at
        # least the minimum over targets of the largest demand.
        worst = largest(jnp.concatenate(demands, 1).T)
        return mellowmin_within(worst, arrays["error"])[None]

    return visible


class _Sight(NamedTuple):
    """Rays towards points, in camera coordinates, and to the pixels next to them."""

    ray: Float[jax.Array, "n 3"]
    """The point of the image closest to the point's projection, at unit depth."""
    offset: Float[jax.Array, "n 2"]
    """From there to the nearest pixel, in y and z at unit depth."""
    mirrored: Float[jax.Array, "n 2"]
    """The same near pixels, the opposite between two pixels."""


def _nearest_pixel(point: Float[jax.Array, "n 3"], arrays: TracedArrays) -> _Sight:
    """Return rays towards points, and to the pixels nearest to them.

    Args:
        point: the points in camera coordinates [m].
        arrays: of the camera.
    """
    pitch = arrays["pitch"]
    depth = jnp.maximum(point[:, :1], arrays["near"])
    border = arrays["edges"] - pitch / 2
    aim = jnp.clip(point[:, 1:] / depth, -border, border)
    # Centres of pixels begin at the border, and are one pitch apart.
    steps = (aim + border) / pitch
    offset = jnp.round(steps) - steps
    turning = smoothstep((jnp.abs(offset) - BLEND_DISTANCE) / (0.5 - BLEND_DISTANCE))
    ray = jnp.concatenate([jnp.ones_like(depth), aim], 1)
    return _Sight(ray, offset * pitch, offset * pitch * (1 - 2 * turning))


def _near_rays(sight: _Sight) -> Float[jax.Array, "n 4 3"]:
    """Return rays of the nearest pixels, and of those that may be the nearest next.

    The other three differ from the first only where another pixel becomes the nearest,
    so that what all of them hit is continuous there.
    """
    near, far = sight.offset, sight.mirrored
    aside = [(near[:, 0], near[:, 1]), (near[:, 0], far[:, 1])]
    aside += [(far[:, 0], near[:, 1]), (far[:, 0], far[:, 1])]
    zero = jnp.zeros_like(near[:, 0])
    offsets = jnp.stack([jnp.stack([zero, *x], -1) for x in aside], 1)
    return sight.ray[:, None] + offsets


@lru_cache(maxsize=256)
def _out_of_view(parts: PartTypes, others: PartKinds) -> Callable[..., Any]:
    def out_of_view(R: Any, p: Any, **arrays: Any) -> Any:
        # Sound: a convex part beyond a side of the frustum has no point in it, no ray
        # passes between columns of pixels, and rays enter a part through its faces;
        # the mellowmin is at least the minimum.
        eye = arrays["eye"]
        axes = arrays["sides"] @ gather_rows(R, eye)[0].T
        low, _ = part_extents(parts, R, p, axes, arrays)
        origin, frames = gather_rows(p, eye)[0], arrays[f"{parts.prefix}at"]
        beyond = (arrays["beyond"] - (low - axes @ origin)).T
        faces = seen_faces(R, p, origin, frames, axes, arrays)
        gaps = _between_pixels(parts, R, p, arrays)
        # These tell what is out of view so, but have minima in view.
        unseen = jnp.concatenate([faces[None], gaps])
        unseen = jnp.where(unseen > 0, UNSEEN_SLOPE * unseen, unseen)
        hidden = hidden_boxes(
            part_corners(parts, R, p, arrays),
            origin,
            arrays["hidden_from"],
            posed_parts(others, R, p, arrays),
        )
        alternatives = jnp.concatenate([beyond, unseen, *hidden])
        return mellowmin_within(alternatives, arrays["error"])

    return out_of_view


def _between_pixels(
    parts: PartTypes, R: jax.Array, p: jax.Array, arrays: TracedArrays
) -> Float[jax.Array, "2 n"]:
    """Return values at most 0 only where parts are between columns, or rows, of pixels.

    Rays through the pixels of a column, or of a row, are in a plane.
    """
    eye, pitch = arrays["eye"], arrays["pitch"]
    R_eye, origin = gather_rows(R, eye)[0], gather_rows(p, eye)[0]
    low, high = part_extents(parts, R, p, R_eye.T, arrays)
    middle = (low + high) / 2 - origin @ R_eye
    border = arrays["edges"] - pitch / 2
    aim = middle[:, 1:] / jnp.maximum(middle[:, :1], arrays["near"])
    last = jnp.round(2 * border / pitch) - 1
    before = jnp.clip(jnp.floor((aim + border) / pitch), 0, last) * pitch - border
    # Normals of the planes before and behind, towards the gap, in y and z.
    slopes = jax.lax.stop_gradient(jnp.stack([-before, before + pitch], 1))
    across = np.array([[[1.0, 0], [0, 1]], [[-1, 0], [0, -1]]])
    across = np.broadcast_to(across, (len(slopes), 2, 2, 2))
    normals = jnp.concatenate([slopes[..., None], across], -1)
    normals = normals / jnp.linalg.norm(normals, axis=-1, keepdims=True)
    axes = normals.reshape(-1, 4, 3) @ R_eye.T
    low, _ = part_extents(parts, R, p, axes, arrays)
    beside = (STRICT_MARGIN + axes @ origin - low).reshape(-1, 2, 2)
    return jnp.maximum(beside[:, 0], beside[:, 1]).T
