"""The robot of a motion: its joints, its base and its hands."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from posewise.robots.config import Config
from posewise.robots.contact.own_links import robot_roots
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.typing import FrameName

from .hand import Hand, find_hands

PLANAR = ("transXY", "transXYPhi", "phiTransXY", "planar")
"""Types of joints that drive over the floor by themselves."""
SLIDES = ("prismatic", "transX", "transY")
TURNS = ("revolute", "continuous", "hingeZ", "hinge")


@dataclass(frozen=True, eq=False)
class Robot:
    """The part of a world that moves by itself."""

    root: str
    """Frame that stands for the robot."""
    frames: tuple[str, ...]
    """Names of its frames, in the world's order."""
    joints: tuple[str, ...]
    """Names of its joints."""
    base_joints: tuple[str, ...]
    """Names of the joints that drive it over the floor; none: it stands still."""
    hands: tuple[Hand, ...]
    chains: Mapping[FrameName, tuple[str, ...]]
    """Names of the joints above each hand and of its fingers, by its link."""

    def arm(self, hand: Hand, *, of_others: bool = False) -> tuple[str, ...]:
        """Return the joints above a hand alone, with its own; or those of all others.

        Those of a common base are in neither.
        """
        arms = {h.link: set(self.chains[h.link]) for h in self.hands}
        common = set.intersection(*arms.values())
        alone = arms[hand.link] - common
        chosen = set.union(*arms.values()) - common - alone if of_others else alone
        return tuple(joint for joint in self.joints if joint in chosen)

    def hand(self, link: str) -> Hand:
        """Return the hand of a link.

        Raises:
            ConfigError: for another name, with near matches.
        """
        hands = {hand.link: hand for hand in self.hands}
        if link not in hands:
            raise ConfigError(unknown_name("hand", link, hands))
        return hands[link]


def find_robot(C: Config, name: FrameName) -> Robot:
    """Return the robot that an agent, or one of its frames, names.

    Raises:
        ConfigError: for an unknown name, or a robot that has no joints or no hand.
    """
    agents = C.annotations.agents
    frame = C.index(agents[name].base if name in agents else name)
    if frame == len(C.frames):
        raise ConfigError(f"robot is {name!r}, the world; name a frame of the robot.")
    loose = {C.index(other) for other in C.objects}
    roots = robot_roots(C.frames, {*C.collision_filter.attached, *loose})
    members = np.flatnonzero(roots == roots[frame]).tolist()
    joints = [C.frames[i].joint for i in members]
    names = [j.name for j in joints if j is not None and j.name in C.joint_names]
    if not names:
        raise ConfigError(f"robot is {name!r}, which has no joint that moves.")
    hands = find_hands(C, members)
    if not hands:
        raise ConfigError(
            f"robot is {name!r}, which has no hand: expected a link with two fingers"
            " that slide and are coupled by a mimic joint."
        )
    return Robot(
        root=C.frame_names[roots[frame]],
        frames=tuple(C.frame_names[i] for i in members),
        joints=tuple(names),
        base_joints=_base_joints(C, members, hands),
        hands=hands,
        chains={hand.link: _joints_above(C, hand) for hand in hands},
    )


def _joints_above(C: Config, hand: Hand) -> tuple[str, ...]:
    """Return the joints above a hand, and that of its fingers."""
    joints = [C.frames[i].joint for i in _common_chain(C, [C.index(hand.link)])]
    names = [j.name for j in joints if j is not None and j.name in C.joint_names]
    return (*names, hand.joint)


def _base_joints(
    C: Config, members: Collection[int], hands: Collection[Hand]
) -> tuple[str, ...]:
    """Return the joints above all hands that drive the robot over the floor.

    They are a joint of the plane, or two slides along the floor and then a turn about
    the vertical.
    """
    chain = _common_chain(C, [C.index(hand.link) for hand in hands])
    joints: list[str] = []
    for i in chain:
        joint = C.frames[i].joint
        if joint is None or joint.dim == 0:
            continue
        if joint.type in PLANAR:
            return (joint.name,)
        is_next = joint.type in (SLIDES if len(joints) < 2 else TURNS)
        if not is_next or len(joints) == 3:
            break
        joints.append(joint.name)
    return tuple(joints) if len(joints) == 3 else ()


def _common_chain(C: Config, tips: list[int]) -> list[int]:
    """Return the frames above all of some frames, from the root downwards."""
    chains = []
    for i in tips:
        chain = [i]
        while (parent := C.frames[chain[-1]].parent) is not None:
            chain.append(parent)
        chains.append(chain[::-1])
    common = set.intersection(*map(set, chains))
    return [i for i in chains[0] if i in common]
