"""Fits of several primitives to one surface: cut where it pays, then fit again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float

from ...kinematics.transforms import IDENTITY
from ..outer_hulls import outer_hull
from ..shapes import Convex
from .boxes import enclosing_box
from .capsules import enclosing_capsule
from .error import distances_beyond
from .measures import reach_beyond, volume
from .spheres import enclosing_sphere
from .surface import CuttingPlane, PosedShape, Surface

PrimitiveKind: TypeAlias = Literal["capsules", "spheres", "boxes", "hulls"]
"""Shapes that `Config.fit_collisions` puts in place of meshes."""
TARGET_VOLUME_RATIO = 1.5
"""Volume of the shapes, as a multiple of the hull's, that is good enough without a
tolerance. A smaller one gives more shapes."""
MIN_GAIN = 0.02
"""Decrease of the volume, as a fraction, that makes a cut worth its shapes. A larger
one gives fewer shapes."""
SEARCH_GRID_POINTS = 4000
"""Number of points of the grid on which cuts are compared. More compare them better,
but take longer."""
VARIANCE_TOLERANCE = 1e-6
"""Difference of variances, as a fraction of their sum, below which they count as
equal."""
HULL_VERTICES = 32
"""Largest number of vertices of a fitted hull. More fit more closely, but make
distances slower."""


@dataclass(frozen=True)
class Primitive:
    """Functions that enclose points in a kind of shape, roughly and tightly."""

    rough: Callable[[np.ndarray], PosedShape]
    fine: Callable[[np.ndarray], PosedShape]
    max_shapes: int
    """Largest number of shapes for one surface."""
    reach: Callable[[Sequence[PosedShape], Surface], float]
    """Reach of shapes beyond a surface, or beyond its hull [m]."""


def _reach_beyond_hull(fitted: Sequence[PosedShape], surface: Surface) -> float:
    return reach_beyond(fitted, surface.corners)


def _reach_beyond_surface(fitted: Sequence[PosedShape], surface: Surface) -> float:
    return float(distances_beyond(fitted, surface).max())


def _hull(points: np.ndarray) -> PosedShape:
    return PosedShape(Convex(outer_hull(points, HULL_VERTICES)), IDENTITY.copy())


PRIMITIVES: dict[PrimitiveKind, Primitive] = {
    "capsules": Primitive(
        lambda points: enclosing_capsule(points, rounds=0),
        lambda points: enclosing_capsule(points, rounds=8),
        max_shapes=6,
        reach=_reach_beyond_hull,
    ),
    "spheres": Primitive(
        enclosing_sphere, enclosing_sphere, max_shapes=16, reach=_reach_beyond_hull
    ),
    "boxes": Primitive(
        lambda points: enclosing_box(points, faces=0),
        lambda points: enclosing_box(points, faces=40),
        max_shapes=8,
        reach=_reach_beyond_hull,
    ),
    "hulls": Primitive(
        lambda points: PosedShape(Convex(points), IDENTITY.copy()),
        _hull,
        max_shapes=8,
        reach=_reach_beyond_surface,
    ),
}


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a surface, between planes, with the shape around it."""

    surface: Surface
    planes: tuple[CuttingPlane, ...]
    shape: PosedShape


def fit(
    surface: Surface, kind: PrimitiveKind, tolerance: float | None
) -> list[PosedShape]:
    """Return shapes whose union encloses a surface and all that is in it.

    A piece is cut across the principal axes that leave the least volume, until the
    shapes are tight enough, or no cut helps. Where to cut is found on a coarse surface;
    the shapes enclose the pieces of the true one.

    Args:
        surface: The triangles.
        kind: Of the shapes.
        tolerance: Largest reach of a shape beyond the hull of the surface, of hulls
            beyond the surface itself [m]; None: until the volume is at most 1.5 times
            the hull's.
    """
    primitive = PRIMITIVES[kind]
    whole = primitive.fine(surface.corners)
    if _is_tight([whole], surface, primitive, tolerance):
        return [whole]
    coarse = surface.coarse()
    pieces = [Piece(coarse, (), primitive.rough(coarse.corners))]
    while len(pieces) < primitive.max_shapes:
        if _is_tight([p.shape for p in pieces], coarse, primitive, tolerance):
            break
        finer = _cut_one(pieces, primitive)
        if finer is None:
            break
        pieces = finer
    if len(pieces) == 1:
        return [whole]
    parts = [reduce(Surface.above, piece.planes, surface) for piece in pieces]
    return [primitive.fine(part.corners) for part in parts if len(part.vertices)]


def excess_beyond(
    shapes: Sequence[PosedShape],
    surface: Surface,
    kind: PrimitiveKind,
    tolerance: float | None,
) -> float:
    """Return the reach of shapes beyond what a tolerance allows, see `fit` [m]."""
    if tolerance is None:
        return 0.0
    return max(0.0, PRIMITIVES[kind].reach(shapes, surface) - tolerance)


def _is_tight(
    shapes: Sequence[PosedShape],
    surface: Surface,
    primitive: Primitive,
    tolerance: float | None,
) -> bool:
    if tolerance is None:
        ratio = volume(shapes, SEARCH_GRID_POINTS) / max(surface.hull_volume, 1e-300)
        return ratio <= TARGET_VOLUME_RATIO
    return primitive.reach(shapes, surface) <= tolerance


def _cut_one(pieces: Sequence[Piece], primitive: Primitive) -> list[Piece] | None:
    """Cut the piece whose shape has most to spare, of those for which that helps."""
    total = volume([p.shape for p in pieces], SEARCH_GRID_POINTS)
    spare = [volume([p.shape]) - p.surface.hull_volume for p in pieces]
    for k in np.argsort(spare)[::-1]:
        others = [p for i, p in enumerate(pieces) if i != k]
        room = primitive.max_shapes - len(others)
        parts = _best_cut(pieces[k], others, primitive, room)
        finer = [*others, *parts]
        if (
            volume([p.shape for p in finer], SEARCH_GRID_POINTS)
            < (1 - MIN_GAIN) * total
        ):
            return finer
    return None


def _best_cut(
    piece: Piece, others: Sequence[Piece], primitive: Primitive, room: int
) -> list[Piece]:
    """Return the parts of a piece, cut across some of its axes, that are worth most.

    They are worth the volume that they save for each shape more. Cuts go through the
    middle.
    """
    axes = _cut_axes(piece.surface.corners)
    local = piece.surface.corners @ axes.T
    middles = (local.min(0) + local.max(0)) / 2
    planes = [
        CuttingPlane(axis, float(m)) for axis, m in zip(axes, middles, strict=True)
    ]
    choices = [list(c) for count in (1, 2, 3) for c in combinations(planes, count)]
    outer = [p.shape for p in others]

    def rough_volume(parts: Sequence[Surface]) -> float:
        shapes = [primitive.rough(part.corners) for part in parts]
        return volume([*outer, *shapes], SEARCH_GRID_POINTS)

    before = volume([*outer, piece.shape], SEARCH_GRID_POINTS)
    best: tuple[float, list[tuple[Surface, tuple[CuttingPlane, ...]]]] = (-np.inf, [])
    for choice in choices:
        cut = [(piece.surface, piece.planes)]
        for plane in choice:
            sides = (plane, CuttingPlane(-plane.normal, -plane.offset))
            halves = [(s.above(side), (*p, side)) for s, p in cut for side in sides]
            cut = [half for half in halves if len(half[0].vertices)]
        if 1 < len(cut) <= room:
            saved = before - rough_volume([surface for surface, _ in cut])
            best = max(best, (saved / (len(cut) - 1), cut), key=lambda c: c[0])
    return [Piece(s, p, primitive.rough(s.corners)) for s, p in best[1]]


def _cut_axes(points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "3 3"]:
    """Return the principal axes of points, as rows.

    Where variances are equal, as a cube's are, any axes are principal, and rounding
    would choose them; the axes of the frame break the tie.
    """
    centred = points - points.mean(0)
    variances = centred.T @ centred
    ties = VARIANCE_TOLERANCE * np.trace(variances) * np.arange(3)
    return np.linalg.eigh(variances - np.diag(ties))[1].T[::-1]
