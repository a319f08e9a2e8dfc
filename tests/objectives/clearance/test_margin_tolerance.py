"""Starts and goals a little nearer than a margin: what is let pass, and what is told.

Distances of a disc from a wall are known: the wall's face is at x = 0, and the disc at
x < 0 is -x less its radius away from it.
"""

import subprocess
import sys

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, ProblemWarning, Status
from posewise.objectives.clearance.avoidance import accepted_distances
from posewise.objectives.clearance.certificate import amount_of_required, millimetres

RADIUS = 0.1
MARGINS = [0.001, 0.005, 0.02, 0.05]
DEPTHS = [2e-5, 2e-4, 2e-3]


def tolerance(margin: float) -> float:
    """Return a tenth of a margin, at most a millimetre and at least 0.01 mm [m]."""
    return min(max(0.1 * margin, 1e-5), 1e-3)


def disc(distance: float) -> pw.Config:
    """Return a disc at a distance before a wall."""
    C = pw.Config()
    limits = [[-2.0] * 2, [2.0] * 2]
    C.add_frame("disc", joint="transXY", limits=limits)
    C.set_shape("disc", pw.Sphere(RADIUS))
    C.set_contact("disc", 1)
    C.add_frame("wall", position=[0.5, 0, 0], shape=pw.Box([1, 4, 1]), contact=1)
    C.q = [-RADIUS - distance, 0.0]
    return C


def path_from(C: pw.Config, margin: float, goal=(-0.8, 0.3), **options) -> pw.KOMO:
    komo = pw.KOMO(C, 1, 6, 1)
    komo.add_control_objective(1, 0.1)
    komo.add_objective([1.0], FS.qItself, ["disc"], OT.eq, target=goal, scale=10)
    komo.avoid_collisions(margin, **options)
    return komo


def least(solution: pw.Solution) -> float:
    """Return the least distance of the disc on the whole path, which is straight."""
    whole = np.vstack([solution._record.spec.config.q, solution.path])
    return float(-whole[:, 0].max() - RADIUS)


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("margin", MARGINS)
def test_a_start_inside_of_a_margin(margin, depth):
    komo = path_from(disc(margin - depth), margin)
    if depth < tolerance(margin):
        solution = komo.solve(progress=False)
        assert solution.feasible and not solution.findings
        assert solution.keeps_distances
        assert least(solution) >= margin - tolerance(margin)
        bound = solution.clearance(0.1).lower_bound
        assert margin - tolerance(margin) - 1e-9 <= bound <= least(solution) + 1e-9
        return
    with pytest.warns(ProblemWarning, match="The start is"):
        solution = komo.solve(starts=8, progress=False)
    assert not solution.feasible and solution.start == 0, "no start helps"
    amount = amount_of_required(margin - depth, margin)
    if margin < depth:
        amount = f"{1e3 * (margin - depth):.1f} mm"
    amount = f"'disc' and 'wall' ({amount})"
    for text in (solution.message, solution.findings[0], solution.report()):
        assert amount in text and "slice 0" in text
    assert "starts" not in solution.message and "conflict" not in solution.message


@pytest.mark.long
@pytest.mark.parametrize(
    "distance, is_accepted",
    [
        *((d, True) for d in (1e-9, -1e-16, -1e-12, -1e-7, -5e-6)),
        *((d, False) for d in (-2e-5, -5e-4)),
    ],
)
def test_contact_by_rounding_is_no_overlap(distance, is_accepted):
    komo = path_from(disc(distance), 0.0)
    if is_accepted:
        solution = komo.solve(progress=False)
        assert solution.feasible and not solution.findings, solution.message
        return
    amount = rf"in collision: .* \({1e3 * distance:g} of 0 mm\)"
    with pytest.warns(ProblemWarning, match=amount):
        assert not komo.solve(progress=False).feasible


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("height, size", [(0.74, 0.07), (0.12, 0.03), (0.37, 0.1)])
def test_a_box_is_lifted_off_the_table_that_it_stands_on(height, size):
    """Its distance is -9e-17, -3.5e-17 or 5.6e-17 m."""
    C = pw.Config()
    C.add_frame("lift", joint="transZ")
    C.add_frame("table", position=[0, 0, height], shape=pw.Box([2, 2, 0.04]), contact=1)
    place = [0, 0, height + 0.02 + size / 2]
    C.add_frame("box", position=place, shape=pw.Box([0.05, 0.05, size]), contact=1)
    C.attach("lift", "box")
    assert abs(C.signed_distance("box", "table")[0]) < 1e-15
    komo = pw.KOMO(C, 1, 6, 2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=[0.1])
    komo.avoid_collisions()
    solution = komo.solve(progress=False)
    assert solution.feasible and not solution.findings, solution.message


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("self_margin, is_accepted", [(0.02, True), (0.01, False)])
def test_the_tolerance_is_that_of_each_pair(self_margin, is_accepted):
    """Two discs of one robot keep `self_margin`."""
    C = disc(0.5)
    C.add_frame("base", position=[-2, 3, 0])
    for k, x in enumerate((-1.0, 1.0)):
        name = f"rail{k}"
        C.add_frame(name, "base", position=[x, 0, 0], joint="transX")
        C.set_shape(name, pw.Sphere(RADIUS))
        C.set_contact(name, 1)
    # Accepted are 19 mm of 20, and 9 mm of 10.
    C.q = [*C.q[:2], 0.9, -0.9 + (0.0192 if is_accepted else 0.0085)]
    komo = path_from(C, 0.05, self_margin=self_margin)
    if is_accepted:
        assert komo.solve(progress=False).feasible
    else:
        with pytest.warns(ProblemWarning, match=r"'rail0' and 'rail1' \(8.5 of 10 mm"):
            assert not komo.solve(progress=False).feasible


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("scale", [1.0, 10.0])
@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("world", ["arm", "box"])
def test_where_an_inverse_kinematics_ends_a_path_begins(world, margin, scale):
    """A cost pulls it into an obstacle, so that it ends at the margin or inside."""
    if world == "box":
        C = disc(0.3)
        pull, frames = [0.5, 0.2], ["disc"]
    else:
        C = pw.load("planar3")
        C.add_frame("ball", position=[0.6, 0.5, 0], shape=pw.Sphere(0.2), contact=1)
        C.add_frame("knob", "tip", shape=pw.Sphere(0.05), contact=1)
        C.q = [0.1, 0.2, 0.3]
        pull, frames = [0.6, 0.5, 0], ["tip"]
    symbol = FS.qItself if world == "box" else FS.position
    ik = pw.KOMO(C)
    ik.add_objective(None, symbol, frames, OT.sos, target=pull, scale=10)
    clear = FS.accumulatedCollisions
    ik.add_objective(None, clear, [], OT.ineq, margin=margin, scale=scale)
    end = ik.solve(progress=False)
    assert end.feasible
    (_, _, distance), *_ = end.world_at(0).collisions(margin + 0.01)
    assert distance < margin + 1e-6, "it was pulled"
    C.q = end.q
    komo = pw.KOMO(C, 1, 6, 1)
    komo.add_control_objective(1, 0.1)
    komo.avoid_collisions(margin)
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.message
    assert solution.clearance(0.1).distance >= margin - tolerance(margin)


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize(
    "margin, depth, is_accepted",
    [(0.005, 2e-5, True), (0.02, 9e-4, True), (0.005, 2e-3, False)],
)
@pytest.mark.parametrize("between", [True, False])
@pytest.mark.parametrize("t", [0, 5])
def test_a_goal_inside_of_a_margin(t, between, margin, depth, is_accepted):
    C = disc(0.3)
    komo = pw.KOMO(C, 1, 6, 1)
    komo.add_control_objective(1, 0.1)
    goal = [-RADIUS - margin + depth, 0.1]
    end = dict(target=goal, scale=100, name="goal")
    komo.add_objective([(t + 1) / 6], FS.qItself, [], OT.eq, **end)
    komo.avoid_collisions(margin, between=between)
    if is_accepted:
        solution = komo.solve(progress=False)
        assert solution.feasible and not solution.findings, solution.report()
        assert solution.status in (Status.CONVERGED, Status.FEASIBLE)
        return
    message = (
        f"goal: its target in slice {t} violates 'avoid collisions', which demands"
    )
    with pytest.warns(ProblemWarning, match=message) as caught:
        solution = komo.solve(progress=False)
    assert "5.0 mm: 'wall' and 'disc' (3.0 mm)" in str(caught[0].message) or (
        "5.0 mm: 'disc' and 'wall' (3.0 mm)" in str(caught[0].message)
    )
    assert not solution.feasible
    assert f"come to 3 of 5 mm in slice {t}" in solution.message


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize(
    "margin, depth",
    [
        *((0.02, depth) for depth in (3e-4, 5e-4, 9e-4)),
        *((0.005, depth) for depth in (3e-4, 4.9e-4)),
        *((0.0, depth) for depth in (1e-16, 5e-6)),
    ],
)
@pytest.mark.parametrize("symbol", [FS.qItself, FS.position])
def test_rows_do_not_exclude_goals_inside_of_a_margin(symbol, margin, depth):
    """They aim at 1 mm more than the margin, and their scale is that of the goal."""
    komo = pw.KOMO(disc(0.3), 1, 6, 2)
    komo.add_control_objective(2, 0.1)
    goal = np.array([-RADIUS - margin + depth, 0.1, 0.0])
    goal = goal[:2] if symbol is FS.qItself else goal
    frames = [] if symbol is FS.qItself else ["disc"]
    komo.add_objective([1.0], symbol, frames, OT.eq, target=goal)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    komo.avoid_collisions(margin)
    solution = komo.solve(progress=False)
    assert solution.feasible and not solution.findings, solution.message
    assert np.abs(solution.path[-1] - goal[:2]).max() < 1e-3
    assert least(solution) >= margin - tolerance(margin)


@pytest.mark.long
def test_what_a_hand_holds_inside_of_a_margin():
    """A cup in a hand, 0.02 mm nearer to a post than the margin, is carried away."""
    C = disc(0.3)
    C.add_frame("cup", "disc", position=[0, 0.4, 0], shape=pw.Sphere(0.05), contact=1)
    margin = 0.005
    place = [-RADIUS - 0.3, 0.4 + 0.05 + margin - 2e-5 + 0.05, 0]
    C.add_frame("post", position=place, shape=pw.Sphere(0.05), contact=1)
    assert 0.0049 < C.signed_distance("cup", "post")[0] < margin
    solution = path_from(C, margin, goal=(-0.9, 0.0)).solve(progress=False)
    assert solution.feasible, solution.message


@pytest.mark.long
def test_replanning_from_a_state_on_the_margin():
    margin = 0.01
    C = disc(0.2)
    komo = path_from(C, margin, goal=(-RADIUS - margin + 5e-5, 0.2))
    for _ in range(4):
        assert komo.solve(progress=False).feasible
        komo.shift(2)


SINGLE = """
import numpy as np, posewise as pw
from posewise import FS, OT
for margin in (0.001, 0.005, 0.05):
    C = pw.Config()
    C.add_frame("disc", joint="transXY", limits=[[-2, -2], [2, 2]])
    C.set_shape("disc", pw.Sphere(0.1)); C.set_contact("disc", 1)
    C.add_frame("wall", position=[0.5, 0, 0], shape=pw.Box([1, 4, 1]), contact=1)
    C.q = [-0.4, 0.0]
    ik = pw.KOMO(C)
    ik.add_objective(None, FS.qItself, [], OT.sos, target=[0.5, 0.2], scale=10)
    ik.add_objective(None, FS.accumulatedCollisions, [], OT.ineq, margin=margin)
    end = ik.solve(progress=False)
    assert end.path.dtype == float and end.feasible
    for q in (end.q, [-0.1 - margin + 2e-5, 0.0]):
        C.q = q
        komo = pw.KOMO(C, 1, 6, 1)
        komo.add_control_objective(1, 0.1)
        komo.avoid_collisions(margin)
        solution = komo.solve(progress=False)
        assert solution.feasible, solution.message
"""


@pytest.mark.slow
def test_in_single_precision():
    subprocess.run([sys.executable, "-W", "error", "-c", SINGLE], check=True)


@pytest.mark.parametrize(
    "distance, required, texts, amount",
    [
        (0.00498, 0.005, ("4.98", "5.00"), "4.98 of 5 mm"),
        (0.003, 0.005, ("3.0", "5.0"), "3 of 5 mm"),
        (-0.0123, 0.0, ("-12.3", "0.0"), "-12.3 of 0 mm"),
        (0.0049998, 0.005, ("4.9998", "5.0000"), "4.9998 of 5 mm"),
        (0.1, 0.12, ("100.0", "120.0"), "100 of 120 mm"),
        (-9e-17, 0.0, ("0.000000", "0.000000"), "0 of 0 mm"),
    ],
)
def test_distances_are_told_apart(distance, required, texts, amount):
    assert millimetres(distance, required) == texts
    assert amount_of_required(distance, required) == amount


def test_accepted_distances():
    required = np.array([-np.inf, -1e-3, 0.0, 5e-5, 1e-3, 0.1])
    expected = [-np.inf, -1.01e-3, -1e-5, 4e-5, 9e-4, 0.099]
    np.testing.assert_allclose(accepted_distances(required), expected)
