"""Scenes of primitives that predicates are asked of."""

from functools import cache

import numpy as np

import posewise as pw
from posewise.robots.kinematics.transforms import axis_angle_to_quat

UP = np.array([0.0, 0, 1])


def built_once(make):
    """Building is slow under type checks: later calls return copies."""
    first = cache(make)
    return lambda: first().copy()


def at(x=0.0, y=0.0, z=0.0, yaw=0.0) -> np.ndarray:
    return np.array([x, y, z, *axis_angle_to_quat(UP, yaw)])


def crate(width, depth, height, wall=0.01) -> list:
    """An open box that stands on z = 0 of its frame."""
    side, front = (width - wall) / 2, (depth - wall) / 2
    return [
        (pw.Box([width, depth, wall]), at(z=wall / 2)),
        *((pw.Box([wall, depth, height]), at(s * side, z=height / 2)) for s in (-1, 1)),
        *(
            (pw.Box([width, wall, height]), at(0, s * front, height / 2))
            for s in (-1, 1)
        ),
    ]


@built_once
def scene() -> pw.Config:
    """A table with a crate and a mug on it, all of primitives; a floor of two rooms."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    table = [(pw.Box([1.0, 0.6, 0.04]), at(z=0.68))]
    table += [
        (pw.Box([0.04, 0.04, 0.66]), at(x, y, 0.33))
        for x in (-0.45, 0.45)
        for y in (-0.25, 0.25)
    ]
    C.add_object("table", table)
    C.add_object("crate", crate(0.4, 0.3, 0.2), pose=at(0.2, z=0.7), joint="free")
    can = pw.Cylinder(0.1, 0.04)
    C.add_object("mug", [(can, None)], pose=at(-0.2, z=0.75), joint="free")
    C.add_object("ball", [(pw.Sphere(0.03), None)], pose=at(0.2, 0, 0.74), joint="free")
    C.annotations.rooms = pw.RoomMap(
        [
            pw.Room("kitchen_0", cells=[0, 0, 50, 100]),
            pw.Room("hall", cells=[50, 0, 100, 100]),
        ],
        size=100,
    )
    C.add_frame("robot", pose=at(-1.0))
    C.annotations.add_camera("eyes", "robot", position=[0, 0, 1.0])
    C.annotations.add_agent("robot", base="robot", camera="eyes")
    return C


def door(openable=None, q=1.0, limits=((0.0,), (2.0,))) -> pw.Config:
    C = pw.Config()
    abilities = {} if openable is None else {"openable": openable}
    C.add_object("safe", [(pw.Box([1, 1, 1]), None)], abilities=abilities)
    C.add_frame("door", "safe", joint="revolute", axis=[0, 0, 1], limits=limits, q=[q])
    C.add_frame("dial", "safe", joint="continuous", axis=[0, 0, 1], q=[0.4])
    return C
