"""Doubts about a replay: what MuJoCo's world does otherwise than the plan's.

Both are compared at the end of each path. What goes wrong is told once, where it first
shows, since all that comes after follows from it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from posewise.objectives.terms.loose import loose_roots
from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import quat_to_matrix

from ..formulas.messages import format_predicate
from ..formulas.predicate import Predicate
from ..geometry.messages import length
from ..predicates.joint_openness import Open
from .motion_state import relative
from .plan import MotionPlan
from .segment import MotionSegment
from .step_types import CloseJoint, MoveUntil, OpenJoint, Place, Push


@dataclass(frozen=True, slots=True)
class DoubtLimits:
    """Differences from a plan that are told, varied in docs/evidence.md."""

    lag: float = 0.02
    """Distance of a joint [rad, m]. Arms that touch nothing stay within 0.002, at
    contacts within 0.01; with less, those are told, too."""
    shift: float = 0.02
    """Distance of an object from its planned place [m]; with less, also that of objects
    that settle or give way to a finger."""
    fall: float = 0.05
    """Height below the planned place from which an object has fallen [m]; larger
    shifts in a hand are called lost."""
    tilt: float = 0.3
    """Angle between the planned and the true vertical of an object [rad]; a smaller one
    takes those that lean for fallen ones."""


DOUBT_LIMITS = DoubtLimits()


class SegmentEnd(NamedTuple):
    """The simulation at the end of a path."""

    world: Config
    lag: tuple[str, float]
    """The joint of the robot that was farthest from the path, and how far [rad, m]."""


@dataclass(frozen=True)
class ReplayedEffect:
    """An effect of a plan after its replay."""

    predicate: Predicate
    holds: bool
    """Whether it holds, exactly."""
    reason: str
    """Why it holds or does not."""


def effects_at_end(plan: MotionPlan, world: Config) -> tuple[ReplayedEffect, ...]:
    """Return the effects of all steps that hold at the end of a plan, in a world."""
    effects: list[Predicate] = []
    for result in plan.steps:
        match result.step:
            case Place(_, predicate) | Push(_, predicate) | MoveUntil(predicate):
                effects.append(predicate)
            case OpenJoint(obj):
                effects.append(Open(obj))
            case CloseJoint(obj):
                effects.append(~Open(obj))
    return tuple(
        ReplayedEffect(p, p.holds(world), p.explain(world))
        for p in effects
        if p.holds(plan.world)
    )


def effect_doubts(effects: Sequence[ReplayedEffect]) -> Iterator[str]:
    """Yield a sentence for each effect that does not hold."""
    for effect in effects:
        if not effect.holds:
            name = format_predicate(effect.predicate)
            yield f"At the end {name} does not hold: {effect.reason}"


def replay_doubts(plan: MotionPlan, ends: Sequence[SegmentEnd]) -> Iterator[str]:
    """Yield a sentence for each joint and object that leaves the plan, at first.

    Args:
        plan: the plan.
        ends: the simulation at the end of each of its segments.
    """
    doubted: set[str] = set()
    for segment, end in zip(plan.segments, ends, strict=True):
        planned, world = segment.world_at(-1), end.world
        step = type(plan.steps[segment.step].step).__name__
        when = f"In {segment.name!r} of step {segment.step} ({step})"
        for name, doubt in (
            ("robot", _lag(end.lag)),
            *_doors(plan, planned, world),
            *_objects(plan, segment, planned, world),
        ):
            if doubt and name not in doubted:
                doubted.add(name)
                yield f"{when}, {doubt}"


def _lag(lag: tuple[str, float]) -> str:
    joint, distance = lag
    if distance <= DOUBT_LIMITS.lag:
        return ""
    return (
        f"{joint!r} is up to {1e3 * distance:.0f} mrad or mm from its path: something"
        " is in its way, or holds it back. Look at the world there, or replay more"
        " slowly (slowness)."
    )


def _doors(
    plan: MotionPlan, planned: Config, world: Config
) -> Iterator[tuple[str, str]]:
    """Yield joints of doors and drawers, with a sentence if they do not follow."""
    for joint in dict.fromkeys(j for s in plan.segments for j in s.passive):
        planned_value, value = (
            float(C.joints.value(joint)[0]) for C in (planned, world)
        )
        if abs(planned_value - value) > DOUBT_LIMITS.lag:
            yield (
                joint,
                f"{joint!r} does not follow the hand: it is at {value:.3f}, and planned"
                f" at {planned_value:.3f}.",
            )


def _objects(
    plan: MotionPlan, segment: MotionSegment, planned: Config, world: Config
) -> Iterator[tuple[str, str]]:
    """Yield loose objects, with a sentence if they are not where they should be."""
    for obj in loose_roots(plan.start):
        hand = next((h for h in plan.hands if obj in planned.subtree(h.link)), None)
        frame = "world" if hand is None else hand.link
        planned_pose, pose = relative(planned, obj, frame), relative(world, obj, frame)
        shift = float(np.linalg.norm(pose[:3] - planned_pose[:3]))
        # The object's axis that is vertical in the plan.
        up = quat_to_matrix(planned_pose[3:])[2] @ quat_to_matrix(pose[3:])[2]
        fall = planned.pose(obj)[2] - world.pose(obj)[2]
        if hand is not None and shift > DOUBT_LIMITS.shift:
            is_lost = " out of" if shift > DOUBT_LIMITS.fall else " in"
            text = f"slips{is_lost} {hand.link!r}, by {length(shift)}"
        elif fall > DOUBT_LIMITS.fall:
            text = f"falls: it is {length(fall)} below its planned place"
        elif shift > DOUBT_LIMITS.shift:
            text = f"is {length(shift)} from its planned place"
        elif hand is None and up < np.cos(DOUBT_LIMITS.tilt):
            text = f"tips over, by {np.degrees(np.arccos(max(up, -1.0))):.0f}°"
        else:
            continue
        yield obj, f"{obj!r} {text}."
