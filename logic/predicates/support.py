"""Support: an object straight above, or straight below, another."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
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
from ..geometry.messages import length
from ..geometry.ray_axes import IGIBSON_RANGE, VERTICAL, hits_along_axes
from ..geometry.regions import above_support, checked_supports, regions_box
from ..relaxed.constraint_terms import (
    Conjunction,
    ConstraintTerm,
    Disjunction,
    Inequality,
)
from ..relaxed.object_features import object_pair
from ..relaxed.rays import DOWN, UP
from ..relaxed.support import on_supports_term, vertical_ray_term
from .contact import CONTACT_TOLERANCE, InContactWith, check_tolerance
from .footing import rests_on_little
from .rest import does_not_stay
from .verdict import SemanticPredicate, Verdict


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
        place = _VerticalPlace.of(self, C)
        if not place.is_below or place.is_above != (self.semantics == "document"):
            return Verdict(False, lambda: f"{place.sentence(C)}.")
        contact = InContactWith(self.a, self.b, tolerance=self.tolerance).verdict(C)
        if not contact.truth:
            return contact
        return Verdict(True, lambda: f"{place.sentence(C)}; {contact.reason()}")

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of contact, of a ray down that hits b, and of one up that misses.

        If b has annotated supports, a must touch one of them, with its centre straight
        above. This implies contact and the ray down, and its rows are smoother.
        """
        pair = object_pair(C, self.a, self.b)
        if truth and (regions := self._supports(pair.b)):
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
        a, b = (mask[C.solid_parts(name)].any() for name in (self.a, self.b))
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
        if regions := self._supports(b):
            high = np.ptp(bounding_box(find_object(C, self.a, self.b)), axis=0)[2]
            return regions_box(b, regions) + np.array([0.0, high])[:, None] * up
        return region_around(C, name, self.b, 0.0, up)

    def _supports(self, b: FrameGroup) -> list[Region]:
        """Return annotated supports, which only the semantics "posewise" use."""
        return checked_supports(b) if self.semantics == "posewise" else []

    def admits_poses(
        self, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        if name != self.a:
            return super().admits_poses(C, name, poses)
        up, down = _vertical_distances(self, C, poses)
        a, b = find_object(C, self.a, self.b), find_object(C, self.b, self.a)
        # The centre of an object is above its support by half of its least extent, or
        # nearly so in starts, which overlap a little.
        low, high = bounding_box(a, a.pose(a.frames[0])[0])
        is_above = np.isfinite(up)
        is_below = np.isfinite(down) & (down >= 0.3 * (high - low).min())
        if regions := self._supports(b):
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
        place = _VerticalPlace.of(self, C)
        truth = place.is_above and place.is_below == (self.semantics == "document")
        return Verdict(truth, lambda: f"{place.sentence(C)}.")

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
        is_above, is_below = np.isfinite(_vertical_distances(self, C, poses))
        return is_above & (is_below == (self.semantics == "document"))


def _vertical_distances(
    predicate: OnTopOf | Under, C: Config, poses: Float[np.ndarray, "n 7"]
) -> Float[np.ndarray, "2 n"]:
    """Return the distances of b straight above and below a's centre [m].

    Args:
        predicate: which names a and b.
        C: the world.
        poses: of a's root frame.

    Returns:
        Distances upwards and downwards; inf where b is not there.
    """
    igibson = predicate.semantics == "igibson"
    a = find_object(C, predicate.a, predicate.b)
    b = require_shapes(find_object(C, predicate.b, predicate.a))
    reach = IGIBSON_RANGE[8:] if igibson else np.inf
    centres = centres_of_mass_at(a, poses, root_only=igibson)
    return hits_along_axes(b, centres, VERTICAL, reach)[:, 0].T


def _ray_term(
    predicate: OnTopOf | Under, C: Config, direction: np.ndarray, hits: bool
) -> Inequality:
    """Return the inequality of the vertical ray from a's centre hitting b, or not."""
    igibson = predicate.semantics == "igibson"
    reach = float(IGIBSON_RANGE[8]) if igibson else np.inf
    pair = object_pair(C, predicate.a, predicate.b, root_only=igibson)
    return vertical_ray_term(pair, direction, hits, reach, 0.25 * predicate.bound)


@dataclass(frozen=True)
class _VerticalPlace:
    """The position of b straight above and below a's centre of mass."""

    a: str
    b: str
    centre: np.ndarray
    up: float
    """Distance of b above the centre [m]; inf if it is not there."""
    down: float
    """Distance of b below the centre [m]; inf if it is not there."""

    @classmethod
    def of(cls, predicate: OnTopOf | Under, C: Config) -> "_VerticalPlace":
        igibson = predicate.semantics == "igibson"
        a = find_object(C, predicate.a, predicate.b)
        b = require_shapes(find_object(C, predicate.b, predicate.a))
        centre = centre_of_mass(a, root_only=igibson)
        reach = IGIBSON_RANGE[8:] if igibson else np.inf
        up, down = hits_along_axes(b, centre, VERTICAL, reach)[0].tolist()
        return cls(predicate.a, predicate.b, centre, up, down)

    @property
    def is_above(self) -> bool:
        return isfinite(self.up)

    @property
    def is_below(self) -> bool:
        return isfinite(self.down)

    def sentence(self, C: Config) -> str:
        """Return where b is, without a full stop."""
        centre = f"{self.a}'s centre of mass"
        sides = (("above", self.up), ("below", self.down))
        positions = [f"{length(d)} {side}" for side, d in sides if isfinite(d)]
        if len(positions) == 2:
            return f"{self.b} is {' and '.join(positions)} {centre}"
        if positions:
            other = "above" if self.is_below else "below"
            return f"{self.b} is {positions[0]} {centre} and not {other} it"
        low, high = bounding_box(find_object(C, self.b, self.a))
        beside = np.maximum(low - self.centre, self.centre - high)[:2]
        if beside.max() > 0:
            axis = int(beside.argmax())
            distance = length(beside[axis])
            return f"{centre} lies {distance} beside {self.b} in {'xy'[axis]}"
        return f"{self.b} has no part straight above or below {centre}"
