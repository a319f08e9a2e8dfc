"""Pairs of frames as pairs of convex bodies, in groups of one kind each.

A frame with several shapes counts as their union: its distance is that of the nearest
two bodies.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from posewise import collision

from ..errors import ConfigError
from ..world.frame import Frame
from .bodies import Bodies, concatenate_bodies, frame_bodies
from .body_table import bodies_may_touch
from .collision_pairs import FramePair

CoreTypes = tuple[tuple[Any, Any], ...]
"""Types of the two cores, one entry for each group of body pairs."""


class BodyPairs(NamedTuple):
    """Pairs of bodies of one kind each, and the pair of frames each belongs to."""

    a: Bodies
    b: Bodies
    pair: Int[np.ndarray, " n"]
    """Place of the pair of frames."""
    is_flipped: Bool[np.ndarray, " n"]
    """Whether body b belongs to the first frame."""


MAX_COMMON_HULL_VERTICES = 32
"""Largest hulls that are padded to one number of vertices in a world (count); larger
ones keep their own, because each vertex is searched in each step."""


def group_body_pairs(
    frames: Sequence[Frame], pairs: Iterable[FramePair] | Int[np.ndarray, "n 2"]
) -> list[BodyPairs]:
    """Return all pairs of bodies of pairs of frames (indices), grouped by kind.

    Of shapes with masks only those count that may touch each other; all of them where
    none may. Each kind is a program to compile, so that kinds are few: hulls have one
    number of vertices where possible, and a core beside one of a more general type is
    written as one of that type.

    Raises:
        ConfigError: for a frame without collision shapes, or the world.
    """
    pairs = [(int(i), int(j)) for i, j in pairs]
    tables = _BodyTables(frames, {i for pair in pairs for i in pair})
    members: dict[tuple[Any, Any], list[tuple[np.ndarray, ...]]] = {}
    for k, (i, j) in enumerate(pairs):
        may_touch = bodies_may_touch(frames[i], frames[j])
        for x, rows_x, numbers_x in tables.rows[i]:
            for y, rows_y, numbers_y in tables.rows[j]:
                flip = _core_rank(x) > _core_rank(y)
                a, b = (y, x) if flip else (x, y)
                if a[0] is collision.HalfSpace:
                    # Two half-spaces have no finite distance.
                    continue
                grid = np.meshgrid(rows_x, rows_y, indexing="ij")
                rows_a, rows_b = (m.ravel() for m in (grid[::-1] if flip else grid))
                if may_touch is not None:
                    counts = may_touch[np.ix_(numbers_x, numbers_y)].ravel()
                    rows_a, rows_b = rows_a[counts], rows_b[counts]
                place, is_flipped = np.full(len(rows_a), k), np.full(len(rows_a), flip)
                members.setdefault((a, b), []).append(
                    (rows_a, rows_b, place, is_flipped)
                )
    merged: dict[tuple[Any, Any], list[BodyPairs]] = {}
    hulls = tables.common_hull
    has_hull_pairs = (hulls, hulls) in members
    for (kind_a, kind_b), parts in members.items():
        rows_a, rows_b, place, is_flipped = map(
            np.concatenate, zip(*parts, strict=True)
        )
        a, b = tables.bodies(kind_a).rows(rows_a), tables.bodies(kind_b).rows(rows_b)
        if isinstance(core := a.body.core, collision.Box):
            if kind_b[0] is collision.BoxPlusEllipsoid:
                a = a.with_core(collision.as_box_plus_ellipsoid(core))
            elif kind_b == hulls and has_hull_pairs:
                a = a.with_core(collision.box_as_hull(core, hulls[1]))
        group = BodyPairs(a, b, place, is_flipped)
        merged.setdefault((a.kind, b.kind), []).append(group)
    return [_concatenate_pairs(parts) for parts in merged.values()]


class _BodyTables:
    """The bodies of frames, by kind, each body once."""

    def __init__(self, frames: Sequence[Frame], involved: Collection[int]) -> None:
        if len(frames) in involved:
            raise ConfigError(
                "The world has no collision shape; add a frame with a Plane."
            )
        groups = {i: frame_bodies(frames[i]) for i in sorted(involved)}
        sizes = {bodies.kind[1] for parts in groups.values() for bodies in parts}
        largest = max((n for n in sizes if n <= MAX_COMMON_HULL_VERTICES), default=0)
        self.common_hull = collision.Hull, largest
        self.parts: dict[Any, list[Bodies]] = {}
        self.count: dict[Any, int] = {}
        self.rows = {
            i: [self._append(self._with_common_hull(bodies)) for bodies in parts]
            for i, parts in groups.items()
        }
        """By frame: kinds of its bodies, their rows in `bodies(kind)`, and numbers."""

    def bodies(self, kind: Any) -> Bodies:
        """Return all bodies of a kind."""
        return concatenate_bodies(self.parts[kind])

    def _with_common_hull(self, bodies: Bodies) -> Bodies:
        core, count = bodies.body.core, self.common_hull[1]
        if not isinstance(core, collision.Hull) or bodies.kind[1] >= count:
            return bodies
        return bodies.with_core(collision.pad_hull(core, count))

    def _append(self, bodies: Bodies) -> tuple[Any, np.ndarray, np.ndarray]:
        first = self.count.get(bodies.kind, 0)
        self.count[bodies.kind] = first + len(bodies)
        self.parts.setdefault(bodies.kind, []).append(bodies)
        return bodies.kind, np.arange(first, first + len(bodies)), bodies.number


def _core_rank(kind: tuple[Any, ...]) -> int:
    order = (
        collision.Box,
        collision.BoxPlusEllipsoid,
        collision.Hull,
        collision.HalfSpace,
    )
    return order.index(kind[0])


def _concatenate_pairs(parts: list[BodyPairs]) -> BodyPairs:
    return BodyPairs(
        concatenate_bodies([part.a for part in parts]),
        concatenate_bodies([part.b for part in parts]),
        np.concatenate([part.pair for part in parts]),
        np.concatenate([part.is_flipped for part in parts]),
    )


def pack(groups: list[BodyPairs]) -> tuple[CoreTypes, dict[str, np.ndarray]]:
    """Return the static types of the cores, and all arrays by name."""
    arrays: dict[str, np.ndarray] = {}
    for g, group in enumerate(groups):
        for side in ("a", "b"):
            body = getattr(group, side).body
            leaves = (*body.core, *body[1:])
            arrays |= {f"{side}{g}_{n}": np.asarray(x) for n, x in enumerate(leaves)}
        arrays[f"pair{g}"], arrays[f"flipped{g}"] = group.pair, group.is_flipped
    return tuple((group.a.kind[0], group.b.kind[0]) for group in groups), arrays
