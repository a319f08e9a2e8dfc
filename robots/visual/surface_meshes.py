"""Meshes of what is seen of a frame, or of a whole world."""

from typing import TYPE_CHECKING

import numpy as np

from ..geometry.shapes import Mesh
from ..kinematics.transforms import quat_to_matrix
from ..world.frame import Frame
from .triangles import shape_triangles
from .viewable_world import ViewableWorld

if TYPE_CHECKING:
    from trimesh import Trimesh  # slow to import


def frame_mesh(frame: Frame) -> "Trimesh":
    """Return the triangles of a frame's shapes that are seen, in its axes.

    Those of a single mesh are as its file has them.

    Raises:
        ConfigError: For a mesh file that cannot be read.
    """
    import trimesh

    visible = [g for g in frame.geometries if g.visual]
    corners = [np.zeros((0, 3, 3)), *(shape_triangles(g).corners for g in visible)]
    points = np.concatenate(corners).reshape(-1, 3)
    faces = np.arange(len(points)).reshape(-1, 3)
    shape = visible[0].shape if len(visible) == 1 else None
    if not isinstance(shape, Mesh):
        return trimesh.Trimesh(points, faces)
    faces = np.asarray(shape.mesh.faces)
    points = np.zeros((faces.max() + 1, 3))
    points[faces] = corners[1]
    return trimesh.Trimesh(points, faces, process=False)


def world_mesh(world: ViewableWorld) -> "Trimesh":
    """Return the triangles of all shapes that are seen, in the world at its state.

    Raises:
        ConfigError: For a mesh file that cannot be read.
    """
    import trimesh

    meshes = [frame_mesh(frame) for frame in world.frames]
    rotations = np.asarray(quat_to_matrix(world.poses()[:, 3:]))
    points = [
        np.asarray(mesh.vertices) @ R.T + p
        for mesh, R, p in zip(meshes, rotations, world.poses()[:, :3], strict=True)
    ]
    first = np.cumsum([0, *map(len, points)])[:-1]
    faces = [np.asarray(mesh.faces) + k for mesh, k in zip(meshes, first, strict=True)]
    nothing = np.zeros((0, 3))
    return trimesh.Trimesh(
        np.concatenate([nothing, *points]),
        np.concatenate([nothing.astype(int), *faces]),
        process=False,
    )
