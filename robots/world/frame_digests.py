"""Digests of frames, by which a file knows the world that it was written for."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from posewise.compilation.fingerprint import fingerprint

from ..geometry.shapes import Mesh, Shape
from ..typing import FrameName
from .frame import Frame

DIGEST_LENGTH = 12
"""Number of hexadecimal digits of a digest; with fewer, different frames might have the
same."""


def frame_digests(
    frames: Sequence[Frame], placed: Collection[FrameName] = ()
) -> dict[str, str]:
    """Return a digest of each frame by its name, the same in all processes.

    It is of the parent, the constant pose, the joint and the shapes for collision, but
    neither of the state nor of limits, colours and masses.

    Args:
        frames: The frames of a world.
        placed: Names of frames that may be anywhere: of these only the shapes count.

    Raises:
        ConfigError: For a mesh that cannot be read.
    """
    parts: dict[str, list[object]] = {}
    for frame in frames:
        of_frame: list[object] = [
            (_shape_parts(g.shape), _numbers(g.pose))
            for g in frame.geometries
            if g.collision
        ]
        if frame.name not in placed:
            parent = None if frame.parent is None else frames[frame.parent].name
            of_frame += [parent, _numbers(frame.origin), *_joint_parts(frame)]
        parts.setdefault(frame.name, []).append(of_frame)
    return {name: fingerprint(p)[:DIGEST_LENGTH] for name, p in parts.items()}


def differing_frames(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the names of frames that only one of two worlds has, or that differ."""
    names = dict.fromkeys([*one, *other])
    return [name for name in names if one.get(name) != other.get(name)]


def _joint_parts(frame: Frame) -> list[object]:
    joint = frame.joint
    if joint is None:
        return []
    relation = (joint.mimic, joint.multiplier, joint.offset, joint.scale)
    axis = None if joint.axis is None else _numbers(joint.axis)
    return [joint.type, joint.name, axis, *relation]


def _shape_parts(shape: Shape) -> list[object]:
    """Return what a shape is: its kind and its sizes, of a mesh the triangles."""
    if isinstance(shape, Mesh):
        triangles = (_numbers(shape.mesh.vertices), np.asarray(shape.mesh.faces))
        return ["Mesh", shape.mode, shape.max_vertices, *triangles]
    return [type(shape).__name__, *map(_numbers, vars(shape).values())]


def _numbers(values: object) -> np.ndarray:
    # 0.0 and -0.0 are equal numbers of different bits.
    return np.asarray(np.asarray(values, float) + 0.0)
