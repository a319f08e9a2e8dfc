"""Support: an object straight above, or straight below, another."""

from dataclasses import dataclass
from math import isfinite

import numpy as np
from jaxtyping import Float

from posewise.robots.annotations.regions import Region
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import (
    FrameGroup,
    bounding_box,
    centre_of_mass,
    centres_of_mass_at,
    find_object,
    require_shapes,
)
from ..geometry.messages import length
from ..geometry.ray_axes import IGIBSON_RANGE, VERTICAL, hits_along_axes
from ..geometry.regions import checked_supports
from .contact import contact_verdict
from .verdict import Semantics, Verdict


def on_top_verdict(
    C: Config, a: FrameName, b: FrameName, tolerance: float, semantics: Semantics
) -> Verdict:
    """Return whether a touches b, which is below it; see `OnTopOf`."""
    place = _VerticalPlace.of(C, a, b, semantics)
    if not place.is_below or place.is_above != (semantics == "document"):
        return Verdict(False, lambda: f"{place.sentence(C)}.")
    contact = contact_verdict(C, a, b, tolerance)
    if not contact.truth:
        return contact
    return Verdict(True, lambda: f"{place.sentence(C)}; {contact.reason()}")


def under_verdict(
    C: Config, a: FrameName, b: FrameName, semantics: Semantics
) -> Verdict:
    """Return whether b is above a and not below it; see `Under`."""
    place = _VerticalPlace.of(C, a, b, semantics)
    truth = place.is_above and place.is_below == (semantics == "document")
    return Verdict(truth, lambda: f"{place.sentence(C)}.")


def supports(b: FrameGroup, semantics: Semantics) -> list[Region]:
    """Return annotated supports, which only the semantics "posewise" use."""
    return checked_supports(b) if semantics == "posewise" else []


def vertical_distances(
    C: Config,
    a: FrameName,
    b: FrameName,
    poses: Float[np.ndarray, "n 7"],
    semantics: Semantics,
) -> Float[np.ndarray, "2 n"]:
    """Return the distances of b straight above and below a's centre [m].

    Args:
        C: the world.
        a: the object whose centre it is.
        b: the object above or below.
        poses: of a's root frame.
        semantics: of the predicate.

    Returns:
        Distances upwards and downwards; inf where b is not there.
    """
    igibson = semantics == "igibson"
    group_a, group_b = find_object(C, a, b), require_shapes(find_object(C, b, a))
    reach = IGIBSON_RANGE[8:] if igibson else np.inf
    centres = centres_of_mass_at(group_a, poses, root_only=igibson)
    return hits_along_axes(group_b, centres, VERTICAL, reach)[:, 0].T


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
    def of(
        cls, C: Config, a: FrameName, b: FrameName, semantics: Semantics
    ) -> "_VerticalPlace":
        igibson = semantics == "igibson"
        group_a, group_b = find_object(C, a, b), require_shapes(find_object(C, b, a))
        centre = centre_of_mass(group_a, root_only=igibson)
        reach = IGIBSON_RANGE[8:] if igibson else np.inf
        up, down = hits_along_axes(group_b, centre, VERTICAL, reach)[0].tolist()
        return cls(a, b, centre, up, down)

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
