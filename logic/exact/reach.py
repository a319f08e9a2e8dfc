"""Reach of an agent: the distance of an object from the agent's base."""

import numpy as np

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..geometry.agents import find_agent
from ..geometry.frame_groups import centre_of_mass, find_object
from ..geometry.messages import length
from .verdict import Semantics, Verdict


def reach_verdict(
    C: Config, a: FrameName, agent: str, reach: float, semantics: Semantics
) -> Verdict:
    """Return whether an object is near an agent's base; see `InReachOfAgent`."""
    centre = centre_of_mass(find_object(C, a), root_only=semantics == "igibson")
    base = C.pose(find_agent(C, agent).base)[:3]
    distance = float(np.linalg.norm(centre - base))
    truth = distance < reach
    word = "within" if truth else "not within"
    text = f"{a}'s centre of mass is {distance:.3f} m from {agent}"
    return Verdict(truth, lambda: f"{text}, {word} {length(reach)}.")
