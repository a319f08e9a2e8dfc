"""Objects that are on or in others, but do not stay there."""

from collections.abc import Iterator

from posewise.objectives.checks.floating import describe_floating
from posewise.objectives.placement.symmetry import is_ball
from posewise.robots.config import Config
from posewise.robots.kinematics.joint_types import FREE_JOINTS
from posewise.robots.masses.frame_masses import link_roots
from posewise.robots.typing import FrameName

from ..formulas.messages import format_predicate
from ..formulas.predicate import Predicate
from ..geometry.frame_groups import find_object
from .stable import Stable


def does_not_stay(predicate: Predicate, C: Config, a: FrameName) -> Iterator[str]:
    """Yield a sentence if a loose object moves from where a predicate about it holds.

    It is tried in simulation. Without MuJoCo (extra `mujoco`) just objects in the air
    are told.

    Args:
        predicate: it holds of the object in any case, as when it touches a rim only.
        C: the world.
        a: the object.
    """
    root = find_object(C, a).frames[0]
    link = link_roots(C.frames)[root]
    joint = None if link is None else C.frames[link].joint
    if joint is None or joint.type not in FREE_JOINTS:
        return
    rests = Stable(a)
    try:
        moves = "" if rests.holds(C) else rests.explain(C)
    except ImportError:
        moves = describe_floating(C, C.frames[root].name)
    if moves:
        name = C.frames[root].name
        # Rows of Stable never hold of balls.
        advice = "" if is_ball(C, name) else f" Ask for Stable({a!r}), too."
        yield (
            f"{format_predicate(predicate)} holds, but {a!r} does not stay there:"
            f" {moves}{advice}"
        )
