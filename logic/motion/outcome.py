"""Outcomes of single steps: what was chosen, the paths, and whether it had effect."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from posewise.robots.typing import FrameName

from .grasp import Grasp
from .motion_state import MotionState
from .segment import MotionSegment


@dataclass(frozen=True, eq=False)
class Choice:
    """The values that a step left open."""

    hand: FrameName | None = None
    """Link of the hand."""
    grasp: Grasp | None = None
    base: Float[np.ndarray, " n"] | None = None
    """Values of the joints of the base, where the robot stands."""
    pose: Float[np.ndarray, "7"] | None = None
    """World pose to which the object is brought."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """One way in which a step was done."""

    segments: tuple[MotionSegment, ...]
    after: MotionState = field(repr=False)
    """The state at its end."""
    choice: Choice = Choice()
    effect: bool = True
    """Whether its effect holds at its end, by the exact predicates."""
    reason: str = ""
    """Why the effect holds or does not, in a sentence."""
