"""Containment: a centre of mass that another object surrounds."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning
from posewise.robots.typing import FrameName
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
from ..geometry.hollows import filled_hollow
from ..geometry.messages import length
from ..geometry.ray_axes import AXES, IGIBSON_RANGE, hits_along_axes, is_surrounded
from ..geometry.regions import checked_cavities, in_cavity, regions_box
from ..relaxed.constraint_terms import (
    Conjunction,
    ConstraintTerm,
    Disjunction,
    Inequality,
)
from ..relaxed.containment import (
    beyond_face_rows,
    cavity_rows,
    in_box_rows,
    not_surrounded_rows,
    surrounded_rows,
)
from ..relaxed.object_features import object_pair
from .rest import does_not_stay
from .verdict import SemanticPredicate, Verdict

MIN_STACK_HEIGHT = 1.5
"""Least height of the centre of an object that stands on another one, in heights."""


@dataclass(frozen=True)
class InsideOf(SemanticPredicate):
    """a's centre of mass is in b's bounding box, with b on both sides along two axes.

    The two axes are orthogonal: one of eight across z (at 22.5 degrees), with z or with
    the horizontal axis across it. This is the rule of iGibson 2.0 (Li et al. 2021),
    which casts rays from the centre. A convex part of b that contains the centre is on
    no side; other objects do not block rays. Neither contact nor the rest of a's shape
    matters.

    "posewise": axes and bounding box are those of b's root frame; rays are unlimited.
    "igibson": axes and box are the world's, rays have a length of 1 m (5 m along z),
    and a's centre is that of its root frame. "document": as "posewise", without the
    bounding box.

    The default is "posewise": rotating or enlarging the scene changes nothing.

    Args:
        a: an object or frame.
        b: an object or frame with a shape.

    Raises:
        ConfigError: when evaluated, for unknown names, and b without a shape.
    """

    a: FrameName
    b: FrameName

    def doubts(self, C: Config) -> Iterator[str]:
        """Yield a sentence if a is larger than b, in which it is to be."""
        objects = find_object(C, self.a, self.b), find_object(C, self.b, self.a)
        a, b = (np.sort(np.ptp(bounding_box(o), axis=0)) for o in objects)
        if np.isfinite([a, b]).all() and (a > b).all():
            yield (
                f"InsideOf({self.a}, {self.b}): {self.a!r} is larger than {self.b!r},"
                " in which it is to be. The first object is the content: swap them."
            )

    def impediments(self, C: Config) -> Iterator[str]:
        """Yield a sentence if the hollow of b is filled by the hull of its mesh."""
        b = find_object(C, self.b, self.a)
        if not self._cavities(b) and (text := filled_hollow(b)):
            yield f"InsideOf({self.a}, {self.b}): {text}"

    def solution_doubts(self, C: Config) -> Iterator[str]:
        """Yield a sentence if a does not stay where it is."""
        yield from does_not_stay(self, C, self.a)

    def verdict(self, C: Config) -> Verdict:
        a = find_object(C, self.a, self.b)
        b = require_shapes(find_object(C, self.b, self.a))
        igibson = self.semantics == "igibson"
        centre = centre_of_mass(a, root_only=igibson)
        R_axes = np.eye(3) if igibson else b.pose(b.frames[0])[0]
        low, high = bounding_box(b, R_axes)
        here = R_axes.T @ centre
        outside = np.maximum(low - here, here - high)
        if self.semantics != "document" and outside.max() > 0:
            return Verdict(False, lambda: self._outside_reason(outside))
        return self._surrounded_verdict(b, centre, R_axes)

    def _outside_reason(self, outside: np.ndarray) -> str:
        axis = int(outside.argmax())
        where = f"{length(outside[axis])} outside {self.b}'s bounding box"
        return f"{self.a}'s centre of mass lies {where} in {'xyz'[axis]}."

    def _surrounded_verdict(
        self, b: FrameGroup, centre: np.ndarray, R_axes: np.ndarray
    ) -> Verdict:
        reach = IGIBSON_RANGE if self.semantics == "igibson" else np.inf
        distance = hits_along_axes(b, centre, AXES @ R_axes.T, reach)
        both = np.isfinite(distance).all(-1)
        truth = bool(is_surrounded(both))
        sides = f"{self.b} is on both sides of {self.a}'s centre of mass along"
        if truth:
            axes = "z and an axis across it" if both[8] else "two axes across z"
            text = f"{sides} {axes}, within {length(distance[both].max())}."
        else:
            text = f"{sides} {_count_axes(both)}, not along two orthogonal axes."
            for impediment in self.impediments(b.C):
                text = f"{text} {impediment}"
                warnings.warn(impediment, ProblemWarning, stacklevel=5)
        return Verdict(truth, lambda: text)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of a's centre in b's bounding box, and of rays that hit b."""
        for impediment in self.impediments(C) if truth else ():
            warnings.warn(impediment, ProblemWarning, stacklevel=4)
        igibson = self.semantics == "igibson"
        own_axes = not igibson
        pair = object_pair(C, self.a, self.b, root_only=igibson)
        reach = IGIBSON_RANGE if igibson else np.inf
        error = 0.5 * self.bound
        if not truth:
            free = pair.feature(not_surrounded_rows(reach, own_axes, error))
            around = Inequality(free, error=error)
            if self.semantics == "document":
                return around
            faces = [
                Inequality(pair.feature(beyond_face_rows(k, own_axes)))
                for k in range(6)
            ]
            return Disjunction((around, *faces), error)
        if regions := self._cavities(pair.b):
            # The convex cavities are inside by the same predicate, as was checked:
            # fewer places, but rows that are smooth and exact.
            inside = [pair.feature(cavity_rows(pair, r)) for r in regions]
            return Disjunction(tuple(map(Inequality, inside)), error)
        surrounded = pair.feature(surrounded_rows(reach, own_axes, error))
        around = Inequality(surrounded, error=error)
        if self.semantics == "document":
            return around
        in_box = Inequality(pair.feature(in_box_rows(own_axes)))
        return Conjunction((in_box, around))

    def rests_on(self, C: Config) -> Iterator[tuple[FrameName, FrameName]]:
        """Yield a, if b is too flat for the centres of two that are on each other."""
        low, high = bounding_box(find_object(C, self.b, self.a))
        a, b = bounding_box(find_object(C, self.a, self.b))
        if high[2] - low[2] < MIN_STACK_HEIGHT * (b - a).min():
            yield self.a, self.b

    def start_region(
        self, C: Config, name: FrameName
    ) -> Float[np.ndarray, "2 3"] | None:
        if name != self.a:
            return None
        b = find_object(C, self.b, self.a)
        regions = self._cavities(b)
        return regions_box(b, regions) if regions else region_around(C, name, self.b)

    def _cavities(self, b: FrameGroup) -> list[Region]:
        """Return the annotated cavities, whose points are inside by this predicate."""
        if self.semantics == "igibson":
            return []
        return checked_cavities(b, _contains_points_posewise)

    def admits_poses(
        self, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        if name != self.a:
            return super().admits_poses(C, name, poses)
        igibson = self.semantics == "igibson"
        a = find_object(C, self.a, self.b)
        b = require_shapes(find_object(C, self.b, self.a))
        centres = centres_of_mass_at(a, poses, root_only=igibson)
        if regions := self._cavities(b):
            return np.any([in_cavity(b, r, centres) for r in regions], axis=0)
        return contains_points(b, centres, igibson)


def contains_points(
    b: FrameGroup, centres: Float[np.ndarray, "n 3"], igibson: bool = True
) -> Bool[np.ndarray, " n"]:
    """Return which centres of mass are inside of b, for many at once.

    Args:
        b: an object.
        centres: points in the world [m].
        igibson: whether `InsideOf` is that of "igibson", otherwise of "posewise".
    """
    R_axes = np.eye(3) if igibson else b.pose(b.frames[0])[0]
    low, high = bounding_box(require_shapes(b), R_axes)
    here = centres @ R_axes
    inside = np.asarray(((low <= here) & (here <= high)).all(-1))
    if inside.any():
        reach = IGIBSON_RANGE if igibson else np.inf
        distance = hits_along_axes(b, centres[inside], AXES @ R_axes.T, reach)
        inside[inside] = is_surrounded(np.isfinite(distance).all(-1))
    return inside


def _contains_points_posewise(
    b: FrameGroup, centres: Float[np.ndarray, "n 3"]
) -> Bool[np.ndarray, " n"]:
    return contains_points(b, centres, igibson=False)


def _count_axes(both: np.ndarray) -> str:
    across = int(both[:8].sum())
    names = [f"{across} of 8 axes across z"] if across else []
    names += ["z"] if both[8] else []
    return " and ".join(names) or "0 of 9 axes"
