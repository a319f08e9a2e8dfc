"""Frames that may touch what is attached to a hand: the hand and its fingers.

A *hand* is a link that an agent declares one, or that an arm moves: at least two joints
are above it, or one if it has fingers. Its *fingers* are the links below it on chains
of at most four joints that follow no other joint. Other objects on the hand, and longer
chains, such as an arm on a mobile base, are no fingers. Links that stand in the world
or on a free joint are no hands unless an agent declares them: what lies in a cupboard
collides with its doors. What is attached to one of several fingers whose joints are
coupled, as those of parallel grippers, is held by the hand.
"""

from collections.abc import Collection, Mapping
from itertools import product

from ..annotations.agents import Agent
from ..kinematics.joint_types import FREE_JOINTS
from ..world.frame import Frame
from ..world.frame_tree import FrameTree
from ..world.mimic_joints import resolve_mimics
from .collision_pairs import FramePair, ordered_pairs

MAX_FINGER_JOINTS = 4
"""Number of joints of the longest chain that counts as a finger; with more, short arms
on a moving base may pass through what is attached to the base."""
MIN_ARM_JOINTS = 2
"""Number of joints above a link from which it is a hand even without fingers."""


def held_pairs(
    tree: FrameTree,
    objects: Collection[int],
    agents: Collection[Agent],
    attached: Collection[int],
    frame: int,
) -> frozenset[FramePair]:
    """Return the pairs that do not count while a frame stays attached to its parent.

    Args:
        tree: the frames.
        objects: indices of the root frames of objects.
        agents: their hands count as hands.
        attached: indices of other frames that have been attached.
        frame: the attached frame; everything below it is held too.
    """
    parent = tree.frames[frame].parent
    if parent is None:
        return frozenset()
    above = _chain(tree.frames, parent)
    # A gripper that was attached to an arm is a part of it when it holds something.
    others = {*objects, frame, *(i for i in attached if i not in above)}
    touched = _hand_and_fingers(tree, agents, others, parent)
    carried = subtree_indices(tree, frame)
    return frozenset(ordered_pairs(product(carried, touched - carried)))


def subtree_indices(
    tree: FrameTree, root: int, without: Collection[int] = ()
) -> set[int]:
    """Return the indices of a frame and of all frames below it.

    Args:
        tree: the frames.
        root: index of the frame.
        without: frames left out with what is below them.
    """
    indices, pending = {root}, [root]
    for i in pending:
        below = [c for c in tree.model.children.get(i, ()) if c not in without]
        pending += [c for c in below if c not in indices]
        indices.update(below)
    return indices


def _hand_and_fingers(
    tree: FrameTree, agents: Collection[Agent], others: Collection[int], parent: int
) -> set[int]:
    """Return the frames of a hand with its fingers; none if the parent is no hand."""
    frames = tree.frames
    chain = _chain(frames, parent)
    coupled = _coupled_joints(tree)
    head = next((i for i in chain if _has_joint(frames[i]) and i not in coupled), None)
    head = chain[-1] if head is None else head
    link = _rigid_part(tree, head, others)
    branches = {
        child
        for i in link
        for child in tree.model.children.get(i, ())
        if child not in others and child not in link and not floats(frames[child])
    }
    declared = _declared_hands(tree, agents)
    for hand in link & declared.keys():
        roots = declared[hand] or branches
        return link.union(*(subtree_indices(tree, i, others) for i in roots))
    short = {i for i in branches if _depth(tree, i, others) <= MAX_FINGER_JOINTS}
    joints = sum(_has_joint(frames[i]) and not floats(frames[i]) for i in chain)
    if joints >= MIN_ARM_JOINTS or joints and short:
        return link.union(*(subtree_indices(tree, i, others) for i in short))
    return set()


def _coupled_joints(tree: FrameTree) -> set[int]:
    """Return the frames whose joints follow another one, or are followed by one."""
    relations = resolve_mimics(tree.frames)
    followers = {i for i, relation in relations.items() if relation.source != i}
    return followers | {relations[i].source for i in followers}


def _declared_hands(
    tree: FrameTree, agents: Collection[Agent]
) -> Mapping[int, list[int]]:
    """Return the frames of the fingers that agents name, by the frame of the hand."""
    return {
        tree.index(hand): [tree.index(finger) for finger in fingers]
        for agent in agents
        for hand, fingers in agent.hands.items()
    }


def _chain(frames: tuple[Frame, ...], i: int) -> list[int]:
    """Return the indices of a frame and of all frames above it, upwards."""
    chain = [i]
    while (parent := frames[chain[-1]].parent) is not None:
        chain.append(parent)
    return chain


def _rigid_part(tree: FrameTree, head: int, others: Collection[int]) -> set[int]:
    """Return a frame and all frames below it before the next joint."""
    jointed = {i for i, f in enumerate(tree.frames) if _has_joint(f)}
    return subtree_indices(tree, head, {*others, *jointed})


def _depth(tree: FrameTree, i: int, others: Collection[int]) -> int:
    """Return the largest number of joints on a chain down from a frame, its own too.

    Joints that mimic another one do not count.
    """
    below = [c for c in tree.model.children.get(i, ()) if c not in others]
    joint = tree.frames[i].joint
    is_counted = (
        _has_joint(tree.frames[i]) and joint is not None and joint.mimic is None
    )
    return is_counted + max((_depth(tree, c, others) for c in below), default=0)


def _has_joint(frame: Frame) -> bool:
    return frame.joint is not None and frame.joint.dim > 0


def floats(frame: Frame) -> bool:
    """Return whether a frame moves freely, as objects and the bases of robots do."""
    return frame.joint is not None and frame.joint.type in FREE_JOINTS
