"""Objects that are on or in others, but do not stay there."""

from collections.abc import Iterator

from posewise.objectives.checks.floating import describe_floating
from posewise.robots.config import Config
from posewise.robots.geometry.shapes import Sphere
from posewise.robots.kinematics.joint_types import FREE_JOINTS
from posewise.robots.masses.frame_masses import link_roots
from posewise.robots.typing import FrameName

from ..formulas.messages import format_predicate
from ..formulas.predicate import Predicate
from ..geometry.frame_groups import find_object, subtree
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
        # Rows of Stable never hold of balls.
        advice = "" if is_ball(C, a) else f" Ask for Stable({a!r}), too."
        yield (
            f"{format_predicate(predicate)} holds, but {a!r} does not stay there:"
            f" {moves}{advice}"
        )


def is_ball(C: Config, name: FrameName) -> bool:
    """Return whether all of an object that collides is of balls, and so may roll."""
    frames = [C.frames[i] for i in subtree(C, find_object(C, name).frames[0])]
    shapes = [g.shape for frame in frames for g in frame.geometries if g.collision]
    return bool(shapes) and all(isinstance(shape, Sphere) for shape in shapes)
