"""Convex parts that represent a mesh in collisions."""

import importlib

import numpy as np
from jaxtyping import Float

from posewise.compilation.progress import announce_if_slow

from ..errors import ConfigError
from .coacd_process import CoacdError, run_coacd
from .disk_cache import Arrays, memoize_to_disk
from .hulls import hull_vertices, is_convex
from .mesh_cleaning import clean_triangles, finite_vertices, mesh_label, split_solids
from .outer_hulls import outer_hull
from .part_merging import is_sliver, merge_parts
from .shapes import Mesh

CONCAVITY_THRESHOLD = 0.05
"""Largest concavity of a part, in coacd's measure [1]; larger gives fewer parts."""
COACD_TIME_LIMIT = 300.0
"""Time limit of coacd [s]; open or self-crossing surfaces may take very long. A shorter
one refuses more of them."""


def convex_parts(mesh: Mesh) -> list[Float[np.ndarray, "_ 3"]]:
    """Return the vertices of convex hulls whose union represents a mesh.

    Mode "convex" has one part, the hull. Mode "decompose" has one part for each closed
    convex component and several parts for each other component, from coacd; parts
    inside others are left out, slivers merged, see `merge_parts`. Parts of
    more than `mesh.max_vertices` vertices are replaced by enclosing ones, see
    `outer_hull`. The results of coacd, which take seconds, are cached on disk, and so
    are enclosing hulls.

    Measured on eight meshes (torus, cup, brackets; sizes are diagonals of the bounding
    box): no point of the surface is farther than 4e-5 of the size outside the parts,
    and 0.04 % of the volume is in cracks between them. Parts reach up to 1.6 % of the
    size beyond the surface, and 2.8 % where they had more than 32 vertices (a torus).
    On surfaces with holes coacd first makes a solid shell, on a grid of 30 cells, which
    takes a minute (an open box).

    Args:
        mesh: A mesh of mode "convex" or "decompose".

    Raises:
        ConfigError: For a mesh without triangles, with NaN vertices, or of mode "sdf",
            and when coacd finds no parts.
        ImportError: When coacd is needed and not installed; the message names the
            extra.
    """
    if mesh.mode == "sdf":
        raise ConfigError(
            f"Mesh: {mesh_label(mesh)} has mode 'sdf', which has a grid and no convex"
            " parts; expected mode 'decompose' or 'convex'."
        )
    if "parts" not in mesh._cache:
        if mesh.mode == "convex":
            parts = [finite_vertices(mesh)]
        else:
            with announce_if_slow(f"decomposing {mesh_label(mesh)} into convex parts"):
                parts = _decompose(mesh)
        mesh._cache["parts"] = [_few_vertices(p, mesh.max_vertices) for p in parts]
    return list(mesh._cache["parts"])


def _few_vertices(points: np.ndarray, max_vertices: int | None) -> np.ndarray:
    """Return `outer_hull`, from disk where it was computed before."""
    corners = hull_vertices(points)
    if max_vertices is None or len(corners) <= max_vertices:
        return corners

    def build() -> Arrays:
        return {"vertices": outer_hull(corners, max_vertices)}

    inputs = corners, max_vertices
    return memoize_to_disk("hull1", inputs, ("vertices",), build)["vertices"]


def _decompose(mesh: Mesh) -> list[np.ndarray]:
    all_vertices, all_faces = clean_triangles(mesh)
    solids = split_solids(all_vertices, all_faces)
    parts = []
    for vertices, faces in solids:
        if is_sliver(vertices, all_vertices) or is_convex(vertices, faces):
            parts.append(vertices)
        else:
            parts += _decompose_with_coacd(mesh, vertices, faces)
    return merge_parts(parts)


def _decompose_with_coacd(
    mesh: Mesh, vertices: np.ndarray, faces: np.ndarray
) -> list[np.ndarray]:
    def build() -> Arrays:
        try:
            importlib.import_module("coacd")
        except ImportError as error:
            raise ImportError(
                f"Mesh: {mesh_label(mesh)} is not convex, and decomposing it needs"
                ' coacd: pip install "posewise[meshes]"; or take its hull by'
                " Mesh(..., mode='convex')."
            ) from error
        try:
            raw_parts = run_coacd(
                vertices, faces, CONCAVITY_THRESHOLD, COACD_TIME_LIMIT
            )
        except CoacdError as error:
            raise ConfigError(
                f"Mesh: {mesh_label(mesh)} cannot be decomposed ({error}); close its"
                " surface and mend crossing triangles, or give mode='convex' (its"
                " hull) or mode='sdf' (a grid)."
            ) from error
        ends = np.cumsum([len(part) for part in raw_parts])
        return {"vertices": np.concatenate(raw_parts), "ends": ends}

    inputs = vertices, faces, CONCAVITY_THRESHOLD
    arrays = memoize_to_disk("parts2", inputs, ("vertices", "ends"), build)
    return np.split(arrays["vertices"], arrays["ends"][:-1])
