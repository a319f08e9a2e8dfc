"""Rows of predicates: at most 0 only where the exact check agrees."""

import jax
import numpy as np
import pytest
from helpers.relaxed_scenes import THINGS, around, at, judged, states, violations, world

import posewise as pw
from posewise import PosewiseError, logic
from posewise.logic.relaxed.constraint_terms import inequalities

ERROR = 2e-3
PREDICATES = {
    "InContactWith": logic.InContactWith("a", "b"),
    "OnTopOf": logic.OnTopOf("a", "b"),
    "Under": logic.Under("a", "b"),
    "InsideOf": logic.InsideOf("a", "b"),
    "InsideOf, igibson": logic.InsideOf("a", "b", semantics="igibson"),
    "InsideOf, document": logic.InsideOf("a", "b", semantics="document"),
    "NextTo": logic.NextTo("a", "b"),
    "NextTo, igibson": logic.NextTo("a", "b", semantics="igibson"),
    "NextTo, document": logic.NextTo("a", "b", semantics="document"),
    "OnTopOf, igibson": logic.OnTopOf("a", "b", semantics="igibson"),
    "OnTopOf, document": logic.OnTopOf("a", "b", semantics="document"),
    "Under, igibson": logic.Under("a", "b", semantics="igibson"),
    "Under, document": logic.Under("a", "b", semantics="document"),
    "InReachOfAgent": logic.InReachOfAgent("a", "b", reach=0.3),
}


def check_sound(name, predicate, truth, count):
    violation = violations(name, around, PREDICATES[predicate], count, truth)
    true = judged(name, around, PREDICATES[predicate], count) == truth
    assert np.isfinite(violation).all()
    assert true[violation <= 0].all()
    assert (violation[true] <= ERROR).mean() > 0.8 if true.any() else True


FALSE = ["InContactWith", "InsideOf", "NextTo"]
FAST = [(p, True) for p in PREDICATES if "," not in p] + [(p, False) for p in FALSE]


@pytest.mark.sampled
@pytest.mark.parametrize(("predicate", "truth"), FAST)
def test_sound(predicate, truth):
    check_sound("crate", predicate, truth, 300)


@pytest.mark.slow
@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("name", THINGS)
def test_sound_in_five_hundred_scenes(name, predicate, truth):
    check_sound(name, predicate, truth, 500)


@pytest.mark.slow
@pytest.mark.parametrize("predicate", ["InsideOf", "NextTo"])
def test_derivatives(predicate):
    C = world("crate").copy()
    rng = np.random.default_rng(1)
    # neither upright nor lowered, where faces are parallel and distances have kinks
    generic = [q for i, q in enumerate(states("crate", around, 30)) if i % 2 and i % 3]
    for r in inequalities(PREDICATES[predicate].relaxed(C), C):
        f = r.feature.function(C)
        for q in generic:
            C.q = q
            y, J = r.feature.eval(C)
            assert np.isfinite(J).all()
            np.testing.assert_allclose(y, f(q), atol=1e-9)
            step = 1e-6 * rng.normal(size=7)
            change = np.asarray(f(q + step) - f(q - step)) / 2
            np.testing.assert_allclose(J @ step, change, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["conjunction", "disjunction"])
def test_the_function_has_the_violation_and_its_derivative(formula):
    C = world("block").copy()
    on, near = logic.OnTopOf("a", "b"), PREDICATES["InReachOfAgent"]
    predicate = on & near if formula == "conjunction" else on | near
    f = jax.jit(predicate.function(C))
    rng = np.random.default_rng(0)
    for q in states("block", around, 4):
        rows, step = f(q), 1e-6 * rng.normal(size=7)
        C.q = q
        assert np.max(rows) == pytest.approx(predicate.violation(C), abs=1e-9)
        _, change = jax.jvp(f, (q,), (step,))
        np.testing.assert_allclose(change, (f(q + step) - f(q - step)) / 2, atol=1e-9)
    with pytest.raises(logic.PredicateError, match="no rows"):
        logic.Cooked("a").function(C)


def test_bounds_are_what_was_asked_for():
    C = world("crate")
    for kind in (logic.InContactWith, logic.OnTopOf, logic.InsideOf, logic.NextTo):
        for bound in (1e-3, 1e-2):
            statement = kind("a", "b", bound=bound)
            rows = inequalities(statement.relaxed(C), C)
            assert 0 < max(r.error for r in rows) <= bound
            assert statement.bound == bound
    with pytest.raises(PosewiseError, match="bound is 0, expected > 0"):
        logic.NextTo("a", "b", bound=0)


@pytest.mark.slow
@pytest.mark.parametrize("predicate", ["OnTopOf", "InsideOf", "NextTo", "Under"])
def test_what_is_found_holds(predicate):
    C, statement = world("crate"), PREDICATES[predicate]
    placements = pw.solve_placement(C, [statement], ["a"], starts=12, progress=False)
    good = [s for s in placements if s.feasible]
    assert len(good) >= 3
    for placement in good:
        D = C.copy()
        placement.apply(D)
        assert statement.holds(D), statement.explain(D)
        assert statement.violation(D) <= 0


def test_shapes_are_those_of_the_world_that_is_solved():
    """Not of the one in which the statement was made."""
    C = world("block").copy()
    feature = next(inequalities(PREDICATES["NextTo"].relaxed(C), C)).feature
    C.set_shape("a", pw.Sphere(0.2))
    C.q = at(0.6, 0.05, 0.4)
    fresh = next(inequalities(PREDICATES["NextTo"].relaxed(C), C)).feature
    assert feature.eval(C)[0] == pytest.approx(fresh.eval(C)[0], abs=1e-12)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda C: logic.Or().violation(C), "can only be checked"),
        (lambda C: logic.InsideOf("a", "floor").violation(C), "which has no size"),
        (lambda C: logic.InsideOf("a", "bb").violation(C), "did you mean 'b'"),
        (lambda C: pw.KOMO(C).add(logic.NextTo("a", "c")), "No object or frame .c."),
    ],
)
def test_what_cannot_be(ask, message):
    C = world("crate").copy()
    C.add_frame("floor", shape=pw.Plane())
    with pytest.raises(PosewiseError, match=message):
        ask(C)


FORMULAS = {
    "or": lambda: PREDICATES["Under"] | PREDICATES["InContactWith"],
    "and not": lambda: PREDICATES["NextTo"] & ~PREDICATES["InContactWith"],
    "two of three": lambda: logic.AtLeast(
        2,
        PREDICATES["NextTo"],
        PREDICATES["InReachOfAgent"],
        ~PREDICATES["InContactWith"],
    ),
}


FEW = ["or", *(pytest.param(f, marks=pytest.mark.slow) for f in FORMULAS if f != "or")]


@pytest.mark.long
@pytest.mark.parametrize("name", FEW)
def test_formulas_are_sound(name):
    formula = FORMULAS[name]()
    violation = violations("block", around, formula, 200)
    true = judged("block", around, formula, 200)
    assert true[violation <= 0].all()
    assert (violation[true] <= 3 * ERROR).mean() > 0.95
    assert 0 < true.mean() < 1


@pytest.mark.slow
def test_a_formula_with_alternatives_is_solved():
    C = world("block")
    formula = ~PREDICATES["InContactWith"] & FORMULAS["or"]()
    placements = pw.solve_placement(C, [formula], ["a"], starts=8, progress=False)
    assert placements[0].feasible
    D = C.copy()
    placements[0].apply(D)
    assert formula.holds(D) and PREDICATES["Under"].holds(D)


@pytest.mark.parametrize(
    "formula",
    [
        lambda: logic.Or(),
        lambda: logic.AtLeast(6, *[logic.NextTo("a", f"b{i}") for i in range(12)]),
    ],
)
def test_formulas_without_rows(formula):
    with pytest.raises(PosewiseError, match="has no rows|No object"):
        formula().violation(world("block"))


CABINET = {
    "one": {"joints": ["door"]},
    "backwards": {"joints": {"door": -1}},
    "both": {"joints": ["door", "drawer"]},
    "both sides": {"joints": ["door"], "both_sides": True},
}


@pytest.mark.sampled
@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("name", CABINET)
def test_open_is_sound_and_solved(name, truth):
    C = pw.Config()
    C.add_frame("cabinet", shape=pw.Box([0.5, 0.5, 0.5]))
    C.add_frame("door", "cabinet", joint="hingeZ", limits=[[-0.2], [1.5]])
    C.add_frame("drawer", "cabinet", joint="transX", limits=[[0.0], [0.3]])
    C.annotations.mark_object("cabinet", abilities={"openable": CABINET[name]})
    statement = logic.Open("cabinet")
    goal = statement if truth else ~statement
    rng = np.random.default_rng(0)
    for share in rng.uniform(-0.1, 1.1, (60, 2)):
        C.q = C.limits[0] + share * (C.limits[1] - C.limits[0])
        if goal.violation(C) <= 0:
            assert goal.holds(C), goal.explain(C)
        elif goal.violation(C) > ERROR:
            assert not goal.holds(C), goal.explain(C)
    C.q = [0.6, 0.1] if not truth else [-0.2, 0.0]
    komo = pw.KOMO(C)
    komo.add_control_objective(0, 1e-2)
    komo.add(goal)
    solution = komo.solve()
    C.q = solution.q
    assert solution.feasible and goal.holds(C)
