"""Reasons why a hand cannot hold an object: its width, or the length of the arm.

Both are bounds that need no search, and tell more than that a search found nothing.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from posewise.objectives.checks.reach import chain_reach, unit_hint
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import bounding_box, find_object
from ..geometry.messages import length
from .grasp import GRASP_SAMPLING
from .grasps import least_width
from .hand import Hand
from .robot import Robot


def why_no_grasp(
    C: Config, obj: FrameName, hands: Sequence[Hand], part: FrameName | None = None
) -> str:
    """Return why no hand has a grasp of an object, in a sentence.

    Args:
        C: the world.
        obj: the object.
        hands: for which `find_grasps` finds none.
        part: frame by which it is to be held; None: any.
    """
    what, clearance = repr(obj if part is None else part), GRASP_SAMPLING.clearance
    reasons = []
    for hand in hands:
        width = least_width(C, obj, hand, part=part)
        if np.isfinite(width) and width + 2 * clearance > hand.max_width:
            reasons.append(
                f"{hand.link!r} opens {length(hand.max_width)} and needs"
                f" {length(clearance)} on each side, but where fingers could hold"
                f" {what} it is at least {length(width)} wide"
            )
    if len(reasons) == len(hands):
        widest = max(hand.max_width for hand in hands)
        hint = unit_hint(width, widest)
        return f"{what} is too wide: {'; '.join(reasons)}.{hint}"
    return (
        f"No grasp of {what} was found: it has no two flat, opposite surfaces between"
        " which an open hand fits without touching the rest of it."
    )


def out_of_reach(
    C: Config,
    robot: Robot,
    hand: Hand,
    obj: FrameName,
    poses: Sequence[Float[np.ndarray, "7"]],
) -> str:
    """Return a sentence if a hand can reach an object at none of some poses; else "".

    The grasp is in the object, and so no nearer than its bounding box.

    Args:
        C: the world, in which the joints of the robot alone move.
        robot: the robot.
        hand: one of its hands.
        obj: the object.
        poses: world poses of it.
    """
    if not set(robot.chains[hand.link]) - {hand.joint}:
        return ""
    base, reach = chain_reach(C, hand.link)
    reach += float(np.linalg.norm(hand.frame[:3]))
    X, distances = C.copy(), []
    X.detach(obj)
    for pose in poses:
        X.set_pose(obj, pose)
        low, high = bounding_box(find_object(X, obj))
        beyond = np.maximum(np.maximum(low - base, base - high), 0.0)
        distances.append(float(np.linalg.norm(beyond)))
    nearest = min(distances, default=0.0)
    if nearest <= reach:
        return ""
    return (
        f"{nearest:.2f} m from the base of the joints that move {hand.link!r}, farther"
        f" than they reach ({reach:.2f} m, all links stretched"
        f" out).{unit_hint(nearest, reach)}"
    )
