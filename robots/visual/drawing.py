"""Pictures of a world with matplotlib: solid shapes, link skeletons, paths."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..geometry.tessellation import DEFAULT_COLOR, polygons
from ..typing import FrameName
from .figures import new_figure
from .viewable_world import ViewableWorld
from .visible_shapes import drawn_frames

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D

LIGHT_DIRECTION = np.array([0.4, -0.5, 0.77])
"""Direction to the light; faces are brighter the more they face it."""


def new_axes(
    title: str = "", size: tuple[float, float] = (7.0, 6.0)
) -> tuple[Any, Any]:
    """Return a matplotlib figure (without a window) and its 3D axes.

    Args:
        title: The title of the axes.
        size: Width and height [inch].

    Raises:
        ImportError: When matplotlib is not installed; the message names the extra.
    """
    figure = new_figure(*size)
    axes = figure.add_subplot(projection="3d", title=title)
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    return figure, axes


def draw_shapes(
    axes: "Axes3D", *layers: tuple[ViewableWorld, Iterable[FrameName], float]
) -> None:
    """Draw the visual shapes of frames.

    Later layers cover earlier ones; within a layer nearer faces hide farther ones.

    Args:
        axes: 3D axes of matplotlib.
        *layers: For each layer the world at its state, the frames, and the opacity.
    """
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    axes.computed_zorder = False
    for order, (C, frames, alpha) in enumerate(layers, start=1):
        poses = C.forward_pass().frames
        all_faces: list[np.ndarray] = []
        colors: list[np.ndarray] = []
        for name in frames:
            i = C.index(name)
            for geometry in drawn_frames(C.frames)[i].geometries:
                if not geometry.visual:
                    continue
                faces = polygons(geometry.shape, geometry.pose)
                faces = [f @ poses.R[i].T + poses.p[i] for f in faces]
                all_faces += faces
                colors += [shade(f, geometry.color, alpha) for f in faces]
        if all_faces:
            # Edges of opaque faces hide the gaps between neighbouring polygons.
            edges = colors if alpha == 1 else "none"
            style = dict(facecolors=colors, edgecolors=edges, linewidths=0.3)
            axes.add_collection3d(Poly3DCollection(all_faces, zorder=order, **style))


def draw_skeleton(
    axes: "Axes3D",
    C: ViewableWorld,
    q: Float[np.ndarray, " nq"],
    tip: FrameName,
    color: str | Sequence[float],
    width: float = 2.0,
) -> None:
    """Draw the chain of frames from the root to `tip` at coordinates q."""
    p = C.forward_pass(q).frames.p[frame_chain(C, tip)]
    axes.plot(*p.T, color=color, linewidth=width, marker="o", markersize=2.5)


def draw_path(
    axes: "Axes3D",
    C: ViewableWorld,
    path: Float[np.ndarray, "T nq"],
    tip: FrameName,
    count: int = 6,
) -> None:
    """Draw `count` skeletons along a path, early ones pale, and the tip's trace."""
    for k in np.unique(np.linspace(0, len(path) - 1, count).astype(int)):
        progress = (k + 1) / len(path)
        draw_skeleton(axes, C, path[k], tip, (0.1, 0.25, 0.6, 0.15 + 0.85 * progress))
    trace = C.forward_pass(path).frames.p[:, C.index(tip)]
    axes.plot(*trace.T, color="tab:orange", linewidth=1.5)


def fit_axes(
    axes: "Axes3D", points: Float[np.ndarray, "n 3"], margin: float = 0.1
) -> None:
    """Fit axes with equal scales around points, with a margin [m]."""
    low, high = points.min(0) - margin, points.max(0) + margin
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low)


def frame_chain(C: ViewableWorld, tip: FrameName) -> list[int]:
    """Return the indices of the frames from the root to `tip`."""
    i: int | None = C.index(tip)
    chain: list[int] = []
    while i is not None:
        chain.append(i)
        i = C.frames[i].parent
    return chain[::-1]


def shade(
    face: Float[np.ndarray, "k 3"], color: Sequence[float] | None, alpha: float
) -> Float[np.ndarray, "4"]:
    """Return the RGBA colour of a polygon that is lit from one side."""
    normal = np.cross(face[1] - face[0], face[2] - face[0])
    length = np.linalg.norm(normal)
    brightness = 0.75
    if length > 0:
        brightness = 0.65 + 0.35 * abs(normal @ LIGHT_DIRECTION) / length
    rgba = np.ones(4)
    rgba[: len(color or DEFAULT_COLOR)] = color or DEFAULT_COLOR
    rgba[:3] *= brightness
    rgba[3] *= alpha
    return np.clip(rgba, 0, 1)
