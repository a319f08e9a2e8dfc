"""Which joint drives which: mimic joints, followed to their source."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError, unknown_name
from ..world.frame import Frame
from .joint_types import joint_type


@dataclass
class MimicRelation:
    """What drives a joint: scale · (multiplier · q + offset) of a source joint."""

    source: int
    multiplier: float
    offset: float
    scale: float


def resolve_mimics(frames: Sequence[Frame]) -> dict[int, MimicRelation]:
    """For each jointed frame, the frame whose coordinates drive it.

    Raises:
        ConfigError: for a mimic of an unknown joint, of another type, or in a circle.
    """
    joints = {i: f.joint for i, f in enumerate(frames) if f.joint is not None}
    by_name = {joint.name: i for i, joint in joints.items()}
    drives: dict[int, MimicRelation] = {}
    for i, own in joints.items():
        multiplier, offset, k, seen = 1.0, 0.0, i, {i}
        joint = own
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
                    f"Joint {own.name!r} mimics itself through"
                    f" {joint.mimic!r}; break the circle."
                )
            seen.add(k)
            joint = joints[k]
        if joint.dim != own.dim:
            raise ConfigError(
                f"Joint {own.name!r} ({own.type}) mimics"
                f" {joint.name!r} ({joint.type}), which has {joint.dim} coordinates"
                f" instead of {own.dim}."
            )
        drives[i] = MimicRelation(k, multiplier, offset, joint.scale)
    return drives


def mimic_value(type_: str, q: np.ndarray, drive: MimicRelation) -> np.ndarray:
    """A joint's own coordinates, given those of the joint that drives it."""
    value = drive.multiplier * q + drive.offset
    for b in joint_type(type_).balls:
        value[b : b + 4] = q[b : b + 4]
    return value


def motion_value(type_: str, q: np.ndarray, drive: MimicRelation) -> np.ndarray:
    """The coordinates at which a driven joint's motion is evaluated."""
    value = mimic_value(type_, q, drive)
    scaled = drive.scale * value
    for b in joint_type(type_).balls:
        scaled[b : b + 4] = value[b : b + 4]
    return scaled
