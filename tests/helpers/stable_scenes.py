"""Scenes in which objects rest, or do not."""

from functools import cache

import numpy as np

import posewise as pw
from posewise.robots.kinematics.transforms import axis_angle_to_quat, quat_multiply

X, Y, Z = np.eye(3)


def turned(yaw=0.0, tilt=0.0, about=X) -> np.ndarray:
    return quat_multiply(axis_angle_to_quat(Z, yaw), axis_angle_to_quat(about, tilt))


def table() -> pw.Config:
    """0.7 m high, 0.6 m wide."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    C.add_frame("table", position=[0, 0, 0.35], shape=pw.Box([0.6, 0.6, 0.7]))
    return C


def boxes(count: int, shift: float = 0.0) -> pw.Config:
    """A tower of cubes of 10 cm on the table, each shifted against the one below."""
    C = table()
    for i in range(count):
        position = [shift * i, 0, 0.75 + 0.1 * i]
        shape = pw.Box([0.1, 0.1, 0.1])
        C.add_frame(f"b{i}", joint="free", position=position, shape=shape, mass=0.3)
    return C


def slope(degrees: float, friction: float = 0.5) -> pw.Config:
    """A cube on a board that leans."""
    C = pw.Config()
    q = axis_angle_to_quat(Y, np.deg2rad(degrees))
    board = pw.Box([1, 0.6, 0.1])
    C.add_frame("board", quaternion=q, shape=board, contact_friction=friction)
    C.add_frame(
        "b0", joint="free", shape=pw.Box([0.1, 0.1, 0.1]), mass=0.3,
        contact_friction=friction,
    )  # fmt: skip
    C.set_pose("b0", np.array([0, 0, 0.1, 1, 0, 0, 0]), relative_to="board")
    return C


def cup() -> list:
    """An open cup of 16 staves and a floor, 8 cm wide and 10 cm high."""
    angle = 2 * np.pi * np.arange(16) / 16
    stave = pw.Box([0.004, 0.0166, 0.1])
    staves = [
        (stave, [0.04 * np.cos(a), 0.04 * np.sin(a), 0.05, *axis_angle_to_quat(Z, a)])
        for a in angle
    ]
    return [(pw.Cylinder(0.006, 0.04), [0, 0, 0.003, 1, 0, 0, 0]), *staves]


def crate() -> list:
    """Four walls and a floor."""
    upright = lambda x, y, z: [x, y, z, 1, 0, 0, 0]
    return [
        (pw.Box([0.2, 0.16, 0.01]), upright(0, 0, 0.005)),
        (pw.Box([0.01, 0.16, 0.1]), upright(0.095, 0, 0.05)),
        (pw.Box([0.01, 0.16, 0.1]), upright(-0.095, 0, 0.05)),
        (pw.Box([0.2, 0.01, 0.1]), upright(0, 0.075, 0.05)),
        (pw.Box([0.2, 0.01, 0.1]), upright(0, -0.075, 0.05)),
    ]


def stool() -> list:
    """A round seat on three legs."""
    angle = 2 * np.pi * np.arange(3) / 3
    legs = [
        (
            pw.Cylinder(0.1, 0.008),
            [0.05 * np.cos(a), 0.05 * np.sin(a), 0.05, 1, 0, 0, 0],
        )
        for a in angle
    ]
    return [(pw.Cylinder(0.01, 0.07), [0, 0, 0.105, 1, 0, 0, 0]), *legs]


WEDGE = [
    [x, y, z] for x in (-0.05, 0.05) for y, z in ((-0.04, 0), (0.04, 0), (0.02, 0.05))
]
"""Corners of a lopsided prism."""


@cache
def world(name: str) -> pw.Config:
    """The scene of that name, with an object "a" to be placed."""
    C = table()
    box = pw.Box([0.1, 0.08, 0.06])
    parts = {
        "can": [(pw.Cylinder(0.1, 0.04), None)],
        "crate": crate(),
        "rounded": [(pw.Box([0.1, 0.08, 0.06], 0.01), None)],
        "wedge": [(pw.Convex(WEDGE), None)],
        "stool": stool(),
    }.get(name, [(box, None)])
    if name == "tower":
        C.add_frame("b", joint="free", shape=pw.Box([0.12, 0.1, 0.1]), mass=0.2)
    if name == "rim":
        C.add_object("rim", crate(), pose=[0, 0, 0.7, 1, 0, 0, 0])
    if name == "slope":
        C = slope(0.0)
        C.detach("board", None)
    if name == "ramp":
        C = pw.Config()
        C.add_frame("hinge", joint="hingeY")
        C.add_frame("board", "hinge", shape=pw.Box([1, 0.6, 0.1]))
    C.add_object("a", parts, joint="free", mass=0.3)
    return C


HEIGHT = {"can": 0.05, "crate": 0.0, "wedge": 0.0, "stool": 0.0}
"""Height of the origin of "a" above what it stands on; of others, 0.03 [m]."""


def placed(name: str, rng: np.random.Generator) -> pw.Config:
    """A world with "a" somewhere on, at or over an edge; half of them do not touch
    well, lean, or overlap."""
    C = world(name).copy()
    gap = rng.choice([0, 0, 0, 1e-4, 2e-4, 4e-4, 8e-4, 2e-3, -1e-4, -3e-4, -1e-3])
    tilt = rng.choice([0, 0, 0, 0, 1e-3, 1e-2, 0.1])
    half = HEIGHT.get(name, 0.03)
    quat = turned(rng.uniform(-np.pi, np.pi), tilt)
    x, y = rng.uniform(0.24, 0.36), rng.uniform(-0.36, 0.36)
    if name == "ramp":
        C.set_joint("hinge", [np.deg2rad(rng.uniform(0, 32))])
        pose = np.array([*rng.uniform(-0.3, 0.3, 2), 0.08 + gap, *quat])
        C.set_pose("a", pose, relative_to="board")
        return C
    if name == "slope":
        C = slope(rng.uniform(0, 32))
        C.set_shape("b0", pw.Box([0.1, 0.08, 0.06]))
        pose = np.array([*rng.uniform(-0.3, 0.3, 2), 0.08 + gap, *quat])
        C.set_pose("b0", pose, relative_to="board")
        return C
    z = 0.7 + half + gap
    if name == "tower":
        low = [rng.uniform(0.2, 0.32), 0, 0.75]
        C.set_pose("b", [*low, *turned(rng.uniform(-0.5, 0.5))])
        x, y = low[0] + rng.uniform(-0.07, 0.07), rng.uniform(-0.06, 0.06)
        z += 0.1
    if name == "rim":
        x, y, z = rng.uniform(-0.12, 0.12), rng.uniform(-0.1, 0.1), z + 0.1
    C.set_pose("a", [x, y, z, *quat])
    return C
