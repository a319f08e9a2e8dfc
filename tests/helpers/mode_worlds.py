"""Worlds and problems in which objects are picked and placed."""

import numpy as np

import posewise as pw
from posewise import FS, OT

UPRIGHT = [[1.0, 0, 0], [0, 1.0, 0]]


def kitchen(carried=None) -> pw.Config:
    """A flying gripper, a box with a knob on a table, and a tray."""
    C = pw.Config()
    C.add_frame("table", position=[0, 0, 0.4], shape=pw.Box([2, 1, 0.1]))
    C.add_frame("tray", position=[0.5, 0, 0.47], shape=pw.Box([0.3, 0.3, 0.04]))
    pose = [-0.4, 0.1, 0.5, 0.9, 0, 0, 0.43589]
    C.add_frame("box", pose=pose, joint=carried, shape=pw.Box([0.1, 0.06, 0.1]))
    C.add_frame("knob", "box", position=[0, 0, 0.07], shape=pw.Sphere(0.02))
    C.add_frame("hand", joint="trans3", position=[0, 0, 1], limits=[[-2] * 3, [2] * 3])
    C.add_frame("wrist", "hand", joint="quatBall", shape=pw.Sphere(0.03))
    return C


def relative(C, a, b) -> np.ndarray:
    """Position and rotation of b in a, by NumPy."""
    R = lambda n: C.forward_pass().frames.R[C.index(n)]
    p = lambda n: C.forward_pass().frames.p[C.index(n)]
    return np.column_stack([R(a).T @ (p(b) - p(a)), R(a).T @ R(b)])


def pick_and_place(carried=None, slices=1, order=1, switch="stable") -> pw.KOMO:
    komo = pw.KOMO(kitchen(carried), 2, slices, order)
    komo.add_control_objective(order, 0.1)
    komo.add_mode_switch([1.0, 2.0], switch, ["wrist", "box"])
    komo.add_mode_switch([2.0], "stableOn", ["tray", "box"])
    komo.add_objective(
        [1.0], FS.positionDiff, ["wrist", "knob"], OT.eq, target=[0, 0, 0.05]
    )
    komo.add_objective([2.0], FS.vectorX, ["box"], OT.eq, target=[0, 1, 0])
    return komo
