"""Velocities and accelerations in files, against the positions beside them."""

import numpy as np
import pytest
from face.rate_files import CHANGES, KINDS, RATES, rounded, sampled, world

from posewise.cli.problem_file import make_path_problem, read_problem
from posewise.cli.rate_checks import check_rates
from posewise.cli.sample_checks import check_motion_limits

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


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("decimals", [None, 5])
def test_columns_that_follow_from_positions_pass(kind, rate, decimals):
    path = sampled(kind, rate)
    if decimals is not None:
        path = rounded(path, decimals)
    (check,) = check_rates(path, world())
    assert check.passed, check


@pytest.mark.parametrize("rate", [100, 1000])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
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
