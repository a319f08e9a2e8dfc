"""Connectives and quantifiers: truth, normal forms, how they read, bad input."""

import itertools
from functools import partial

import numpy as np
import pytest
from helpers.scripted_predicates import Is, random_formula, sliders, truth

import posewise as pw
from posewise import logic
from posewise.logic import (
    And,
    AtLeast,
    Exists,
    ForAll,
    ForN,
    ForNPairs,
    ForPairs,
    Implies,
    Not,
    Or,
)

N = 5
C = sliders(N)
WORLDS = [np.array(bits, float) for bits in itertools.product([0, 1], repeat=N)]
A, B, D = Is(0), Is(1), Is(2)


def holds(formula: logic.Predicate, q) -> bool:
    C.q = q
    return formula.holds(C)


def equal(one: logic.Predicate, other: logic.Predicate) -> bool:
    return all(holds(one, q) == holds(other, q) for q in WORLDS)


@pytest.mark.parametrize("seed", range(60))
def test_truth_normal_forms_and_negation_of_random_trees(seed):
    rng = np.random.default_rng(seed)
    formula = random_formula(rng, N, 4)
    negated, normal = formula.nnf(negate=True), formula.nnf()
    grounded = formula.ground(C)
    for q in WORLDS[:: 1 + seed % 3]:
        expected = truth(formula, q)
        assert holds(formula, q) is expected
        assert holds(normal, q) is expected
        assert holds(grounded, q) is expected
        assert holds(negated, q) is not expected
        assert holds(~formula, q) is not expected
    for tree in (normal, negated):
        for node in nodes(tree):
            assert isinstance(node, Is | And | Or | AtLeast | Not)
            assert not isinstance(node, Not) or isinstance(node.part, Is)
    assert not any(isinstance(node, Implies) for node in nodes(grounded))
    assert formula.explain(C) and hash(formula) == hash(random_again(seed))


def random_again(seed: int) -> logic.Predicate:
    return random_formula(np.random.default_rng(seed), N, 4)


def nodes(formula: logic.Predicate):
    yield formula
    for part in getattr(formula, "parts", ()):
        yield from nodes(part)


@pytest.mark.parametrize(
    "one, other",
    [
        (~(A & B), ~A | ~B),
        (~(A | B), ~A & ~B),
        (A & (B | D), (A & B) | (A & D)),
        (A | (B & D), (A | B) & (A | D)),
        (Implies(A, B), ~A | B),
        (Implies(A, B), Implies(~B, ~A)),
        (~Implies(A, B), A & ~B),
        (AtLeast(1, A, B, D), A | B | D),
        (AtLeast(3, A, B, D), A & B & D),
        (AtLeast(2, A, B, D), (A & B) | (A & D) | (B & D)),
        (~AtLeast(2, A, B, D), AtLeast(2, ~A, ~B, ~D)),
        (AtLeast(0, A), And()),
        (AtLeast(2, A), Or()),
        (~And(), Or()),
    ],
)
def test_identities(one, other):
    assert equal(one, other)
    assert equal(one.nnf(), other.nnf())


def test_operators_flatten_and_cancel():
    assert (A & B) & D == A & (B & D) == And(A, B, D)
    assert (A | B) | D == A | (B | D) == Or(A, B, D)
    assert ~~A is A
    assert (~(A & B)).part == A & B
    assert A & (B | D) == And(A, Or(B, D))
    assert {A & B: 1}[And(Is(0), Is(1))] == 1


ON = logic.OnTopOf("mug", "table")
IN = logic.InsideOf("mug", "box", semantics="igibson")


@pytest.mark.parametrize(
    "formula, text",
    [
        (~ON, "~OnTopOf('mug', 'table')"),
        (
            ON & IN,
            "OnTopOf('mug', 'table') & InsideOf('mug', 'box', semantics='igibson')",
        ),
        ((A | B) & ~(D & A), "(Is(0, ()) | Is(1, ())) & ~(Is(2, ()) & Is(0, ()))"),
        (And(), "And()"),
        (Or(ON), "Or(OnTopOf('mug', 'table'))"),
        (
            Implies(ON, ~ON),
            "Implies(OnTopOf('mug', 'table'), ~OnTopOf('mug', 'table'))",
        ),
        (
            AtLeast(2, ON, ON),
            "AtLeast(2, OnTopOf('mug', 'table'), OnTopOf('mug', 'table'))",
        ),
        (
            ForAll("mug.n.04", lambda m: Exists(["t"], lambda b: logic.Under(m, b))),
            "ForAll('mug.n.04', lambda m: Exists(('t',), lambda b: Under(m, b)))",
        ),
        (ForN(2, ["a"], logic.Open), "ForN(2, ('a',), lambda a: Open(a))"),
        (
            ForNPairs(1, "x", "y", lambda x, y: logic.NextTo(x, y)),
            "ForNPairs(1, 'x', 'y', lambda x, y: NextTo(x, y))",
        ),
        (ForAll(["a"], lambda a: And(a)), "ForAll(('a',), ...)"),
    ],
)
def test_they_read_well(formula, text):
    assert repr(formula) == text


@pytest.mark.parametrize(
    "formula, q, text",
    [
        (A & B & D, [1, 0, 1], "1 of 3 parts does not hold: Slider 1 is 0."),
        (
            A & B & D,
            [1, 0, 0],
            "2 of 3 parts do not hold: (1) Slider 1 is 0. (2) Slider 2 is 0.",
        ),
        (A & B, [1, 1, 0], "2 of 2 parts hold: (1) Slider 0 is 1. (2) Slider 1 is 1."),
        (
            A | B,
            [0, 0, 0],
            "2 of 2 parts do not hold: (1) Slider 0 is 0. (2) Slider 1 is 0.",
        ),
        (A | B, [0, 1, 0], "1 of 2 parts holds: Slider 1 is 1."),
        (And(A), [0, 0, 0], "Slider 0 is 0."),
        (And(), [0, 0, 0], "There is no part: this always holds."),
        (~A, [1, 0, 0], "Is(0, ()) holds and should not: Slider 0 is 1."),
        (~A, [0, 0, 0], "Is(0, ()) does not hold, rightly: Slider 0 is 0."),
        (Implies(A, B), [0, 0, 0], "The premise does not hold: Slider 0 is 0."),
        (
            Implies(A, B),
            [1, 0, 0],
            "The premise holds: Slider 0 is 1. The conclusion does not: Slider 1 is 0.",
        ),
        (
            AtLeast(2, A, B, D),
            [1, 0, 0],
            "2 of 3 parts do not hold (at least 2"
            " should): (1) Slider 1 is 0. (2) Slider 2 is 0.",
        ),
    ],
)
def test_reasons(formula, q, text):
    C.q = [*q, 0, 0]
    assert formula.explain(C) == text


# -- quantifiers -------------------------------------------------------------------

CATEGORIES = {"mug": ["m0", "m1", "m2"], "box": ["b0", "b1"], "lid": ["l0"]}
W = sliders(9, CATEGORIES)


def one(name: str) -> Is:
    """m0, m1, m2 are coordinates 0, 1, 2."""
    return Is(int(name[1]), (name,))


def two(m: str, b: str) -> Is:
    """A coordinate for each pair of different names."""
    return Is((3 * int(m[1]) + int(b[1])) % 9, (m, b))


@pytest.mark.parametrize(
    "q", [np.array([*bits, *[0] * 6], float) for bits in np.ndindex(2, 2, 2)]
)
def test_quantifiers_over_a_category(q):
    W.q = q
    count = int(q.sum())
    for domain in ("mug", ["m0", "m1", "m2"], ("m2", "m0", "m1")):
        cases = [
            (ForAll(domain, one), count == 3),
            (Exists(domain, one), count > 0),
            *((ForN(n, domain, one), count == n) for n in range(5)),
        ]
        for formula, expected in cases:
            assert formula.holds(W) is expected
            assert formula.ground(W).holds(W) is expected
            assert formula.ground(W).nnf(negate=True).holds(W) is not expected
            assert formula.explain(W)


def rule_of_pairs(rows: list[list[bool]], n: int | None) -> bool:
    """BDDL's rule, word by word."""
    values = np.array(rows, bool).reshape(len(rows), -1)
    least = min(values.shape) if n is None else n
    return bool(values.any(axis=1).sum() >= least and values.any(axis=0).sum() >= least)


@pytest.mark.parametrize("seed", range(40))
def test_pairs_by_the_rule(seed):
    rng = np.random.default_rng(seed)
    W.q = q = (rng.random(9) < rng.choice([0.2, 0.4, 0.7])).astype(float)
    mugs, boxes = CATEGORIES["mug"], CATEGORIES["box"]
    for first, second, a, b in (
        ("mug", "box", mugs, boxes),
        (boxes, "mug", boxes, mugs),
        ("mug", "mug", mugs, mugs),
        ("mug", [], mugs, []),
        ("lid", "lid", ["l0"], ["l0"]),
    ):
        rows = [[bool(q[two(x, y).k]) for y in b if y != x] for x in a]
        for n in (None, 0, 1, 2, 3):
            for semantics in ("posewise", "igibson"):
                formula = ForPairs(first, second, two, semantics=semantics)
                if n is not None:
                    formula = ForNPairs(n, first, second, two, semantics=semantics)
                if semantics == "igibson":
                    expected = rule_of_pairs(rows, n)
                else:
                    most = min(len(a), len(b)) - (a == b)
                    size = most if n is None else n
                    expected = any_disjoint(a, b, size, lambda x, y: q[two(x, y).k])
                assert formula.holds(W) is expected
                assert formula.ground(W).holds(W) is expected
                assert formula.ground(W).nnf().holds(W) is expected
                assert formula.ground(W).nnf(negate=True).holds(W) is not expected
                assert formula.explain(W)


def any_disjoint(a: list[str], b: list[str], n: int, holds) -> bool:
    """Try all choices of n pairs without a common name on one side."""
    return any(
        all(x != y and holds(x, y) for x, y in zip(rows, columns, strict=True))
        for rows in itertools.combinations(a, n)
        for columns in itertools.permutations(b, n)
    )


def test_two_glasses_on_one_coaster_are_no_pairs():
    """The third glass stands across the two other coasters."""
    names = ["m0", "m1", "m2"], ["b0", "b1", "b2"]
    W.q = [1, 0, 0, 1, 0, 0, 0, 1, 1]
    assert not ForPairs(*names, two).holds(W)
    assert ForPairs(*names, two, semantics="igibson").holds(W)
    assert (
        ForPairs(*names, two)
        .explain(W)
        .startswith(
            "Pairs that hold and share no partner: m0 and b0, m2 and b1 (3 should). m1"
            " and b1: Slider 4 is 0."
        )
    )


def test_a_cross_passes_for_pairs():
    """Weaker than a matching: m1 and b1 share all pairs, but every row has one."""
    names = ["m0", "m1", "m2"], ["b0", "b1", "b2"]
    W.q = [0, 1, 0, 1, 1, 1, 0, 1, 0]
    assert ForPairs(*names, two, semantics="igibson").holds(W)
    W.q = [0, 1, 0, 0, 1, 0, 0, 1, 0]
    assert not ForPairs(*names, two, semantics="igibson").holds(W)
    assert ForPairs(*names, two, semantics="igibson").explain(W) == (
        "3 of 3 rows and 1 of 3 columns have a pair that holds (at least 3 of each"
        " should); e.g. none of these: m0 and b0: Slider 0 is 0. m1 and b0: Slider 3 is"
        " 0. m2 and b0: Slider 6 is 0."
    )


@pytest.mark.parametrize("formula", [Or, partial(AtLeast, 1)])
def test_one_of_several_contacts_needs_hardly_any_overlap(formula):
    """Less than the 1 mm by which a solver lets bodies overlap."""
    scene = pw.Config()
    names = ["low", "high"]
    for k, name in enumerate(names):
        scene.add_frame(name, position=[k, 0, 0.1 * k], shape=pw.Box([0.4, 0.4, 0.04]))
    scene.add_frame("item", joint="free", shape=pw.Box([0.1, 0.1, 0.1]))
    on_one = formula(*(logic.OnTopOf("item", name) for name in names))
    for k in range(len(names)):
        scene.set_pose("item", [k, 0, 0.1 * k + 0.07 - 3e-4, 1, 0, 0, 0])
        assert on_one.violation(scene) < 0


def test_quantifiers_nest_and_explain():
    W.q = [1, 0, 1, 0, 0, 0, 0, 0, 0]
    every = ForAll("mug", lambda m: Exists("box", lambda b: two(m, b)))
    assert every.holds(W) is False
    assert every.explain(W) == (
        "2 of 3 cases do not hold: (1) m1: 2 of 2 cases do not hold: (1) b0: Slider 3"
        " is 0. (2) b1: Slider 4 is 0. (2) m2: 2 of 2 cases do not hold: (1) b0: Slider"
        " 6 is 0. (2) b1: Slider 7 is 0."
    )
    assert ForN(1, "mug", one).explain(W) == (
        "2 of 3 cases hold (exactly 1 should hold): (1) m0: Slider 0 is 1. (2) m2:"
        " Slider 2 is 1."
    )
    pairs = ForPairs("mug", "box", two)
    assert pairs.explain(W) == (
        "Pairs that hold and share no partner: m0 and b0 (2 should). m1 and b0: Slider"
        " 3 is 0. m1 and b1: Slider 4 is 0. m2 and b0: Slider 6 is 0. m2 and b1: Slider"
        " 7 is 0."
    )


def test_ground_trees_hold_what_a_fold_needs():
    grounded = (
        ForN(1, "mug", one) & ForPairs("mug", "box", two, semantics="igibson")
    ).ground(W)
    kinds = {type(node) for node in nodes(grounded)}
    assert kinds == {And, Or, Not, AtLeast, Is}
    assert [leaf.names for leaf in logic.leaves(grounded)][:3] == [
        ("m0",),
        ("m1",),
        ("m2",),
    ]
    assert ForAll("mug", one).ground(W) == And(*map(one, CATEGORIES["mug"]))


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: And(A, 3), ["And", "3", "no predicate"]),
        (lambda: Not("p"), ["Not", "'p'"]),
        (lambda: Implies(A, True), ["Implies", "True"]),
        (lambda: AtLeast(-1, A), ["AtLeast: n is -1", "whole number"]),
        (lambda: AtLeast(1.5, A), ["1.5"]),
        (lambda: bool(A), ["holds(C)", "&"]),
        (lambda: A and B, ["instead of and"]),
        (lambda: ForN("2", "mug", one), ["ForN: n is '2'"]),
        (lambda: ForAll("mug", A), ["body", "function of names"]),
        (lambda: ForAll("", one), ["domain is ''", "category"]),
        (lambda: ForAll(3, one), ["domain is 3"]),
        (lambda: ForAll([1, 2], one), ["domain is [1, 2]"]),
        (lambda: ForAll(["a", "a"], one), ["different names"]),
        (lambda: ForAll("mugg", one).holds(W), ["'mugg'", "'mug'", "list of names"]),
        (lambda: ForAll("mug", lambda m: True).holds(W), ["body('m0')", "True"]),
        (lambda: ForAll("mug", one).nnf(), ["ground(C).nnf()"]),
        (
            lambda: ForPairs(
                ["m0", "b0"], ["b0", "b1"], two, semantics="igibson"
            ).holds(W),
            ["b0", "both domains"],
        ),
    ],
)
def test_bad_input_is_told(make, words):
    with pytest.raises(pw.PosewiseError) as error:
        make()
    assert all(word in str(error.value) for word in words), str(error.value)
