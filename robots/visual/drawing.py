"""Pictures of a world with matplotlib: solid shapes, link skeletons, paths."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..config import Config
from ..geometry import shapes
from ..kinematics.transforms import quat_to_matrix
from ..world.frame import Geometry
from .figures import new_figure

LIGHT_DIRECTION = np.array([0.4, -0.5, 0.77])
DEFAULT_COLOR = (0.62, 0.68, 0.74, 1.0)


def new_axes(
    title: str = "", size: tuple[float, float] = (7.0, 6.0)
) -> tuple[Any, Any]:
    """A matplotlib figure (without a window) and its 3D axes.

    Raises:
        ImportError: without matplotlib; names the extra.
    """
    made = new_figure(*size)
    axes = made.add_subplot(projection="3d", title=title)
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    return made, axes


def draw_shapes(axes: Any, *layers: tuple[Config, Iterable[str], float]) -> None:
    """Draw the visual shapes of frames: layers of (world at its state, frames, alpha).

    Later layers cover earlier ones; within a layer what is behind is hidden.
    """
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    axes.computed_zorder = False
    for order, (C, frames, alpha) in enumerate(layers, start=1):
        walk = C.forward_pass().frames
        placed: list[np.ndarray] = []
        colors: list[np.ndarray] = []
        for name in frames:
            i = C.index(name)
            for geometry in C.frame(name).geometries:
                faces = polygons(geometry) if geometry.visual else []
                faces = [f @ walk.R[i].T + walk.p[i] for f in faces]
                placed += faces
                colors += [shade(f, geometry.color, alpha) for f in faces]
        if placed:
            edges = colors if alpha == 1 else "none"
            style = dict(facecolors=colors, edgecolors=edges, linewidths=0.3)
            axes.add_collection3d(Poly3DCollection(placed, zorder=order, **style))


def draw_skeleton(
    axes: Any, C: Config, q: np.ndarray, tip: str, color: Any, width: float = 2.0
) -> None:
    """Draw the chain of frames from the root to `tip` at coordinates q."""
    p = C.forward_pass(q).frames.p[frame_chain(C, tip)]
    axes.plot(*p.T, color=color, linewidth=width, marker="o", markersize=2.5)


def draw_path(axes: Any, C: Config, path: np.ndarray, tip: str, count: int = 6) -> None:
    """Draw skeletons along a path (T, nq), early ones pale, and the tip's trace."""
    for k in np.unique(np.linspace(0, len(path) - 1, count).astype(int)):
        share = (k + 1) / len(path)
        draw_skeleton(axes, C, path[k], tip, (0.1, 0.25, 0.6, 0.15 + 0.85 * share))
    trace = C.forward_pass(path).frames.p[:, C.index(tip)]
    axes.plot(*trace.T, color="tab:orange", linewidth=1.5)


def fit_axes(axes: Any, points: np.ndarray, margin: float = 0.1) -> None:
    """Equal scales around points (n, 3)."""
    low, high = points.min(0) - margin, points.max(0) + margin
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low)


def frame_chain(C: Config, tip: str) -> list[int]:
    """Indices of the frames from the root to `tip`."""
    i: int | None = C.index(tip)
    found: list[int] = []
    while i is not None:
        found.append(i)
        i = C.frames[i].parent
    return found[::-1]


def shade(face: np.ndarray, color: Sequence[float] | None, alpha: float) -> np.ndarray:
    """RGBA of a polygon lit from one side."""
    normal = np.cross(face[1] - face[0], face[2] - face[0])
    length = np.linalg.norm(normal)
    bright = (
        0.75 if length == 0 else 0.65 + 0.35 * abs(normal @ LIGHT_DIRECTION) / length
    )
    rgba = np.ones(4)
    rgba[: len(color or DEFAULT_COLOR)] = color or DEFAULT_COLOR
    rgba[:3] *= bright
    rgba[3] *= alpha
    return np.clip(rgba, 0, 1)


def polygons(geometry: Geometry, around: int = 20) -> list[np.ndarray]:
    """Faces (k, 3) of a shape in its frame; none for shapes without a body."""
    match geometry.shape:
        case shapes.Box(size, _):
            faces = _box_faces(size / 2)
        case shapes.Cylinder(length, radius, _):
            faces = _revolve([(0, -0.5), (1, -0.5), (1, 0.5), (0, 0.5)], around)
            faces = [f * [radius, radius, length] for f in faces]
        case shapes.Sphere(radius):
            faces = _revolve(_capsule_profile(0.0, radius), around)
        case shapes.Capsule(length, radius):
            faces = _revolve(_capsule_profile(length, radius), around)
        case shapes.Ellipsoid(radii):
            faces = [f * radii for f in _revolve(_capsule_profile(0.0, 1.0), around)]
        case shapes.Convex(vertices, _):
            import trimesh

            hull = trimesh.convex.convex_hull(vertices)
            faces = list(hull.triangles)
        case shapes.Mesh() as mesh:
            body = mesh.mesh
            if len(body.faces) > 3000:
                body = body.convex_hull
            faces = list(body.triangles)
        case _:
            return []
    R = quat_to_matrix(geometry.pose[3:])
    return [np.asarray(f) @ R.T + geometry.pose[:3] for f in faces]


def _box_faces(half: np.ndarray, piece: float = 0.08) -> list[np.ndarray]:
    """The six faces of a box, cut into pieces."""
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    faces = []
    for axis in range(3):
        sides = np.delete(half, axis)
        cuts = np.maximum(np.ceil(2 * sides / piece), 1).astype(int)
        for corner in np.ndindex(*cuts):
            patch = ((square + corner) / cuts * 2 - 1) * sides
            for side in (-half[axis], half[axis]):
                faces.append(np.insert(patch, axis, side, 1))
    return faces


def _capsule_profile(length: float, radius: float) -> list[tuple[float, float]]:
    """Profile (r, z) of a capsule, from below to above."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, 12)
    side = np.where(angles < 0, -length / 2, length / 2)
    r, z = radius * np.cos(angles), radius * np.sin(angles) + side
    return list(zip(r, z, strict=True))


def _revolve(profile: Sequence[tuple[float, float]], around: int) -> list[np.ndarray]:
    """Quads of a profile (r, z) turned about z."""
    angle = np.linspace(0, 2 * np.pi, around + 1)
    ring = np.stack([np.cos(angle), np.sin(angle)], -1)
    faces = []
    for (r0, z0), (r1, z1) in zip(profile[:-1], profile[1:], strict=True):
        for a, b in zip(ring[:-1], ring[1:], strict=True):
            corners = [(*(r0 * a), z0), (*(r0 * b), z0), (*(r1 * b), z1)]
            faces.append(np.array([*corners, (*(r1 * a), z1)]))
    return faces
