"""Statements about paths as objectives: what is feasible is true."""

from dataclasses import dataclass, replace

import jax
import numpy as np
import pytest
from helpers.scripted_predicates import sliders

import posewise as pw
from posewise import OT, logic
from posewise.logic import Always, Eventually, Sequence, Until
from posewise.logic.relaxed.constraint_terms import Inequality
from posewise.objectives.solve.alternatives import resolve_alternatives

T = 6
TIMES = np.arange(1, T + 1) / 3
C = sliders(3)


def height(a):
    return a.p[:1]


@dataclass(frozen=True)
class Beyond(logic.Predicate):
    """Slider k is beyond a half."""

    k: int

    def holds(self, C):
        return bool(C.q[self.k] > 0.5)

    def explain(self, C):
        return f"Slider {self.k} is at {C.q[self.k]:g}."

    def relaxed(self, C, truth=True):
        sign = 1.0 if truth else -1.0
        target = 0.5 + 1e-4 * sign
        frame = f"slider{self.k}"
        return Inequality(pw.Feature(height, [frame], scale=-sign, target=target))


P, Q, R = Beyond(0), Beyond(1), Beyond(2)


def problem(*statements, initial=None):
    """Two phases of three slices, least motion; the same rows except for the slices."""
    komo = pw.KOMO(C, phases=2, slices_per_phase=3, k_order=1)
    komo.add_control_objective(order=1, scale=0.1)
    for k in range(3):  # with these the program is one, whatever is stated
        komo.add_objective(None, height, [f"slider{k}"], OT.sos, scale=1e-3)
    for statement in statements:
        komo.add(statement)
    if initial is not None:
        komo.initialize(initial)
    return komo


CASES = [
    Always(P),
    Always(P & ~Q, [1, 2]),
    Eventually(P),
    Eventually(~P & Q, [1.0, 1.7]),
    Eventually(P, [0.4, 1.0, 2.0]),
    Until(~P, Q, [0.6, 2]),
    pytest.param(Until(P | R, Q), marks=pytest.mark.slow),
    Sequence(P, ~P & Q, ~Q & R),
    Sequence(P, ~P, P, times=[0.6, 2]),
    ~Always(P | Q),
    ~Eventually(P & Q, [1, 2]) & Always(P | Q, [1, 2]),
    Eventually(P) & Eventually(~P) & Eventually(Q, [0.3]),
    Always(P) | Eventually(Q),
    Always(~P, [0, 1]) & Always(P, [1.3, 2]),
    logic.AtLeast(2, Eventually(P), Always(Q), Eventually(R)),
    logic.Implies(Eventually(P), Always(Q)) & Eventually(P, [2]),
    logic.ForAll(["0", "2"], lambda n: Eventually(Beyond(int(n)))),
]


@pytest.mark.sampled
@pytest.mark.parametrize("formula", CASES, ids=repr)
def test_what_is_feasible_is_true(formula):
    komo = problem(formula)
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.message
    assert formula.holds_along(C, solution.path, TIMES)
    assert len(solution.alternatives) == len(komo.choices)
    assert all(
        f"alternative: {name}" in solution.report() for name in solution.alternatives
    )


def test_ways_that_exclude_each_other_are_infeasible():
    solution = problem(Always(P), Eventually(~P)).solve(progress=False)
    assert not solution.feasible
    assert "Eventually" in solution.message or "Always" in solution.message


def test_the_best_way_is_kept():
    """Moving late is cheapest; near the given path when that says where."""
    late = problem(Eventually(P)).solve(progress=False)
    assert late.alternatives == ("Beyond(0) at t = 2",)
    komo = problem(Sequence(P, Q), initial=np.zeros((T, 3)))
    (turns,) = komo.choices
    assert len(turns) == 21
    path = np.zeros((T, 3))
    path[1, 0] = path[4, 1] = 0.499
    komo.initialize(path)
    near = resolve_alternatives(komo.spec)
    assert len(near) == 8
    assert near[0].alternatives == (
        "Beyond(0) at t = 0.666667, Beyond(1) at t = 1.66667",
    )
    komo.initialize(0 * path)
    assert resolve_alternatives(komo.spec)[0].alternatives == (turns[0].name,)


def test_trying_ways_compiles_nothing_anew(caplog):
    problem(Eventually(P)).solve(progress=False)
    with jax.log_compiles():
        solution = problem(Eventually(Q, [0.3, 1.3])).solve(progress=False)
    assert solution.feasible
    assert not [r for r in caplog.records if "Finished XLA" in r.getMessage()]


def test_other_methods_take_the_first_way():
    komo = problem(Eventually(P))
    assert komo.add(Always(Q))
    assert komo.add(Eventually(R)) == ()
    assert "2 choices" in repr(komo)
    nlp = komo.nlp()
    rows = sum(t is OT.ineq for t in nlp.types)
    assert rows == T + 2
    (solution,) = komo.solve_all(progress=False)
    assert solution.alternatives == ("Beyond(0) at t = 2", "Beyond(2) at t = 2")


WRONG = [
    (lambda k: k.add(Always(P, [5, 6])), ["Always", "select no slice", "0.333"]),
    (lambda k: k.add(Eventually(P, [1, 2]), times=[1]), ["itself has times"]),
    (lambda k: k.add(~Until(P, Q)), ["only be checked"]),
    (
        lambda k: k.add(Always(Eventually(P))),
        ["Eventually(Beyond(0))", "part of another"],
    ),
    (lambda k: k.add(Eventually(Until(P, Q) & R)), ["Until", "part of another"]),
]


@pytest.mark.parametrize("make, words", WRONG)
def test_bad_input_is_told(make, words):
    with pytest.raises(pw.PosewiseError) as error:
        make(problem())
    assert all(word in str(error.value) for word in words), str(error.value)


def test_times_of_a_formula_may_be_those_it_is_added_on():
    komo = problem()
    komo.add(Until(~P, Q), times=[1, 2])
    solution = komo.solve(progress=False)
    assert replace(Until(~P, Q), times=[1, 2]).holds_along(C, solution.path, TIMES)
