"""Colours of shapes that have none: one for each body, to tell bodies apart."""

from collections.abc import Sequence
from dataclasses import replace

from ..kinematics.joint_types import FREE_JOINTS
from .frame import DrawnBody, Frame, Geometry

Color = tuple[float, ...]
"""RGBA, each number from 0 to 1."""

MOVABLE_COLORS: tuple[Color, ...] = (
    (0.88, 0.45, 0.20, 1.0),
    (0.24, 0.50, 0.78, 1.0),
    (0.40, 0.67, 0.33, 1.0),
    (0.93, 0.74, 0.24, 1.0),
    (0.60, 0.43, 0.74, 1.0),
    (0.24, 0.66, 0.66, 1.0),
    (0.82, 0.30, 0.32, 1.0),
    (0.87, 0.55, 0.68, 1.0),
    (0.56, 0.42, 0.32, 1.0),
    (0.55, 0.62, 0.22, 1.0),
)
"""Colours of bodies that move, in this order; more bodies begin again."""
FIXED_COLORS: tuple[Color, ...] = (
    (0.79, 0.73, 0.64, 1.0),
    (0.66, 0.72, 0.78, 1.0),
    (0.71, 0.77, 0.67, 1.0),
    (0.80, 0.71, 0.71, 1.0),
    (0.73, 0.69, 0.79, 1.0),
)
"""Pale colours of bodies that stand still."""
ROBOT_COLOR: Color = (0.78, 0.80, 0.83, 1.0)
"""Colour of all links of a robot."""
MIN_ROBOT_JOINTS = 3
"""Least number of joints between links with which a body counts as a robot; with fewer
it is coloured as an object."""


def body_roots(frames: Sequence[Frame]) -> list[int]:
    """Return the uppermost frame of the body that each frame belongs to, by index.

    A body is a frame in the world, or on a free joint, with all that hangs on it.
    What `Config.attach` fixes to a body stays another body.
    """
    return [_root(frames, i) for i in range(len(frames))]


def body_colors(frames: Sequence[Frame]) -> list[Color]:
    """Return the colour of each frame's shapes that lack one."""
    roots = body_roots(frames)
    robots = robot_bodies(frames)
    drawn = {
        roots[i] for i, f in enumerate(frames) if any(map(needs_color, f.geometries))
    }
    colors: dict[int, Color] = {}
    count = {True: 0, False: 0}
    for root in sorted(drawn):
        body = frames[root].body
        if body is not None:
            colors[root] = body.color
            count[body.color in MOVABLE_COLORS] += body.color != ROBOT_COLOR
            continue
        if root in robots:
            colors[root] = ROBOT_COLOR
            continue
        moves = frames[root].joint is not None
        choices = MOVABLE_COLORS if moves else FIXED_COLORS
        colors[root] = choices[count[moves] % len(choices)]
        count[moves] += 1
    return [colors.get(root, ROBOT_COLOR) for root in roots]


def robot_bodies(frames: Sequence[Frame]) -> set[int]:
    """Return the roots of the bodies that count as robots."""
    joints = [0] * len(frames)
    for i, root in enumerate(body_roots(frames)):
        joints[root] += frames[i].joint is not None and i != root
    return {root for root, count in enumerate(joints) if count >= MIN_ROBOT_JOINTS}


def keep_bodies(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """Return the frames, each with the body that it belongs to and its colour."""
    roots, colors = body_roots(frames), body_colors(frames)
    return tuple(
        replace(frame, body=DrawnBody(frames[root].name, color))
        if frame.body is None
        else frame
        for frame, root, color in zip(frames, roots, colors, strict=True)
    )


def needs_color(geometry: Geometry) -> bool:
    """Return whether a shape is drawn but lacks a colour."""
    return geometry.visual and geometry.color is None


def _root(frames: Sequence[Frame], i: int) -> int:
    while True:
        frame = frames[i]
        if frame.parent is None or frames[frame.parent].name == "world":
            return i
        if frame.joint is not None and frame.joint.type in FREE_JOINTS:
            return i
        if frame.body and frames[frame.parent].body not in (None, frame.body):
            return i
        i = frame.parent
