"""Support: an object straight above, or straight below, another."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..exact.contact import CONTACT_TOLERANCE
from ..exact.support import (
    on_top_verdict,
    supports,
    under_verdict,
    vertical_distances,
)
from ..exact.verdict import Verdict
from ..geometry.frame_groups import (
    bounding_box,
    centres_of_mass_at,
    find_object,
    region_around,
)
from ..geometry.ray_axes import IGIBSON_RANGE
from ..geometry.regions import above_support, regions_box
from ..relaxed.constraint_terms import (
    Conjunction,
    ConstraintTerm,
    Disjunction,
    Inequality,
)
from ..relaxed.object_features import object_pair
from ..relaxed.rays import DOWN, UP
from ..relaxed.support import on_supports_term, vertical_ray_term
from .contact import InContactWith, check_tolerance
from .footing import rests_on_little
from .rest import does_not_stay
from .verdict_predicate import SemanticPredicate


@dataclass(frozen=True)
class OnTopOf(SemanticPredicate):
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
    tolerance: float = field(default=CONTACT_TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance(self, self.tolerance)

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

    def doubts(self, C: Config) -> Iterator[str]:
        """Yield a sentence if b moves, but a, which stands on it, does not."""
        mask = C.tree.model.kinematics.dof_mask
        a, b = (mask[C.pairs.solid_parts(name)].any() for name in (self.a, self.b))
        if b and not a:
            yield (
                f"OnTopOf({self.a}, {self.b}): {self.b!r} moves, but {self.a!r}, which"
                " stands on it, does not. The first object is the upper one:"
                f" swap them, or let {self.a!r} move, too."
            )

    def rests_on(self, C: Config) -> Iterator[tuple[FrameName, FrameName]]:
        """Yield a, which touches b."""
        yield self.a, self.b

    def solution_doubts(self, C: Config) -> Iterator[str]:
        """Yield a sentence if a does not stay where it is, or hardly anything does."""
        yield from rests_on_little(self, C, self.a, self.b)
        yield from does_not_stay(self, C, self.a)

    def start_region(
        self, C: Config, name: FrameName
    ) -> Float[np.ndarray, "2 3"] | None:
        if name != self.a:
            return None
        b, up = find_object(C, self.b, self.a), np.array([0.0, 0.0, 1.0])
        if regions := supports(b, self.semantics):
            high = np.ptp(bounding_box(find_object(C, self.a, self.b)), axis=0)[2]
            return regions_box(b, regions) + np.array([0.0, high])[:, None] * up
        return region_around(C, name, self.b, 0.0, up)

    def admits_poses(
        self, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        if name != self.a:
            return super().admits_poses(C, name, poses)
        up, down = vertical_distances(C, self.a, self.b, poses, self.semantics)
        a, b = find_object(C, self.a, self.b), find_object(C, self.b, self.a)
        # The centre of an object is above its support by half of its least extent, or
        # nearly so in starts, which overlap a little.
        low, high = bounding_box(a, a.pose(a.frames[0])[0])
        is_above = np.isfinite(up)
        is_below = np.isfinite(down) & (down >= 0.3 * (high - low).min())
        if regions := supports(b, self.semantics):
            centres = centres_of_mass_at(a, poses)
            over = [above_support(b, r, centres) for r in regions]
            return is_below & ~is_above & np.any(over, axis=0)
        return is_below & (is_above == (self.semantics == "document"))


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

    def start_region(
        self, C: Config, name: FrameName
    ) -> Float[np.ndarray, "2 3"] | None:
        down = np.array([0.0, 0.0, 2.0])
        return region_around(C, name, self.b, -down, 0.0) if name == self.a else None

    def admits_poses(
        self, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        if name != self.a:
            return super().admits_poses(C, name, poses)
        distances = vertical_distances(C, self.a, self.b, poses, self.semantics)
        is_above, is_below = np.isfinite(distances)
        return is_above & (is_below == (self.semantics == "document"))


def _ray_term(
    predicate: OnTopOf | Under, C: Config, direction: np.ndarray, hits: bool
) -> Inequality:
    """Return the inequality of the vertical ray from a's centre hitting b, or not."""
    igibson = predicate.semantics == "igibson"
    reach = float(IGIBSON_RANGE[8]) if igibson else np.inf
    pair = object_pair(C, predicate.a, predicate.b, root_only=igibson)
    return vertical_ray_term(pair, direction, hits, reach, 0.25 * predicate.bound)
