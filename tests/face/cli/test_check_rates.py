"""Velocities and accelerations in files, against the positions beside them."""

import numpy as np
import pytest

import posewise as pw
from posewise.cli.path_file import PathFile
from posewise.cli.problem_file import make_path_problem, read_problem
from posewise.cli.rate_checks import check_rates
from posewise.cli.sample_checks import check_motion_limits
from posewise.objectives.trajectory.sampling import rounded_in_time
from posewise.objectives.trajectory.straight_path import StraightPath

DURATION = 2.0
RATES = [20, 37, 100, 1000]

PROBLEM = """
scene:
  frames:
    cart: {joint: transX, limits: [[-2], [2]]}
    lift: {parent: cart, joint: transZ, limits: [[-2], [2]]}
    ball: {joint: free}
komo:
  slices_per_phase: 4
  k_order: 2
  duration_per_phase: 2.0
  motion_limits: {joints: [cart, lift], velocity: 1.2, acceleration: 4}
objectives:
  - {control: 2, scale: 0.1}
"""


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


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("kind", ["smooth", "straight", "rounded"])
@pytest.mark.parametrize("decimals", [None, 5])
def test_columns_that_follow_from_positions_pass(kind, rate, decimals):
    path = sampled(kind, rate)
    if decimals is not None:
        path = PathFile(
            np.round(path.path, decimals),
            np.round(path.times, decimals),
            (),
            None,
            np.round(path.velocities, decimals),
            np.round(path.accelerations, decimals),
        )
    (check,) = check_rates(path, world())
    assert check.passed, check


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


@pytest.mark.parametrize("rate", [100, 1000])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["smooth", "straight", "rounded"])
def test_columns_that_contradict_the_positions_are_told(kind, change, rate):
    name, alter, line = CHANGES[change]
    path = sampled(kind, rate)
    alter(getattr(path, name))
    (check,) = check_rates(path, world())
    assert not check.passed
    assert f"The {line}" in check.lines[0]
    assert " by its column, but " in check.lines[0]
    assert not [x for x in check.lines if "lift" in x or "ball" in x]


def test_signs_of_quaternions_may_change():
    path = sampled("smooth", 100)
    for values in (path.path, path.velocities, path.accelerations):
        values[60:, 5:] *= -1
    (check,) = check_rates(path, world())
    assert check.passed, check


def test_a_sentence_has_the_row_and_both_values():
    path = sampled("smooth", 100)
    path.path[100, 1] += 0.02
    (check,) = check_rates(path, world())
    t = path.times[100:102]
    before, after = 0.4 * t**2 - 0.1 * t**3 + [0.02, 0]
    velocity = 0.8 * t[1] - 0.3 * t[1] ** 2
    assert check.lines[0] == (
        f"The velocity of lift at 1.01 s (row 101) is {velocity:.4g}"
        f" by its column, but {(after - before) / 0.01:.4g} by its positions."
    )


def shake(path):
    path[:, 1] += 0.05 * np.sin(20 * np.arange(len(path)) / 100)


LIMITS = {
    "within limits": (lambda path: None, []),
    "fast by positions": (
        shake,
        [
            "The velocity of lift is 1.53 at 1.26 s by its positions, expected at most"
            " 1.2.",
            "The acceleration of lift is 20.5 at 0.24 s by its positions, expected at"
            " most 4.",
        ],
    ),
}


@pytest.mark.parametrize("case", LIMITS)
def test_limits_are_judged_by_positions(case, tmp_path):
    change, lines = LIMITS[case]
    file = tmp_path / "p.yaml"
    file.write_text(PROBLEM)
    komo, _ = make_path_problem(read_problem(file))
    path = sampled("smooth", 100)
    change(path.path)
    check = check_motion_limits(path, komo.spec, 1e-3)
    assert check.passed == (not lines)
    assert [*check.lines] == lines
