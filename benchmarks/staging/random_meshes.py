"""Random meshes of household size: hulls, dented balls and angles."""

from functools import cache

import numpy as np
import trimesh

import posewise as pw


@cache
def random_mesh(seed: int, sizes: tuple[float, float] = (0.05, 0.12)) -> pw.Mesh:
    """A closed mesh, as large as a range says [m]; every second one is not convex."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(*sizes)
    match seed % 4:
        case 0:
            points = rng.normal(size=(30, 3))
            mesh = trimesh.convex.convex_hull(points)
        case 1:
            mesh = trimesh.creation.icosphere(subdivisions=2)
            waves = np.sin(mesh.vertices @ rng.uniform(2, 4, (3, 3))).sum(1)
            mesh.vertices *= 1 + 0.12 * waves[:, None]
        case 2:
            mesh = trimesh.convex.convex_hull(
                rng.uniform(-1, 1, (12, 3)) * [1, 0.6, 0.4]
            )
        case _:
            a, b = rng.uniform(0.3, 0.6, 2)
            corners = np.array([[0, 0], [1, 0], [1, a], [b, a], [b, 1], [0, 1]])
            mesh = trimesh.creation.extrude_triangulation(
                corners,
                [[0, 1, 2], [0, 2, 3], [0, 3, 5], [3, 4, 5]],
                rng.uniform(0.2, 0.6),
            )
    mesh.apply_translation(-mesh.bounds.mean(0))
    mesh.apply_scale(size / np.ptp(mesh.bounds, axis=0).max())
    return pw.Mesh(mesh)
