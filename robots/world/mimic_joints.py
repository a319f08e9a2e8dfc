"""Mimic joints, followed to the joint that drives them."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..errors import ConfigError, unknown_name
from ..kinematics.joint_types import joint_type
from ..validation import MAX_NUMBER, is_bounded
from .frame import Frame, Joint


@dataclass
class MimicRelation:
    """The relation of a joint to its source: scale · (multiplier · q + offset).

    A joint that mimics no other is its own source.
    """

    source: int
    """Frame of the joint whose coordinates q drive the joint."""
    multiplier: float
    offset: float
    scale: float
    """Scale of the source joint, rai's `joint_scale`."""


def resolve_mimics(frames: Sequence[Frame]) -> dict[int, MimicRelation]:
    """Return the mimic relation of each frame with a joint.

    Raises:
        ConfigError: For a mimic of an unknown joint, of a joint with another number of
            coordinates, or in a circle.
    """
    joints = {i: f.joint for i, f in enumerate(frames) if f.joint is not None}
    by_name = {joint.name: i for i, joint in joints.items()}
    relations: dict[int, MimicRelation] = {}
    for i, follower in joints.items():
        multiplier, offset, k, visited = 1.0, 0.0, i, {i}
        joint = follower
        while joint.mimic is not None:
            if joint.mimic not in by_name:
                raise ConfigError(
                    f"Joint {joint.name!r} mimics {joint.mimic!r}: "
                    + unknown_name("joint", joint.mimic, by_name)
                )
            offset += multiplier * joint.offset
            multiplier *= joint.multiplier
            k = by_name[joint.mimic]
            if k in visited:
                raise ConfigError(
                    f"Joint {follower.name!r} mimics itself through"
                    f" {joint.mimic!r}; break the circle."
                )
            visited.add(k)
            joint = joints[k]
        if joint.dim != follower.dim:
            raise ConfigError(
                f"Joint {follower.name!r} ({follower.type}) mimics"
                f" {joint.name!r} ({joint.type}), which has {joint.dim} coordinates"
                f" instead of {follower.dim}."
            )
        # Each joint's own numbers are bounded, but not the product along a chain.
        if not is_bounded([multiplier, offset]):
            raise ConfigError(
                f"Joint {follower.name!r} mimics {joint.name!r} with multiplier"
                f" {multiplier:g} and offset {offset:g} in all, expected numbers of at"
                f" most {MAX_NUMBER:g} in size."
            )
        relations[i] = MimicRelation(k, multiplier, offset, joint.scale)
    return relations


def mimic_value(type_: str, q: np.ndarray, relation: MimicRelation) -> np.ndarray:
    """Return a joint's coordinates, given its source's; quaternions are copied."""
    value = relation.multiplier * q + relation.offset
    for b in joint_type(type_).balls:
        value[b : b + 4] = q[b : b + 4]
    return value


def motion_value(type_: str, q: np.ndarray, relation: MimicRelation) -> np.ndarray:
    """Return the scaled coordinates at which a joint's motion is evaluated."""
    value = mimic_value(type_, q, relation)
    scaled = relation.scale * value
    for b in joint_type(type_).balls:
        scaled[b : b + 4] = value[b : b + 4]
    return scaled


def followers_by_leader(
    relations: Mapping[int, MimicRelation],
) -> dict[int, list[int]]:
    """Return the frames whose joints each joint drives, other than itself."""
    followers: dict[int, list[int]] = {}
    for i, relation in relations.items():
        members = followers.setdefault(relation.source, [])
        if relation.source != i:
            members.append(i)
    return followers


RATES = ("velocity", "acceleration", "jerk")
"""Attributes of a joint that bound derivatives of its coordinates by time, in order."""
MIN_RANGE = 1e-9
"""Least range that bounds together must leave a joint [rad or m]; with less they
contradict each other."""


def bounds_of_leader(
    frames: Sequence[Frame],
    leader: int,
    followers: Sequence[int],
    relations: Mapping[int, MimicRelation],
) -> tuple[np.ndarray, np.ndarray]:
    """Return limits (2, dim) and largest rates (3, dim) of a joint and its followers.

    The rates are those of `RATES`. A follower at m · q + o within [l, u] bounds its
    leader to q in [(l - o) / m, (u - o) / m], the ends swapped for m < 0, and its speed
    v to v / |m|, likewise acceleration and jerk. Where the followers' limits leave no
    range, a warning says so, and the leader's own count. Limits of a mirrored follower
    (m < 0) that leave a single value do not count.

    Args:
        frames: All frames.
        leader: Index of a frame whose joint mimics no other.
        followers: Indices of the frames whose joints it drives.
        relations: Those of all joints, by `resolve_mimics`.
    """
    leader_bounds, rates = _own_bounds(frames[leader].joint)
    low, high = leader_bounds
    for i in followers:
        limits, follower_rates = _own_bounds(frames[i].joint)
        m, o = relations[i].multiplier, relations[i].offset
        if m:
            # A tiny multiplier makes the bounds infinite, so that they do not count.
            with np.errstate(over="ignore"):
                ends = np.sort((limits - o) / m, axis=0)
                leader_rates = follower_rates / abs(m)
            new_low, new_high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
            # Files often copy a leader's limits to a mirrored follower (the fingers of
            # rai's Panda, the PR2's grippers). The joint is not meant to stand still.
            if m < 0 and np.any((new_low == new_high) & (low < high)):
                continue
            low, high = new_low, new_high
            rates = np.minimum(rates, leader_rates)
    least = np.where(
        leader_bounds[1] - leader_bounds[0] > MIN_RANGE, MIN_RANGE, -MIN_RANGE
    )
    if np.any(high - low < least):
        _warn_of_contradiction(frames[leader], tuple(frames[i] for i in followers))
        low, high = leader_bounds
    return np.stack([np.minimum(low, high), high]), rates


def _own_bounds(joint: Joint | None) -> tuple[np.ndarray, np.ndarray]:
    dim = 0 if joint is None else joint.dim
    limits = np.tile([[-np.inf], [np.inf]], (1, dim))
    if joint is not None and joint.limits is not None:
        limits = np.array(joint.limits, float)
    rates = [getattr(joint, name, None) for name in RATES]
    return limits, np.array([np.full(dim, np.inf) if r is None else r for r in rates])


@lru_cache(maxsize=256)  # one warning for the same frames, however often they are built
def _warn_of_contradiction(leader: Frame, followers: tuple[Frame, ...]) -> None:
    name, *others = [f.joint.name for f in (leader, *followers) if f.joint is not None]
    shown = ", ".join(map(repr, others[:3])) + ", …" * (len(others) > 3)
    warnings.warn(
        f"The limits of the joints that mimic {name!r} ({shown}) leave it no range, so"
        " that only its own limits count; correct limits, multiplier or offset.",
        UserWarning,
        stacklevel=2,
    )
