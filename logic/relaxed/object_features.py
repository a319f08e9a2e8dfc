"""Objects in relaxations: features of their frames, centres of mass, constant rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.compilation.capacity import Capacity, capacity_at_hand, capacity_class
from posewise.features import Feature
from posewise.features.parts import gather_rows
from posewise.features.symbol import Arrays, Resolved, Symbol, TracedArrays
from posewise.features.symbol_kinds import StackSymbol
from posewise.robots.annotations.regions import Region
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import (
    FrameGroup,
    find_object,
    mass_fractions,
    require_shapes,
)
from .world_feature import world_feature


class RowFunction(NamedTuple):
    """Rows as a function of the poses of some frames."""

    fn: Callable[..., Any]
    """`fn(R, p, **arrays)`; the same object for objects of the same structure, so that
    these share compiled programs."""
    arrays: Arrays
    """Its numbers for the given objects."""
    dim: int
    """Number of rows."""


@dataclass(frozen=True, eq=False)
class ObjectPair:
    """Two objects that a predicate names, in a world."""

    C: Config
    a: FrameGroup
    b: FrameGroup
    root_only: bool
    """Whether only a's root frame has mass, as in iGibson."""

    @property
    def frames(self) -> tuple[int, ...]:
        """Frames of a, then those of b."""
        return (*self.a.frames, *self.b.frames)

    def shape_positions(self, side: str) -> list[int]:
        """Return the positions in `frames` of the frames of a or b with shapes."""
        return shape_positions(*self._side(side))

    def with_visible_shapes(self) -> "ObjectPair":
        """Return the same objects with the shapes that are seen."""
        C = self.C.visible_copy()
        a, b = (replace(group, C=C) for group in (self.a, self.b))
        return ObjectPair(C, a, b, self.root_only)

    def mass_arrays(self, side: str = "a") -> Arrays:
        """Return the arrays of a or b for `mass_centre`."""
        group, first = self._side(side)
        return mass_arrays(group, first, self.root_only, side)

    def feature(self, build: "PairRows") -> Feature:
        """Return rows of these objects as a feature of their frames."""

        def build_group(groups: tuple[FrameGroup, ...]) -> RowFunction:
            a, b = groups
            return build(ObjectPair(a.C, a, b, self.root_only))

        return feature_on_frames((self.a, self.b), build_group)

    def _side(self, side: str) -> tuple[FrameGroup, int]:
        """Return a or b, and the position of its first frame."""
        return (self.a, 0) if side == "a" else (self.b, len(self.a.frames))


PairRows: TypeAlias = Callable[[ObjectPair], RowFunction]
"""Returns rows for a pair of objects in a world."""
GroupRows: TypeAlias = Callable[[tuple[FrameGroup, ...]], RowFunction]
"""Returns rows for several groups of frames in a world."""


def shape_positions(group: FrameGroup, first: int) -> list[int]:
    """Return the positions of a group's frames with shapes.

    Args:
        group: its frames follow each other.
        first: position of its root.
    """
    with_shapes = require_shapes(group).collision_frames or group.frames[:1]
    return [first + group.frames.index(i) for i in with_shapes]


def frame_position(pair: ObjectPair, region: Region) -> Int[np.ndarray, ""]:
    """Return the position of the frame of a region of b in `pair.frames`."""
    position = pair.b.frames.index(pair.C.index(region.frame))
    return np.array(len(pair.a.frames) + position)


def mass_arrays(
    group: FrameGroup, first: int = 0, root_only: bool = False, side: str = "a"
) -> Arrays:
    """Return the distribution of mass over frames, for `mass_centre`.

    Args:
        group: its frames follow each other.
        first: position of its root.
        root_only: only its root frame has mass.
        side: suffix that distinguishes its arrays from those of other groups.
    """
    fractions, points = mass_fractions(group, root_only)
    need = Capacity(frozenset(), (capacity_class(len(fractions), 1),))
    (count,) = capacity_at_hand(("mass", side), need).counts
    missing = count - len(fractions)
    return {
        f"shares_{side}": np.pad(fractions, (0, missing)),
        f"points_{side}": np.pad(points, ((0, missing), (0, 0))),
        f"places_{side}": first + np.arange(count) % len(fractions),
    }


def mass_centre(
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: TracedArrays,
    side: str = "a",
) -> Float[jax.Array, "3"]:
    """Return the centre of mass in the world [m]; see `mass_arrays`."""
    # The centre is Σ fᵢ (Rᵢ xᵢ + pᵢ), with mass fractions fᵢ and centres xᵢ in frames.
    places = arrays[f"places_{side}"]
    points = jnp.einsum("nij,nj->ni", gather_rows(R, places), arrays[f"points_{side}"])
    points = points + gather_rows(p, places)
    return jnp.matmul(arrays[f"shares_{side}"], points)


def with_point(build: PairRows, point: Float[np.ndarray, "3"]) -> PairRows:
    """Return the same rows with a point of a's first frame as a's centre of mass."""

    def build_with_point(pair: ObjectPair) -> RowFunction:
        fn, arrays, dim = build(pair)
        mass = {"shares_a": np.ones(1), "points_a": point[None]}
        mass["places_a"] = np.zeros(1, int)
        return RowFunction(fn, arrays | mass, dim)

    return build_with_point


def of_visible_shapes(build: GroupRows) -> GroupRows:
    """Return the same rows of the shapes that are seen; see `Config.visible_copy`."""

    def build_visible(groups: tuple[FrameGroup, ...]) -> RowFunction:
        C = groups[0].C.visible_copy()
        return build(tuple(replace(group, C=C) for group in groups))

    return build_visible


def feature_on_frames(groups: Sequence[FrameGroup], build: GroupRows) -> Feature:
    """Return rows as a feature of the frames of groups, one group after the other."""
    C, ends = groups[0].C, np.cumsum([len(group.frames) for group in groups])

    def resolve(C: Config, names: Sequence[str]) -> Resolved:
        # Frames are looked up by name, because this world may be another one than that
        # of the groups: a copy, or one in which objects were attached or scaled.
        indices = np.array([C.index(name) for name in names])
        frames = [tuple(part.tolist()) for part in np.split(indices, ends[:-1])]
        roots = [C.frames[part[0]].name if part else "" for part in frames]
        named = zip(roots, frames, strict=True)
        fn, arrays, dim = build(tuple(FrameGroup(C, *entry) for entry in named))
        return Resolved(_symbol(fn, dim), with_copies(indices, fn.__name__), arrays)

    names = [C.frames[i].name for group in groups for i in group.frames]
    return world_feature(names, resolve)


@lru_cache(maxsize=512)
def _symbol(fn: Callable[..., Any], dim: int) -> Symbol:
    """Return one symbol for each row function: programs are cached by symbol."""
    return StackSymbol(
        fn,
        fn.__name__.lstrip("_"),
        frames=(0, None),
        dim=dim,
        unit="m",
    )


def with_copies(indices: Int[np.ndarray, " n"], rows: str) -> Int[np.ndarray, " m"]:
    """Return frames and copies of the last one, for a program that serves more."""
    if not len(indices):
        return indices
    need = Capacity(frozenset(), (capacity_class(len(indices), 1),))
    (count,) = capacity_at_hand(("frames", rows), need).counts
    return np.pad(indices, (0, count - len(indices)), mode="edge")


def constant_row(truth: bool) -> GroupRows:
    """Return the row of a statement that no pose changes: -1 if true, else 1."""

    def build(groups: tuple[FrameGroup, ...]) -> RowFunction:
        return RowFunction(_constant, {"value": np.array([-1.0 if truth else 1.0])}, 1)

    return build


def _constant(R: Any, p: Any, *, value: Any) -> Any:
    return value


def object_pair(
    C: Config, a: FrameName, b: FrameName, root_only: bool = False
) -> ObjectPair:
    """Return two objects of a world by name."""
    return ObjectPair(C, find_object(C, a, b), find_object(C, b, a), root_only)
