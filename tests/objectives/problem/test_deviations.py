"""Bounds of constraints between slices, where a path is straight in its joints.

Two planar arms hold a rod at both ends: a closed chain of hinges. Or a single link
moves its tip along a line. Deviations are sampled densely without the library.
"""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, ObjectiveError, Status
from posewise.objectives.problem.deviations import PLACES_PER_STEP, deviations
from posewise.objectives.solve.given_path import given_path_as_solution
from posewise.objectives.solve.refinement import refined_problem

LENGTH, BASE = 1.0, 1.2


def four_bar() -> pw.Config:
    """Return two arms of two hinges each, whose tips are in one place."""
    C = pw.Config()
    for side, x in (("a", 0.0), ("b", BASE)):
        C.add_frame(f"{side}0", position=[x, 0, 0])
        C.add_frame(f"{side}1", f"{side}0", joint="hingeZ")
        C.add_frame(f"{side}2", f"{side}1", position=[LENGTH, 0, 0], joint="hingeZ")
        C.add_frame(f"{side}_tip", f"{side}2", position=[LENGTH, 0, 0])
    C.q = reach([BASE / 2, 1.3], 0.0, 1) + reach([BASE / 2, 1.3], BASE, -1)
    return C


def reach(place, base: float, sign: int) -> list[float]:
    """Return the joints of an arm whose tip is at a place."""
    x, y = place[0] - base, place[1]
    bend = np.arccos((x * x + y * y) / 2 - 1) * sign
    return [np.arctan2(y, x) - bend / 2, bend]


def tips(q: np.ndarray) -> np.ndarray:
    """Return the places of both tips (n, 2, 2) from the joints (n, 4)."""
    places = []
    for k, base in ((0, 0.0), (2, BASE)):
        first, second = q[:, k], q[:, k] + q[:, k + 1]
        x = base + np.cos(first) + np.cos(second)
        places.append(np.stack([x, np.sin(first) + np.sin(second)], 1))
    return np.stack(places, 1)


def opening(start: np.ndarray, path: np.ndarray, count: int = 400) -> float:
    """Return the largest distance of the tips in a coordinate, on the whole path."""
    whole = np.vstack([start, path])
    s = np.linspace(0, 1, count)[:, None]
    q = np.concatenate(
        [a + s * (b - a) for a, b in zip(whole[:-1], whole[1:], strict=True)]
    )
    ends = tips(q)
    return float(np.abs(ends[:, 0] - ends[:, 1]).max())


def carry(slices: int = 6, between: float | None = None, **options) -> pw.KOMO:
    komo = pw.KOMO(four_bar(), 1, slices, 2)
    komo.add_control_objective(2, 0.1)
    frames = ["a_tip", "b_tip"]
    komo.add_objective(
        None, FS.positionDiff, frames, OT.eq, scale=10, between=between, **options
    )
    goal = [BASE / 2 + 0.4, 1.0, 0]
    komo.add_objective([1.0], FS.position, ["a_tip"], OT.eq, target=goal, scale=10)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    return komo


@pytest.mark.slow
def test_a_closed_chain_opens_between_slices_only_as_far_as_it_may():
    loose = carry().solve(progress=False)
    assert loose.feasible and not loose.deviations
    wide = opening(loose.config.q, loose.path)
    bounded = carry(between=2 * wide).solve(progress=False)
    assert bounded.feasible and len(bounded.path) == 6
    (deviation,) = bounded.deviations
    assert deviation.amount == pytest.approx(wide, rel=0.02)
    komo = carry(between=wide / 10)
    tight = komo.solve(progress=False)
    goal = next(o for o in komo.objectives if o.name == "position(a_tip)")
    slopes = tight.sensitivity(goal).path
    assert slopes.shape == (*tight.path.shape, 3) and np.isfinite(slopes).all()
    assert tight.feasible and tight.status in (Status.CONVERGED, Status.FEASIBLE)
    assert len(tight.path) % 6 == 0 and 18 <= len(tight.path) <= 36
    assert len(tight.tau) == len(tight.path) and tight.times[-1] == pytest.approx(1.0)
    assert opening(tight.config.q, tight.path) <= wide / 10
    (deviation,) = tight.deviations
    assert deviation.amount == pytest.approx(
        opening(tight.config.q, tight.path), rel=0.02
    )
    assert "between slices: positionDiff(a_tip, b_tip) deviates by" in tight.report()
    # It is the same motion.
    np.testing.assert_allclose(tight.q, loose.q, atol=1e-3)
    assert tight.sos == pytest.approx(loose.sos, rel=0.3)


@pytest.mark.slow
def test_what_more_slices_do_not_reach_is_told():
    solution = carry(between=1e-7).solve(progress=False)
    assert not solution.feasible and solution.status is Status.INFEASIBLE
    assert "Between slices positionDiff(a_tip, b_tip) deviates by" in solution.message
    assert "Take more slices_per_phase" in solution.message
    assert "conflict" not in solution.message


def test_deviations_are_in_the_unit_of_the_feature():
    komo = carry(between=1.0)
    small = carry(between=1.0)
    path = np.linspace(komo.config.q, komo.config.q + [0.3, -0.2, 0.1, 0.4], 7)[1:]
    (deviation,) = deviations(komo.spec, path)
    assert deviation.amount == pytest.approx(opening(komo.config.q, path), rel=0.01)
    assert 0 <= deviation.segment < 6 and 0 < deviation.fraction < 1
    places = np.arange(1, PLACES_PER_STEP + 1) / (PLACES_PER_STEP + 1)
    assert np.abs(places - deviation.fraction).min() < 1e-12
    assert [d.amount for d in deviations(small.spec, path)] == [deviation.amount]


def test_inequalities_are_bounded_too():
    """A link's tip stays below a line in slices, and passes it between them."""
    C = pw.Config()
    C.add_frame("link", joint="hingeZ")
    C.add_frame("tip", "link", position=[1, 0, 0])
    C.q = [np.pi / 2 + 0.4]
    komo = pw.KOMO(C, 1, 2, 1)
    height = dict(scale=[[0, 1, 0]], target=[0, 0.95, 0])
    komo.add_objective(None, FS.position, ["tip"], OT.ineq, between=0.01, **height)
    path = np.full((2, 1), np.pi / 2 - 0.4)
    solution = given_path_as_solution(komo.spec, path, 1e-3)
    (deviation,) = solution.deviations
    assert solution.holds_in_slices and not solution.feasible
    assert "All objectives hold in the slices, but not between them" in solution.message
    assert deviation.amount == pytest.approx(0.05, abs=1e-3) and deviation.segment == 0


def test_refined_problems_are_the_same_in_the_same_slices():
    komo = carry(between=1e-3)
    komo.add_objective([0.5, 1.0], FS.position, ["a_tip"], OT.sos, scale=1e-3)
    komo.add_motion_limits(100.0)
    fine = refined_problem(komo.spec, 3)
    assert fine.T == 18 and fine.slices_per_phase == 18
    assert fine.tau.sum() == pytest.approx(komo.spec.tau.sum())
    slices = [o.slices for o in fine.objectives]
    assert slices[1] == tuple(range(18)), "all slices"
    assert slices[2] == (17,), "the last slice"
    assert slices[4] == tuple(range(8, 18)), "from the third slice on"
    path = np.linspace(komo.config.q, komo.config.q + 0.3, 19)[1:]
    coarse = given_path_as_solution(komo.spec, path[2::3], 1e-3)
    same = given_path_as_solution(fine, path, 1e-3)
    for a, b in zip(coarse.objectives[2:], same.objectives[2:], strict=True):
        assert a.violation == pytest.approx(b.violation, abs=1e-9)
    limit, finer = coarse.objectives[-1], same.objectives[-1]
    assert limit.values.max() == pytest.approx(finer.values.max(), rel=1e-6)
    # Costs over several slices keep their sums.
    assert coarse.objectives[4].cost == pytest.approx(same.objectives[4].cost, rel=0.3)


BAD = {
    "nothing": (dict(between=0.0), "between is 0.0, expected a number > 0"),
    "text": (dict(between="close"), "between is 'close'"),
    "a cost": (dict(between=0.1, type=OT.sos), "it is a cost"),
    "a velocity": (dict(between=0.1, order=1), "has order 1"),
    "one slice": (dict(between=0.1, times=[1.0]), "nothing is between its slices"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_bounds(case):
    arguments, message = BAD[case]
    komo = pw.KOMO(four_bar(), 1, 4, 2)
    options = dict(times=None, type=OT.eq) | arguments
    times, kind = options.pop("times"), options.pop("type")
    with pytest.raises(ObjectiveError, match=message):
        komo.add_objective(times, FS.positionDiff, ["a_tip", "b_tip"], kind, **options)
    assert not komo.objectives


def test_poses_have_nothing_between_them():
    komo = pw.KOMO(four_bar(), 1, 4, 0)
    with pytest.raises(ObjectiveError, match="nothing is between its slices"):
        komo.add_objective(None, FS.positionDiff, ["a_tip", "b_tip"], between=0.1)


@pytest.mark.long
def test_a_solution_of_more_slices_does_not_shift():
    komo = carry(between=1e-4)
    solution = komo.solve(progress=False)
    assert solution.feasible and len(solution.path) > 6
    with pytest.raises(ObjectiveError, match="the problem's 6"):
        komo.shift()
    komo.initialize(solution)
    assert komo.solve(progress=False).feasible
