"""Paths in files, with velocities and accelerations that follow or contradict them."""

import numpy as np

import posewise as pw
from posewise.cli.path_file import PathFile
from posewise.objectives.trajectory.sampling import rounded_in_time
from posewise.objectives.trajectory.straight_path import StraightPath

DURATION = 2.0
RATES = [20, 37, 100, 1000]
KINDS = ["smooth", "straight", "rounded"]


def world():
    C = pw.Config()
    C.add_frame("cart", joint="transX", limits=([-2], [2]))
    C.add_frame("lift", "cart", joint="transZ", limits=([-2], [2]))
    C.add_frame("ball", joint="free")
    return C


def smooth(t):
    """Return a sine and a cubic with their derivatives, and a ball that turns."""
    w = np.pi / 2
    q, v, a = np.zeros((3, len(t), 9))
    q[:, 0], v[:, 0], a[:, 0] = (
        0.5 * np.sin(w * t), 0.5 * w * np.cos(w * t), -0.5 * w**2 * np.sin(w * t)
    )  # fmt: skip
    q[:, 1], v[:, 1], a[:, 1] = 0.4 * t**2 - 0.1 * t**3, 0.8 * t - 0.3 * t**2, 0.8
    a[:, 1] -= 0.6 * t
    c, s = np.cos(w * t), np.sin(w * t)
    q[:, 5], v[:, 5], a[:, 5] = c, -w * s, -(w**2) * c
    q[:, 6], v[:, 6], a[:, 6] = s, w * c, -(w**2) * s
    return q, v, a


def knots():
    times = np.linspace(0, DURATION, 17)
    return StraightPath(times, smooth(times)[0], quaternions=(5,))


def sampled(kind, rate):
    """Return a path at a rate: smooth, straight between knots, or rounded there."""
    t = np.arange(int(DURATION * rate) + 1) / rate
    if kind == "smooth":
        values = smooth(t)
    elif kind == "straight":
        values = knots().sample(t)
    else:
        values = rounded_in_time(knots()).sample(t)
    q, v, a = values
    return PathFile(q, t, (), None, v, a)


def rounded(path, decimals):
    """Return a path whose numbers have few decimals."""
    columns = (path.path, path.times, path.velocities, path.accelerations)
    q, t, v, a = (np.round(values, decimals) for values in columns)
    return PathFile(q, t, (), None, v, a)


def bump(values):
    values[len(values) // 2, 0] += 0.02


def stretch(values):
    values[:, 0] *= 1.3


def zero(values):
    values[:, 0] = 0


CHANGES = {
    "a row of positions": ("path", bump, "velocity of cart"),
    "all positions": ("path", stretch, "velocity of cart"),
    "velocities": ("velocities", stretch, "velocity of cart"),
    "no velocities": ("velocities", zero, "velocity of cart"),
    "no accelerations": ("accelerations", zero, "acceleration of cart"),
}
