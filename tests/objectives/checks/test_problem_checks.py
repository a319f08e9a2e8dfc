"""Starts and goals that cannot be as given: warnings before, causes after a solve."""

import warnings

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, ProblemWarning, presets
from posewise.objectives.checks import findings
from posewise.objectives.checks.findings import find_problems
from posewise.objectives.checks.reach import chain_reach

CLEAR = FS.accumulatedCollisions


def cart(x: float = -1.0) -> pw.Config:
    """Return a ball on a rail before a wall whose face is at x = 0.9."""
    C = pw.Config()
    C.add_frame("wall", position=[1, 0, 0], shape=pw.Box([0.2, 1, 1]))
    C.add_frame("cart", joint="transX", limits=[[-2.0], [2.0]], shape=pw.Sphere(0.2))
    C.q = [x]
    return C


def motion(C: pw.Config, margin: float | None = 0.0, **options) -> pw.KOMO:
    komo = pw.KOMO(C, 1, 4, 1)
    komo.add_control_objective(order=1)
    if margin is not None:
        komo.add_objective(None, CLEAR, [], OT.ineq, margin=margin, **options)
    return komo


def sentences(komo: pw.KOMO) -> list[str]:
    return list(find_problems(komo.spec, 1e-3))


def test_a_problem_is_checked_without_a_solve():
    komo = motion(cart(2.5))
    (outside,) = komo.check()
    assert "outside of its limits" in outside
    komo.config.q = [-1.0]
    assert komo.check() == ()
    # No path meets this one, which a solve tells when it has failed.
    komo.add_objective([1.0], FS.position, ["cart"], OT.eq, target=[9.0, 0, 0])
    (finding,) = komo.check()
    assert "cart" in finding and not sentences(komo)


def test_another_state_is_looked_at_without_new_advice(monkeypatch):
    komo = motion(cart(), margin=-0.3)
    (margin,) = sentences(komo)
    assert "may overlap" in margin
    monkeypatch.setattr(findings, "doubtful_margins", lambda spec: 1 / 0)
    komo.config.q = [2.5]
    assert sentences(komo)[0] == margin and "outside" in sentences(komo)[1]


# -- starts ----------------------------------------------------------------------------


def test_a_start_outside_of_its_limits():
    komo = motion(cart(2.5), None)
    with pytest.warns(ProblemWarning, match="The start is outside of its limits"):
        solution = komo.solve()
    (finding,) = solution.findings
    assert "cart is 2.5 m (-2 to 2)" in finding and "degrees" not in finding
    assert f"before the solve: {finding}" in solution.report()


@pytest.mark.parametrize(
    ("q", "is_degrees"),
    [
        ([0, -45, 0, -135, 0, 90, 45], True),
        ([10, 0, 0, -90, 0, 90, 0], True),
        ([0, 0, 0, -3.5, 0, 2, 0], False),
        ([500, 0, 0, -2, 0, 2, 0], False),
    ],
)
def test_values_that_look_like_degrees(q, is_degrees):
    C = pw.load("panda")
    C.lock("panda_finger_joint1")
    C.q = q
    (finding,) = sentences(motion(C, None))
    assert ("look like degrees" in finding) == is_degrees


@pytest.mark.parametrize("x", [-2.0, 2.0, 2.0 + 1e-6, 1.0])
def test_starts_within_the_limits(x):
    assert sentences(motion(cart(x), None)) == []


def test_a_start_in_collision():
    C = cart(0.78)
    komo = motion(C, 0.05)
    with pytest.warns(ProblemWarning, match="start is in collision: 'wall' and 'cart'"):
        solution = komo.solve()
    assert "(-80.0 mm)" in solution.findings[0]
    assert "before the solve: The start is in collision" in solution.report()


STARTS = {
    "touching": (cart(0.7), 0.0, {}),
    "within the margin": (cart(0.69), 0.05, {}),
    "in collision, which nothing forbids": (cart(0.78), None, {}),
    "another frame": (cart(0.78), 0.0, {"frames": ["other"]}),
}


@pytest.mark.parametrize("case", STARTS)
def test_starts_without_a_finding(case):
    C, margin, options = STARTS[case]
    C.add_frame("other", position=[0, 5, 0], shape=pw.Sphere(0.1))
    komo = motion(C, None)
    if margin is not None:
        frames = options.get("frames", [])
        komo.add_objective(None, CLEAR, frames, OT.ineq, margin=margin)
    assert sentences(komo) == []


def test_collisions_that_are_forbidden_later_only():
    komo = motion(cart(0.78), None)
    komo.add_objective([1.0], CLEAR, [], OT.ineq)
    assert sentences(komo) == []


def test_a_state_that_is_a_guess_may_collide():
    komo = pw.KOMO(cart(0.78))
    komo.add_objective([], CLEAR, [], OT.ineq)
    komo.add_control_objective(0)
    assert sentences(komo) == []


def test_pairs_of_frames_that_must_keep_apart():
    komo = motion(cart(0.78), None)
    komo.add(presets.no_collisions([("wall", "cart")], margin=0.02))
    (finding,) = sentences(komo)
    assert "'wall' and 'cart' (-80.0 mm)" in finding


def test_what_a_hand_holds_from_the_start_on():
    C = pw.load("panda")
    C.unlock("panda_finger_joint1")
    C.add_frame("mug", joint="free", shape=pw.Sphere(0.03))
    C.set_pose("mug", [0, 0, 0.1, 1, 0, 0, 0], "panda_hand")
    free = motion(C)
    assert "'panda_leftfinger' and 'mug'" in sentences(free)[0]
    holding = motion(C)
    holding.add_mode_switch([0.25, -1.0], "stable", ["panda_hand", "mug"])
    assert sentences(holding) == []
    C.attach("panda_hand", "mug")
    assert sentences(motion(C)) == []
    C.detach("mug")
    assert "'panda_leftfinger' and 'mug'" in sentences(motion(C))[0]


def test_checks_are_kept_while_the_state_stays(monkeypatch):
    C = cart()
    komo = motion(C)
    assert sentences(komo) == []
    monkeypatch.setattr(pw.Config, "contacts", lambda *_: pytest.fail("measured"))
    assert sentences(komo) == []
    monkeypatch.undo()
    C.q = [0.78]
    assert len(sentences(komo)) == 1


def test_solve_all_warns_once_for_all_starts():
    komo = motion(cart(2.5), None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solutions = komo.solve_all(starts=2)
    assert [w.category for w in caught] == [ProblemWarning]
    assert all(s.findings == solutions[0].findings for s in solutions)
    assert solutions[0].findings


@pytest.mark.slow
def test_batches_warn_once_for_all_worlds():
    C = cart()
    komo = motion(C)
    end = komo.add_objective([1.0], FS.qItself, ["cart"], OT.eq, target=[0.8])
    # The target that collides is replaced, so that it does not count.
    komo.solve_batch({end: [[0.2], [0.3]]})
    worlds = [cart(-1.0), cart(2.5), cart(0.78)]
    with pytest.warns(ProblemWarning) as caught:
        komo.solve_batch({end: [[0.0], [0.1], [0.2]]}, worlds=worlds)
    (text,) = (str(w.message) for w in caught)
    assert "Problem 1: The start is outside" in text
    assert "Problem 2: The start is in collision" in text and "Problem 0" not in text


# -- goals -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "margin", "overlap"),
    [
        (0.8, 0.0, "(-100.0 mm)"),
        (0.68, 0.05, "(20.0 mm)"),
        (0.64, 0.05, None),
        (0.6, 0.0, None),
    ],
)
@pytest.mark.parametrize("scale", [None, 10.0, [0.1]])
def test_a_joint_target_that_violates_the_margin(target, margin, overlap, scale):
    komo = motion(cart(), margin)
    end = dict(target=[target], scale=scale, name="end")
    komo.add_objective([1.0], FS.qItself, [], OT.eq, **end)
    if overlap is None:
        assert sentences(komo) == []
        return
    (finding,) = sentences(komo)
    assert finding.startswith("end: its target in slice 3 violates")
    assert f"demands {1e3 * margin:.1f} mm: 'wall' and 'cart' {overlap}" in finding


def planar() -> pw.Config:
    """Return an arm of two links of 1 m in the plane, a ball at its tip, and a wall."""
    C = pw.Config()
    C.add_frame("upper", joint="hingeZ", limits=[[-3], [3]])
    C.add_frame(
        "lower", "upper", position=[1, 0, 0], joint="hingeZ", limits=[[-3], [3]]
    )
    C.add_frame("tip", "lower", position=[1, 0, 0], shape=pw.Sphere(0.1))
    C.add_frame("wall", position=[0, 1.5, 0], shape=pw.Box([1, 0.2, 1]))
    return C


def test_targets_of_some_joints_say_nothing_of_the_others():
    komo = motion(planar())
    komo.add_objective([1.0], FS.qItself, ["upper"], OT.eq, target=[np.pi / 2])
    assert sentences(komo) == []
    # Both joints in two objectives: straight up, the tip is at (0, 2); bent, inside.
    komo.add_objective([1.0], FS.qItself, ["lower"], OT.eq, target=[0.0])
    assert sentences(komo) == []
    komo = motion(planar())
    for joint, angle in (("upper", np.pi / 2 - 0.7), ("lower", 1.4)):
        komo.add_objective([1.0], FS.qItself, [joint], OT.eq, target=[angle])
    (finding,) = sentences(komo)
    assert "qItself(upper), qItself(lower)" in finding and "'tip' and 'wall'" in finding


@pytest.mark.parametrize(("y", "hits"), [(1.5, True), (1.1, False)])
def test_a_pose_target_that_violates_the_margin(y, hits):
    komo = motion(planar(), 0.02)
    target = [0.2, y, 0, 2, 0, 0, 2]
    komo.add_objective([1.0], FS.pose, ["lower"], OT.eq, target=target)
    # The tip is 1 m along the x axis of the link, which points to y.
    assert sentences(komo) == []
    komo = motion(planar(), 0.02)
    komo.add_objective([1.0], FS.pose, ["tip"], OT.eq, target=target)
    assert [("'tip' and 'wall'" in f) for f in sentences(komo)] == [True] * hits


AXES = {
    "a unit vector": (FS.vectorZ, [0, 0, -1], None, ""),
    "rounded": (FS.vectorZ, [0.577, 0.577, 0.577], None, ""),
    "too long": (FS.vectorZ, [0, 0, -2], None, "length 2, .* give [0.0, 0.0, -1.0]"),
    "too short": (FS.vectorX, [0.3, 0, 0.4], 10, "length 0.5, .* [0.6, 0.0, 0.8]"),
    "zero": (FS.vectorY, [0, 0, 0], None, "length 0, .* give a direction"),
    "a component": (FS.vectorX, [0.5, 0, 0], [1, 0, 0], ""),
    "a component above 1": (FS.vectorX, [1.5, 0, 0], [1, 0, 0], "smaller components"),
    "mixed rows": (FS.vectorX, [0.5, 0, 0], [[1.0, 0, 0]], ""),
    "no axis": (FS.position, [0, 0, -2], None, ""),
}


@pytest.mark.parametrize("case", AXES)
def test_axes_have_length_1(case):
    symbol, target, scale, says = AXES[case]
    komo = motion(planar(), None)
    komo.add_objective([1.0], symbol, ["tip"], OT.eq, target=target, scale=scale)
    findings = sentences(komo)
    assert len(findings) == bool(says)
    assert all(part in text for text in findings for part in says.split(" .* "))


def test_goals_are_no_problem_of_costs_or_other_slices():
    komo = motion(cart(), None)
    komo.add_objective([0.5], CLEAR, [], OT.ineq)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=[0.8])
    komo.add_objective([0.5], FS.qItself, [], OT.sos, target=[0.8])
    assert sentences(komo) == []


# -- after the solve -------------------------------------------------------------------


def report_of(komo: pw.KOMO) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        solution = komo.solve()
    assert not solution.feasible
    return solution.report()


REACH = {
    "position": (FS.position, ["tip"], [1.5, 1.5, 0], None),
    "position with a matrix": (FS.position, ["tip"], [1.5, 1.5, 0], 5 * np.eye(3)),
    "pose": (FS.pose, ["tip"], [1.5, 1.5, 0, 1, 0, 0, 0], None),
    "difference": (FS.positionDiff, ["tip", "far"], None, None),
    "difference, swapped": (FS.positionDiff, ["far", "tip"], None, None),
    "in a frame": (FS.positionRel, ["tip", "far"], [0, 0, 0], None),
}


@pytest.mark.sampled
@pytest.mark.parametrize("case", REACH)
def test_farther_than_the_arm_reaches(case):
    symbol, frames, target, scale = REACH[case]
    C = planar()
    C.add_frame("far", position=[1.5, 1.5, 0], quaternion=[1, 0, 0, 1])
    komo = motion(C, None)
    komo.add_objective(
        [1.0], symbol, frames, OT.eq, target=target, scale=scale, name="there"
    )
    line = (
        "2.121 m from the base of the joints that move 'tip', farther than they reach"
    )
    assert f"there: its target [1.5, 1.5, 0.0] is {line} (2.000 m" in report_of(komo)


@pytest.mark.parametrize("scale", [[1, 1, 0], [[1.0, 0, 0]]])
def test_single_coordinates_are_not_called_out_of_reach(scale):
    komo = motion(planar(), None)
    komo.add_objective([1.0], FS.position, ["tip"], target=[3, 0, 0], scale=scale)
    assert "farther" not in report_of(komo)


@pytest.mark.long
def test_reach_of_chains_is_never_exceeded():
    rng = np.random.default_rng(0)
    C = pw.Config()
    C.add_frame("rail", position=[0, 0, 1], joint="transXY", limits=[[-1, 0], [2, 0.5]])
    C.add_frame("a", "rail", position=[0.1, 0, 0.2], joint="hingeX")
    C.add_frame("rod", "a", position=[0, 0.3, 0])
    C.add_frame(
        "b", "rod", position=[0, 0, 0.4], joint="transZ", limits=[[-0.1], [0.3]]
    )
    C.add_frame("c", "b", joint="transZ", mimic="b", multiplier=-2, offset=0.1)
    C.add_frame("d", "c", position=[0.2, 0, 0], joint="quatBall")
    C.add_frame("tip", "d", position=[0.1, 0.1, 0])
    base, reach = chain_reach(C, "tip")
    farthest = 0.0
    for _ in range(300):
        q = rng.uniform(np.maximum(C.limits[0], -4), np.minimum(C.limits[1], 4))
        q[-4:] /= np.linalg.norm(q[-4:])
        C.q = q
        farthest = max(farthest, float(np.linalg.norm(C.pose("tip")[:3] - base)))
        np.testing.assert_allclose(chain_reach(C, "tip")[1], reach)
    assert 0.5 * reach < farthest < reach
    C.add_frame("ship", joint="free")
    assert chain_reach(C, "ship")[1] == np.inf


def test_reach_of_a_panda_is_known():
    C = pw.load("panda")
    base, reach = chain_reach(C, "panda_hand_tcp")
    np.testing.assert_allclose(base, [0, 0, 0.333], atol=1e-9)
    # From the data sheet: joints 2 to 3, 4, 6, 7, and the hand.
    lengths = [0.316, 0.0825, np.hypot(0.384, 0.0825), 0.088, 0.107 + 0.1034]
    assert reach == pytest.approx(sum(lengths), abs=1e-6)


def test_pairs_at_a_fixed_distance():
    C = cart()
    C.add_frame("tool", "cart", position=[0.5, 0, 0], shape=pw.Sphere(0.1))
    komo = motion(C, None)
    komo.add(presets.no_collisions([("cart", "tool")], margin=0.25))
    report = report_of(komo)
    assert "'cart' and 'tool' (200.0 mm): their distance is fixed" in report
    assert "since no joint is between them, but must be 250.0 mm" in report


@pytest.mark.long
def test_pairs_that_turn_round_a_shape():
    C = cart()
    turn = dict(joint="hingeX", limits=[[-2], [2]])
    C.add_frame("wrist", "cart", position=[0.3, 0, 0], **turn)
    C.add_frame("ring", "wrist", position=[0.1, 0, 0], shape=pw.Sphere(0.1))
    C.add_frame("thumb", "wrist", position=[0.1, 0.4, 0], shape=pw.Sphere(0.1))
    C.add_frame("pin", "cart", position=[0, 0.4, 0], shape=pw.Sphere(0.1))
    komo = motion(C, 0.15)
    report = report_of(komo)
    assert "'cart' and 'ring' (100.0 mm): their distance is fixed" in report
    assert "since no joint changes it, but must be 150.0 mm" in report
    assert "'thumb'" not in report.partition("their distance is fixed")[0][-80:]


def test_a_joint_target_outside_of_the_limits():
    komo = motion(cart(), None)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=[3.0], name="end")
    report = report_of(komo)
    assert "end: its target is outside of the limits: cart is 3 m (-2 to 2)" in report


@pytest.mark.long
def test_pairs_of_all_slices_are_named():
    C = cart(0.0)
    C.add_frame("gate", position=[0, 0.42, 0], shape=pw.Sphere(0.3))
    komo = motion(C, 0.02)
    for t, x in ((0.5, 0.0), (1.0, 0.8)):
        komo.add_objective([t], FS.qItself, [], OT.eq, target=[x], scale=100)
    report = report_of(komo)
    lines = [line for line in report.splitlines() if line.startswith("accumulated")]
    assert "also 'cart' and 'gate' in slice 1 (-80.0 mm)" in lines[-2]
    assert "nearest in slice 3: 'wall' and 'cart' (-" in lines[-1]


def avoiding(C: pw.Config, target: float, **options) -> pw.KOMO:
    komo = motion(C, None)
    komo.avoid_collisions(**options)
    end = dict(target=[target], scale=10, name="end")
    komo.add_objective([1.0], FS.qItself, ["cart"], OT.eq, **end)
    return komo


def test_avoidance_is_checked_as_collision_objectives_are():
    (start,) = sentences(avoiding(cart(0.78), -1.0))
    assert "The start is in collision: 'wall' and 'cart' (-80.0 mm)" in start
    (goal,) = sentences(avoiding(cart(), 0.68, margin=0.05))
    assert goal.startswith("end: its target in slice 3 violates 'avoid collisions'")
    assert "'wall' and 'cart' (20.0 mm)" in goal
    assert sentences(avoiding(cart(), 0.6, margin=0.05)) == []
    allow = [("wall", "cart", [1.0])]
    assert sentences(avoiding(cart(), 0.7, margin=0.05, allow=allow)) == []


@pytest.mark.slow
def test_pairs_between_slices_are_named():
    C = pw.Config()
    C.add_frame("post", shape=pw.Box([0.05, 0.1, 1]))
    C.add_frame("cart", joint="transX", limits=[[-1], [1]], shape=pw.Sphere(0.1))
    C.q = [-1.0]
    komo = pw.KOMO(C, 1, 2, 1)
    komo.add_control_objective(order=1)
    komo.avoid_collisions(margin=0.01)
    for t, x in ((0.5, -0.9), (1.0, 0.9)):
        komo.add_objective([t], FS.qItself, [], OT.eq, target=[x], scale=100)
    report = report_of(komo)
    line = next(x for x in report.splitlines() if x.startswith("between slices"))
    assert "'post' and 'cart' -1" in line and "% of the way to slice 1" in line
