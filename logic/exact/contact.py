"""Contact of two objects."""

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import (
    are_within,
    closest_separation,
    find_object,
    penetration_bound,
)
from ..geometry.messages import length, relation
from .verdict import Verdict

CONTACT_TOLERANCE = 1e-4
"""Distance up to which objects are in contact [m].

It exceeds the gap that a solver leaves, and is far below the slack of physics engines.
"""


def contact_verdict(
    C: Config, a: FrameName, b: FrameName, tolerance: float = CONTACT_TOLERANCE
) -> Verdict:
    """Return whether two objects touch or overlap; see `InContactWith`."""
    group_a, group_b = find_object(C, a, b), find_object(C, b, a)
    truth = are_within(group_a, group_b, tolerance)

    def reason() -> str:
        separation = closest_separation(group_a, group_b)
        if not truth:
            return f"{relation(separation, a, b)}: not in contact."
        if separation.distance > 0:
            how = f"with a gap of {length(separation.distance)}"
        else:
            how = (
                f"overlapping by at most {length(penetration_bound(group_a, group_b))}"
            )
        return f"{a} touches {b}, {how}."

    return Verdict(truth, reason)
