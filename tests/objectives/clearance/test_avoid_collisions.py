"""Avoidance of collisions in slices and between them, and its certificate."""

from dataclasses import replace

import jax
import numpy as np
import optax
import pytest
from helpers.interrupts import ctrl_c
from helpers.moving_worlds import segment_points
from helpers.worlds import central_differences, random_q, random_tree

import posewise as pw
from posewise import FS, OT, ConfigError, ObjectiveError, Status
from posewise.objectives.chain.builder import without_slack
from posewise.objectives.clearance.avoidance import CollisionAvoidance
from posewise.objectives.clearance.certificate import Certificate, Shortfall
from posewise.objectives.planning import planned_starts
from posewise.objectives.problem.spec import compile_chain
from posewise.objectives.solve import certified
from posewise.objectives.solve.given_path import given_path_as_solution
from posewise.robots.errors import ProblemWarning
from posewise.robots.kinematics.manifold import difference, integrate

RANGE = 2.0


def disc(wall=(0.0, 0.0), size=(0.02, 1.0, 1.0), radius=0.1) -> pw.Config:
    """A disc that slides in a plane, and a thin wall."""
    C = pw.Config()
    limits = [[-RANGE] * 2, [RANGE] * 2]
    C.add_frame("disc", joint="transXY", limits=limits, q=[-0.5, 0])
    C.set_shape("disc", pw.Sphere(radius))
    C.set_contact("disc", 1)
    C.add_frame("wall", position=[*wall, 0], shape=pw.Box(size), contact=1)
    return C


def across(C, slices=16, order=1, goal=(0.5, 0.0), **options) -> pw.KOMO:
    """Move the disc to the other side of the wall."""
    komo = pw.KOMO(C, 1, slices, order)
    if order:
        komo.add_control_objective(order, 0.1)
    komo.add_objective([1.0], FS.qItself, ["disc"], OT.eq, target=goal, scale=10)
    if options.pop("avoid", True):
        komo.avoid_collisions(**options)
    path = np.linspace(C.q, [*goal, *C.q[2:]], slices + 1)[1:]
    komo.initialize(path)
    return komo


def least_distance(solution, count=500) -> float:
    """Return the least distance of the disc from the wall, by its centre's places."""
    C = solution.config
    half = np.array(C.frame("wall").shape.size) / 2
    whole = np.vstack([C.q, solution.path])
    points = np.concatenate(
        [
            segment_points(C, a, b, count)
            for a, b in zip(whole[:-1], whole[1:], strict=True)
        ]
    )
    d = np.abs(points[:, :2] - C.pose("wall")[:2]) - half[:2]
    outside = np.linalg.norm(np.maximum(d, 0), axis=1) + np.minimum(d.max(1), 0)
    return float(outside.min()) - C.frame("disc").shape.radius


@pytest.mark.long
def test_a_wall_between_two_slices_is_seen_only_with_the_certificate():
    unseen = across(disc(), avoid=False)
    unseen.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    for komo in (unseen, across(disc(), between=False)):
        jump = komo.solve(progress=False)
        assert jump.feasible and least_distance(jump) < -0.1
        (pair,) = jump.clearance().pairs
        assert pair.frames == ("disc", "wall") and pair.distance < -0.1
        assert pair.lower_bound <= least_distance(jump)
    round_ = across(disc()).solve(progress=False)
    assert round_.feasible and least_distance(round_) >= 0


@pytest.mark.long
@pytest.mark.parametrize("spare", [2e-4, -2e-4])
def test_the_check_decides_in_narrow_places(spare):
    """Rows ask for a millimetre on both sides, of which here a fifth is there."""
    C = disc(wall=(0.0, 0.6 + spare), size=(0.1, 1.0, 1.0))
    place = [0, -0.6 - spare, 0]
    C.add_frame("floor", position=place, shape=pw.Box([0.1, 1, 1]), contact=1)
    solution = across(C, slices=8).solve(progress=False)
    assert solution.feasible == (spare > 0)
    assert solution.clearance().lower_bound == pytest.approx(spare, abs=1.2e-4)
    rows = {o.objective.name: o.violation for o in solution.objectives}
    if spare > 0:
        assert max(v for k, v in rows.items() if k.startswith("avoid")) == 0


LEAST_COST = 0.0258
"""Least cost of a path across without a margin, of those from 36 seeds."""
METHODS = {
    "solve": lambda k: k.solve(progress=False),
    "starts": lambda k: k.solve(starts=4, progress=False),
    "all": lambda k: k.solve_all(starts=3, progress=False)[1],
    "batch": lambda k: k.solve_batch(worlds=[k.config] * 2, progress=False)[1],
}


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("margin", [0.0, 0.03])
def test_all_methods_certify(method, margin):
    solution = METHODS[method](across(disc(), margin=margin))
    assert solution.feasible
    # In contact with the wall the cost of a path stalls at kinks; it is the least one.
    assert solution.status is Status.CONVERGED or (
        margin == 0 and solution.sos < 1.02 * LEAST_COST
    )
    assert least_distance(solution) >= margin
    assert solution.clearance(0.1).lower_bound >= margin
    violations = [o.violation for o in solution.objectives]
    assert max(violations[2:]) <= solution.tolerance


@pytest.mark.long
def test_first_order_methods_tell_what_is_not_certified():
    solution = across(disc()).solve(
        method=optax.adam(1e-2), max_iterations=300, progress=False
    )
    assert not solution.feasible
    assert "between slices: 'disc' and 'wall'" in solution.report()


@pytest.mark.long
def test_starts_end_with_the_first_certified_path():
    easy = across(disc(wall=(0.0, 1.5)))
    assert easy.solve(starts=8, progress=False).start == 0
    blocked = across(disc()).solve(starts=8, progress=False)
    assert blocked.start == 0, "a detour"
    every = across(disc()).solve_all(starts=3, progress=False)
    assert [s.start for s in every] == [0, 1, 2] and every[0].feasible
    few = across(disc()).solve_all(starts=8, max_solutions=1, progress=False)
    assert [s.feasible for s in few] == [True]


@pytest.mark.long
def test_batches_are_certified_in_each_world_and_for_each_target():
    komo = across(disc())
    walls = [disc(wall=(x, 0.0)) for x in (-0.1, 0.0, 0.1)]
    solutions = komo.solve_batch(worlds=walls, progress=False)
    for solution in solutions:
        assert solution.feasible and least_distance(solution) >= 0
    goal = komo.objectives[1]
    targets = [[0.5, 0.2], [0.6, -0.2], [0.0, 0.0]]
    solutions = komo.solve_batch({goal: targets}, progress=False)
    for solution, target in zip(solutions[:2], targets[:2], strict=True):
        assert solution.feasible and least_distance(solution) >= 0
        np.testing.assert_allclose(solution.q, target, atol=1e-3)
    assert not solutions[2].feasible


@pytest.mark.long
def test_certified_problems_are_not_for_a_mesh():
    mesh = jax.make_mesh((1,), ("a",))
    komo = across(disc())
    with pytest.raises(ObjectiveError, match="mesh is given, but .* one after"):
        komo.solve_batch(worlds=[komo.config], mesh=mesh)
    free = across(disc(wall=(0.0, 1.5)), between=False)
    solutions = free.solve_batch(worlds=[free.config], progress=False, mesh=mesh)
    assert solutions[0].feasible


@pytest.mark.slow
def test_an_interrupt_ends_all_starts_and_problems(accepts_interrupts):
    def stop(progress):
        if progress.iterations > 1:
            ctrl_c()

    komo = across(disc(), 2000)
    ends = komo.solve_all(starts=4, progress=stop)
    assert [s.status for s in ends] == [Status.INTERRUPTED]
    ends = komo.solve_batch(worlds=[komo.config] * 3, progress=stop)
    assert [s.status for s in ends] == [Status.INTERRUPTED] * 3


@pytest.mark.long
@pytest.mark.parametrize("where", ["_check", "_next_path"])
def test_an_interrupt_while_a_path_is_certified_keeps_it(
    where, monkeypatch, accepts_interrupts
):
    monkeypatch.setattr(certified, where, lambda *_: ctrl_c())
    sol = across(disc(), slices=8).solve(starts=2, progress=False)
    assert sol.status is Status.INTERRUPTED and not sol.feasible
    assert "Interrupted" in sol.message and "INTERRUPTED" in sol.report()
    assert np.abs(sol.path[-1] - sol.config.q).max() > 0.1


def test_no_detours_are_planned_to_a_target_outside_of_the_limits(monkeypatch):
    monkeypatch.setattr(certified, "_next_path", lambda *_: pytest.fail("planned"))
    komo = across(disc(), goal=(45.0, 0.0))
    with pytest.warns(ProblemWarning, match=r"disc.* is 45 m \(-2 to 2\)"):
        sol = komo.solve(starts=8, progress=False)
    assert sol.status is Status.INFEASIBLE
    assert sol.report().count("its target is outside of the limits") == 1


@pytest.mark.long
def test_no_detours_are_planned_from_a_start_in_degrees(monkeypatch):
    monkeypatch.setattr(planned_starts, "with_detours", lambda *_: pytest.fail("late"))
    C = disc()
    C.q = [-50.0, 0.0]
    with pytest.warns(ProblemWarning, match="The start is outside of its limits"):
        sol = across(C).solve(starts=3, progress=False)
    assert not sol.feasible


def test_poses_without_a_path_are_not_certified():
    solution = across(disc(), order=0).solve(progress=False)
    assert solution.feasible and len(solution.objectives) == 2


def two_links() -> pw.Config:
    """Two discs on rails that belong to one robot, and a free wall."""
    C = pw.Config()
    C.add_frame("base", position=[0, 3, 0])
    for k, x in enumerate((-1.0, 1.0)):
        limits = [[-RANGE], [RANGE]]
        C.add_frame(f"rail{k}", "base", position=[x, 0, 0], joint="transX")
        C.joints.set_limits(f"rail{k}", limits)
        C.set_shape(f"rail{k}", pw.Sphere(0.1))
        C.set_contact(f"rail{k}", 1)
    C.add_frame("wall", position=[1.4, 3, 0], shape=pw.Box([0.2, 1, 1]), contact=1)
    return C


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("own_margin, other", [(0.05, 0.0), (0.0, 0.05), (0.2, 0.1)])
def test_links_of_one_robot_have_a_margin_of_their_own(own_margin, other):
    C = two_links()
    komo = pw.KOMO(C, 1, 6, 1)
    komo.add_control_objective(1, 0.1)
    komo.avoid_collisions(other, self_margin=own_margin)
    # Both want to be in one place, as near to the wall as possible.
    komo.add_objective([1.0], FS.qItself, [], OT.sos, target=[2.0, 0.5], scale=10)
    solution = komo.solve(progress=False)
    assert solution.feasible
    a, b = solution.q + [-1.0, 1.0]
    assert b - a - 0.2 == pytest.approx(own_margin + 1e-3, abs=1.5e-3)
    assert 1.3 - b - 0.1 >= other
    bounds = {p.frames: p.lower_bound for p in solution.clearance(0.5).pairs}
    assert bounds["rail0", "rail1"] >= own_margin and bounds["rail1", "wall"] >= other


SHORT = {
    "links of one robot": (("rail0", "rail1"), 0.011, True),
    "a copy of a link": (("rail0@1", "rail1"), 0.011, True),
    "links that overlap": (("rail0", "rail1"), -0.01, False),
    "a link and the world": (("rail1", "wall"), 0.011, False),
}


@pytest.mark.sampled
@pytest.mark.parametrize("case", SHORT)
def test_links_that_cannot_keep_a_margin_are_told_with_the_remedy(case):
    frames, distance, is_told = SHORT[case]
    short = Shortfall(frames, 5, 0.5, distance, 0.015)
    komo = pw.KOMO(two_links(), 1, 6, 1)
    komo.add_control_objective(1, 0.1)
    solution = komo.solve(progress=False)
    record = solution._record
    spec = replace(record.spec, avoidance=CollisionAvoidance(0.015, 0.015))
    certificate = Certificate(np.full(6, 0.01), (short,))
    record = record._replace(spec=spec, certificate=certificate)
    unkept = replace(solution, _record=record)
    assert not unkept.feasible
    remedy = (
        "'rail0' and 'rail1' are links of one robot and come to 11.0 mm on the way to"
        " slice 5, but must keep 15.0 mm. Give such pairs a smaller margin,"
        " `self_margin` of avoid_collisions"
    )
    assert (remedy in unkept.message) == is_told, unkept.message


MIXED = ["free", "quatBall", "transXYPhi", "hinge", "prismatic"]


def mixed_rows(fraction: float) -> pw.KOMO:
    """Sums over pairs, and a pose, between slices of a tree with ball joints."""
    C = random_tree(3, 5, MIXED)
    komo = pw.KOMO(C, 1, 3, 2)
    komo.add_objective(None, FS.position, ["f1"], OT.sos)
    *_, between = komo.avoid_collisions(0.05)
    pose = C.feature(FS.poseDiff, ["f0", "f3"])
    pose = replace(between, feature=pose, type=OT.sos, slices=(0, 2), fraction=fraction)
    between = replace(between, fraction=fraction)
    komo.spec = replace(komo.spec, objectives=(*komo.objectives[:-1], between, pose))
    return komo


def check_values(komo, x, fraction, rows) -> None:
    """Compare rows with the features in the configurations on the way."""
    C, tree = komo.config, komo.config.kinematics().tree
    whole = np.vstack([C.q, x])
    steps = fraction * difference(tree, whole[:-1], whole[1:])
    middle = integrate(tree, whole[:-1], steps)
    for objective, values in zip(komo.objectives, rows, strict=True):
        if objective.fraction is not None:
            expected = [
                objective.feature.eval(C, middle[t])[0] for t in objective.slices
            ]
            np.testing.assert_allclose(values, np.stack(expected), atol=1e-9)


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("fraction", [0.5, 0.2])
def test_rows_between_slices_and_their_derivatives_by_coordinates(fraction):
    komo = mixed_rows(fraction)
    x = random_q(komo.config, np.random.default_rng(0), 3)
    nlp = komo.nlp()
    phi, J = nlp.evaluate(x)
    counts = [3 * 3, 3 * 1, 3 * 1, 2 * 7]
    rows = np.split(phi, np.cumsum(counts)[:-1])
    shaped = [
        r.reshape(len(o.slices), -1) for r, o in zip(rows, komo.objectives, strict=True)
    ]
    check_values(komo, x, fraction, shaped)
    numeric = central_differences(lambda x: nlp.evaluate(x)[0], x.ravel())
    np.testing.assert_allclose(J.toarray(), numeric, atol=1e-6 * np.abs(numeric).max())


@pytest.mark.long
def test_rows_between_slices_and_their_derivatives_in_the_tangent_space():
    komo = mixed_rows(0.5)
    x = random_q(komo.config, np.random.default_rng(1), 3)
    chain, data, _ = compile_chain(komo.spec)
    data, tree = without_slack(data), chain.tree
    evaluate = jax.jit(lambda x: chain.evaluate(data, x))

    def rows(step: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [np.ravel(b.y) for b in evaluate(integrate(tree, x, step))]
        )

    parts = []
    for b in evaluate(x):
        n, window, D, _ = b.J.shape
        J = np.zeros((n, D, 3 + chain.order, tree.nv))
        for k in range(n):
            last = int(b.last_slice[k]) + chain.order
            J[k, :, last - window + 1 : last + 1] = np.swapaxes(b.J[k], 0, 1)
        parts.append(J[:, :, chain.order :].reshape(n * D, -1))
    J = np.concatenate(parts)
    numeric = central_differences(rows, np.zeros((3, tree.nv)))
    np.testing.assert_allclose(J, numeric, atol=1e-6 * np.abs(numeric).max())


# -- what may touch, and mode switches -------------------------------------------------


def landing(**options) -> pw.KOMO:
    """A ball of radius 0.1 m descends onto a table, and slides along it."""
    C = pw.Config()
    limits = [[-RANGE] * 3, [RANGE] * 3]
    C.add_frame("ball", joint="trans3", limits=limits, q=[-0.5, 0, 0.4])
    C.set_shape("ball", pw.Sphere(0.1))
    C.set_contact("ball", 1)
    C.add_frame("table", position=[0, 0, -0.1], shape=pw.Box([2, 2, 0.2]), contact=1)
    komo = pw.KOMO(C, 2, 6, 1)
    komo.add_control_objective(1, 0.1)
    komo.avoid_collisions(**options)
    return komo


@pytest.mark.slow
def test_what_may_touch_overlaps_by_no_more_than_a_millimetre():
    komo = landing(margin=0.02, allow=[("ball", "table", [1.0, 2.0])])
    # It is pulled into the table.
    komo.add_objective([1.0, 2.0], FS.position, ["ball"], OT.sos, scale=[[0, 0, 10.0]])
    along = [[1, 0, 0]]
    komo.add_objective([2.0], FS.qItself, [], OT.eq, scale=along, target=[0.5, 0, 0])
    solution = komo.solve(progress=False)
    assert solution.feasible
    height = solution.path[:, 2] - 0.1
    assert (height[:4] >= 0.02).all() and np.abs(height[5:]).max() <= 1e-3
    assert -1e-3 <= solution.clearance().lower_bound < 1e-3


@pytest.mark.long
def test_a_slice_between_two_that_may_touch_is_judged_by_itself():
    """On the segments beside it the pair may touch."""
    allow = [("ball", "table", times) for times in ([0, 1.0], [1.4, 2.0])]
    path = np.tile([-0.5, 0, 0.0995], (12, 1))
    results = {}
    for strict in (0, 1):
        everywhere = [("ball", "table", None)] * (1 - strict)
        komo = landing(margin=0.005, allow=[*allow, *everywhere])
        komo.config.q = path[0]
        touching = komo.spec.avoidance.touching
        assert sum(not touching([t]) for t in range(12)) == strict
        assert all(touching([t - 1, t]) for t in range(12))
        results[strict] = given_path_as_solution(komo.spec, path, 1e-3).feasible
    assert results == {0: True, 1: False}


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("allowed", [[], [("ball", "table", [0.0, 0.5])]])
def test_touching_at_other_times_is_a_violation(allowed):
    komo = landing(margin=0.0, allow=allowed)
    onto = [[0, 0, 10.0]]
    komo.add_objective(
        [2.0], FS.position, ["ball"], OT.eq, scale=onto, target=[0, 0, 0.098]
    )
    solution = komo.solve(progress=False)
    assert not solution.feasible and "'ball' and 'table'" in solution.report()


def test_allowed_pairs_may_be_objects():
    komo = landing()
    C = komo.config
    C.add_object(
        "plate", [(pw.Box([0.2, 0.2, 0.02]), None)] * 2, pose=[1, 0, 0.01, 1, 0, 0, 0]
    )
    komo = pw.KOMO(C, 1, 2, 1)
    komo.avoid_collisions(allow=[("ball", "plate", None)])
    names = {frozenset(c.pair) for c in komo.spec.avoidance.allowed}
    parts = [C.frame_names[i] for i in C.pairs.solid_parts("plate")]
    assert names == {frozenset(("ball", part)) for part in parts}


@pytest.mark.long
def test_names_with_at_signs_are_names():
    C = disc(wall=(0.0, 1.0))
    C.add_frame("wall@left", position=[0, 0.3, 0], shape=pw.Sphere(0.1), contact=1)
    komo = across(C, goal=(0.0, 0.1005), allow=[("disc", "wall", None)])
    with pytest.warns(pw.ProblemWarning, match="'disc' and 'wall@left'"):
        solution = komo.solve(progress=False)
    assert not solution.feasible and "'wall@left'" in str(solution.clearance())
    komo = across(C, goal=(0.0, 0.1005), allow=[("disc", "wall@left", None)])
    assert komo.solve(progress=False).feasible


def gripper() -> pw.Config:
    """A hand in the plane y = 0, a cup on a table, a post, and a shelf behind it."""
    C = pw.Config()
    C.add_frame("x", joint="transX", limits=[[-RANGE], [RANGE]], q=[-1.0])
    C.add_frame("hand", "x", joint="transZ", limits=[[-RANGE], [RANGE]], q=[0.6])
    C.add_frame("finger", "hand", shape=pw.Sphere(0.03), contact=1)
    C.add_frame("cup", position=[-1.0, 0, 0.1], shape=pw.Sphere(0.1), contact=1)
    flat, high = [0.4, 0.4, 0.2], [0.02, 0.4, 0.6]
    C.add_frame("table", position=[-1.0, 0, -0.1], shape=pw.Box(flat), contact=1)
    C.add_frame("post", position=[0, 0, 0.1], shape=pw.Box(high), contact=1)
    C.add_frame("shelf", position=[1.0, 0, -0.1], shape=pw.Box(flat), contact=1)
    return C


RESTING = [("cup", "table", [0.0, 1.2]), ("cup", "shelf", [1.8, 3.0])]
GRASPED = [("finger", "cup", [0.8, 2.2])]


def carry(slices: int = 8, allow=(*RESTING, *GRASPED), end=3.0, **options) -> pw.KOMO:
    """Take the cup over the post, where the hand alone would pass lower."""
    komo = pw.KOMO(gripper(), end, slices, 1)
    komo.add_control_objective(1, 0.1)
    komo.add_mode_switch([1.0, 2.0], "stable", ["hand", "cup"])
    komo.add_mode_switch([2.0], "stableOn", ["shelf", "cup"])
    komo.add_objective([1.0], FS.position, ["hand"], target=[-1.0, 0, 0.23], scale=10)
    komo.add_objective([2.0], FS.position, ["hand"], target=[1.0, 0, 0.23], scale=10)
    if end > 2:
        komo.add_objective([end], FS.position, ["hand"], target=[0.4, 0, 0.8], scale=10)
    komo.avoid_collisions(0.01, allow=allow, **options)
    return komo


@pytest.mark.slow
@pytest.mark.parametrize("end", [2.0, 3.0])
def test_carried_objects_keep_clear_too(end):
    """Also where the last mode begins in the last slice."""
    solution = carry(end=end).solve(starts=4, progress=False)
    assert solution.feasible
    # On the way from slice 7 to slice 15 the cup is 0.13 m below the hand.
    hand = np.concatenate(
        [
            np.linspace(a, b, 300)
            for a, b in zip(solution.path[7:15], solution.path[8:16], strict=True)
        ]
    )
    apart = np.maximum(np.abs([hand[:, 0], hand[:, 1] - 0.13 - 0.1]), 0)
    gap = np.maximum(apart.T - [0.01, 0.3], 0)
    assert np.linalg.norm(gap, axis=1).min() - 0.1 >= 0.01
    pairs = {frozenset(p.frames): p for p in solution.clearance(0.05).pairs}
    assert pairs[frozenset(("post", "cup"))].lower_bound >= 0.01
    assert pairs[frozenset(("cup", "shelf"))].lower_bound >= -1e-3
    assert pairs[frozenset(("post", "cup"))].slice in range(8, 16)


@pytest.mark.slow
def test_without_rows_between_a_carried_object_jumps_the_post():
    solution = carry(4, between=False).solve(progress=False)
    (pair, *_) = solution.clearance().pairs
    assert solution.feasible and "post" in pair.frames and pair.distance < -0.02


@pytest.mark.slow
def test_a_cup_that_may_not_rest_is_a_violation():
    solution = carry(allow=GRASPED).solve(progress=False)
    assert not solution.feasible
    assert "'cup'" in solution.report() and "@" not in solution.report()


BAD = {
    "nan": (dict(margin=np.nan), "margin is nan"),
    "text": (dict(margin="wide"), "margin is 'wide'"),
    "own": (dict(self_margin=[1.0]), "self_margin"),
    "unknown": (dict(allow=[("disc", "wal", None)]), "wal"),
    "itself": (dict(allow=[("disc", "disc", None)]), "disc"),
    "no times": (dict(allow=[("disc", "wall")]), "allow"),
    "no pair": (dict(allow=["disc"]), "allow"),
    "times": (dict(allow=[("disc", "wall", [3.0, 4.0])]), "slice"),
    "one name": (dict(allow=("disc", "wall", None)), "allow"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(case):
    arguments, message = BAD[case]
    komo = pw.KOMO(disc(), 1, 4, 1)
    with pytest.raises((ObjectiveError, ConfigError), match=message):
        komo.avoid_collisions(**arguments)
    assert not komo.objectives


def test_a_second_call_is_an_error():
    komo = across(disc())
    with pytest.raises(ObjectiveError, match="called already"):
        komo.avoid_collisions()


@pytest.mark.long
def test_worlds_without_pairs():
    C = pw.Config()
    C.add_frame("cart", joint="transX", shape=pw.Sphere(0.1))
    komo = pw.KOMO(C, 1, 4, 1)
    komo.avoid_collisions(0.1)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=[1.0])
    solution = komo.solve(progress=False)
    assert solution.feasible and not solution.clearance().pairs
    assert solution.clearance().distance == np.inf


# -- what clearance tells --------------------------------------------------------------


@pytest.mark.long
def test_clearance_tells_pairs_times_and_what_is_ignored():
    """A disc ends 18 mm in a wall that it ignores, and passes a ball on its way."""
    C = disc(wall=(0.5, 0.0), size=(0.1, 1.0, 1.0))
    C.add_frame("ball", position=[0.1, 0.21, 0], shape=pw.Sphere(0.1), contact=1)
    C.add_frame("far", position=[0.1, -1.0, 0], shape=pw.Sphere(0.1), contact=1)
    C.ignore_collisions("disc", "wall")
    komo = pw.KOMO(C, 1, 4, 1, duration_per_phase=2.0)
    komo.add_control_objective(1, 0.1)
    komo.avoid_collisions()
    goal = [0.45 - 0.1 + 0.018, 0.0]
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=goal, scale=10)
    solution = komo.solve(progress=False)
    assert solution.feasible
    clearance = solution.clearance(0.05)
    (near,), (ignored,) = clearance.pairs, clearance.ignored
    assert near.frames == ("disc", "ball") and ignored.frames == ("disc", "wall")
    assert near.distance == pytest.approx(0.01, abs=2e-3)
    assert 0 <= near.lower_bound <= near.distance
    step = 0.868 / 4
    assert near.time == pytest.approx((0.1 + 0.5) / step * 0.5, abs=0.2)
    assert near.slice == 2
    assert ignored.distance == pytest.approx(-0.018, abs=2e-3)
    assert ignored.lower_bound <= -0.018 + 1e-6
    assert ignored.time == pytest.approx(2.0, abs=0.05) and ignored.slice == 3
    assert (
        clearance.lower_bound == near.lower_bound
        and clearance.distance == near.distance
    )
    assert "Excluded from collisions:\n'disc' and 'wall': -1" in str(clearance)
    assert {p.frames[1] for p in solution.clearance(1.0).pairs} == {"ball", "far"}
    with pytest.raises(ObjectiveError, match="range is 0, expected metres > 0"):
        solution.clearance(0)


@pytest.mark.long
def test_clearance_of_carried_objects_needs_no_avoidance():
    komo = carry()
    bare = pw.KOMO(komo.config, 3, 8, 1)
    bare.add_mode_switch([1.0, 2.0], "stable", ["hand", "cup"])
    for o in komo.objectives:
        if o.name.startswith("position"):
            bare.add_objective([(o.slices[0] + 1) / 8], o.feature)
    clearance = bare.solve(progress=False).clearance()
    assert clearance.pairs[0].frames == ("post", "cup") and clearance.distance < -0.05


@pytest.mark.long
def test_settings_of_the_world_between_solves_are_not_forgotten():
    """Sizes, ignored pairs and contact flags that change after a solve."""
    C = disc(wall=(0.0, 0.62))
    komo = across(C, 8)
    free = komo.solve(progress=False)
    assert free.feasible and free.clearance().distance == pytest.approx(0.02, abs=2e-3)
    C.set_shape("wall", pw.Box([0.02, 1.2, 1.0]))
    again = komo.solve(progress=False)
    assert again.feasible and least_distance(again) >= 0
    assert np.abs(again.path[:, 1]).max() > 0.07
    C.ignore_collisions("disc", "wall")
    ignored = komo.solve(progress=False)
    assert ignored.feasible and np.abs(ignored.path[:, 1]).max() < 1e-3
    (pair,) = ignored.clearance().ignored
    assert pair.distance < -0.05


# -- planning and compilation ----------------------------------------------------------
