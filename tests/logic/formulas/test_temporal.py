"""Statements about paths against brute force over all short paths."""

import itertools

import numpy as np
import pytest
from helpers.scripted_predicates import Is, sliders

import posewise as pw
from posewise import logic
from posewise.logic import Always, Eventually, Sequence, Until

C = sliders(3)
P, Q, R = Is(0), Is(1), Is(2)
TIMES = [0.5, 1.0, 1.5, 2.0]
WINDOWS = {
    None: [0, 1, 2, 3],
    (1.0,): [1],
    (1.0, 1.5): [1, 2],
    (0.0, 0.8): [0, 1],
    (1.3, 9.0): [2, 3],
    (-1.0,): [3],
    (1.0, -1.0): [1, 2, 3],
    (0.5, 1.1, 2.0): [0, 1, 3],
}


def paths(columns: int):
    """All paths of four slices with a given number of changing coordinates."""
    every = list(itertools.product([0.0, 1.0], repeat=4 * columns))
    for bits in every[:: 1 + len(every) // 50]:
        path = np.zeros((4, 3))
        path[:, :columns] = np.reshape(bits, (4, columns))
        yield path


def until(path, slices) -> bool:
    return any(path[k, 1] and all(path[j, 0] for j in slices if j < k) for k in slices)


def in_turn(path, slices) -> bool:
    triples = itertools.combinations_with_replacement(slices, 3)
    return any(all(path[k, i] for i, k in enumerate(ks)) for ks in triples)


CASES = [
    (lambda w: Always(P, w), 1, lambda x, ks: all(x[k, 0] for k in ks)),
    (lambda w: Eventually(P, w), 1, lambda x, ks: any(x[k, 0] for k in ks)),
    (lambda w: Until(P, Q, w), 2, until),
    (lambda w: Sequence(P, Q, R, times=w), 3, in_turn),
    (
        lambda w: ~Always(P | Q, w) | Eventually(P & Q, w),
        2,
        lambda x, ks: (
            not all(x[k, 0] or x[k, 1] for k in ks)
            or any(x[k, 0] and x[k, 1] for k in ks)
        ),
    ),
    (
        lambda w: logic.ForN(1, ["0", "1"], lambda n: Eventually(Is(int(n)), w)),
        2,
        lambda x, ks: sum(any(x[k, i] for k in ks) for i in (0, 1)) == 1,
    ),
    (
        lambda w: Always(logic.Exists(["0", "1"], lambda n: Is(int(n))), w),
        2,
        lambda x, ks: all(x[k, 0] or x[k, 1] for k in ks),
    ),
]


@pytest.mark.sampled
@pytest.mark.parametrize("make, columns, expected", CASES)
def test_against_brute_force(make, columns, expected):
    for window, slices in list(WINDOWS.items())[: 8 if columns == 1 else 4]:
        formula = make(window)
        normal = formula.ground(C).nnf()
        negated = formula.ground(C).nnf(negate=True)
        for n, path in enumerate(paths(columns)):
            truth = bool(expected(path, slices))
            assert formula.holds_along(C, path, TIMES) is truth
            if n % 5 == 0:
                assert normal.holds_along(C, path, TIMES) is truth
                assert negated.holds_along(C, path, TIMES) is not truth
                assert formula.explain_along(C, path, TIMES).endswith(".")


def test_windows_select_the_slices_of_komo():
    """The rule of objectives: nearest slice, ties to the later, ends clipped."""
    from posewise.logic.formulas.trajectory import state_trajectory
    from posewise.objectives.terms.objective import select_slices

    rng = np.random.default_rng(0)
    for _ in range(300):
        per_phase, T = int(rng.integers(1, 12)), int(rng.integers(2, 30))
        on = state_trajectory(C, np.zeros((T, 3)), np.arange(1, T + 1) / per_phase)
        count = int(rng.integers(1, 3))
        times = np.sort(rng.uniform(-0.1, 1.1 * T / per_phase, count)).round(2)
        window = tuple(times.tolist())
        try:
            expected = select_slices(list(window), per_phase, T, "x")
        except pw.ObjectiveError:
            with pytest.raises(logic.PredicateError):
                on.select_slices(window, "x")
            continue
        assert on.select_slices(window, "x") == expected, (window, per_phase, T)


def test_the_world_is_left_alone_and_reasons_name_the_time():
    C.q = [0.25, 0, 0]
    path = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 1]], float)
    explain = lambda formula: formula.explain_along(C, path, TIMES)
    assert explain(Always(P)) == "At t = 1.5 (slice 2): Slider 0 is 0."
    assert explain(Always(P, [0, 1])) == (
        "Is(0, ()) holds on the 2 slices from t = 0.5 to 1."
    )
    assert explain(Eventually(R)) == "At t = 2 (slice 3): Slider 2 is 1."
    assert explain(Eventually(R, [1])) == (
        "Is(2, ()) does not hold at t = 1; at t = 1 (slice 1): Slider 2 is 0."
    )
    assert explain(Until(P, Q)) == "At t = 1.5 (slice 2): Slider 1 is 1."
    assert explain(Until(P, R)) == (
        "At t = 1.5 (slice 2): Slider 0 is 0. And not yet: Slider 2 is 0."
    )
    assert explain(Sequence(P, Q, R)) == (
        "Is(0, ()) holds at t = 0.5, then Is(1, ()) holds at t = 1.5, then Is(2, ())"
        " holds at t = 2."
    )
    assert explain(Sequence(R, Q)) == (
        "Part 2 of 2, Is(1, ()), does not hold at t = 2; at t = 2 (slice 3): Slider 1"
        " is 0."
    )
    assert explain(Always(P) & Eventually(Q)) == (
        "1 of 2 parts does not hold: At t = 1.5 (slice 2): Slider 0 is 0."
    )
    assert np.array_equal(C.q, [0.25, 0, 0])


def test_they_read_well_and_compare():
    assert repr(Always(P & Q, [0, 1])) == (
        "Always(Is(0, ()) & Is(1, ()), times=[0.0, 1.0])"
    )
    assert repr(Sequence(P, Q)) == "Sequence(Is(0, ()), Is(1, ()))"
    assert Always(P, [1, 2]) == Always(P, (1.0, 2.0))
    assert len({Until(P, Q), Until(P, Q, None), Until(P, Q, [])}) == 1
    assert (~Always(P, [1])).nnf() == Eventually(~P, [1])
    assert (~Eventually(~P)).nnf() == Always(P)


def test_extended_states_along_a_path():
    """An egg slides over a stove: it is cooked from some step on."""
    W = pw.Config()
    W.add_object(
        "stove",
        [(pw.Box([0.2, 0.2, 0.02]), None)],
        abilities={"heatSource": {"temperature": 500.0, "heating_rate": 1.0}},
    )
    W.add_frame("slide", joint="transX", position=[0, 0, 0.05])
    egg = [(pw.Sphere(0.02), None)]
    W.add_object("egg", egg, parent="slide", abilities={"cookable": {}})
    path = np.linspace(-1, 1, 41)[:, None]
    times = np.arange(41) / 10
    history = logic.rollout(W, path, dt=0.1)
    cooked = logic.Cooked("egg")
    along = cooked.holds_along(W, history)
    assert 0 < along.sum() < 41
    first = times[np.argmax(along)]
    for window in ([0.0, 4.0], [first], [0.0, first - 0.1], [first, 4.0]):
        lo, hi = np.searchsorted(times, [window[0] - 1e-9, window[-1] + 1e-9])
        for formula, expected in (
            (Eventually(cooked, window), along[lo:hi].any()),
            (Always(cooked, window), along[lo:hi].all()),
        ):
            assert formula.holds_along(W, path, times, history) == expected
    near = logic.InReachOfAgent("egg", "stove", reach=0.25)
    assert Until(~cooked, near).holds_along(W, path, times, history)
    assert not Until(cooked, near).holds_along(W, path, times, history)
    assert Sequence(near, cooked, ~near).holds_along(W, path, times, history)
    assert not Sequence(cooked, near, ~cooked).holds_along(W, path, times, history)
    assert W.annotations.states["egg"].max_temperature == -np.inf
    with pytest.raises(logic.PredicateError, match="logic.rollout"):
        Eventually(cooked).holds_along(W, path, times)
    with pytest.raises(logic.PredicateError, match="41 steps, the path has 3"):
        Eventually(cooked).holds_along(W, path[:3], times[:3], history)


GOOD = np.zeros((4, 3))


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Always(P).holds(C), ["Always", "holds_along"]),
        (lambda: Until(P, Q).explain(C), ["Until", "explain_along"]),
        (lambda: (P & Q).holds_along(C, GOOD, TIMES), ["one moment", "Always"]),
        (lambda: (Always(P) & Q).holds_along(C, GOOD, TIMES), ["Is(1, ())"]),
        (
            lambda: Always(Eventually(P)).holds_along(C, GOOD, TIMES),
            ["Eventually is about a path"],
        ),
        (lambda: Always(3), ["Always: 3"]),
        (lambda: Sequence(), ["Sequence", "no parts"]),
        (lambda: Always(P, "now"), ["times", "'now'"]),
        (lambda: Always(P, [2, 1]), ["[2, 1]"]),
        (lambda: Always(P, [np.nan]), ["nan"]),
        (lambda: Always(P, [9.0]).holds_along(C, GOOD, TIMES), ["no slice", "0.5 to"]),
        (lambda: Always(P, [3, 4]).holds_along(C, GOOD, TIMES), ["no slice"]),
        (lambda: Always(P).holds_along(C, GOOD[:, :2], TIMES), ["(4, 2)", "(T, 3)"]),
        (lambda: Always(P).holds_along(C, GOOD * np.nan, TIMES), ["slice 0"]),
        (lambda: Always(P).holds_along(C, GOOD, TIMES[:3]), ["(4,) increasing"]),
        (lambda: Always(P).holds_along(C, GOOD, [1, 2, 2, 3]), ["increasing"]),
        (lambda: Always(P).holds_along(C, "path", TIMES), ["path is 'path'"]),
    ],
)
def test_bad_input_is_told(make, words):
    with pytest.raises(pw.PosewiseError) as error:
        make()
    assert all(word in str(error.value) for word in words), str(error.value)
