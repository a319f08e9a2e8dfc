"""Attachment: an object that is joined to another one."""

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import are_within, closest_separation, find_object, subtree
from ..geometry.messages import length
from .verdict import Verdict

ATTACHMENT_DISTANCE = 0.05
"""Largest distance of objects that are attached [m], as in OmniGibson; those that are
farther apart are not."""


def attachment_verdict(C: Config, a: FrameName, b: FrameName) -> Verdict:
    """Return whether a is joined to b and near it; see `Attached`."""
    group_a, group_b = find_object(C, a, b), find_object(C, b, a)
    if not is_joined(C, a, b):
        return Verdict(False, lambda: f"{a} is not joined to {b}.")
    truth = are_within(group_a, group_b, ATTACHMENT_DISTANCE)

    def reason() -> str:
        apart = length(closest_separation(group_a, group_b).distance)
        limit = length(ATTACHMENT_DISTANCE)
        side = "at most" if truth else "more than"
        return f"{a} is joined to {b}, and {apart} away from it, {side} {limit}."

    return Verdict(truth, reason)


def is_joined(C: Config, a: FrameName, b: FrameName) -> bool:
    """Return whether a is joined to b, at whatever distance."""
    state = C.annotations.states.get(a)
    is_set = state is not None and bool(state.attached.get(b, False))
    return is_set or C.index(a) in subtree(C, C.index(b))
