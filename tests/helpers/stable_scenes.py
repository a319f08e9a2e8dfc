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


def mug() -> list:
    """A cup with a handle at its side, which moves its centre of mass."""
    return [
        (pw.Cylinder(0.095, 0.04), [0, 0, 0.0475, 1, 0, 0, 0]),
        (pw.Box([0.03, 0.01, 0.06]), [0.05, 0, 0.05, 1, 0, 0, 0]),
    ]


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
        "mug": mug(),
        "plank": [(pw.Box([0.03, 0.1, 0.4]), None)],
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
    if name == "plank":
        C.add_frame("wall", position=[-0.1, 0, 0.9], shape=pw.Box([0.1, 0.6, 0.4]))
    if name == "tall":
        for k in range(9):
            C.add_frame(
                f"b{k}", joint="free", mass=0.2, shape=pw.Box([0.1, 0.09, 0.05])
            )
    if name == "tray":
        C.add_object("tray", crate(), pose=[0, 0, 0.7, 1, 0, 0, 0])
        for k in range(7):
            shape = pw.Cylinder(0.05, 0.018) if k % 2 else pw.Box([0.035, 0.03, 0.05])
            C.add_frame(f"b{k}", joint="free", mass=0.2, shape=shape)
        parts = [(pw.Box([0.04, 0.03, 0.05]), None)]
    C.add_object("a", parts, joint="free", mass=0.3)
    return C


HEIGHT = {"can": 0.05, "crate": 0.0, "wedge": 0.0, "stool": 0.0, "mug": 0.0}
"""Height of the origin of "a" above what it stands on; of others, 0.03 [m]."""


def _pile_up(C: pw.Config, rng: np.random.Generator) -> None:
    """Ten boxes in a tower, each beside the middle of the one below."""
    place = np.array([rng.uniform(0.2, 0.31), 0.0])
    aside = rng.choice([0.002, 0.005, 0.01, 0.02])
    slack = rng.choice([0, 0, 5e-5, 2e-4])
    z = 0.7
    for k, name in enumerate([*(f"b{k}" for k in range(9)), "a"]):
        height = 0.06 if name == "a" else 0.05
        place = place + rng.uniform(-aside, aside, 2) * (k > 0)
        tilt = slack * rng.uniform(-1, 1) / 0.05
        pose = [*place, z + height / 2, *turned(rng.uniform(-3, 3), tilt)]
        C.set_pose(name, pose)
        z += height + slack * rng.random()


def _fill_tray(C: pw.Config, rng: np.random.Generator) -> None:
    """Eight objects in a tray, the last one perhaps on others or against its wall."""
    gap = rng.choice([0, 0, 0, 1e-4, 3e-4, 1e-3, -1e-4])
    tilt = rng.choice([0, 0, 0, 1e-3, 1e-2])
    places = [(x, y) for y in (-0.037, 0.037) for x in (-0.068, -0.023, 0.023, 0.068)]
    order = rng.permutation(len(places))
    for k, name in zip(order, ["a", *(f"b{k}" for k in range(7))], strict=True):
        x, y = places[k] + rng.uniform(-1, 1, 2) * [0.003, 0.012]
        z = 0.71 + 0.025 + gap * rng.random()
        C.set_pose(name, [x, y, z, *turned(rng.uniform(-0.1, 0.1), tilt)])
    if rng.random() < 0.4:
        below = C.pose("b0")[:2] + rng.uniform(-0.02, 0.02, 2)
        C.set_pose("a", [*below, 0.71 + 0.075 + gap, *turned(rng.uniform(-3, 3))])


def _lean(C: pw.Config, rng: np.random.Generator) -> None:
    """A plank that stands upright, or leans on a wall with an edge on the table."""
    lean = rng.uniform(0.02, 0.8)
    gap = rng.choice([0, 0, 0, 1e-4, -1e-4, 1e-3])
    # Its lower edge is on the table, and its upper one at the wall, 0.05 m behind 0.
    x = -0.05 + gap + 0.4 * np.sin(lean) / 2 + 0.03 * np.cos(lean) / 2
    z = 0.7 + 0.4 * np.cos(lean) / 2 + 0.03 * np.sin(lean) / 2
    C.set_pose("a", [x, rng.uniform(-0.2, 0.2), z, *axis_angle_to_quat(Y, -lean)])


CROWDS = {"tall": _pile_up, "tray": _fill_tray, "plank": _lean}
"""Functions that move all objects of a scene, or the one that leans."""


def placed(name: str, rng: np.random.Generator) -> pw.Config:
    """A world with "a" somewhere on, at or over an edge; half of them do not touch
    well, lean, or overlap."""
    C = world(name).copy()
    if name in CROWDS:
        CROWDS[name](C, rng)
        return C
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
