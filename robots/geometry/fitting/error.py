"""The error of shapes that represent a mesh in collisions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ...errors import ConfigError
from ...kinematics.transforms import IDENTITY, quat_to_matrix
from ...validation import float_array
from ..convex_parts import convex_parts
from ..hulls import surface_simplices
from ..mesh_cleaning import clean_triangles
from ..shapes import Convex, Mesh, Part
from ..tessellation import polygons
from .measures import outside, volume
from .surface import PosedShape, Surface

MODEL_SAMPLES = 3000
"""Number of points of the shapes whose distance from the surface is measured. More find
larger distances, but take longer."""
SURFACE_SAMPLES = 20000
"""Number of points of the mesh to which the nearest one is searched. More find the
nearest triangles more surely, but take longer."""
NUM_NEAREST_TRIANGLES = 8
"""Number of triangles, those of the nearest points, to which the distance is exact.
With fewer, the nearest triangle of all may not be among them."""

OUTSIDE_OFFSET = 1e-6
"""Distance from a shape, as a fraction of its size, at which there may be others. A
larger one takes narrow gaps between shapes for none."""


@dataclass(frozen=True)
class FitError:
    """Distances of the collision model of a mesh from its triangles, and its volume."""

    max_beyond: float
    """Largest distance of the model's boundary from the triangles [m]."""
    mean_beyond: float
    """Mean distance of the model's boundary from the triangles [m]."""
    max_uncovered: float
    """Distance by which the triangles stick out [m]; at most 0: they are inside."""
    volume_ratio: float
    """Volume of the model, divided by that of the hull of the mesh; infinite for a flat
    mesh."""
    shape_count: int
    """Number of convex shapes."""

    def __str__(self) -> str:
        sticks_out = (
            f"the mesh sticks out by up to {1e3 * self.max_uncovered:.2f} mm"
            if self.max_uncovered > 1e-9
            else "the mesh is inside"
        )
        return (
            f"{self.shape_count} shapes of {self.volume_ratio:.2f} times the hull's"
            f" volume, up to {1e3 * self.max_beyond:.1f} mm beyond the surface (mean"
            f" {1e3 * self.mean_beyond:.1f} mm); {sticks_out}."
        )


def collision_model_error(
    mesh: Mesh,
    fitted: Sequence[Part] | None = None,
) -> FitError:
    """Measure how far a collision model is from the mesh that it stands for.

    Distances are of sample points, those beyond from the nearest triangle. A concave
    mesh has surface that its hull does not touch, so that its hull is far beyond.

    Args:
        mesh: The triangles, in the frame of the shapes.
        fitted: Shapes (spheres, capsules, boxes, hulls), or pairs of a shape and its
            pose (7,); None: the convex parts that `mesh.mode` makes.

    Raises:
        ConfigError: For a mesh without convex parts, and for other shapes.
    """
    if fitted is None:
        fitted = [Convex(part) for part in convex_parts(mesh)]
    posed = [_posed(item) for item in fitted]
    if not posed:
        raise ConfigError("fitted is empty, expected at least one shape.")
    surface = Surface(*clean_triangles(mesh))
    inner = _samples(surface.vertices[surface.faces], SURFACE_SAMPLES)[0]
    samples = np.concatenate([surface.vertices, inner])
    uncovered = np.min([outside(s, samples) for s in posed], axis=0).max()
    beyond = distances_beyond(posed, surface)
    hull = surface.hull_volume
    return FitError(
        float(beyond.max()),
        float(beyond.mean()),
        float(uncovered),
        volume(posed) / hull if hull else np.inf,
        len(posed),
    )


def _posed(item: Part) -> PosedShape:
    shape, pose = item if isinstance(item, tuple) else (item, None)
    numbers = IDENTITY if pose is None else float_array("pose", pose, "7 numbers")
    return PosedShape(shape, numbers)


def _boundary(posed: Sequence[PosedShape]) -> Float[np.ndarray, "n 3"]:
    """Return points of the boundary of the union of shapes, all corners among them."""
    points = []
    for k, item in enumerate(posed):
        triangles = _boundary_triangles(item)
        inner, owner = _samples(triangles, MODEL_SAMPLES // len(posed))
        samples = np.concatenate([triangles.reshape(-1, 3), inner])
        owner = np.concatenate([np.repeat(np.arange(len(triangles)), 3), owner])
        # A point is on the boundary if no other shape is just outside of it, which
        # rules out faces that two shapes share.
        normals = _outward_normals(triangles)
        size = float(np.ptp(samples, axis=0).max())
        just_outside = samples + OUTSIDE_OFFSET * size * normals[owner]
        is_free = np.ones(len(samples), bool)
        for other in [*posed[:k], *posed[k + 1 :]]:
            is_free &= outside(other, just_outside) > 0
        points.append(samples[is_free])
    return np.concatenate(points)


def _outward_normals(
    triangles: Float[np.ndarray, "n 3 3"],
) -> Float[np.ndarray, "n 3"]:
    """Return unit normals of the triangles of a convex surface; 0 without area."""
    a, b, c = triangles.swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    outward = np.einsum("ij,ij->i", normals, a - triangles.mean((0, 1)))
    lengths = np.linalg.norm(normals, axis=1)
    return normals * (np.sign(outward) / np.maximum(lengths, 1e-300))[:, None]


def _boundary_triangles(item: PosedShape) -> Float[np.ndarray, "n 3 3"]:
    """Return triangles of the boundary; a hull without area has one without area."""
    if isinstance(item.shape, Convex) and not item.shape.rounding:
        simplices = surface_simplices(item.shape.vertices)
        triangles = np.array([s[[0, len(s) // 2, -1]] for s in simplices])
        return triangles @ quat_to_matrix(item.pose[3:]).T + item.pose[:3]
    faces = polygons(item.shape, item.pose)
    fans = [f[[0, i, i + 1]] for f in faces for i in range(1, len(f) - 1)]
    return np.array(fans)


def _samples(
    triangles: Float[np.ndarray, "n 3 3"], count: int
) -> tuple[Float[np.ndarray, "m 3"], Int[np.ndarray, " m"]]:
    """Return points that are spread evenly over triangles, and their triangles."""
    a, b, c = triangles.swapaxes(0, 1)
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    if not areas.any():
        areas = np.ones(len(triangles))
    shares = np.cumsum(areas) / areas.sum()
    owner = np.searchsorted(shares[:-1], (np.arange(count) + 0.5) / count)
    weights = np.random.default_rng(0).dirichlet(np.ones(3), count)
    return np.einsum("nk,nki->ni", weights, triangles[owner]), owner


def distances_beyond(
    fitted: Sequence[PosedShape], surface: Surface
) -> Float[np.ndarray, " n"]:
    """Return distances of points of the boundary of shapes from the triangles [m]."""
    from scipy.spatial import cKDTree
    from trimesh.triangles import closest_point

    triangles = surface.vertices[surface.faces]
    samples, owner = _samples(triangles, SURFACE_SAMPLES)
    points = _boundary(fitted)
    nearest = cKDTree(samples).query(points, NUM_NEAREST_TRIANGLES)[1]
    best = np.full(len(points), np.inf)
    for column in nearest.T:
        closest = closest_point(triangles[owner[column]], points)
        best = np.minimum(best, np.linalg.norm(points - closest, axis=1))
    return best
