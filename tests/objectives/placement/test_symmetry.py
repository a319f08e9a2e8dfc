"""Turns of round objects about their axis are no other placement."""

import numpy as np
import pytest

import posewise as pw
from posewise.objectives.placement.symmetry import axes_of_revolution, turn_between
from posewise.robots import Geometry
from posewise.robots.kinematics.transforms import axis_angle_to_quat

ASIDE = np.array([0.1, 0, 0, 1, 0, 0, 0])
ABOVE = np.array([0, 0, 0.2, 1, 0, 0, 0])
LYING = np.array([0, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5), 0])
CUP = pw.Cylinder(0.1, 0.04)


@pytest.mark.parametrize(
    ("parts", "axes"),
    [
        ([(CUP, None)], [[0, 0, 1]]),
        ([(CUP, LYING), (pw.Capsule(0.2, 0.01), LYING)], [[1, 0, 0]]),
        ([(CUP, None), (pw.Sphere(0.1), ABOVE)], [[0, 0, 1]]),
        ([(pw.Sphere(0.1), None)], np.eye(3)),
        ([(pw.Sphere(0.1), ASIDE)], None),
        ([(CUP, ASIDE)], None),
        ([(CUP, None), (pw.Capsule(0.2, 0.01), LYING)], None),
        ([(pw.Box([0.1, 0.1, 0.1]), None)], None),
        ([], None),
    ],
)  # fmt: skip
def test_axes(parts, axes) -> None:
    C = pw.Config()
    C.add_frame("x", joint="free")
    upright = np.array([0, 0, 0, 1.0, 0, 0, 0])
    geometries = tuple(Geometry(s, upright if p is None else p) for s, p in parts)
    C.replace_frame("x", geometries=geometries)
    round_about = axes_of_revolution(C, "x")
    assert (round_about is None) == (axes is None)
    if axes is not None:
        np.testing.assert_allclose(round_about, axes, atol=1e-12)


@pytest.mark.parametrize(
    ("axes", "axis", "angle", "turn"),
    [
        (None, [0, 0, 1], 0.5, 0.5),
        ([[0, 0, 1]], [0, 0, 1], 0.5, 0.0),
        ([[0, 0, 1]], [1, 0, 0], 0.5, 0.5),
        ([[0, 0, 1]], [1, 0, 0], np.pi, np.pi),
        (np.eye(3), [1, 0, 0], 2.0, 0.0),
    ],
)
def test_turns(axes, axis, angle, turn) -> None:
    first = np.array([1, 2, 3, 1.0, 0, 0, 0])
    second = np.array([1, 2, 3, *axis_angle_to_quat(np.array(axis, float), angle)])
    axes = None if axes is None else np.array(axes, float)
    assert turn_between(first, second, axes) == pytest.approx(turn, abs=1e-7)
