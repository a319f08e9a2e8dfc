"""Containment: a centre of mass that another object surrounds."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning
from posewise.robots.typing import FrameName

from ..exact.containment import (
    cavities,
    containment_impediments,
    containment_verdict,
    contains_points,
)
from ..exact.verdict import Verdict
from ..geometry.frame_groups import (
    bounding_box,
    centres_of_mass_at,
    find_object,
    region_around,
    require_shapes,
)
from ..geometry.ray_axes import IGIBSON_RANGE
from ..geometry.regions import in_cavity, regions_box
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
from .verdict_predicate import SemanticPredicate

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
        yield from containment_impediments(C, self.a, self.b, self.semantics)

    def solution_doubts(self, C: Config) -> Iterator[str]:
        """Yield a sentence if a does not stay where it is."""
        yield from does_not_stay(self, C, self.a)

    def verdict(self, C: Config) -> Verdict:
        return containment_verdict(C, self.a, self.b, self.semantics)

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
        if regions := cavities(pair.b, self.semantics):
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
        regions = cavities(b, self.semantics)
        return regions_box(b, regions) if regions else region_around(C, name, self.b)

    def admits_poses(
        self, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        if name != self.a:
            return super().admits_poses(C, name, poses)
        igibson = self.semantics == "igibson"
        a = find_object(C, self.a, self.b)
        b = require_shapes(find_object(C, self.b, self.a))
        centres = centres_of_mass_at(a, poses, root_only=igibson)
        if regions := cavities(b, self.semantics):
            return np.any([in_cavity(b, r, centres) for r in regions], axis=0)
        return contains_points(b, centres, igibson)
