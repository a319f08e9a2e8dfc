"""Faces of polytopes, none of which may be seen.

A ray enters a polytope through a face that looks towards the camera. So a part is not
seen where each of its faces looks away, or is outside of the view frustum: also where
the camera is inside of it, or where all rays enter it before the near plane.
"""

from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise import collision
from posewise.compilation.capacity import Capacity, capacity_at_hand, capacity_class
from posewise.features.parts import gather_rows
from posewise.features.symbol import Arrays, TracedArrays
from posewise.robots.contact.body_table import (
    CORES_BY_RANK,
    HULL_RANK,
    BodyArrays,
    bodies_of_frames,
)
from posewise.robots.geometry.hulls import hull_planes
from posewise.robots.world.frame import Frame

from ...margins import STRICT_MARGIN
from ...smooth_extrema import largest, smallest
from ..parts import BOX_CORNERS
from .rays import apply_inverse

MAX_FACES = 32
"""Number of faces of a part at most (count); a part of more is told only where all of
it is outside of the frustum. Larger values tell more and make rows slower."""
MIN_CORNERS = 4
"""Least number of corners of a face that programs are compiled for
(count). Larger values make small faces slower."""
MAX_FACE_DISTANCE = 1e-8
"""Distance from a face up to which a vertex is one of its corners [m]; a
smaller value loses corners by rounding."""
OPEN_DISTANCE = 1e3
"""Value of parts without faces, such as round ones [m]; with a smaller one they might
seem unseen."""


def face_arrays(frames: Sequence[Frame], num_parts: int) -> Arrays:
    """Return the faces of the parts of frames, in the order of `bounded_parts`.

    Args:
        frames: with the parts.
        num_parts: number of parts, of which those that are missing are the first.
    """
    bodies = bodies_of_frames(frames)
    polytopes = [_faces(corners) for corners in _polytopes(bodies)]
    faces = max(len(planes) for planes, _ in polytopes)
    corners = max(len(x) for _, sides in polytopes for x in sides)
    classes = capacity_class(faces, 6), capacity_class(corners, MIN_CORNERS)
    need = Capacity(frozenset(), classes)
    faces, corners = capacity_at_hand("part faces", need).counts
    rows = np.minimum(np.arange(num_parts), len(polytopes)) % len(polytopes)
    planes = np.array([np.resize(x, (faces, 4)) for x, _ in polytopes])
    sides = np.array(
        [
            np.resize([np.resize(x, (corners, 3)) for x in each], (faces, corners, 3))
            for _, each in polytopes
        ]
    )
    whole = np.array([planes.any() for planes, _ in polytopes])
    return {
        "face_planes": planes[rows],
        "face_corners": sides[rows],
        "face_open": np.where(whole, 0.0, OPEN_DISTANCE)[rows],
    }


def seen_faces(
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    eye: Float[jax.Array, "3"],
    frames: jax.Array,
    sides: Float[jax.Array, "s 3"],
    arrays: TracedArrays,
) -> Float[jax.Array, " n"]:
    """Return values at most 0 only where no face of a part is seen [m].

    Args:
        R: orientations of frames.
        p: origins of frames.
        eye: origin of the camera.
        frames: frame of each part.
        sides: outward normals of the frustum, in the world.
        arrays: those of the faces, and "beyond", how far sides are from the camera.
    """
    R_at, p_at = gather_rows(R, frames), gather_rows(p, frames)
    origin = apply_inverse(R_at, eye - p_at)
    planes, corners = jnp.asarray(arrays["face_planes"]), arrays["face_corners"]
    looks = jnp.einsum("nfj,nj->nf", planes[..., :3], origin) - planes[..., 3]
    local = jnp.einsum("si,nij->nsj", sides, R_at)
    reach = jnp.einsum("nsj,nfcj->cnfs", local, corners - origin[:, None, None])
    inside = jnp.moveaxis(arrays["beyond"] - smallest(reach), -1, 0)
    gaps = jnp.minimum(looks + STRICT_MARGIN, smallest(inside))
    return largest(gaps.T) + arrays["face_open"]


def _polytopes(bodies: BodyArrays) -> Iterator[Float[np.ndarray, "n 3"]]:
    """Yield the vertices of each body in its frame; none of one that is round."""
    signs = 2 * BOX_CORNERS - 1
    for k, rank in enumerate(bodies.rank):
        vertices = np.zeros((0, 3))
        if rank == HULL_RANK:
            vertices = bodies.vertices[bodies.hull[k]]
        elif CORES_BY_RANK[rank] is collision.Box:
            vertices = signs * bodies.half[k]
        if bodies.radius[k] > 0:
            vertices = vertices[:0]
        yield vertices @ bodies.pose[k, :, :3].T + bodies.pose[k, :, 3]


def _faces(vertices: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the planes of a polytope's faces, and the corners of each.

    A plane and a corner of zeros stand for none.
    """
    planes = hull_planes(vertices) if len(vertices) else np.zeros((0, 4))
    if not 0 < len(planes) <= MAX_FACES:
        return np.zeros((1, 4)), [np.zeros((1, 3))]
    gaps = vertices @ planes[:, :3].T - planes[:, 3]
    return planes, [vertices[np.abs(gap) <= MAX_FACE_DISTANCE] for gap in gaps.T]
