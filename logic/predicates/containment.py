"""Containment: a centre of mass that another object surrounds."""

import warnings
from dataclasses import dataclass

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning
from posewise.robots.typing import FrameName

from ..exact.containment import (
    cavities,
    containment_impediments,
    containment_verdict,
)
from ..exact.verdict import Verdict
from ..geometry.ray_axes import IGIBSON_RANGE
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
from .verdict_predicate import SemanticPredicate


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

    def verdict(self, C: Config) -> Verdict:
        return containment_verdict(C, self.a, self.b, self.semantics)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of a's centre in b's bounding box, and of rays that hit b."""
        impediments = containment_impediments(C, self.a, self.b, self.semantics)
        for impediment in impediments if truth else ():
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
