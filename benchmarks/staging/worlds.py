"""Worlds in which benchmarks place objects."""

import numpy as np

import posewise as pw
from posewise.robots.kinematics.transforms import axis_angle_to_quat

Part = tuple[pw.robots.geometry.shapes.Shape, np.ndarray]


def at(x=0.0, y=0.0, z=0.0, turn=0.0, axis=(0.0, 0, 1)) -> np.ndarray:
    return np.array([x, y, z, *axis_angle_to_quat(np.array(axis), turn)])


def open_box(width: float, depth: float, height: float, floor: float) -> list[Part]:
    wall = 0.01
    side, front = (width - wall) / 2, (depth - wall) / 2
    parts = [(pw.Box([width, depth, floor]), at(z=floor / 2))]
    for s in (-1, 1):
        parts += [
            (pw.Box([wall, depth, height]), at(s * side, z=height / 2)),
            (pw.Box([width, wall, height]), at(0, s * front, height / 2)),
        ]
    return parts


def table() -> list[Part]:
    legs = [
        (pw.Box([0.04, 0.04, 0.66]), at(x, y, 0.33))
        for x in (-0.45, 0.45)
        for y in (-0.25, 0.25)
    ]
    return [(pw.Box([1.0, 0.6, 0.04]), at(z=0.68)), *legs]


def round_vessel(
    low: float, high: float, height: float, floor: float, wall: float
) -> list[Part]:
    """A floor with sixteen staves; inner radii at its floor and at its rim."""
    n, lean = 16, np.arctan2(high - low, height)
    length = np.hypot(high - low, height)
    width = 2 * (high + wall) * np.tan(np.pi / n)
    parts = [(pw.Cylinder(floor, low + wall), at(z=floor / 2))]
    for k in range(n):
        around = axis_angle_to_quat(np.array([0.0, 0, 1]), 2 * np.pi * k / n)
        tilt = axis_angle_to_quat(np.array([0.0, 1, 0]), lean)
        turn = np.asarray(pw.robots.kinematics.transforms.quat_multiply(around, tilt))
        angle = 2 * np.pi * k / n
        r = (low + high) / 2 + wall / 2 * np.cos(lean)
        middle = [r * np.cos(angle), r * np.sin(angle)]
        up = floor + height / 2 - wall / 2 * np.sin(lean)
        parts.append((pw.Box([wall, width, length]), np.array([*middle, up, *turn])))
    return parts


def vessel(low: float, high: float, height: float, floor: float) -> pw.Config:
    """A mug or a bowl, with its cavity and its floor annotated."""
    C = pw.Config()
    C.add_object("b", round_vessel(low, high, height, floor, wall=0.006))
    lean = np.arctan2(high - low, height)
    angles = 2 * np.pi * np.arange(16) / 16
    out = np.stack([np.cos(angles), np.sin(angles)], -1) * np.cos(lean)
    offset = np.cos(lean) * low - np.sin(lean) * floor - 1e-3
    sides = np.column_stack([out, np.full(16, -np.sin(lean)), np.full(16, offset)])
    ends = [[0, 0, -1, -floor - 1e-4], [0, 0, 1, floor + 0.9 * height]]
    C.annotations.add_region("b", "cavity", planes=[*sides, *ends])
    C.annotations.add_region(
        "b", "floor", "support", size=[1.4 * low] * 2, pose=at(z=floor)
    )
    return C


def shelf() -> pw.Config:
    """Two levels, 76 cm wide and 33 cm high, with boards that are frames."""
    C = pw.Config()
    sides = [(pw.Box([0.02, 0.3, 0.72]), at(s * 0.39, z=0.36)) for s in (-1, 1)]
    back = (pw.Box([0.8, 0.01, 0.72]), at(y=0.155, z=0.36))
    C.add_object("b", [*sides, back, (pw.Box([0.76, 0.3, 0.02]), at(z=0.71))])
    for k in range(2):
        board = pw.Box([0.76, 0.3, 0.02])
        C.add_frame(f"board{k}", "b", pose=at(z=0.01 + 0.35 * k), shape=board)
        C.annotations.add_region(
            "b", f"level{k}", size=[0.76, 0.3, 0.33], pose=at(z=0.185 + 0.35 * k)
        )
    return C


def crate(annotated: bool = False, floor: float = 0.01) -> pw.Config:
    C = pw.Config()
    C.add_object("b", open_box(0.4, 0.3, 0.2, floor), joint="free")
    if annotated:
        inner = [0.38, 0.28, 0.199 - floor]
        C.annotations.add_region(
            "b", "cavity", size=inner, pose=at(z=floor + inner[2] / 2 + 1e-3)
        )
        C.annotations.add_region(
            "b", "floor", "support", size=inner[:2], pose=at(z=floor)
        )
    return C


def on_table(annotated: bool = False, plate: bool = False) -> pw.Config:
    C = pw.Config()
    C.add_object("b", table())
    if annotated:
        C.annotations.add_region("b", "top", "support", size=[1.0, 0.6], pose=at(z=0.7))
    if plate:
        C.add_object("plate", [(pw.Box([0.3, 0.2, 0.02]), at())], pose=at(0.2, 0, 0.71))
    return C


def slope() -> pw.Config:
    """A wedge of 27 degrees, 30 cm long."""
    C = pw.Config()
    angle, length = np.radians(27), 0.3
    corners = [[x, y, 0] for x in (0, length) for y in (-0.15, 0.15)]
    top = [[length, y, length * np.tan(angle)] for y in (-0.15, 0.15)]
    C.add_object("b", [(pw.Convex([*corners, *top]), at())])
    middle = at(length / 2, 0, length / 2 * np.tan(angle), -angle, (0.0, 1, 0))
    size = [length / np.cos(angle), 0.3]
    C.annotations.add_region("b", "slope", "support", size=size, pose=middle)
    return C


def flat() -> pw.Config:
    """A kitchen beside a hall; a robot with a camera, and fingers 8 cm apart."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    kitchen = pw.Room("kitchen_0", cells=[0, 0, 30, 20])
    C.annotations.rooms = pw.RoomMap(
        [kitchen, pw.Room("hall", cells=[30, 0, 50, 50])], size=50
    )
    C.add_frame("robot", joint="transXYPhi")
    C.add_frame("body", "robot", position=[0, 0, 0.2], shape=pw.Box([0.3, 0.3, 0.3]))
    C.set_joint("robot", [-0.2, -0.7, 3.0])
    C.add_frame("head", "robot", position=[0.1, 0, 0.6], shape=pw.Sphere(0.08))
    C.annotations.add_camera("eyes", "head", width=48, height=36)
    C.add_frame(
        "hand", "robot", position=[0.4, 0, 0.5], shape=pw.Box([0.05, 0.3, 0.02])
    )
    for finger, side in (("left", 1), ("right", -1)):
        C.add_frame(
            finger, "hand", joint="transY", q=[0.05 * side], position=at(x=0.1)[:3],
            limits=[[-0.12], [0.12]], shape=pw.Box([0.12, 0.02, 0.03], 0.004),
        )  # fmt: skip
    C.annotations.add_agent(
        "robot", base="robot", camera="eyes", hands={"hand": ["left", "right"]}
    )
    return C
