"""Sensitivities of solutions against central differences of solves."""

import jax
import numpy as np
import pytest
from helpers.worlds import central_differences

import posewise as pw
from posewise import FS, OT
from posewise.objectives.problem.spec import compile_chain
from posewise.robots.kinematics.transforms import quat_exp, quat_multiply

TIGHT = dict(
    tolerance=1e-10,
    cost_tolerance=1e-15,
    inner_tolerance=1e-10,
    step_tolerance=1e-11,
    progress_tolerance=1e-12,
    max_iterations=3000,
)
FLAT = [[1, 0, 0], [0, 1, 0]]


def arm(limit: float = 2.0, n: int = 3) -> pw.Config:
    C = pw.Config()
    parent = "world"
    for k in range(n):
        C.add_frame(
            f"j{k}", parent, position=[0.4, 0, 0], joint="hingeZ", q=[0.2 + 0.1 * k]
        )
        C.joints.set_limits(f"j{k}", [[-limit], [limit]])
        parent = f"j{k}"
    C.add_frame("tip", parent, position=[0.4, 0, 0], shape=pw.Sphere(0.05))
    return C


def moved(pose, twist):
    """Return a pose shifted and rotated about its origin, in its parent's axes."""
    pose = np.asarray(pose, float)
    turned = quat_multiply(quat_exp(np.asarray(twist[3:])), pose[3:])
    return np.concatenate([pose[:3] + twist[:3], turned])


def planar(limit):
    def build(target):
        komo = pw.KOMO(arm(limit))
        komo.add_control_objective(0, 0.3)
        tip = komo.add_objective(
            [], FS.position, ["tip"], OT.eq, target=target, scale=3 * np.array(FLAT)
        )
        return komo, tip

    return build, np.array([1.2, 0.7, 0.0])


def panda_at_limits():
    C = pw.load("panda")
    C.joints.select([j for j in C.joint_names if "finger" not in j])
    C.q = [0.2, -0.4, 0.2, -2.0, 0, 1.7, 0.785]
    C.joints.set_limits(C.joint_names[3], [[-2.05], [-0.1]])

    def build(target):
        komo = pw.KOMO(C)
        komo.add_control_objective(0, 0.1)
        tip = komo.add_objective(
            [], FS.position, ["panda_hand_tcp"], OT.eq, target=target, scale=10
        )
        komo.add_objective([], FS.vectorZ, ["panda_hand_tcp"], OT.eq, target=[0, 0, -1])
        return komo, tip

    return build, np.array([0.4, 0.2, 0.45])


def obstacle(what):
    """Build a problem whose home is in a rod, with the tip kept 2 cm away."""

    def build(change):
        C = arm()
        pose = np.array([1.36, 0.64, 0.01, 0.9, 0.1, -0.2, 0.3])
        pose[3:] /= np.linalg.norm(pose[3:])
        size = np.array([0.3, 0.1])
        if what == "pose":
            pose = moved(pose, change)
        else:
            size = size + change
        C.add_frame("rod", pose=pose, shape=pw.Capsule(*size))
        komo = pw.KOMO(C)
        komo.add_control_objective(0, [0.5, 1.0, 0.8])
        komo.add_objective([], FS.distance, ["tip", "rod"], OT.ineq, target=-0.02)
        return komo, (what, "rod")

    return build, np.zeros(6 if what == "pose" else 2)


def path(times):
    def build(target):
        komo = pw.KOMO(arm(0.8), 1, 6, 2)
        komo.add_control_objective(2, 0.3)
        komo.add_objective(
            [0.5], FS.position, ["tip"], OT.sos, target=[1.3, 0.6, 0], scale=FLAT
        )
        tip = komo.add_objective(
            times, FS.position, ["tip"], OT.eq, target=target, scale=FLAT
        )
        komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
        return komo, tip

    return build, np.array([1.1, 0.8, 0.0])


def free_body():
    """Build a problem in which a corner of a free body reaches a goal."""

    def build(change):
        C = pw.Config()
        goal = moved([0.3, 0.2, 0.5, 1, 0, 0, 0], change)
        C.add_frame("goal", pose=goal)
        C.add_frame("lid", "goal", pose=[0.1, 0.2, 0, 0.8, 0.6, 0, 0])
        C.add_frame("body", joint="free", pose=[0, 0, 1, 0.6, 0, 0.8, 0])
        C.add_frame("corner", "body", position=[0.2, 0.1, 0.1])
        komo = pw.KOMO(C, 1, 3, 1)
        komo.add_control_objective(1, 0.5)
        komo.add_objective([1.0], FS.positionDiff, ["corner", "lid"], OT.eq)
        return komo, ("pose", "goal")

    return build, np.zeros(6)


def carrying(what):
    """A peg is carried to a goal at a stable pose in the hand, which slices share.

    What "pose" varies is longer: held anywhere on a circle, and put on a plate.
    """

    def build(change):
        C = arm(0.62 if what == "pose" else 0.7)
        position = [1.4, 0.2, 0.1] if what == "pose" else [1.5, 0.3, 0.1]
        C.add_frame("peg", position=position, shape=pw.Box([0.1] * 3))
        C.add_frame("plate", position=[1.2, 0.7, 0.03], shape=pw.Box([0.4, 0.4, 0.04]))
        pose = np.array([1.15, 0.75, 0.1, 1, 0, 0, 0])
        C.add_frame("goal", pose=moved(pose, change) if what == "pose" else pose)
        komo = pw.KOMO(C, 2, 2 if what == "pose" else 1, 1)
        komo.add_control_objective(1, 0.3)
        komo.add_mode_switch([1.0, 2.0], "stable", ["tip", "peg"], scale=1.0)
        grip = "peg"
        if what == "pose":
            komo.add_mode_switch([2.0], "stableOn", ["plate", "peg"], scale=1.0)
            komo.add_frame("side", "peg", joint="hingeZ")
            komo.add_frame("grip", "side", position=[0.1, 0, -0.1])
            grip = "grip"
        komo.add_objective([1.0], FS.positionDiff, ["tip", grip], OT.eq, scale=FLAT)
        off = change if what == "target" else np.zeros(3)
        goal = dict(scale=0.3 * np.array(FLAT), target=off)
        end = komo.add_objective(
            [2.0], FS.positionDiff, ["peg", "goal"], OT.sos, **goal
        )
        return komo, end if what == "target" else ("pose", "goal")

    return build, np.zeros(3 if what == "target" else 6)


CASES = {
    "IK, limits inactive": planar(2.0),
    "IK, a limit active": planar(0.6),
    "panda, a limit active, redundant rows": panda_at_limits(),
    "IK, distance active, pose": obstacle("pose"),
    "IK, distance active, size": obstacle("size"),
    "path, one slice": path([1.0]),
    "free body": free_body(),
    "carrying, target": carrying("target"),
    "putting, a limit active, pose": carrying("pose"),
}


LONG = {
    "panda, a limit active, redundant rows",
    "IK, distance active, size",
    "free body",
    "path, one slice",
    "carrying, target",
    "putting, a limit active, pose",
}


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=[pytest.mark.slow] * (c in LONG)) for c in CASES],
)
def test_sensitivities_equal_differences_of_solves(case):
    build, value = CASES[case]
    komo, wrt = build(value)
    sol = komo.solve(starts=4)  # the best of some, lest one ends early
    assert sol.feasible
    got = sol.sensitivity(wrt)
    assert got.regular, got.message
    limits = komo.config.limits
    at_limit = (sol.path <= limits[0] + 1e-9) | (sol.path >= limits[1] - 1e-9)
    assert at_limit.any() == ("limit active" in case)
    np.testing.assert_allclose(got.path[at_limit], 0, atol=1e-12)

    def solved(x):
        again, _ = build(x)
        again.initialize(sol.path)
        return again.solve(**TIGHT).path

    want = central_differences(solved, value, 1e-4)
    scale = np.abs(want).max()
    assert scale > 0.1
    np.testing.assert_allclose(got.path, want, atol=1e-4 * scale)


@pytest.mark.slow
def test_a_solve_is_a_differentiable_function_of_a_target():
    build, goal = CASES["IK, a limit active"]
    komo, tip = build(goal)
    want = komo.solve(**TIGHT)
    slope = komo.solve().sensitivity(tip).path
    f = komo.function(tip)
    step = np.array([1e-3, -2e-3, 0])
    value, rate = jax.jit(lambda t: jax.jvp(f, (t,), (step,)))(goal)
    np.testing.assert_allclose(value, want.path, atol=1e-8)
    np.testing.assert_allclose(rate, slope @ step, atol=1e-8)

    def twice(target):
        path = f(target)
        return path, path

    each = jax.jit(jax.vmap(jax.jacrev(twice, has_aux=True)))
    slopes, paths = map(np.asarray, each(goal + np.array([0 * step, step])))
    np.testing.assert_allclose(slopes[0], slope, atol=1e-8)
    np.testing.assert_allclose(paths[1] - paths[0], slopes.mean(0) @ step, rtol=1e-4)


@pytest.mark.slow
def test_solutions_that_do_not_move_smoothly_say_so():
    C = arm()
    free = pw.KOMO(C)
    tip = free.add_objective([], FS.position, ["tip"], target=[1.2, 0.6, 0], scale=FLAT)
    some = free.solve().sensitivity(tip)
    assert not some.regular and "flat" in some.message
    C.q = free.solve().q
    J = C.eval(FS.position, ["tip"], scale=FLAT)[1]
    np.testing.assert_allclose(some.path[0, :, :2], np.linalg.pinv(J), atol=1e-2)

    touching = pw.KOMO(arm(0.5))
    home = touching.add_objective([], FS.qItself, [], OT.sos, target=[0.1, 0.2, 0.5])
    edge = touching.solve().sensitivity(home)
    assert not edge.regular and "zero multiplier" in edge.message

    far = pw.KOMO(C)
    tip = far.add_objective([], FS.position, ["tip"], target=[9, 0, 0], scale=FLAT)
    with pytest.raises(pw.ObjectiveError, match="no sensitivity"):
        far.solve().sensitivity(tip)


@pytest.mark.parametrize(
    ("wrt", "match"),
    [
        ("tip", "expected an objective"),
        (("pose", "top"), "'tip'"),
        (("pose", "world"), "world"),
        (("size", "j0"), "no shape"),
    ],
)
def test_what_cannot_be_varied_is_an_error(wrt, match):
    komo, _ = CASES["IK, a limit active"][0](np.zeros(3))
    sol = komo.solve()
    with pytest.raises(pw.PosewiseError, match=match):
        sol.sensitivity(wrt)


def test_only_objectives_of_the_problem_can_be_varied():
    (komo, _), (_, other) = (planar(1.0)[0](np.zeros(3)) for _ in range(2))
    with pytest.raises(pw.ObjectiveError, match="one of this problem's objectives"):
        komo.function(other)


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("symbol", [FS.accumulatedCollisions, FS.collisionRows])
def test_jacobians_of_collisions_have_derivatives(symbol):
    C = arm()
    C.add_frame("rod", pose=[1.36, 0.64, 0, 1, 0, 0, 0], shape=pw.Capsule(0.3, 0.1))
    C.add_frame("far", pose=[5, 5, 5, 1, 0, 0, 0], shape=pw.Sphere(0.1))
    komo = pw.KOMO(C)
    komo.add_objective([], symbol, [], OT.ineq, margin=0.02)
    chain, data, _ = compile_chain(komo.spec)
    J = jax.jit(lambda x: chain.evaluate(data, x[None])[0].J[0, 0, 0])
    want = central_differences(J, C.q)
    assert np.abs(want).max() > 0.1
    np.testing.assert_allclose(jax.jacfwd(J)(C.q), want, atol=1e-6)


@pytest.mark.slow
def test_each_solution_of_a_batch_has_its_own_problem():
    komo, tip = planar(0.6)[0](np.zeros(3))
    targets = np.array([[1.2, 0.7, 0], [1.21, 0.7, 0]])
    many = komo.solve_batch({tip: targets}, starts=2)
    for target, sol in zip(targets, many, strict=True):
        single, its = planar(0.6)[0](target)
        want = single.solve(starts=2).sensitivity(its).path
        np.testing.assert_allclose(sol.sensitivity(tip).path, want, atol=1e-6)


@pytest.mark.slow
def test_a_function_with_mode_switches():
    """The function returns paths of the world, without objects on helper joints."""
    build, target = CASES["carrying, target"]
    komo, end = build(target)
    sol, step = komo.solve(**TIGHT), np.array([0.01, -0.02, 0])
    path, rate = jax.jit(lambda t: jax.jvp(komo.function(end), (t,), (step,)))(target)
    np.testing.assert_allclose(path, sol.path, atol=1e-6)
    np.testing.assert_allclose(rate, sol.sensitivity(end).path @ step, atol=1e-6)
    C = komo.config.copy()
    C.detach("peg")
    komo.spec = komo.spec.in_world(C)
    with pytest.raises(pw.ObjectiveError, match="no value for peg.*lock"):
        komo.function(end)
