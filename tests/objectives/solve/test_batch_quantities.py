"""Quantities that differ between problems of a batch: against problems built alone."""

import jax
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, ObjectiveError, logic
from posewise.objectives.problem.spec import compile_chain
from posewise.objectives.solve.stated_quantities import with_quantities
from posewise.solvers.multistart import _advance_lanes_compiled

POST = (0.6, 0.45, 0, 1, 0, 0, 0)


def world(post=POST, radius=0.1, joint_x=0.0) -> pw.Config:
    """Return a hand on two prismatic joints, a post and a table."""
    C = pw.Config()
    C.add_frame("x", joint="transX", limits=[[-2.0], [2.0]], q=[joint_x])
    C.add_frame("hand", "x", joint="transY", limits=[[-2.0], [2.0]], q=[0.1])
    C.set_shape("hand", pw.Sphere(0.05))
    C.set_contact("hand", 1)
    C.add_frame("post", pose=list(post), shape=pw.Cylinder(0.4, radius), contact=1)
    return C


def problem(
    C=None, margin=0.05, scale=2.0, reach=0.7, target=(0.6, 0.4, 0)
) -> tuple[pw.KOMO, pw.Objective, pw.Objective, logic.Predicate]:
    """Return a problem in which all quantities count, with what states them."""
    komo = pw.KOMO(world() if C is None else C, 1, 2, 0)
    komo.add_objective([], FS.qItself, [], OT.sos, scale=0.5)
    goal = komo.add_objective(
        [], FS.position, ["hand"], OT.sos, target=list(target), scale=scale
    )
    rows = komo.add_objective([], FS.collisionRows, [], OT.ineq, margin=margin)
    reaching = logic.InReachOfAgent("hand", "x", reach=reach)
    komo.add(reaching, [1])
    return komo, goal, rows, reaching


MOVED = (0.7, 0.4, 0.02, 1, 0, 0, 0)
CASES = {
    "margin": (lambda k: ("margin", k[2]), [0.02, 0.08], lambda v: problem(margin=v)),
    "scale": (lambda k: ("scale", k[1]), [1.0, 3.0], lambda v: problem(scale=v)),
    "reach": (lambda k: ("reach", k[3]), [0.3, 0.2], lambda v: problem(reach=v)),
    "size": (
        lambda _: ("size", "post"),
        [(0.4, 0.05), (0.4, 0.15)],
        lambda v: problem(world(radius=v[1])),
    ),
    "origin": (
        lambda _: ("origin", "post"),
        [POST, MOVED],
        lambda v: problem(world(post=v)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_problems_are_those_built_with_these_values(name):
    of, values, build = CASES[name]
    parts = problem()
    specs = with_quantities([parts[0].spec], {of(parts): values})
    every = []
    for spec, value in zip(specs, values, strict=True):
        got, want = compile_chain(spec), compile_chain(build(value)[0].spec)
        assert got.chain == want.chain == compile_chain(parts[0].spec).chain
        every.append(jax.tree.leaves(got.data))
        for a, b in zip(every[-1], jax.tree.leaves(want.data), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-15)
    assert any(not np.array_equal(a, b) for a, b in zip(*every, strict=True))


@pytest.mark.long
def test_several_at_once_compile_nothing_for_other_values():
    parts = problem()
    komo, goal, rows, reaching = parts
    wrt = [("margin", rows), ("scale", goal), ("reach", reaching), ("origin", "post")]
    targets = {goal: [[0.6, 0.4, 0], [0.5, 0.5, 0]]}
    for k in range(2):
        values = [
            [0.02, 0.05 + 0.01 * k],
            [2.0, 1.0 + k / 2],
            [0.3, 0.6],
            [POST, MOVED],
        ]
        quantities = dict(zip(wrt, values, strict=True))
        got = komo.solve_batch(targets, quantities=quantities, progress=False)
        if not k:
            count = _advance_lanes_compiled.num_compilations()
        for b, solution in enumerate(got):
            margin, scale, reach, post = (column[b] for column in values)
            alone = problem(world(post=post), margin, scale, reach, targets[goal][b])
            want = alone[0].solve(progress=False)
            assert solution.feasible == want.feasible
            np.testing.assert_allclose(solution.path, want.path, atol=1e-6)
    assert _advance_lanes_compiled.num_compilations() == count


@pytest.mark.long
def test_each_problem_of_several_worlds():
    worlds = [world(joint_x=0.1), world(joint_x=0.3, radius=0.05)]
    komo, _, rows, _ = problem()
    margins = [0.08, 0.02]
    got = komo.solve_batch(
        worlds=worlds, quantities={("margin", rows): margins}, progress=False
    )
    for C, margin, solution in zip(worlds, margins, got, strict=True):
        want = problem(C, margin)[0].solve(progress=False)
        np.testing.assert_allclose(solution.path, want.path, atol=1e-6)


@pytest.mark.long
def test_certificates_are_of_the_world_of_each_problem():
    C = world(post=(0.9, 0.8, 0, 1, 0, 0, 0))
    komo = pw.KOMO(C, 1, 4, 1)
    komo.add_control_objective(1)
    komo.add_objective([1], FS.position, ["hand"], OT.eq, target=[1.0, 0.1, 0])
    komo.avoid_collisions(0.02)
    posts = [[0.5, y, 0, 1, 0, 0, 0] for y in (0.8, 0.12)]
    far, near = komo.solve_batch(quantities={("origin", "post"): posts}, progress=False)
    for post, solution in zip(posts, (far, near), strict=True):
        assert solution.feasible
        np.testing.assert_allclose(solution.config.frame("post").origin, post)
        assert solution.clearance().distance >= 0.018
    assert np.ptp(far.path[:, 1]) < 1e-3 and near.path[:, 1].min() < -0.05


def test_what_paths_are_no_smooth_function_of_varies_too():
    """A tilt enters rows by its cosine."""
    C = pw.Config()
    C.add_frame("rod", joint="hingeX", limits=[[-2.0], [2.0]], q=[0.1])
    komo = pw.KOMO(C, 1, 1, 0)
    komo.add_objective([1], FS.qItself, ["rod"], OT.sos, target=[1.5])
    upright = logic.Upright("rod", tilt=0.2)
    komo.add(upright)
    tilts = [0.2, 0.6]
    got = komo.solve_batch(quantities={("tilt", upright): tilts}, progress=False)
    np.testing.assert_allclose([s.q[0] for s in got], tilts, atol=2e-3)


@pytest.mark.parametrize(
    ("quantities", "says"),
    [
        ([0.1], r"quantities is \[0.1\], expected a mapping"),
        ({"rows": [0.1]}, "The quantity is 'rows', expected an objective"),
        ({("margin", 2): 0.1}, r"margin of .*got values of shape \(\), expected \(pro"),
        ({("margin", 2): [[0.1]]}, r"shape \(1, 1\), expected \(problems\)"),
        ({("margin", 2): []}, r"shape \(0,\), expected \(problems\)"),
        ({("margin", 2): ["a"]}, "margin of .* expected numbers"),
        ({("margin", 2): [np.nan]}, "margin of .*nan"),
        ({("width", 2): [0.1]}, "has no 'width', expected one of: target, scale, mar"),
        ({("params", 2): [0.1]}, "expected other quantities: targets are"),
        ({("size", "post"): [[0.1, -0.1]]}, "expected sizes >= 0"),
        ({("origin", "post"): np.zeros((2, 7))}, "quaternion is zero"),
        (
            {("margin", 2): [0.1, 0.2], ("size", "post"): [[0.1, 0.1]] * 3},
            r"size of 'post'.*\(3, 2\), expected \(2, 2\)",
        ),
    ],
)
def test_what_does_not_fit(quantities, says):
    parts = problem()
    if isinstance(quantities, dict):
        quantities = {
            (k[0], parts[2]) if k[1] == 2 else k: v for k, v in quantities.items()
        }
    with pytest.raises(pw.PosewiseError, match=says):
        parts[0].solve_batch(quantities=quantities, progress=False)


def test_the_number_of_problems_is_that_of_the_targets():
    parts = problem()
    with pytest.raises(ObjectiveError, match=r"shape \(3, 3\), expected \(2, 3\)"):
        parts[0].solve_batch(
            {parts[1]: np.zeros((3, 3))},
            quantities={("margin", parts[2]): [0.1, 0.2]},
            progress=False,
        )
    goal = parts[1]
    with pytest.raises(ObjectiveError, match="expected other quantities: targets"):
        parts[0].solve_batch(quantities={goal: [[0.1, 0, 0]]}, progress=False)
