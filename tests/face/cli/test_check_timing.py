"""`posewise check` of paths that pass the slices at other times than the problem."""

import dataclasses

import numpy as np
import pytest

from posewise.__main__ import main
from posewise.cli.file_slices import find_slices
from posewise.cli.path_file import PathFile, read_path_file
from posewise.cli.problem_file import read_problem, solve_path

PASSING = """
scene:
  frames:
    cart: {joint: transX, limits: [[-2], [2]], q: -0.5}
    lift: {parent: cart, joint: transZ, limits: [[-2], [2]], shape: Sphere(0.1)}
    post: {position: [0, 0, -0.3], shape: Sphere(0.1)}
komo:
  phases: 2
  slices_per_phase: 16
  k_order: 2
  motion_limits: {acceleration: 6}
  avoid_collisions: {margin: 0.01}
objectives:
  - {control: 2, scale: 0.1}
  - {feature: qItself, frames: [cart], target: [0.1], times: [1.0], name: via}
  - {feature: qItself, frames: [cart, lift], target: [0.5, 0.2], times: [2.0],
     name: end}
  - {preset: stop, times: [2]}
"""
FORMATS = ".csv", ".npz", ".json"


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """Return a problem file, and the solution of its problem."""
    file = tmp_path_factory.mktemp("timing") / "problem.yaml"
    file.write_text(PASSING)
    _, solution = solve_path(read_problem(file))
    assert solution.feasible
    return file, solution


def save(solution, file, timing):
    if timing == "rounded":
        solution.resample(0.01, rounded=True).save(file)
    elif timing == "retimed":
        pytest.importorskip("toppra", reason="retiming needs toppra")
        solution.retime(1.0, 4.0, deviation=5e-4, dt=0.01).save(file)
    else:
        solution.resample(0.03).save(file)
    return str(file)


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("timing", ["plain", "rounded", "retimed"])
def test_what_a_solution_writes_passes(solved, tmp_path, capsys, timing, suffix):
    file, solution = solved
    target = save(solution, tmp_path / f"a{suffix}", timing)
    code = main(["check", str(file), target])
    output = capsys.readouterr().out
    assert code == 0, output
    assert "+ limits of the joints" in output
    assert "+ distances on the whole path" in output
    # Only the column `slice` tells where a path with another timing passes slices.
    is_told = timing != "retimed" or suffix != ".json"
    assert ("+ objectives\n" in output) == is_told, output
    assert ("? objectives\n" in output) != is_told
    assert ("the column `slice`" in output) != is_told
    is_same = timing == "plain"
    assert "+ motion limits at each row" in output
    assert "+ velocities and accelerations as the positions tell" in output
    assert ("All that was checked holds; not checked: obj" in output) != is_same
    if is_told and not is_same:
        assert "? objectives of order 1 and more\n  acceleration limits" in output


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("timing", ["rounded", "retimed"])
@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("target: [0.1]", "target: [0.14]", "via is violated by 0.04 rad, m in slice"),
        ("[0.5, 0.2]", "[0.5, 0.1]", "end is violated by 0.1 rad, m in slice 31"),
        ("[0, 0, -0.3]", "[0, 0, 0]", "'lift' and 'post' come to"),
        ("[[-2], [2]], shape", "[[-2], [0.15]], shape", "beyond its limits -2 to 0.15"),
    ],
)
def test_what_does_not_hold_is_found(solved, tmp_path, capsys, timing, old, new, line):
    _, solution = solved
    assert PASSING.count(old) == 1
    changed = tmp_path / "problem.yaml"
    changed.write_text(PASSING.replace(old, new))
    target = save(solution, tmp_path / "a.csv", timing)
    assert main(["check", str(changed), target]) == 1
    output = capsys.readouterr().out
    assert line in output, output
    assert "certified" not in output
    assert "This path is not a solution. On it" in output


@pytest.mark.long
def test_accelerations_beyond_the_limits_are_found(solved, tmp_path, capsys):
    pytest.importorskip("toppra", reason="retiming needs toppra")
    file, solution = solved
    target = tmp_path / "a.csv"
    solution.retime(9.0, 20.0, dt=0.005).save(target)
    assert main(["check", str(file), str(target)]) == 1
    output = capsys.readouterr().out
    assert "- motion limits at each row" in output
    assert "s, expected at most 6." in output


def test_slices_are_met_exactly_between_samples(solved, tmp_path):
    file, solution = solved
    C = read_problem(file).world
    spec = solution._record.spec
    for suffix, tolerance in ((".csv", 1e-9), (".json", 1e-7)):
        loaded = read_path_file(
            tmp_path / save(solution, tmp_path / f"a{suffix}", "plain"), C
        )
        assert len(loaded.path) not in (spec.T, spec.T + 1)
        slices = find_slices(loaded, spec)
        np.testing.assert_allclose(slices.path, solution.path, atol=tolerance)
        np.testing.assert_allclose(slices.steps, solution.tau)


def test_files_of_older_versions_have_no_slices(solved, tmp_path):
    file, solution = solved
    C, spec = read_problem(file).world, solution._record.spec
    target = tmp_path / "a.csv"
    save(solution, target, "rounded")
    new = find_slices(read_path_file(target, C), spec)
    rows = [line.rpartition(",")[0] for line in target.read_text().splitlines()]
    target.write_text("\n".join(rows) + "\n")
    loaded = read_path_file(target, C)
    assert loaded.slices is None
    old = find_slices(loaded, spec)
    np.testing.assert_allclose(old.times, new.times, atol=1e-9)
    np.testing.assert_allclose(old.path, new.path, atol=1e-9)
    # A corner is beside its slice by an eighth of what the steps differ.
    steps = np.diff(solution.path, n=2, axis=0) / 8
    np.testing.assert_allclose(
        (old.path - solution.path)[1:-1][:, 0], steps[:, 0], atol=1e-4
    )


CURVES = {
    # A parabola; velocities and accelerations tell it at any place.
    "parabola": (lambda t: t * t, lambda t: 2 * t, lambda t: 2 + 0 * t, 0.5),
    # Straight to the corner at 0.4, which no row meets; accelerations are spread.
    "corner": (
        lambda t: np.minimum(t, 0.8 - t),
        lambda t: np.where(t < 0.4, 1.0, -1.0),
        lambda t: -2.0 + 0 * t,
        0.4,
    ),
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("dt", [1.0, 0.8, 0.3])
def test_rows_with_velocities_tell_what_is_between(name, dt):
    q, v, a, place = CURVES[name]
    times = np.arange(-1, 5) * dt + (0.0 if name == "parabola" else 0.4 - 0.5 * dt)
    path, rates, bends = (f(times)[:, None] for f in (q, v, a))
    if name == "corner":
        # As the jump of velocity over one step between slices, longer than dt.
        bends = bends / (2 * dt)
    loaded = PathFile(path, times, (), None, rates, bends)
    np.testing.assert_allclose(loaded.at(np.array([place]))[0, 0], q(np.array(place)))
    without = dataclasses.replace(loaded, velocities=None)
    assert abs(without.at(np.array([place]))[0, 0] - q(np.array(place))) > 1e-3
