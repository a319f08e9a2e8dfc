"""Relaxation of sight: an ellipsoid in an object covers a pixel, and nothing hides it.

Camera coordinates: x is depth, y left, z up. The ray to the centre of an ellipsoid, at
unit depth, is no farther than half a pixel in y and in z from the ray of some pixel. If
all rays within half a pixel of the centre's ray hit the ellipsoid, and nothing before,
so does the ray of that pixel.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise import collision
from posewise.robots.world.agents import Camera

from ..errors import PredicateError
from ..geometry.frame_groups import FrameGroup
from ..margins import RAY_CLEARANCE, STRICT_MARGIN
from ..smooth_extrema import largest, mellowmin_within
from .ellipsoids import inner_ellipsoids
from .object_features import GroupRows, RowFunction, shape_positions
from .parts import (
    PartKinds,
    all_parts,
    bounded_parts,
    count_parts,
    gather_rows,
    part_extents,
    posed_parts,
)
from .world_feature import Arrays, TracedArrays

NORM_EPSILON = 1e-12
"""Added to squared norms, so that their square roots have a derivative at 0 [m²]."""


def visible_rows(camera: Camera, error: float) -> GroupRows:
    """Return a row at most 0 only where a pixel of the camera shows an object.

    The groups are the object, the camera's frame, and the frames of all others.

    Args:
        camera: the camera of that frame.
        error: bound on how far the row may be above the largest demand on the best
            ellipsoid [m].

    Raises:
        PredicateError: for objects that are too thin for an ellipsoid.
    """

    def build(groups: tuple[FrameGroup, ...]) -> RowFunction:
        a, _, rest = groups
        positions = shape_positions(a, 0)
        frames_a = [a.C.frames[a.frames[i]] for i in positions]
        owner, ellipsoids = inner_ellipsoids(frames_a)
        if not len(owner):
            raise PredicateError(
                f"{a.name!r} has no part thick enough to be seen for sure; give it a"
                " shape of more than 0.2 mm in each direction that is no plane."
            )
        first = len(a.frames) + 1
        others, arrays = all_parts([rest.C.frames[i] for i in rest.frames], "other")
        arrays |= ellipsoids._asdict() | {"at": np.array(positions)[owner]}
        arrays |= _camera_arrays(camera, a) | {"error": np.array(float(error))}
        arrays["others"] = first + np.arange(len(rest.frames))
        return RowFunction(_visible(others), arrays, 1)

    return build


def out_of_view_rows(camera: Camera, error: float) -> GroupRows:
    """Return rows at most 0 only where each part is outside of the view frustum.

    Each part must be beyond one of the six sides of the frustum. The groups are the
    object and the camera's frame.

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
        a = groups[0]
        positions = shape_positions(a, 0)
        frames = [a.C.frames[a.frames[i]] for i in positions]
        parts, arrays = bounded_parts(frames, "part")
        arrays |= _camera_arrays(camera, a) | {"error": np.array(float(error))}
        arrays |= {"solid": np.array(positions), "sides": normals, "beyond": offsets}
        return RowFunction(_out_of_view(parts), arrays, count_parts(parts, arrays))

    return build


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


def _norm(x: Float[jax.Array, "*n 3"]) -> Float[jax.Array, "*n"]:
    return jnp.sqrt(jnp.sum(x * x, -1) + NORM_EPSILON)


@lru_cache(maxsize=256)
def _visible(others: PartKinds) -> Callable[..., Any]:
    def visible(R: Any, p: Any, **arrays: Any) -> Any:
        eye = arrays["eye"]
        R_eye, p_eye = gather_rows(R, eye)[0], gather_rows(p, eye)[0]
        R_at, p_at = gather_rows(R, arrays["at"]), gather_rows(p, arrays["at"])
        axes = arrays["axes"] @ jnp.swapaxes(R_at, -1, -2) @ R_eye

        def in_camera(x: jax.Array) -> jax.Array:
            return (p_at + jnp.einsum("nij,nj->ni", R_at, x) - p_eye) @ R_eye

        def in_world(y: jax.Array) -> jax.Array:
            return p_eye + y @ R_eye.T

        # Soundness needs one ellipsoid with all demands at most 0: it covers a pixel;
        # it is beyond the near plane, before the far plane, and inside of the image;
        # its part is not hit before the near plane; and no other part hides it.
        c = in_camera(arrays["centre"])
        covered, stretch = _coverage(c, axes, arrays)
        # The line of sight from the near plane to the farthest hit on the ellipsoid.
        depth = jnp.maximum(c[:, 0], 0.0)
        begin = arrays["near"] / jnp.maximum(depth, arrays["near"] + NORM_EPSILON)
        start, end = begin[:, None] * c, stretch[:, None] * c
        # Rays within half a pixel in y and z deviate by pitch / √2 at unit depth.
        spread = arrays["pitch"] / jnp.sqrt(2.0)
        box_centre = in_camera(arrays["box_centre"])
        demands = [
            covered[:, None],
            arrays["near"] + RAY_CLEARANCE - c[:, :1],
            stretch[:, None] * c[:, :1] - arrays["far"],
            jnp.abs(c[:, 1:]) - c[:, :1] * arrays["edges"],
            _hit_before_near(box_centre, start, axes, spread, arrays)[:, None],
        ]
        if others.kinds:
            at = arrays["others"]
            bodies = posed_parts(others, gather_rows(R, at), gather_rows(p, at), arrays)
            clearance = spread * stretch * depth + RAY_CLEARANCE
            demands += _hidden(in_world(start), in_world(end), p_eye, clearance, bodies)
        # Sound: one ellipsoid that meets all demands is enough, and the mellowmin is
        # at least the minimum over ellipsoids of the largest demand.
        worst = largest(jnp.concatenate(demands, 1).T)
        return mellowmin_within(worst, arrays["error"])[None]

    return visible


def _coverage(
    c: jax.Array, axes: jax.Array, arrays: TracedArrays
) -> tuple[jax.Array, jax.Array]:
    """Return whether all rays near that of the centre hit the ellipsoid, and how deep.

    With the ellipsoid as the unit ball about the origin, a ray along u + w from -x u is
    x |u × w| / |u + w| away from it, where the centre is at depth x along u, and
    |u + w| >= |u| - |w|.

    Returns:
        A value at most 0 only where all these rays hit [m], and an upper bound of the
        depth of the hits, in depths of the centre.
    """
    to_ball = axes / arrays["semi_axes"][:, :, None]
    g = jnp.einsum("nij,nj->ni", to_ball, c)
    y, z = to_ball[:, :, 1], to_ball[:, :, 2]
    # w is largest at the corners of the pixel, since |u × w| and |w| are convex in w.
    corners = jnp.stack([y + z, y - z], 1) * (arrays["pitch"] / 2)
    depth, reach = jnp.maximum(c[:, 0], 0.0), _norm(g)
    aside = largest(_norm(jnp.cross(g[:, None], corners)).T) / reach
    along = largest(_norm(corners).T) * depth / reach
    # x aside / (1 - along) <= 1 for the distance, and along <= 1/2 so that the bound
    # 1 / (1 - along) of the depth is finite.
    demand = jnp.maximum(depth * aside + along - 1, 2 * along - 1)
    thinnest = jnp.min(arrays["semi_axes"], -1)
    return thinnest * demand + STRICT_MARGIN, 1 / (1 - jnp.minimum(along, 0.5))


def _hit_before_near(
    box_centre: jax.Array,
    start: jax.Array,
    axes: jax.Array,
    spread: Any,
    arrays: TracedArrays,
) -> Float[jax.Array, " n"]:
    """Return values at most 0 only where parts are not hit before the near plane [m].

    The segment from the camera to the near plane must be beside the box of the part
    along one of the box's axes.
    """
    ends = [jnp.einsum("nij,nj->ni", axes, x - box_centre) for x in (0.0, start)]
    beside = jnp.maximum(jnp.minimum(*ends), -jnp.maximum(*ends)) - arrays["box_half"]
    return RAY_CLEARANCE + spread * arrays["near"] - largest(beside.T)


def _hidden(
    start: jax.Array,
    end: jax.Array,
    eye: jax.Array,
    clearance: jax.Array,
    others: Iterable[collision.Body],
) -> list[Float[jax.Array, "n _"]]:
    """Return values at most 0 only where segments are clear of parts [m].

    Parts that contain the camera do not count, as in the exact check.
    """
    lines = collision.Body(*_segments(start, end, eye))
    values = []
    for body in others:
        d = collision.contact(lines, jax.tree.map(lambda x: x[None], body)).distance
        inside = RAY_CLEARANCE + d[-1:]
        values.append(jnp.where(inside <= 0, inside, clearance[:, None] - d[:-1]))
    return values


def _segments(start: jax.Array, end: jax.Array, eye: jax.Array) -> Any:
    """Return core, radius and pose of segments, and of the camera as a point.

    The point is the last of them. The arrays have one more axis, for parts.
    """
    along = jnp.concatenate([end - start, jnp.array([[0.0, 0, 1]], end.dtype)])
    length = _norm(along)
    z = along / length[:, None]
    # Any x axis will do; the coordinate axis farthest from z makes it well-defined.
    farthest = jnp.argmin(jnp.abs(jax.lax.stop_gradient(z)), -1)
    x = jnp.cross((farthest[:, None] == np.arange(3)).astype(z.dtype), z)
    x = x / _norm(x)[:, None]
    zero = jnp.zeros_like(length)
    half = jnp.concatenate([length[:-1] / 2, zero[-1:]])
    core = collision.Box(jnp.stack([zero, zero, half], -1)[:, None])
    R = jnp.stack([x, jnp.cross(z, x), z], -1)
    middle = jnp.concatenate([(start + end) / 2, eye[None]])
    return core, zero[:, None], R[:, None], middle[:, None]


@lru_cache(maxsize=256)
def _out_of_view(parts: PartKinds) -> Callable[..., Any]:
    def out_of_view(R: Any, p: Any, **arrays: Any) -> Any:
        # Sound: a convex part beyond a side of the frustum has no point in it; the
        # mellowmin over sides is at least the minimum.
        eye, at = arrays["eye"], arrays["solid"]
        axes = arrays["sides"] @ gather_rows(R, eye)[0].T
        R_at, p_at = gather_rows(R, at), gather_rows(p, at)
        low, _ = part_extents(parts, R_at, p_at, axes, arrays)
        beyond = low - axes @ gather_rows(p, eye)[0]
        return mellowmin_within((arrays["beyond"] - beyond).T, arrays["error"])

    return out_of_view
