"""Primitives in place of the meshes that collide, and a report of what they cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter
from typing import get_args

import numpy as np

from posewise.compilation.progress import announce_if_slow

from ..errors import ConfigError, first_few
from ..geometry.fitting.measures import reach_beyond, volume
from ..geometry.fitting.splitting import PrimitiveKind, excess_beyond, fit
from ..geometry.fitting.surface import PosedShape, Surface
from ..geometry.hulls import surface_simplices
from ..geometry.mesh_cleaning import clean_triangles
from ..geometry.shapes import Convex, Mesh
from ..kinematics.transforms import quat_to_matrix
from ..typing import Frames
from ..validation import number
from .frame import Frame, Geometry
from .frame_tree import FrameTree


@dataclass(frozen=True)
class LinkFit:
    """The cost of the primitives of one frame."""

    frame: str
    shape_count: int
    """Number of new shapes."""
    volume_ratio: float
    """Volume of the shapes, divided by that of the hull of what they replace."""
    max_beyond: float
    """Largest distance of a shape's point from that hull [m]."""
    seconds: float
    """Time of the fit [s]."""
    excess: float = 0.0
    """Reach of the shapes beyond what the tolerance allows [m]."""


@dataclass(frozen=True)
class CollisionFit:
    """The cost of the primitives of all frames; printed, it is a table."""

    links: tuple[LinkFit, ...]
    closer: tuple[str, ...] = ()
    """Frames fitted by boxes, since the shapes that were asked for fill a gap to
    another link of the robot."""
    hulls: tuple[str, ...] = ()
    """Frames that keep their meshes and hulls for the same reason."""

    @property
    def median_volume_ratio(self) -> float:
        """Median over the frames of volume, divided by the hull's volume."""
        return float(np.median([link.volume_ratio for link in self.links]))

    def __str__(self) -> str:
        if not self.links:
            return "No frame has a mesh or hull that collides; nothing was replaced."
        width = max(len("frame"), *(len(link.frame) for link in self.links))
        rows = [
            f"{'frame':{width}}  shapes  volume / hull  beyond hull [mm]  time [ms]"
        ]
        rows += [
            f"{link.frame:{width}}  {link.shape_count:6}  {link.volume_ratio:13.2f}"
            f"  {1e3 * link.max_beyond:16.1f}  {1e3 * link.seconds:9.0f}"
            for link in self.links
        ]
        count = sum(link.shape_count for link in self.links)
        seconds = sum(link.seconds for link in self.links)
        largest = max(link.max_beyond for link in self.links)
        rows.append(
            f"{'all':{width}}  {count:6}  {self.median_volume_ratio:6.2f} median"
            f"  {1e3 * largest:16.1f}  {1e3 * seconds:9.0f}"
        )
        if self.closer:
            rows.append(
                "Fitted by boxes, since else they fill a gap to another link:"
                f" {first_few(self.closer)}."
            )
        if self.hulls:
            rows.append(
                "Left as hulls, since fits fill a gap to another link:"
                f" {first_few(self.hulls)}."
            )
        if loose := [link for link in self.links if link.excess > 0]:
            farthest = max(loose, key=lambda link: link.excess)
            names = first_few([link.frame for link in loose])
            rows.append(
                f"The tolerance is not kept by {names}"
                f" ({farthest.frame!r} reaches {1e3 * farthest.excess:.3g} mm farther)"
                " with the most shapes that a fit makes. Try other primitives, or"
                " decompose the mesh: pw.Mesh(file, mode='decompose')."
            )
        return "\n".join(rows)


def fit_collisions(
    tree: FrameTree,
    primitives: PrimitiveKind,
    tolerance: float | None,
    links: Frames | None,
) -> tuple[FrameTree, CollisionFit]:
    """Replace meshes and hulls by primitives; see `Config.fit_collisions`."""
    if primitives not in get_args(PrimitiveKind):
        raise ConfigError(
            f"primitives is {primitives!r}, expected 'capsules', 'spheres', 'boxes' or"
            " 'hulls'."
        )
    if tolerance is not None and tolerance != inf:
        expected = "a number > 0 (metres), infinity or None"
        tolerance = number("tolerance", tolerance, expected, lambda t: t > 0)
    report = []
    for i in _chosen_frames(tree, links):
        tree, link = fit_link(tree, i, primitives, tolerance)
        report.append(link)
    return tree, CollisionFit(tuple(report))


def fit_link(
    tree: FrameTree,
    i: int,
    primitives: PrimitiveKind,
    tolerance: float | None,
    seconds: float = 0.0,
) -> tuple[FrameTree, LinkFit]:
    """Return a tree in which primitives replace the meshes and hulls of one frame.

    Args:
        tree: The frames.
        i: Index of the frame.
        primitives: See `Config.fit_collisions`.
        tolerance: See `Config.fit_collisions`.
        seconds: Time of earlier fits of the frame [s].
    """
    start = perf_counter()
    frame = unfitted(tree.frames[i])
    surface = _surface(frame)
    with announce_if_slow(f"fitting {primitives} to {frame.name!r}"):
        fitted = fit(surface, primitives, tolerance)
    geometries = _replaced(frame, fitted)
    tree = tree.with_properties(i, geometries=geometries, unfitted=frame.geometries)
    hull = surface.hull_volume
    return tree, LinkFit(
        frame.name,
        len(fitted),
        volume(fitted) / hull if hull else inf,
        reach_beyond(fitted, surface.corners),
        seconds + perf_counter() - start,
        excess_beyond(fitted, surface, primitives, tolerance),
    )


def unfit_link(tree: FrameTree, i: int, link: LinkFit) -> tuple[FrameTree, LinkFit]:
    """Return a tree in which a frame has its meshes and hulls again.

    Args:
        tree: The frames.
        i: Index of the frame.
        link: The cost of its fit.
    """
    frame = unfitted(tree.frames[i])
    count = sum(map(_is_fitted, frame.geometries))
    tree = tree.with_properties(i, geometries=frame.geometries)
    return tree, LinkFit(frame.name, count, 1.0, 0.0, link.seconds)


def unfitted(frame: Frame) -> Frame:
    """Return a frame with the shapes that it had before it was fitted."""
    if not frame.unfitted:
        return frame
    return replace(frame, geometries=frame.unfitted, unfitted=())


def _has_fitted(frame: Frame) -> bool:
    """Whether a frame has meshes or sharp hulls that collide, or had before a fit."""
    return any(map(_is_fitted, unfitted(frame).geometries))


def _chosen_frames(tree: FrameTree, links: Frames | None) -> list[int]:
    if links is None:
        return [i for i, frame in enumerate(tree.frames) if _has_fitted(frame)]
    if not isinstance(links, Iterable):
        raise ConfigError(
            f"links is {links!r}, expected the name of a frame, or a list of names."
        )
    names = [links] if isinstance(links, str) else list(links)
    chosen = [tree.own_index(name) for name in names]
    for name, i in zip(names, chosen, strict=True):
        if not _has_fitted(tree.frames[i]):
            raise ConfigError(
                f"links: frame {name!r} has no mesh and no hull that collides, so that"
                " nothing is replaced; leave it out."
            )
    return chosen


def _is_fitted(geometry: Geometry) -> bool:
    """Whether a shape is a mesh or a sharp hull that collides."""
    match geometry.shape:
        case Mesh() | Convex(rounding=0.0):
            return geometry.collision
    return False


def _surface(frame: Frame) -> Surface:
    """Return the triangles of all shapes that are replaced, in the frame."""
    vertices, faces, count = [], [], 0
    for geometry in filter(_is_fitted, frame.geometries):
        match geometry.shape:
            case Mesh() as mesh:
                corners, triangles = clean_triangles(mesh)
            case Convex(hull):
                corners, triangles = _hull_triangles(hull)
        R = quat_to_matrix(np.asarray(geometry.pose[3:], float))
        vertices.append(corners @ R.T + geometry.pose[:3])
        faces.append(triangles + count)
        count += len(corners)
    return Surface(np.concatenate(vertices), np.concatenate(faces))


def _hull_triangles(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # A flat hull is a fan of triangles; a segment or a point, one without area.
    simplices = [s[[0, len(s) // 2, -1]] for s in surface_simplices(vertices)]
    corners = np.concatenate(simplices)
    return corners, np.arange(len(corners)).reshape(-1, 3)


def _replaced(frame: Frame, fitted: Sequence[PosedShape]) -> tuple[Geometry, ...]:
    """Return new shapes, then the old ones; of the fitted ones only what is drawn.

    New ones have the mask of the fitted ones, or none where these differ.
    """
    masks = {g.mask for g in frame.geometries if _is_fitted(g)}
    mask = masks.pop() if len(masks) == 1 else None
    new = [Geometry(shape, pose, visual=False, mask=mask) for shape, pose in fitted]
    old = [
        replace(g, collision=False) if _is_fitted(g) else g
        for g in frame.geometries
        if g.visual or not _is_fitted(g)
    ]
    return (*new, *old)
