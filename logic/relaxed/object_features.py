"""Things as the relaxed side sees them: frames, parts, centres of mass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features import Feature
from posewise.features.symbol import Symbol, unresolved
from posewise.robots.config import Config

from ..geometry.frame_groups import (
    FrameGroup,
    find_object,
    mass_fractions,
    require_shapes,
)
from .parts import gather_rows


@dataclass(frozen=True, eq=False)
class ObjectPair:
    """Two things that a predicate names, in a world."""

    C: Config
    a: FrameGroup
    b: FrameGroup
    root: bool
    """Only a's root frame has mass, as iGibson has it."""

    @property
    def frames(self) -> tuple[int, ...]:
        """Frames of a, then those of b."""
        return (*self.a.frames, *self.b.frames)

    def shape_positions(self, side: str) -> list[int]:
        """Places among `frames` of those of a or b that have shapes."""
        return shape_positions(*self._of(side))

    def mass_arrays(self, side: str = "a") -> dict[str, np.ndarray]:
        """Of `mass_centre`: how the mass of a or b is spread over its frames."""
        thing, first = self._of(side)
        return mass_arrays(thing, first, self.root, side)

    def feature(self, build: "PairRows") -> Feature:
        """A feature of these frames; every entry is a row."""
        pair = lambda things: ObjectPair(things[0].C, things[0], things[1], self.root)
        return feature_on_frames((self.a, self.b), lambda things: build(pair(things)))

    def _of(self, side: str) -> tuple[FrameGroup, int]:
        """a or b, and the place of its first frame."""
        return (self.a, 0) if side == "a" else (self.b, len(self.a.frames))


def shape_positions(thing: FrameGroup, first: int) -> list[int]:
    """Places of a thing's frames that have shapes.

    Args:
        thing: of which frames stand one after the other.
        first: the place of its root.
    """
    solid = require_shapes(thing).collision_frames or thing.frames[:1]
    return [first + thing.frames.index(i) for i in solid]


def mass_arrays(
    thing: FrameGroup, first: int = 0, root: bool = False, side: str = "a"
) -> dict[str, np.ndarray]:
    """Of `mass_centre`: how the mass of a thing is spread over its frames.

    Args:
        thing: of which frames stand one after the other.
        first: the place of its root.
        root: only its root frame has mass.
        side: a word that tells its numbers from those of other things.
    """
    shares, points = mass_fractions(thing, root)
    return {
        f"shares_{side}": shares,
        f"points_{side}": points,
        f"places_{side}": first + np.arange(len(shares)),
    }


def feature_on_frames(things: Sequence[FrameGroup], build: "GroupRows") -> Feature:
    """A feature of the frames of things, one after the other; every entry is a row."""
    C, ends = things[0].C, np.cumsum([len(thing.frames) for thing in things])

    def resolve(C: Config, names: Sequence[str]) -> Any:
        at = np.array([C.index(name) for name in names])
        frames = [tuple(part.tolist()) for part in np.split(at, ends[:-1])]
        name = lambda part: C.frames[part[0]].name if part else ""
        fn, arrays, dim = build(
            tuple(FrameGroup(C, name(part), part) for part in frames)
        )
        return _symbol(fn, dim), at, arrays

    symbol = Symbol(
        unresolved, frames=(0, None), takes_frame_stack=True, resolve=resolve
    )
    names = tuple(C.frames[i].name for thing in things for i in thing.frames)
    return Feature(symbol, names)


RowFunction = tuple[Any, dict[str, np.ndarray], int]
"""`fn(R, p, **arrays)`, the same object for things of one structure; its numbers; and
how many rows it returns."""
PairRows = Callable[[ObjectPair], RowFunction]
GroupRows = Callable[[tuple[FrameGroup, ...]], RowFunction]


@lru_cache(maxsize=512)
def _symbol(fn: Any, dim: int) -> Symbol:
    name = fn.__name__
    return Symbol(fn, name, frames=(0, None), dim=dim, unit="m", takes_frame_stack=True)


def constant_row(truth: bool) -> GroupRows:
    """A row of what no pose changes: -1 or 1."""
    return lambda things: (_settled, {"value": np.array([-1.0 if truth else 1.0])}, 1)


def _settled(R: Any, p: Any, *, value: Any) -> Any:
    return value


def object_pair(C: Config, a: str, b: str, root: bool = False) -> ObjectPair:
    """The two things of these names in a world."""
    return ObjectPair(C, find_object(C, a, b), find_object(C, b, a), root)


def with_point(build: PairRows, point: Float[np.ndarray, "3"]) -> PairRows:
    """The same with a point of a's first frame in place of a's centre of mass."""

    def build_there(pair: ObjectPair) -> Any:
        fn, arrays, dim = build(pair)
        alone = {"shares_a": np.ones(1), "points_a": point[None]}
        return fn, arrays | alone | {"places_a": np.zeros(1, int)}, dim

    return build_there


def mass_centre(
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: dict[str, jax.Array],
    side: str = "a",
) -> Float[jax.Array, "3"]:
    """Centre of mass in the world [m]; see `ObjectPair.masses`."""
    at = arrays[f"places_{side}"]
    points = jnp.einsum("nij,nj->ni", gather_rows(R, at), arrays[f"points_{side}"])
    points = points + gather_rows(p, at)
    return arrays[f"shares_{side}"] @ points
