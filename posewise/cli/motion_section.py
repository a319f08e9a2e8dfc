"""The section `motion` of problem files: a robot, and the steps of its motion."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posewise.logic import motion
from posewise.logic.motion import MotionPlan, MotionStatus, plan_motion

from .expressions import read_predicate
from .output import CommandResult
from .problem_file import ProblemFile
from .yaml_entries import Entry, read_integer

MOTION_KEYS = ("robot", "steps")


class StepKind(NamedTuple):
    """Type of a step, and its keys."""

    step: Callable[..., motion.Step]
    other_keys: tuple[str, ...] = ()
    """Further keys; the first one names the object or the predicate."""


STEP_KINDS = {
    "pick": StepKind(motion.Pick, ("hand",)),
    "place": StepKind(motion.Place, ("predicate",)),
    "push": StepKind(motion.Push, ("predicate", "hand")),
    "open": StepKind(motion.OpenJoint, ("joint", "hand")),
    "close": StepKind(motion.CloseJoint, ("joint", "hand")),
    "handover": StepKind(motion.Handover, ("hand",)),
    "hold": StepKind(motion.Hold),
    "until": StepKind(motion.MoveUntil),
}
PREDICATE_STEPS = ("hold", "until")


def solve_motion(problem: ProblemFile) -> MotionPlan:
    """Plan the motion of a problem file.

    Raises:
        ProblemError: for invalid input, with file, line and key.
    """
    robot, steps = read_motion(problem)
    seed = 0
    if "seed" in problem.sections:
        seed = read_integer(problem.sections["seed"], 0)
    with problem.sections["motion"].locating_errors():
        return plan_motion(problem.world, robot, steps, seed=seed)


def read_motion(problem: ProblemFile) -> tuple[str, list[motion.Step]]:
    """Return the robot and the steps of a problem file.

    Raises:
        ProblemError: for invalid input, with file, line and key.
    """
    section = problem.sections["motion"]
    fields = section.fields(MOTION_KEYS)
    for key in MOTION_KEYS:
        if key not in fields:
            section.fail(f"there is no key {key!r}; its keys are robot and steps.")
    robot = fields["robot"].text("an agent, or a frame of the robot")
    entries = fields["steps"].items("steps, such as {pick: mug}")
    return robot, [_read_step(entry) for entry in entries]


def summarize_motion(plan: MotionPlan) -> CommandResult:
    """Report a plan, with the path of all joints at the times of the slices."""
    is_success = plan.status is MotionStatus.SOLVED
    joints = list(plan.start.joint_names)
    data: dict[str, Any] = {
        "solved": is_success,
        "status": plan.status.name,
        "reason": plan.reason,
        "steps": [
            {"step": str(s.step), "holds": bool(s.effect), "reason": s.reason}
            for s in plan.steps
        ],
        "joints": joints,
        "times": plan.times,
        "path": plan.whole_path,
    }
    arrays = {
        "path": plan.whole_path,
        "times": plan.times,
        "joints": np.array(joints, str),
    }
    return CommandResult(is_success, plan.report(), data, arrays)


def _read_step(entry: Entry) -> motion.Step:
    """Return the step of a mapping, such as `{pick: mug}`."""
    expected = f"a mapping with one of the keys {', '.join(STEP_KINDS)}"
    kinds = [key for key in STEP_KINDS if key in entry.mapping(expected)]
    if len(kinds) != 1:
        entry.fail(
            f"has {' and '.join(kinds) or 'none'} of these, expected {expected}."
        )
    kind = kinds[0]
    step, other_keys = STEP_KINDS[kind]
    fields = entry.fields((kind, *other_keys))
    with entry.locating_errors():
        if kind in PREDICATE_STEPS:
            return step(read_predicate(fields[kind]))
        arguments: dict[str, Any] = {}
        for key, value in fields.items():
            if key == "predicate":
                arguments[key] = read_predicate(value)
            elif key != kind and value.value is not None:
                arguments[key] = value.text("a name")
        if "predicate" in other_keys and "predicate" not in arguments:
            entry.fail("there is no key 'predicate', which says when the step is done.")
        return step(fields[kind].text("the name of an object"), **arguments)
