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
from posewise import FS, OT, ObjectiveError, Status
from posewise.objectives.chain.builder import without_slack
from posewise.objectives.problem_spec import compile_chain
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


METHODS = {
    "solve": lambda k: k.solve(progress=False),
    "starts": lambda k: k.solve(starts=4, progress=False),
    "all": lambda k: k.solve_all(starts=3, progress=False)[1],
    "batch": lambda k: k.solve_batch(worlds=[k.config] * 2, progress=False)[1],
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("margin", [0.0, 0.03])
def test_all_methods_certify(method, margin):
    solution = METHODS[method](across(disc(), margin=margin))
    assert solution.feasible and solution.status is Status.CONVERGED
    assert least_distance(solution) >= margin
    assert solution.clearance(0.1).lower_bound >= margin
    violations = [o.violation for o in solution.objectives]
    assert max(violations[2:]) <= solution.tolerance


def test_first_order_methods_tell_what_is_not_certified():
    solution = across(disc()).solve(
        method=optax.adam(1e-2), max_iterations=300, progress=False
    )
    assert not solution.feasible
    assert "between slices: 'disc' and 'wall'" in solution.report()


def test_starts_end_with_the_first_certified_path():
    easy = across(disc(wall=(0.0, 1.5)))
    assert easy.solve(starts=8, progress=False).start == 0
    blocked = across(disc()).solve(starts=8, progress=False)
    assert blocked.start == 1, "the first detour"
    every = across(disc()).solve_all(starts=3, progress=False)
    assert [s.start for s in every] == [0, 1, 2]
    assert not every[0].feasible and every[1].feasible
    few = across(disc()).solve_all(starts=8, max_solutions=1, progress=False)
    assert [s.feasible for s in few] == [False, True]


def test_batches_are_certified_in_each_world_and_for_each_target():
    komo = across(disc())
    walls = [disc(wall=(x, 0.0)) for x in (-0.1, 0.0, 0.1)]
    found = komo.solve_batch(worlds=walls, progress=False)
    for solution in found:
        assert solution.feasible and least_distance(solution) >= 0
    goal = komo.objectives[1]
    targets = [[0.5, 0.2], [0.6, -0.2], [0.0, 0.0]]
    found = komo.solve_batch({goal: targets}, progress=False)
    for solution, target in zip(found[:2], targets[:2], strict=True):
        assert solution.feasible and least_distance(solution) >= 0
        np.testing.assert_allclose(solution.q, target, atol=1e-3)
    assert not found[2].feasible


@pytest.mark.parametrize("name", ["mesh", "checkpoint_dir"])
def test_batches_say_what_certified_solves_do_not_have(name, tmp_path):
    given = {"mesh": jax.make_mesh((1,), ("a",)), "checkpoint_dir": tmp_path}[name]
    komo = across(disc())
    with pytest.raises(ObjectiveError, match=f"{name} is given, but .* one after"):
        komo.solve_batch(worlds=[komo.config], **{name: given})
    free = across(disc(wall=(0.0, 1.5)), between=False)
    found = free.solve_batch(worlds=[free.config], progress=False, **{name: given})
    assert found[0].feasible


def test_an_interrupt_ends_all_starts_and_problems(accepts_interrupts):
    def stop(progress):
        if progress.iterations > 1:
            ctrl_c()

    komo = across(disc(), 300)
    ends = komo.solve_all(starts=4, progress=stop)
    assert [s.status for s in ends] == [Status.INTERRUPTED]
    ends = komo.solve_batch(worlds=[komo.config] * 3, progress=stop)
    assert [s.status for s in ends] == [Status.INTERRUPTED] * 3
    assert not any(s.feasible for s in ends)


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
        C.set_limits(f"rail{k}", limits)
        C.set_shape(f"rail{k}", pw.Sphere(0.1))
        C.set_contact(f"rail{k}", 1)
    C.add_frame("wall", position=[1.4, 3, 0], shape=pw.Box([0.2, 1, 1]), contact=1)
    return C


@pytest.mark.parametrize("own, other", [(0.05, 0.0), (0.0, 0.05), (0.2, 0.1)])
def test_links_of_one_robot_have_a_margin_of_their_own(own, other):
    C = two_links()
    komo = pw.KOMO(C, 1, 6, 1)
    komo.add_control_objective(1, 0.1)
    komo.avoid_collisions(other, self_margin=own)
    # Both want to be in one place, as near to the wall as possible.
    komo.add_objective([1.0], FS.qItself, [], OT.sos, target=[2.0, 0.5], scale=10)
    solution = komo.solve(progress=False)
    assert solution.feasible
    a, b = solution.q + [-1.0, 1.0]
    assert b - a - 0.2 == pytest.approx(own + 1e-3, abs=1.5e-3)
    assert 1.3 - b - 0.1 >= other
    found = {p.frames: p.lower_bound for p in solution.clearance(0.5).pairs}
    assert found["rail0", "rail1"] >= own and found["rail1", "wall"] >= other


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
            at = [objective.feature.eval(C, middle[t])[0] for t in objective.slices]
            np.testing.assert_allclose(values, np.stack(at), atol=1e-9)


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
    parts = [C.frame_names[i] for i in C.solid_parts("plate")]
    assert names == {frozenset(("ball", part)) for part in parts}
