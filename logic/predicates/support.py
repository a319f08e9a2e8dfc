"""Support: an object straight above, or straight below, another."""

from dataclasses import dataclass

import numpy as np

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..exact.support import (
    on_top_verdict,
    supports,
    under_verdict,
)
from ..exact.verdict import Verdict
from ..geometry.ray_axes import IGIBSON_RANGE
from ..relaxed.constraint_terms import (
    Conjunction,
    ConstraintTerm,
    Disjunction,
    Inequality,
)
from ..relaxed.object_features import object_pair
from ..relaxed.rays import DOWN, UP
from ..relaxed.support import on_supports_term, vertical_ray_term
from .contact import ContactPredicate, InContactWith
from .verdict_predicate import SemanticPredicate


@dataclass(frozen=True)
class OnTopOf(ContactPredicate):
    """a touches b, and b is straight below a's centre of mass and not above it.

    Below and above are along the world's z. A convex part of b that contains the centre
    is neither; other objects do not block the rays. The rule is that of iGibson 2.0 (Li
    et al. 2021).

    "posewise": at any distance. "igibson": within 5 m, from the centre of a's root
    frame. "document": b is both below and above, as the documentation says.

    The default is "posewise": the code's rule without its range.

    Args:
        a: an object or frame with a shape.
        b: another object or frame with a shape.
        tolerance: see `InContactWith`.

    Raises:
        ConfigError: when evaluated, for unknown names, and objects without shapes.
    """

    a: FrameName
    b: FrameName

    def verdict(self, C: Config) -> Verdict:
        return on_top_verdict(C, self.a, self.b, self.tolerance, self.semantics)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of contact, of a ray down that hits b, and of one up that misses.

        If b has annotated supports, a must touch one of them, with its centre straight
        above. This implies contact and the ray down, and its rows are smoother.
        """
        pair = object_pair(C, self.a, self.b)
        if truth and (regions := supports(pair.b, self.semantics)):
            on_supports = on_supports_term(pair, regions, self.tolerance, self.bound)
            return Conjunction((on_supports, _ray_term(self, C, UP, False)))
        contact = InContactWith(
            self.a, self.b, tolerance=self.tolerance, bound=self.bound
        )
        below = _ray_term(self, C, DOWN, truth)
        above = _ray_term(self, C, UP, truth is (self.semantics == "document"))
        parts = (contact.relaxed(C, truth), below, above)
        return Conjunction(parts) if truth else Disjunction(parts, 0.5 * self.bound)


@dataclass(frozen=True)
class Under(SemanticPredicate):
    """b is straight above a's centre of mass and not below it; see `OnTopOf`.

    Contact does not matter. "document": b is both above and below, as the documentation
    says.

    The default is "posewise": the code's rule without its range of 5 m.

    Args:
        a: an object or frame.
        b: an object or frame with a shape.

    Raises:
        ConfigError: when evaluated, for unknown names, and b without a shape.
    """

    a: FrameName
    b: FrameName

    def verdict(self, C: Config) -> Verdict:
        return under_verdict(C, self.a, self.b, self.semantics)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of a ray up that hits b, and of one down that misses."""
        above = _ray_term(self, C, UP, truth)
        below = _ray_term(self, C, DOWN, truth is (self.semantics == "document"))
        parts = (above, below)
        return Conjunction(parts) if truth else Disjunction(parts, 0.5 * self.bound)


def _ray_term(
    predicate: OnTopOf | Under, C: Config, direction: np.ndarray, hits: bool
) -> Inequality:
    """Return the inequality of the vertical ray from a's centre hitting b, or not."""
    igibson = predicate.semantics == "igibson"
    reach = float(IGIBSON_RANGE[8]) if igibson else np.inf
    pair = object_pair(C, predicate.a, predicate.b, root_only=igibson)
    return vertical_ray_term(pair, direction, hits, reach, 0.25 * predicate.bound)
