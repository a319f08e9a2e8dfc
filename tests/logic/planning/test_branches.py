"""Ways to make a formula true: complete, sound, lazy, the cheapest first; placement."""

from dataclasses import dataclass
from itertools import islice, product
from time import perf_counter

import numpy as np
import pytest
from helpers.scripted_predicates import Is, random_formula, sliders, truth

import posewise as pw
from posewise import FS, OT, Feature, logic
from posewise.logic.planning.dnf_search import object_names

A, B, C, D = (Is(k) for k in range(4))


def ways(formula, q=(0, 0, 0, 0), n=100):
    world = sliders(4)
    world.q = np.array(q, float)
    return [
        (set(branch.literals), branch.cost)
        for branch in islice(logic.branches(formula, world), n)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_branches_together_say_what_the_formula_says(seed):
    rng, world = np.random.default_rng(seed), sliders(5)
    for _ in range(20):
        formula = random_formula(rng, 5, 3)
        alternatives = list(islice(logic.branches(formula, world), 2000))
        assert len(alternatives) < 2000
        for q in product((0, 1), repeat=5):
            some = any(all(truth(p, q) for p in b.literals) for b in alternatives)
            assert some == truth(formula, q), (formula, q)


@pytest.mark.parametrize(
    "formula, expected",
    [
        (logic.And(), [(set(), 0)]),
        (logic.Or(), []),
        (A & ~A, []),
        (A & B, [({A, B}, 2)]),
        (A | B, [({A}, 1), ({B}, 1)]),
        (~(A | B), [({~A, ~B}, 0)]),
        ((A & B) | C, [({C}, 1), ({A, B}, 2)]),
        # what is chosen already makes the other part true
        (A & (A | B), [({A}, 1)]),
        # or impossible
        (~A & (A | B), [({~A, B}, 1)]),
        (logic.AtLeast(2, A, B, C), [({A, B}, 2), ({A, C}, 2), ({B, C}, 2)]),
        (logic.Implies(A, B), [({~A}, 0), ({B}, 1)]),
    ],
)
def test_branches_in_order(formula, expected):
    assert ways(formula) == expected


def test_what_holds_already_comes_first():
    assert ways(A | B | C, q=(0, 0, 1, 0))[0] == ({C}, 0)
    assert ways((A & B) | (C & D), q=(0, 0, 1, 0)) == [({C, D}, 1), ({A, B}, 2)]


def test_things_are_paired_off_and_nearer_ones_first():
    world = pw.Config()
    for k in range(6):
        for kind, y in (("box", 0.0), ("ball", 1.0)):
            place = [k + 0.3 * (kind == "ball"), y, 0.0]
            world.add_frame(f"{kind}{k}", position=place, shape=pw.Box([0.1] * 3))
    boxes, balls = ([f"{kind}{k}" for k in range(6)] for kind in ("box", "ball"))
    inside = lambda box, ball: logic.InsideOf(ball, box)
    begin = perf_counter()
    first = next(logic.branches(logic.ForPairs(boxes, balls, inside), world))
    # all assignments together would take hours
    assert perf_counter() - begin < 60.0
    pairs = [object_names(p) for p in first.literals]
    assert sorted(pairs) == [(f"ball{k}", f"box{k}") for k in range(6)]
    assert first.cost == 6


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(4))
def test_branches_of_pairs_together_say_what_they_say(seed):
    rng, world = np.random.default_rng(seed), sliders(6)
    for rows, columns, n in (("012", "01", 2), ("01", "012", 2), ("012", "01", 1)):
        pairs = disjoint_pairs(rows, columns, n)
        formula = pairs & random_formula(rng, 6, 1)
        for either in (formula, logic.Or(formula, Is(0)), ~pairs):
            alternatives = list(islice(logic.branches(either, world), 2000))
            for q in product((0, 1), repeat=6):
                world.q = np.array(q, float)
                some = any(all(truth(p, q) for p in b.literals) for b in alternatives)
                assert some == either.holds(world), (either, q)
            world.q = np.zeros(6)


def disjoint_pairs(rows: str, columns: str, n: int) -> logic.Predicate:
    """Pairs of the digits of rows and columns; slider by slider, row by row."""
    names, width = [f"c{k}" for k in columns], len(columns)
    pair = lambda a, b: Is(width * int(a) + int(b[1:]))
    return logic.ForNPairs(n, [*rows], names, pair)


def test_alternatives_without_end_cost_nothing_before_they_are_asked_for():
    world = sliders(40)
    many = logic.And(
        *(logic.Or(*(Is((k + j) % 40) for j in range(10))) for k in range(0, 40, 8))
    )
    alternatives = list(islice(logic.branches(many, world), 20))
    assert len({b.literals for b in alternatives}) == 20


def test_text_and_errors():
    branch = next(logic.branches(logic.InsideOf("a", "b") & ~logic.Open("c"), door()))
    assert str(branch) == "InsideOf('a', 'b') & ~Open('c')"
    assert str(next(logic.branches(logic.And(), sliders(1)))) == "nothing"
    with pytest.raises(logic.PredicateError, match="formula is 3, expected a pred"):
        next(logic.branches(3, sliders(1)))
    with pytest.raises(logic.PredicateError, match="is about a path"):
        next(logic.branches(logic.Always(A, [0, 1]), sliders(4)))


def door() -> pw.Config:
    world = pw.Config()
    for name in "abc":
        world.add_object(name, [(pw.Box([0.1] * 3), None)])
    return world


@dataclass(frozen=True)
class At(logic.Predicate):
    """A frame is within 1 cm of a height [m]."""

    frame: str
    height: float

    def holds(self, C):
        return bool(abs(C.pose(self.frame)[2] - self.height) < 0.01)

    def explain(self, C):
        return f"{self.frame} is at {C.pose(self.frame)[2]:g} m."

    def objectives(self, C, interval):
        target = [0, 0, self.height]
        row = Feature(FS.position, [self.frame], scale=[[0, 0, 1]], target=target)
        yield row, OT.eq, interval.slices


def test_placement_tries_branches_until_one_holds():
    """At two heights at once is impossible; the tray stands still."""
    world = pw.Config()
    world.add_frame("cup", joint="free")
    world.add_frame("tray", position=[0, 0, 0.5])
    low, middle, high = (At("cup", z) for z in (0.1, 0.2, 0.3))
    solve = lambda formula, **options: logic.solve_branches(
        world, formula, "cup", starts=1, collisions=False, **options
    )
    last = high & At("cup", 0.3001)
    won = solve((low & middle) | (At("tray", 0.4) & low) | (At("tray", 0.5) & last))
    assert won.feasible and won.branches_tried == 3
    assert str(won.branch) == "At('tray', 0.5) & At('cup', 0.3) & At('cup', 0.3001)"
    np.testing.assert_allclose(won.placement.poses["cup"][2], 0.3, atol=1e-3)
    stuck = solve(low & middle)
    assert not stuck.feasible and stuck.branch is None and stuck.branches_tried == 1
    assert world.pose("cup")[2] == 0
    with pytest.raises(logic.PredicateError, match="limit is 0, expected an integer"):
        solve(low, limit=0)
