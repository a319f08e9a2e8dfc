"""Inside: a centre of mass that another thing surrounds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.world.regions import Region

from ..geometry.frame_groups import (
    FrameGroup,
    bounding_box,
    centre_of_mass,
    centres_of_mass_at,
    find_object,
    region_around,
    require_shapes,
)
from ..relaxed import regions as relaxed_regions
from ..relaxed.constraint_terms import (
    Conjunction,
    ConstraintTerm,
    Disjunction,
    Inequality,
)
from ..relaxed.object_features import object_pair
from ..relaxed.rays import (
    beyond_face_rows,
    in_box_rows,
    not_surrounded_rows,
    surrounded_rows,
)
from .messages import length
from .rays import AXES, IGIBSON_RANGE, hits_along_axes, is_surrounded
from .regions import checked_cavities, in_cavity, regions_box
from .verdict import SemanticPredicate, Verdict


@dataclass(frozen=True)
class InsideOf(SemanticPredicate):
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
        """See `SemanticPredicate`."""
        a, b = (
            find_object(C, self.a, self.b),
            require_shapes(find_object(C, self.b, self.a)),
        )
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

    def _surrounded(
        self, b: FrameGroup, centre: np.ndarray, turn: np.ndarray
    ) -> Verdict:
        reach = IGIBSON_RANGE if self.semantics == "igibson" else np.inf
        distance = hits_along_axes(b, centre, AXES @ turn.T, reach)
        both = np.isfinite(distance).all(-1)
        truth = bool(is_surrounded(both))
        sides = f"{self.b} is on both sides of {self.a}'s centre of mass along"
        if truth:
            axes = "z and an axis across it" if both[8] else "two axes across z"
            text = f"{sides} {axes}, within {length(distance[both].max())}."
        else:
            text = f"{sides} {_count(both)}, not along two orthogonal axes."
        return Verdict(truth, lambda: text)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """a's centre in b's bounding box, and rays from it that meet b, or do not.

        Where b has annotated cavities, a's centre in one of them, which says less.
        """
        igibson = self.semantics == "igibson"
        pair = object_pair(C, self.a, self.b, root=igibson)
        reach = IGIBSON_RANGE if igibson else np.inf
        error = 0.5 * self.bound
        if not truth:
            free = not_surrounded_rows(reach, not igibson, error)
            around = Inequality(pair.feature(free), error=error)
            if self.semantics == "document":
                return around
            faces = [
                Inequality(pair.feature(beyond_face_rows(k, not igibson)))
                for k in range(6)
            ]
            return Disjunction((around, *faces), error)
        if regions := self._cavities(pair.b):
            inside = (relaxed_regions.cavity_rows(pair, r) for r in regions)
            return Disjunction(
                tuple(Inequality(pair.feature(rows)) for rows in inside), error
            )
        around = Inequality(
            pair.feature(surrounded_rows(reach, not igibson, error)), error=error
        )
        if self.semantics == "document":
            return around
        return Conjunction((Inequality(pair.feature(in_box_rows(not igibson))), around))

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`."""
        if name != self.a:
            return None
        b = find_object(C, self.b, self.a)
        regions = self._cavities(b)
        return regions_box(b, regions) if regions else region_around(C, name, self.b)

    def _cavities(self, b: FrameGroup) -> list[Region]:
        """Annotated cavities, whose points are inside also by this predicate."""
        if self.semantics == "igibson":
            return []
        return checked_cavities(b, _contains_points_posewise)

    def admits_poses(
        self, C: Config, name: str, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        """See `Predicate`."""
        if name != self.a:
            return super().admits_poses(C, name, poses)
        igibson = self.semantics == "igibson"
        a, b = (
            find_object(C, self.a, self.b),
            require_shapes(find_object(C, self.b, self.a)),
        )
        centres = centres_of_mass_at(a, poses, root=igibson)
        if regions := self._cavities(b):
            return np.any([in_cavity(b, r, centres) for r in regions], axis=0)
        return contains_points(b, centres, igibson)


def contains_points(
    b: FrameGroup, centres: Float[np.ndarray, "n 3"], igibson: bool = True
) -> Bool[np.ndarray, " n"]:
    """Which centres of mass make things be inside b, by `InsideOf` of "igibson", fast.

    Or else by that of "posewise".
    """
    turn = np.eye(3) if igibson else b.pose(b.frames[0])[0]
    low, high = bounding_box(require_shapes(b), turn)
    here = centres @ turn
    found = np.asarray(((low <= here) & (here <= high)).all(-1))
    if found.any():
        reach = IGIBSON_RANGE if igibson else np.inf
        distance = hits_along_axes(b, centres[found], AXES @ turn.T, reach)
        found[found] = is_surrounded(np.isfinite(distance).all(-1))
    return found


def _contains_points_posewise(
    b: FrameGroup, centres: Float[np.ndarray, "n 3"]
) -> Bool[np.ndarray, " n"]:
    return contains_points(b, centres, igibson=False)


def _count(both: np.ndarray) -> str:
    across = int(both[:8].sum())
    names = [f"{across} of 8 axes across z"] if across else []
    names += ["z"] if both[8] else []
    return " and ".join(names) or "0 of 9 axes"
