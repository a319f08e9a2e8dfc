"""Mimic joints, followed to the joint that drives them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError, unknown_name
from ..world.frame import Frame
from .joint_types import joint_type


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
        multiplier, offset, k, seen = 1.0, 0.0, i, {i}
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
            if k in seen:
                raise ConfigError(
                    f"Joint {follower.name!r} mimics itself through"
                    f" {joint.mimic!r}; break the circle."
                )
            seen.add(k)
            joint = joints[k]
        if joint.dim != follower.dim:
            raise ConfigError(
                f"Joint {follower.name!r} ({follower.type}) mimics"
                f" {joint.name!r} ({joint.type}), which has {joint.dim} coordinates"
                f" instead of {follower.dim}."
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
