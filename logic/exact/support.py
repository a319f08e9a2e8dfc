"""On top and under: what is straight above and below."""

from dataclasses import dataclass, field
from math import isfinite
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
from ..relaxed.rays import DOWN, UP, ray_hit_rows, ray_miss_rows
from .contact import CONTACT_TOLERANCE, InContactWith, check_tolerance
from .messages import length
from .rays import IGIBSON_RANGE, VERTICAL, hits_along_axes
from .regions import above_support, checked_supports, regions_box
from .verdict import SemanticPredicate, Verdict


@dataclass(frozen=True)
class OnTopOf(SemanticPredicate):
    """a touches b, and b is straight below a's centre of mass and not above it.

    Below and above along the world's z; a convex part of b that holds the centre itself
    is neither, and nothing stands in the way.

    "posewise": at any distance. "igibson": within 5 m, from the centre of a's root
    frame. "document": b is both below and above, as its text has it.

    The default is "posewise": the code's rule without its range.

    Args:
        a: an object or frame with a shape.
        b: another one.
        tolerance: see `InContactWith`.

    Raises:
        ConfigError: on asking, for unknown names, and things without shapes.
    """

    a: Any
    b: Any
    tolerance: Any = field(default=CONTACT_TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance(self, self.tolerance)

    def verdict(self, C: Config) -> Verdict:
        """See `SemanticPredicate`."""
        place = _Place.of(self, C)
        if not place.below or place.above != (self.semantics == "document"):
            return Verdict(False, lambda: f"{place.sentence(C)}.")
        touch = InContactWith(self.a, self.b, tolerance=self.tolerance).verdict(C)
        if not touch.truth:
            return touch
        return Verdict(True, lambda: f"{place.sentence(C)}; {touch.reason()}")

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Contact, a ray down that meets b, and one up that does not.

        Where b has annotated supports, a stands on one of them, with its centre
        straight above it, which says less.
        """
        pair = object_pair(C, self.a, self.b)
        if truth and (regions := self._supports(pair.b)):
            error = min(0.5 * self.tolerance, self.bound)
            stands = []
            for region in regions:
                over = relaxed_regions.above_support_rows(pair, region)
                on = relaxed_regions.touching_support_rows(
                    pair, region, self.tolerance, error
                )
                near = Inequality(pair.feature(on), scale=100.0, error=error)
                stands.append(Conjunction((Inequality(pair.feature(over)), near)))
            free = _straight(self, C, UP, False)
            return Conjunction((Disjunction(tuple(stands), 0.5 * self.bound), free))
        touch = InContactWith(
            self.a, self.b, tolerance=self.tolerance, bound=self.bound
        )
        below = _straight(self, C, DOWN, truth)
        above = _straight(self, C, UP, truth is (self.semantics == "document"))
        parts = (touch.relaxed(C, truth), below, above)
        return Conjunction(parts) if truth else Disjunction(parts, 0.5 * self.bound)

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`."""
        if name != self.a:
            return None
        b, up = find_object(C, self.b, self.a), np.array([0.0, 0.0, 1.0])
        if regions := self._supports(b):
            high = np.ptp(bounding_box(find_object(C, self.a, self.b)), axis=0)[2]
            return regions_box(b, regions) + np.array([0.0, high])[:, None] * up
        return region_around(C, name, self.b, 0.0, up)

    def _supports(self, b: FrameGroup) -> list[Region]:
        """Annotated supports; of other semantics, things may stand elsewhere only."""
        return checked_supports(b) if self.semantics == "posewise" else []

    def admits_poses(
        self, C: Config, name: str, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        """See `Predicate`."""
        if name != self.a:
            return super().admits_poses(C, name, poses)
        up, down = _distances(self, C, poses)
        a, b = find_object(C, self.a, self.b), find_object(C, self.b, self.a)
        # what lies flat is still this high
        low, high = bounding_box(a, a.pose(a.frames[0])[0])
        up, down = np.isfinite(up), np.isfinite(down) & (down >= (high - low).min() / 2)
        if regions := self._supports(b):
            centres = centres_of_mass_at(a, poses)
            over = [above_support(b, r, centres) for r in regions]
            return down & ~up & np.any(over, axis=0)
        return down & (up == (self.semantics == "document"))


@dataclass(frozen=True)
class Under(SemanticPredicate):
    """b is straight above a's centre of mass and not below it; see `OnTopOf`.

    Contact does not matter. "document": b is both above and below, as its text has it.

    The default is "posewise": the code's rule without its range of 5 m.

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
        place = _Place.of(self, C)
        truth = place.above and place.below == (self.semantics == "document")
        return Verdict(truth, lambda: f"{place.sentence(C)}.")

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """A ray up that meets b, and one down that does not."""
        above = _straight(self, C, UP, truth)
        below = _straight(self, C, DOWN, truth is (self.semantics == "document"))
        parts = (above, below)
        return Conjunction(parts) if truth else Disjunction(parts, 0.5 * self.bound)

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`."""
        down = np.array([0.0, 0.0, 2.0])
        return region_around(C, name, self.b, -down, 0.0) if name == self.a else None

    def admits_poses(
        self, C: Config, name: str, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        """See `Predicate`."""
        if name != self.a:
            return super().admits_poses(C, name, poses)
        up, down = np.isfinite(_distances(self, C, poses))
        return up & (down == (self.semantics == "document"))


def _distances(
    statement: OnTopOf | Under, C: Config, poses: Float[np.ndarray, "n 7"]
) -> Float[np.ndarray, "2 n"]:
    """How far b is straight above and below a's centre when a is at some poses [m].

    inf where it is not there.
    """
    igibson = statement.semantics == "igibson"
    a = find_object(C, statement.a, statement.b)
    b = require_shapes(find_object(C, statement.b, statement.a))
    reach = IGIBSON_RANGE[8:] if igibson else np.inf
    centres = centres_of_mass_at(a, poses, root=igibson)
    return hits_along_axes(b, centres, VERTICAL, reach)[:, 0].T


def _straight(
    statement: Any, C: Config, direction: np.ndarray, there: bool
) -> Inequality:
    """Whether b is straight above or below a's centre."""
    igibson = statement.semantics == "igibson"
    reach = float(IGIBSON_RANGE[8]) if igibson else np.inf
    pair = object_pair(C, statement.a, statement.b, root=igibson)
    if not there:
        return Inequality(pair.feature(ray_miss_rows(direction, reach)))
    error = 0.25 * statement.bound
    return Inequality(pair.feature(ray_hit_rows(direction, reach, error)), error=error)


@dataclass(frozen=True)
class _Place:
    """Where b is, straight above and below a's centre of mass."""

    a: Any
    b: Any
    centre: np.ndarray
    up: float
    down: float
    """Distances [m], inf: it is not there."""

    @classmethod
    def of(cls, statement: OnTopOf | Under, C: Config) -> "_Place":
        igibson = statement.semantics == "igibson"
        a = find_object(C, statement.a, statement.b)
        b = require_shapes(find_object(C, statement.b, statement.a))
        centre = centre_of_mass(a, root=igibson)
        reach = IGIBSON_RANGE[8:] if igibson else np.inf
        up, down = hits_along_axes(b, centre, VERTICAL, reach)[0].tolist()
        return cls(statement.a, statement.b, centre, up, down)

    @property
    def above(self) -> bool:
        return isfinite(self.up)

    @property
    def below(self) -> bool:
        return isfinite(self.down)

    def sentence(self, C: Config) -> str:
        """Without the full stop."""
        centre = f"{self.a}'s centre of mass"
        sides = (("above", self.up), ("below", self.down))
        there = [f"{length(d)} {side}" for side, d in sides if isfinite(d)]
        if len(there) == 2:
            return f"{self.b} is {' and '.join(there)} {centre}"
        if there:
            other = "above" if self.below else "below"
            return f"{self.b} is {there[0]} {centre} and not {other} it"
        low, high = bounding_box(find_object(C, self.b, self.a))
        beside = np.maximum(low - self.centre, self.centre - high)[:2]
        if beside.max() > 0:
            axis = int(beside.argmax())
            return (
                f"{centre} lies {length(beside[axis])} beside {self.b} in {'xy'[axis]}"
            )
        return f"{self.b} has no part straight above or below {centre}"
