"""Translation between SRDF files and a world's exclusions, states and locked joints."""

import warnings
from collections.abc import Iterable
from itertools import product

import numpy as np

from ...contact.collision_pairs import FramePair, ordered_pairs
from ...contact.filter import CollisionFilter
from ...contact.own_links import adjacent_pairs
from ...errors import ConfigError, first_few
from ...kinematics.joint_types import joint_type
from ...world.argument_parsing import MAX_EXCESS, parse_joint_value
from ...world.frame import Joint, NamedState
from ...world.frame_tree import FrameTree
from .srdf import Srdf, format_srdf


def apply_rules(
    collision_filter: CollisionFilter, tree: FrameTree, srdf: Srdf, prefix: str
) -> tuple[CollisionFilter, list[str]]:
    """Ignore and restore the pairs that an SRDF file names.

    Returns:
        The filter, and descriptions of the links that are not here.
    """
    index = tree.model.first_index
    unknown: dict[str, int] = {}

    def pairs(kind: str) -> dict[FramePair, str]:
        named: dict[FramePair, str] = {}
        for links, reason, line in srdf.rules[kind]:
            absent = [name for name in links if prefix + name not in index]
            for name in absent:
                unknown.setdefault(prefix + name, line)
            if not absent:
                frames = [index[prefix + name] for name in links]
                others = frames[1:] or range(len(tree.frames))
                rule_pairs = ordered_pairs(product(frames[:1], others))
                named |= dict.fromkeys(rule_pairs, reason)
        return named

    by_default = pairs("disable_default_collisions")
    enabled, disabled = pairs("enable_collisions"), pairs("disable_collisions")
    result = collision_filter.ignoring(by_default).restoring(enabled).ignoring(disabled)
    return result, [f"link {name!r} (line {k})" for name, k in unknown.items()]


def parse_states(
    tree: FrameTree, srdf: Srdf, prefix: str
) -> tuple[tuple[NamedState, ...], list[str]]:
    """Return the states of groups for the joints of a world.

    Values of joints that mimic another one are left out silently: they follow. So are
    those of virtual joints, which place the robot in the world; a joint that is not
    here and has several coordinates is one, whether the file declares it or not.

    Returns:
        The states, and descriptions of the values that cannot be used.
    """
    joints = {f.joint.name: f.joint for f in reversed(tree.frames) if f.joint}
    states, lost = [], []
    for state in srdf.states:
        values = {}
        for name, value in state.values.items():
            joint = joints.get(prefix + name)
            where = f"joint {prefix + name!r} of state {state.name!r}"
            where += f" (line {srdf.joint_lines[name]})"
            if joint is None:
                if name not in srdf.virtual_joints and len(value) == 1:
                    lost.append(where)
            elif joint.mimic is None:
                try:
                    turned = _turn_quaternions(joint.type, value, 1)
                    parsed = parse_joint_value(joint, turned)
                except ConfigError as error:
                    lost.append(f"{where}, as {str(error).rstrip('.')}")
                    continue
                values[joint.name] = inside = _clip(parsed, joint)
                if np.abs(inside - parsed).max() > MAX_EXCESS:
                    lost.append(
                        f"how far {where} is outside of its limits ({parsed.item():g},"
                        f" now {inside.item():g})"
                    )
        states.append(NamedState(state.name, prefix + state.group, values))
    return tuple(s for s in states if s.values), lost


def passive_joints(
    tree: FrameTree, srdf: Srdf, prefix: str
) -> tuple[list[str], list[str]]:
    """Return the joints that no motor moves, and descriptions of those not here.

    Joints that mimic another one follow it, and are left out; so are virtual joints.
    """
    joints = {f.joint.name: f.joint for f in reversed(tree.frames) if f.joint}
    fixed = {f.attributes.get("joint_name") for f in tree.frames if not f.joint}
    passive, lost = [], []
    for name, line in srdf.passive.items():
        joint = joints.get(prefix + name)
        if joint is not None and joint.mimic is None:
            passive.append(joint.name)
        elif joint is None and not {name, prefix + name} & fixed:
            if name not in srdf.virtual_joints:
                lost.append(f"passive joint {prefix + name!r} (line {line})")
    return passive, lost


def warn_if_nothing_moves(path: object, tree: FrameTree, passive: list[str]) -> None:
    """Warn if the joints that are passive were all that moved."""
    if passive and not tree.nq:
        warnings.warn(
            f"{path}: all joints that could move are passive ({first_few(passive)}), so"
            " that nothing is moved by a solver; C.unlock(joints) lets some move.",
            UserWarning,
            stacklevel=3,
        )


def _clip(value: np.ndarray, joint: Joint) -> np.ndarray:
    return value if joint.limits is None else np.clip(value, *joint.limits)


def warn_of_losses(
    path: object, srdf: Srdf, links: list[str], joints: list[str]
) -> None:
    """Warn once of everything in an SRDF file that cannot be used in the world."""
    lost = [*srdf.broken, *links, *joints]
    if not lost:
        return
    named = {n for rules in srdf.rules.values() for rule in rules for n in rule.links}
    hint = "The rest applies."
    if links and len(links) == len(named):
        hint = "None of the file's links is here; give the prefix that the model has."
    warnings.warn(
        f"{path}: left out, because they are not in this world or cannot be used: "
        f"{first_few(lost, '; ')}. {hint}",
        UserWarning,
        stacklevel=3,
    )


def world_srdf(
    collision_filter: CollisionFilter,
    tree: FrameTree,
    states: Iterable[NamedState],
    name: str,
    prefix: str,
) -> str:
    """Return the text of an SRDF file with the exclusions and states of a world.

    Args:
        collision_filter: the exclusions; those of held objects are not written.
        tree: the frames.
        states: named states.
        name: of the robot.
        prefix: taken off all names; what has a name without it is left out.
    """

    def links(pairs: Iterable[FramePair]) -> dict[FramePair, tuple[str, str]]:
        names = tree.model.names
        return {
            (a, b): (names[a].removeprefix(prefix), names[b].removeprefix(prefix))
            for a, b in sorted(pairs)
            if names[a].startswith(prefix) and names[b].startswith(prefix)
        }

    disabled = links(collision_filter.reasons)
    # A reader of the robot ignores links that a joint connects, unless told otherwise.
    neighbours = adjacent_pairs(tree, collision_filter.attached)
    enabled = links(neighbours - collision_filter.reasons.keys())
    joints = {f.joint.name: f.joint.type for f in tree.frames if f.joint}
    written = []
    for state in states:
        values = {
            joint.removeprefix(prefix): _turn_quaternions(joints[joint], value, -1)
            for joint, value in state.values.items()
            if joint.startswith(prefix) and joint in joints
        }
        if values:
            group = state.group.removeprefix(prefix)
            written.append(NamedState(state.name, group, values))
    reasons = {pair: collision_filter.reasons[key] for key, pair in disabled.items()}
    return format_srdf(name, enabled.values(), reasons, written)


def _turn_quaternions(type: str, value: np.ndarray, shift: int) -> np.ndarray:
    """Shift the entries of quaternions: 1 from (x, y, z, w) to (w, x, y, z)."""
    value = np.array(value, float)
    for b in joint_type(type).balls:
        value[b : b + 4] = np.roll(value[b : b + 4], shift)
    return value
