"""Values that vary between solves are data: nothing is compiled again."""

import jax
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT


def arm(ball=(0.5, 0.6, 0.0), radius=0.1, limit=2.8, link=0.4) -> pw.Config:
    """Three hinges in a plane, with a tip and an obstacle."""
    C = pw.Config()
    parent = "world"
    for k in range(3):
        offset = [link * (k > 0), 0, 0]
        limits = [[-limit], [limit]]
        C.add_frame(f"j{k}", parent, position=offset, joint="hingeZ", limits=limits)
        parent = f"j{k}"
    C.add_frame("tip", parent, position=[link, 0, 0], shape=pw.Sphere(0.05))
    C.add_frame("ball", position=ball, shape=pw.Sphere(radius))
    return C


def reaching(
    C=None,
    target=(0.7, 0.6, 0),
    frame="tip",
    scale=1.0,
    time=1.0,
    clear=(0.2, 1.0),
    type=OT.eq,
    weight=0.1,
    duration=1.0,
    more=0,
) -> tuple[pw.KOMO, pw.Objective]:
    """Reach past the obstacle; `more` objectives of a kind already present."""
    komo = pw.KOMO(C or arm(), 1, 6, 1, duration)
    komo.add_control_objective(1, weight)
    for k in range(3 + more):
        place = [0.4, 0.3 + 0.1 * k, 0]
        komo.add_objective([0.5], FS.position, ["j2"], OT.sos, scale=0.1, target=place)
    goal = komo.add_objective(
        [time], FS.positionDiff, [frame, "ball"], type, scale=scale, target=target
    )
    komo.add_objective(clear, FS.negDistance, ["tip", "ball"], OT.ineq)
    return komo, goal


def moved() -> pw.Config:
    C = arm()
    C.set_pose("ball", [0.4, 0.7, 0, 1, 0, 0, 0])
    C.q = [0.3, 0.2, 0.1]
    return C


VARIED = {
    "nothing": dict(),
    "target": dict(target=(0.1, 0.2, 0)),
    "frame": dict(frame="j2"),
    "scale": dict(scale=[2.0, 3.0, 0.0]),
    "time": dict(time=0.5),
    "slices within a bucket": dict(clear=(0.1, 0.9)),
    "type": dict(type=OT.ineq),
    "weight": dict(weight=0.3),
    "duration": dict(duration=2.0),
    "pose and state": dict(C=moved()),
    "size": dict(C=arm(radius=0.15)),
    "lengths": dict(C=arm(link=0.5)),
    "limits": dict(C=arm(limit=1.5)),
    "one more objective": dict(more=1),
}
WORLDS = [arm(), arm(radius=0.2), arm(radius=0.3)]
CALLS = {
    "solve": lambda komo, goal: komo.solve(max_iterations=30),
    "starts": lambda komo, goal: komo.solve(seed=2, starts=3, tolerance=1e-2),
    "targets": lambda komo, goal: komo.solve_batch({goal: np.full((3, 3), 0.2)}),
    "worlds": lambda komo, goal: komo.solve_batch(worlds=WORLDS),
}


@pytest.fixture(scope="module")
def warm():
    """Each kind of call once."""
    for call in CALLS.values():
        call(*reaching())


def test_compilations_are_seen(compiled):
    jax.jit(lambda x: x + 1)(np.ones(7))
    assert len(compiled()) == 1


@pytest.mark.long
@pytest.mark.parametrize("call", ["solve", "starts"])
@pytest.mark.parametrize("varied", VARIED)
def test_varied_values_are_data(warm, compiled, varied, call):
    CALLS[call](*reaching(**VARIED[varied]))
    assert not compiled()


@pytest.mark.long
def test_values_of_batches_are_data(warm, compiled):
    komo, goal = reaching(arm(limit=2.0), more=1, time=0.5)
    komo.solve_batch({goal: np.zeros((2, 3))}, starts=2, seed=3, max_iterations=30)
    komo.solve_batch({goal: np.full((4, 3), 0.1)})
    komo.solve_batch(worlds=[arm(radius=0.1 * k) for k in (1, 2, 3, 4)])
    komo.initialize([0.3, 0.2, 0.1])
    komo.solve(starts=4)
    assert not compiled()


def avoiding(C, goal=(0.6, 0.3, 0.1), margin=0.01, allow=()) -> pw.KOMO:
    """Move between two obstacles, certified."""
    komo = pw.KOMO(C, 1, 6, 1)
    komo.add_control_objective(1, 0.1)
    komo.avoid_collisions(margin, allow=allow)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=goal, scale=10)
    return komo


@pytest.mark.long
def test_certified_paths_share_their_programs(compiled):
    """Obstacles, margins, goals, starts, and when some pair may touch, are data."""
    avoiding(arm()).solve(starts=3, progress=False).clearance()
    avoiding(arm(), allow=[("tip", "ball", [1.0])]).solve(progress=False)
    before = len(compiled())
    assert before
    near = arm(ball=(0.9, 0.35, 0.0), radius=0.12)
    for C in (moved(), near, arm(link=0.45)):
        solution = avoiding(C).solve(starts=3, progress=False)
        solution.clearance(0.1)
    avoiding(arm(), (0.9, 0.5, 0.1), 0.03).solve(starts=2, progress=False)
    avoiding(arm(), allow=[("tip", "ball", [0.4, 0.7])]).solve_batch(
        worlds=[arm(), moved()], progress=False
    )
    assert compiled()[before:] == []


def own_height(lift):
    """Return a function of a user's, a new one in each call."""
    return lambda tip: tip.p[:2] - 0.5 * lift


def with_own_function(lift) -> pw.KOMO:
    komo, _ = reaching()
    komo.add_objective([1.0], own_height(lift), ["tip"], OT.sos, scale=0.1)
    return komo


@pytest.mark.slow
def test_equal_functions_of_a_user_share_their_programs(compiled):
    komo = with_own_function(1.0)
    komo.solve(max_iterations=30, progress=False)
    before = len(compiled())
    komo.solve(max_iterations=30, progress=False)
    with_own_function(1.0).solve(max_iterations=30, progress=False)
    assert len(compiled()) == before
    with_own_function(1.1).solve(max_iterations=30, progress=False)
    assert len(compiled()) > before


FUNCTION_CALLS = {
    "path": lambda f, t: f(t),
    "value_and_grad": lambda f, t: jax.value_and_grad(lambda t: f(t)[0].sum())(t),
    "jacfwd": lambda f, t: jax.jacfwd(f, has_aux=True)(t),
    "vmap": lambda f, t: jax.vmap(f)(np.tile(t, (2, 1))),
    "vmap of grad": lambda f, t: jax.vmap(jax.grad(lambda t: f(t)[0].sum()))(
        np.tile(t, (2, 1))
    ),
}


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("call", FUNCTION_CALLS)
def test_functions_of_a_target_share_their_programs(compiled, call):
    """Without jit, a second call and a second function compile nothing."""

    def function(shift):
        komo = pw.KOMO(arm(link=0.4 + shift))
        komo.add_control_objective(0, 0.3)
        flat = [[1, 0, 0], [0, 1, 0]]
        tip = komo.add_objective([], FS.position, ["tip"], scale=flat)
        return komo.function(tip, with_status=True, max_iterations=100)

    f, target = function(0.0), np.array([0.7, 0.6, 0.0])
    FUNCTION_CALLS[call](f, target)
    before = len(compiled())
    FUNCTION_CALLS[call](f, target + 0.01)
    FUNCTION_CALLS[call](function(0.01), target)
    assert compiled()[before:] == []
