"""Named values of joints, such as "home": states of groups in SRDF files, MJCF keys."""

from collections.abc import Iterable, Mapping, Set
from types import MappingProxyType

import numpy as np

from ..errors import ConfigError, unknown_name
from ..typing import VectorLike
from .argument_parsing import parse_joint_value, refuse_outside
from .edit import set_joint
from .frame import NamedState
from .frame_tree import FrameTree, joint_of

DEFAULT_GROUP = "all"
"""Group of the states for which none is given."""


def states_by_name(states: Iterable[NamedState]) -> dict[str, NamedState]:
    """Return states by name; those of several groups by "group/name"."""
    listed = list(states)
    names = [state.name for state in listed]
    return {
        state.name if names.count(state.name) == 1 else state.full_name: state
        for state in listed
    }


def find_state(states: Iterable[NamedState], name: str) -> NamedState:
    """Return the state of a name, or of "group/name".

    Raises:
        ConfigError: for an unknown name, with near matches, and one that several
            groups have.
    """
    listed = list(states)
    named = [s for s in listed if name in (s.name, s.full_name)]
    if len(named) > 1:
        choices = " or ".join(repr(s.full_name) for s in named)
        raise ConfigError(
            f"The named state {name!r} is one of several groups; say {choices}."
        )
    if not named:
        raise ConfigError(unknown_name("named state", name, states_by_name(listed)))
    return named[0]


def make_state(
    states: Iterable[NamedState],
    tree: FrameTree,
    name: str,
    values: Mapping[str, float | VectorLike] | None,
) -> NamedState:
    """Check the arguments of `Config.joints.add_named_state` and make the state.

    Raises:
        ConfigError: for what is no name, for unknown and mimicking joints, and values
            that do not fit or are outside of the limits.
    """
    if not isinstance(name, str) or not name.rpartition("/")[2].strip():
        raise ConfigError(f"name is {name!r}, expected a string, e.g. 'ready'.")
    if values is None:
        values = {joint: tree.joint_value(joint) for joint in tree.joint_names}
    if not isinstance(values, Mapping):
        raise ConfigError(
            f"values is {values!r}, expected values by joint, such as"
            " {'joint1': 0.5}, or None for the present state."
        )
    if not values:
        raise ConfigError(
            f"Named state {name!r} has no joints; name at least one with its value."
        )
    parsed = {}
    for joint_name, value in values.items():
        joint = joint_of(tree.frames[tree.joint_frame(joint_name)])
        if joint.mimic is not None:
            raise ConfigError(
                f"Joint {joint_name!r} mimics {joint.mimic!r}; give the value of"
                " that one."
            )
        parsed[joint.name] = coordinates = parse_joint_value(joint, value)
        if joint.limits is not None:
            label = f"Named state {name!r}"
            refuse_outside(label, [joint.name] * joint.dim, coordinates, joint.limits)
    group, _, short = name.rpartition("/")
    same = [s for s in states if name in (s.name, s.full_name)]
    if len(same) == 1:
        group, short = same[0].group, same[0].name
    return NamedState(short, group or DEFAULT_GROUP, parsed)


def public_values(state: NamedState) -> Mapping[str, float | np.ndarray]:
    """Return the values of a state that nobody can change, as numbers and arrays."""
    values: dict[str, float | np.ndarray] = {}
    for joint, value in state.values.items():
        array = value.copy()
        array.flags.writeable = False
        values[joint] = array.item() if array.size == 1 else array
    return MappingProxyType(values)


def apply_state(tree: FrameTree, state: NamedState) -> FrameTree:
    """Set the joints of a named state.

    Raises:
        ConfigError: when one of them is no longer there, or mimics another one.
    """
    for joint, value in state.values.items():
        try:
            tree = set_joint(tree, joint, value)
        except ConfigError as error:
            raise ConfigError(
                f"Named state {state.full_name!r} has a value of joint {joint!r} that"
                f" cannot be set: {error}"
            ) from error
    return tree


def merge_states(
    old: Iterable[NamedState], new: Iterable[NamedState]
) -> tuple[NamedState, ...]:
    """Add states, in place of those with the same group and name."""
    merged = {state.full_name: state for state in (*old, *new)}
    return tuple(merged.values())


def renamed_states(
    states: Iterable[NamedState], prefix: str, joints: Mapping[str, str]
) -> tuple[NamedState, ...]:
    """Return states with a prefix before their groups and new names of their joints."""
    return tuple(
        NamedState(
            s.name, prefix + s.group, {joints[j]: v for j, v in s.values.items()}
        )
        for s in states
    )


def restricted_states(
    states: Iterable[NamedState], joints: Set[str]
) -> tuple[NamedState, ...]:
    """Return what is left of states after other joints were removed."""
    restricted = (
        NamedState(s.name, s.group, {j: v for j, v in s.values.items() if j in joints})
        for s in states
    )
    return tuple(s for s in restricted if s.values)
