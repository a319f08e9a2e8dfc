"""Inside: a centre of mass that another thing surrounds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.world.regions import Region

from ..relaxed import regions as relaxed_regions
from ..relaxed.constraint_terms import AllOf, AnyOf, Rows, Term
from ..relaxed.object_features import pair_of
from ..relaxed.rays import beyond, enclosed, not_surrounded, surrounded
from .messages import length
from .rays import AXES, IGIBSON_RANGE, crossed, hits_both_ways
from .regions import box_about, cavities, in_cavity
from .solids import (
    Solid,
    bounding_box,
    centre_of_mass,
    centres_at,
    region_about,
    thing,
    with_shapes,
)
from .verdict import Judged, Verdict


@dataclass(frozen=True)
class InsideOf(Judged):
    """a's centre of mass lies in b's bounding box, and b is on both sides of it along
    two orthogonal axes: one of eight across z (at 22.5 degrees), and z or the axis
    across both.

    A convex part of b that holds the centre itself is on no side; nothing else stands
    in the way. Neither contact nor the rest of a's shape matters.

    "posewise": axes and bounding box are those of b's root frame, sides are seen at any
    distance. "igibson": axes and box are the world's, b must be nearer than 1 m (5 m
    along z), and a's centre is that of its root frame. "document": as "posewise"
    without the bounding box.

    The default is "posewise": turning or enlarging the scene changes nothing.

    Args:
        a: an object or frame.
        b: an object or frame with a shape.

    Raises:
        ConfigError: on asking, for unknown names, and b without a shape.
    """

    a: Any
    b: Any

    def verdict(self, C: Config) -> Verdict:
        """See `Judged`."""
        a, b = thing(C, self.a, self.b), with_shapes(thing(C, self.b, self.a))
        igibson = self.semantics == "igibson"
        centre = centre_of_mass(a, root=igibson)
        turn = np.eye(3) if igibson else b.pose(b.frames[0])[0]
        low, high = bounding_box(b, turn)
        here = turn.T @ centre
        outside = np.maximum(low - here, here - high)
        if self.semantics != "document" and outside.max() > 0:
            return Verdict(False, lambda: self._outside(outside))
        return self._surrounded(b, centre, turn)

    def _outside(self, outside: np.ndarray) -> str:
        axis = int(outside.argmax())
        where = f"{length(outside[axis])} outside {self.b}'s bounding box"
        return f"{self.a}'s centre of mass lies {where} in {'xyz'[axis]}."

    def _surrounded(self, b: Solid, centre: np.ndarray, turn: np.ndarray) -> Verdict:
        reach = IGIBSON_RANGE if self.semantics == "igibson" else np.inf
        distance = hits_both_ways(b, centre, AXES @ turn.T, reach)
        both = np.isfinite(distance).all(-1)
        truth = bool(crossed(both))
        sides = f"{self.b} is on both sides of {self.a}'s centre of mass along"
        if truth:
            axes = "z and an axis across it" if both[8] else "two axes across z"
            text = f"{sides} {axes}, within {length(distance[both].max())}."
        else:
            text = f"{sides} {_count(both)}, not along two orthogonal axes."
        return Verdict(truth, lambda: text)

    def relaxed(self, C: Config, truth: bool = True) -> Term:
        """a's centre in b's bounding box, and rays from it that meet b, or do not.

        Where b has annotated cavities, a's centre in one of them, which says less.
        """
        igibson = self.semantics == "igibson"
        pair = pair_of(C, self.a, self.b, root=igibson)
        reach = IGIBSON_RANGE if igibson else np.inf
        error = 0.5 * self.bound
        if not truth:
            free = not_surrounded(reach, not igibson, error)
            around = Rows(pair.feature(free), error=error)
            if self.semantics == "document":
                return around
            faces = [Rows(pair.feature(beyond(k, not igibson))) for k in range(6)]
            return AnyOf((around, *faces), error)
        if regions := self._cavities(pair.b):
            inside = (relaxed_regions.in_cavity(pair, r) for r in regions)
            return AnyOf(tuple(Rows(pair.feature(rows)) for rows in inside), error)
        around = Rows(pair.feature(surrounded(reach, not igibson, error)), error=error)
        if self.semantics == "document":
            return around
        return AllOf((Rows(pair.feature(enclosed(not igibson))), around))

    def region_of(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`."""
        if name != self.a:
            return None
        b = thing(C, self.b, self.a)
        regions = self._cavities(b)
        return box_about(b, regions) if regions else region_about(C, name, self.b)

    def _cavities(self, b: Solid) -> list[Region]:
        """Annotated cavities, whose points are inside also by this predicate."""
        if self.semantics == "igibson":
            return []
        return cavities(b, _holding_anywhere)

    def admits(
        self, C: Config, name: str, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        """See `Predicate`."""
        if name != self.a:
            return super().admits(C, name, poses)
        igibson = self.semantics == "igibson"
        a, b = thing(C, self.a, self.b), with_shapes(thing(C, self.b, self.a))
        centres = centres_at(a, poses, root=igibson)
        if regions := self._cavities(b):
            return np.any([in_cavity(b, r, centres) for r in regions], axis=0)
        return holding(b, centres, igibson)


def holding(
    b: Solid, centres: Float[np.ndarray, "n 3"], igibson: bool = True
) -> Bool[np.ndarray, " n"]:
    """Which centres of mass make things be inside b, by `InsideOf` of "igibson", fast.

    Or else by that of "posewise".
    """
    turn = np.eye(3) if igibson else b.pose(b.frames[0])[0]
    low, high = bounding_box(with_shapes(b), turn)
    here = centres @ turn
    found = np.asarray(((low <= here) & (here <= high)).all(-1))
    if found.any():
        reach = IGIBSON_RANGE if igibson else np.inf
        distance = hits_both_ways(b, centres[found], AXES @ turn.T, reach)
        found[found] = crossed(np.isfinite(distance).all(-1))
    return found


def _holding_anywhere(
    b: Solid, centres: Float[np.ndarray, "n 3"]
) -> Bool[np.ndarray, " n"]:
    return holding(b, centres, igibson=False)


def _count(both: np.ndarray) -> str:
    across = int(both[:8].sum())
    names = [f"{across} of 8 axes across z"] if across else []
    names += ["z"] if both[8] else []
    return " and ".join(names) or "0 of 9 axes"
