"""Grasps: an object attached to a hand, or held between its fingers."""

from functools import partial
from itertools import combinations

import numpy as np

from posewise.robots.annotations.agents import Agent
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.typing import FrameName

from ..geometry.agents import find_agent
from ..geometry.frame_groups import (
    FrameGroup,
    are_within,
    closest_separation,
    contact_normal,
    find_object,
    require_shapes,
)
from ..geometry.hands import fingers, is_attached
from ..geometry.messages import length
from .verdict import Semantics, Verdict

MAX_OPPOSED_COSINE = -0.5
"""Largest cosine of the angle between opposing contact normals [1]: 120 degrees. A
smaller one accepts fewer grasps."""


def grasp_verdict(
    C: Config, a: FrameName, agent: str, tolerance: float, semantics: Semantics
) -> Verdict:
    """Return whether a hand holds an object; see `InHandOfAgent`."""
    named_agent, group = agent_with_hands(C, agent), find_object(C, a)
    for hand in named_agent.hands:
        if is_attached(group, C.index(hand)):
            text = f"{a} is attached to {hand} of {agent}."
            return Verdict(True, partial(str, text))
    if semantics != "posewise":
        hands = " and ".join(named_agent.hands)
        text = f"{a} is attached to 0 hands of {agent} ({hands})."
        return Verdict(False, lambda: text)
    verdicts = [
        _held_verdict(group, a, hand, fingers(C, hand, named), tolerance)
        for hand, named in named_agent.hands.items()
    ]
    return max(verdicts, key=lambda v: v.truth)


def agent_with_hands(C: Config, agent: str) -> Agent:
    """Return an agent by its name.

    Raises:
        ConfigError: for an unknown name, and for an agent without hands.
    """
    named_agent = find_agent(C, agent)
    if not named_agent.hands:
        raise ConfigError(
            f"Agent {agent!r} has no hands; name them: C.annotations.add_agent("
            f"{agent!r}, base=..., hands=['hand'])."
        )
    return named_agent


def _held_verdict(
    group: FrameGroup,
    a: FrameName,
    hand: str,
    hand_fingers: list[FrameGroup],
    tolerance: float,
) -> Verdict:
    require_shapes(group)
    touching = [f for f in hand_fingers if are_within(f, group, tolerance)]
    normals = [contact_normal(f, group) for f in touching]
    contacts = zip(touching, normals, strict=True)
    for (f, normal_f), (g, normal_g) in combinations(contacts, 2):
        cosine = float(np.dot(normal_f, normal_g))
        if cosine <= MAX_OPPOSED_COSINE:
            angle = np.degrees(np.arccos(max(cosine, -1.0)))
            pair = f"{a} is between {f.name} and {g.name}"
            text = f"{pair}, which touch it from sides {angle:.0f} degrees apart."
            return Verdict(True, partial(str, text))
    reason = partial(_not_held_reason, group, a, hand, hand_fingers, touching)
    return Verdict(False, reason)


def _not_held_reason(
    group: FrameGroup,
    a: FrameName,
    hand: str,
    hand_fingers: list[FrameGroup],
    touching: list[FrameGroup],
) -> str:
    fraction = f"{len(touching)} of {len(hand_fingers)}"
    count = f"{fraction} fingers of {hand} touch {a}"
    if len(touching) > 1:
        return f"{count}, no two of them from opposite sides."
    free = [f for f in hand_fingers if f not in touching]
    if not free:
        return f"{count}, and it takes two."
    gaps = [closest_separation(f, group).distance for f in free]
    nearest = int(np.argmin(gaps))
    distance = length(gaps[nearest])
    return f"{count}; {free[nearest].name} is {distance} from it."
