"""What a camera sees: rays through pixels that meet a thing before all else.

Camera coordinates: x is depth, y left, z up. Of an ellipsoid in a part, the ray to its
centre is no farther from that of a pixel, at unit depth, than half a pixel in y and z;
the rays about the centre's, as far off, must all meet the ellipsoid, and nothing else
before.
"""

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
from ..smooth_extrema import largest, mellowmin_within
from .contact import STRICT_MARGIN
from .ellipsoids import inner_ellipsoids
from .object_features import GroupRows, shape_positions
from .parts import (
    PartKinds,
    all_parts,
    bounded_parts,
    gather_rows,
    part_extents,
    posed_parts,
)
from .rays import RAY_CLEARANCE

NORM_EPSILON = 1e-12


def visible_rows(camera: Camera, error: float) -> GroupRows:
    """At most 0 only where a pixel of the camera shows a thing, which needs more room.

    Of three things: the one, the camera's frame, and the frames of all others.

    Args:
        camera: of that frame.
        error: how far the row may lie above the best ellipsoid's worst demand.

    Raises:
        PredicateError: for things too thin for an ellipsoid.
    """

    def build(things: tuple[FrameGroup, ...]) -> Any:
        a, _, rest = things
        solid = shape_positions(a, 0)
        owner, targets = inner_ellipsoids([a.C.frames[a.frames[i]] for i in solid])
        if not len(owner):
            raise PredicateError(
                f"{a.name!r} has no part thick enough to be seen for sure; give it a"
                " shape of more than 0.2 mm in each direction that is no plane."
            )
        first = len(a.frames) + 1
        frames = [rest.C.frames[i] for i in rest.frames]
        others, arrays = all_parts(frames, "other")
        arrays |= targets._asdict() | {"at": np.array(solid)[owner]}
        arrays |= _numbers(camera, a) | {"error": np.array(float(error))}
        arrays["others"] = first + np.arange(len(frames))
        return _shown(others), arrays, 1

    return build


def out_of_view_rows(camera: Camera, error: float) -> GroupRows:
    """At most 0 only where each part is outside one of the six sides of the view.

    Of two things: the one, and the camera's frame.

    Args:
        camera: of that frame.
        error: how far rows may lie above the farthest side.
    """
    high = np.tan(camera.vertical_fov / 2)
    wide = high * camera.width / camera.height
    edge_y, edge_z = wide * (1 - 1 / camera.width), high * (1 - 1 / camera.height)
    sides = np.array(
        [[-edge_y, 1, 0], [-edge_y, -1, 0], [-edge_z, 0, 1], [-edge_z, 0, -1]]
    )
    sides /= np.linalg.norm(sides, axis=1, keepdims=True)
    axes = np.concatenate([sides, [[-1.0, 0, 0], [1.0, 0, 0]]])
    beyond = np.array([0.0, 0, 0, 0, -camera.near, camera.far]) + STRICT_MARGIN

    def build(things: tuple[FrameGroup, ...]) -> Any:
        a = things[0]
        solid = shape_positions(a, 0)
        parts, arrays = bounded_parts([a.C.frames[a.frames[i]] for i in solid], "part")
        arrays |= _numbers(camera, a) | {"error": np.array(float(error))}
        arrays |= {"solid": np.array(solid), "sides": axes, "beyond": beyond}
        count = sum(len(arrays[f"part{g}_0"]) for g in range(len(parts.kinds)))
        return _out_of_view(parts), arrays, count

    return build


def _numbers(camera: Camera, a: FrameGroup) -> dict[str, np.ndarray]:
    high = np.tan(camera.vertical_fov / 2)
    edges = np.array([high * camera.width / camera.height, high])
    return {
        "eye": np.array([len(a.frames)]),
        "edges": edges,
        "pitch": np.array(2 * high / camera.height),
        "near": np.array(camera.near),
        "far": np.array(camera.far),
    }


def _length(x: Float[jax.Array, "*n 3"]) -> Float[jax.Array, "*n"]:
    return jnp.sqrt(jnp.sum(x * x, -1) + NORM_EPSILON)


@lru_cache(maxsize=256)
def _shown(others: PartKinds) -> Any:
    def shown(R: Any, p: Any, **arrays: Any) -> Any:
        eye = arrays["eye"]
        R_eye, p_eye = gather_rows(R, eye)[0], gather_rows(p, eye)[0]
        R_at, p_at = gather_rows(R, arrays["at"]), gather_rows(p, arrays["at"])
        axes = arrays["axes"] @ jnp.swapaxes(R_at, -1, -2) @ R_eye
        place = lambda x: (p_at + jnp.einsum("nij,nj->ni", R_at, x) - p_eye) @ R_eye
        c = place(arrays["centre"])
        covered, stretch = _covered(c, axes, arrays)
        x = jnp.maximum(c[:, 0], 0.0)
        begin = arrays["near"] / jnp.maximum(x, arrays["near"] + NORM_EPSILON)
        start, end = begin[:, None] * c, stretch[:, None] * c
        spread = arrays["pitch"] / jnp.sqrt(2.0)
        inview = jnp.abs(c[:, 1:]) - c[:, :1] * arrays["edges"]
        demands = [
            covered[:, None],
            arrays["near"] + RAY_CLEARANCE - c[:, :1],
            stretch[:, None] * c[:, :1] - arrays["far"],
            inview,
            _met_late(place(arrays["middle"]), start, axes, spread, arrays)[:, None],
        ]
        if others.kinds:
            world = lambda y: p_eye + y @ R_eye.T
            at = arrays["others"]
            there = posed_parts(others, gather_rows(R, at), gather_rows(p, at), arrays)
            room = spread * stretch * x + RAY_CLEARANCE
            demands += _unhidden(world(start), world(end), p_eye, room, there)
        worst = largest(jnp.concatenate(demands, 1).T)
        return mellowmin_within(worst, arrays["error"])[None]

    return shown


def _covered(c: jax.Array, axes: jax.Array, arrays: dict) -> tuple[Any, Any]:
    """At most 0 where all rays about the centre's meet the ellipsoid; and how deep.

    With the ellipsoid as the unit ball about the origin, a ray along u + w from -x u is
    x |u × w| / |u + w| away from it, where the centre is at depth x along u, and
    |u + w| >= |u| - |w|.

    Returns:
        The demand [m], and by how much, in centre's depths, rays may have to go.
    """
    to_ball = axes / arrays["semi"][:, :, None]
    g = jnp.einsum("nij,nj->ni", to_ball, c)
    y, z = to_ball[:, :, 1], to_ball[:, :, 2]
    corners = jnp.stack([y + z, y - z], 1) * (arrays["pitch"] / 2)
    x, reach = jnp.maximum(c[:, 0], 0.0), _length(g)
    aside = largest(_length(jnp.cross(g[:, None], corners)).T) / reach
    along = largest(_length(corners).T) * x / reach
    demand = jnp.maximum(x * aside + along - 1, 2 * along - 1)
    thin = jnp.min(arrays["semi"], -1)
    return thin * demand + STRICT_MARGIN, 1 / (1 - jnp.minimum(along, 0.5))


def _met_late(
    middle: jax.Array, start: jax.Array, axes: jax.Array, spread: Any, arrays: dict
) -> Float[jax.Array, " n"]:
    """At most 0 only where parts are not met before the camera's near plane [m]."""
    ends = [jnp.einsum("nij,nj->ni", axes, x - middle) for x in (0.0, start)]
    beside = jnp.maximum(jnp.minimum(*ends), -jnp.maximum(*ends)) - arrays["half"]
    return RAY_CLEARANCE + spread * arrays["near"] - largest(beside.T)


def _unhidden(
    start: jax.Array, end: jax.Array, eye: jax.Array, room: jax.Array, others: Any
) -> list[Float[jax.Array, "n parts"]]:
    """At most 0 only where segments keep clear of parts, or the camera is in these."""
    lines = collision.Body(*_segments(start, end, eye))
    found = []
    for body in others:
        d = collision.contact(lines, jax.tree.map(lambda x: x[None], body)).distance
        within = RAY_CLEARANCE + d[-1:]
        found.append(jnp.where(within <= 0, within, room[:, None] - d[:-1]))
    return found


def _segments(start: jax.Array, end: jax.Array, eye: jax.Array) -> Any:
    """Core, radius and pose of segments, and of a point after them; one more axis."""
    along = jnp.concatenate([end - start, jnp.array([[0.0, 0, 1]], end.dtype)])
    length = _length(along)
    z = along / length[:, None]
    least = jnp.argmin(jnp.abs(jax.lax.stop_gradient(z)), -1)
    x = jnp.cross((least[:, None] == np.arange(3)).astype(z.dtype), z)
    x = x / _length(x)[:, None]
    none = jnp.zeros_like(length)
    half = jnp.concatenate([length[:-1] / 2, none[-1:]])
    core = collision.Box(jnp.stack([none, none, half], -1)[:, None])
    turn = jnp.stack([x, jnp.cross(z, x), z], -1)
    middle = jnp.concatenate([(start + end) / 2, eye[None]])
    return core, none[:, None], turn[:, None], middle[:, None]


@lru_cache(maxsize=256)
def _out_of_view(parts: PartKinds) -> Any:
    def out_of_view(R: Any, p: Any, **arrays: Any) -> Any:
        eye, at = arrays["eye"], arrays["solid"]
        axes = arrays["sides"] @ gather_rows(R, eye)[0].T
        low, _ = part_extents(
            parts, gather_rows(R, at), gather_rows(p, at), axes, arrays
        )
        beyond = low - axes @ gather_rows(p, eye)[0]
        return mellowmin_within((arrays["beyond"] - beyond).T, arrays["error"])

    return out_of_view
