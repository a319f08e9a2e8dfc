"""Parameters from examples: thresholds that made the labels are found again."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.predicate_scenes import at

import posewise as pw
from posewise import logic


def scenes(count: int, seed: int = 0) -> list[pw.Config]:
    """Two boxes of different sizes, and a robot's base; at random places."""
    rng, worlds = np.random.default_rng(seed), []
    C = pw.Config()
    for name, size in (("a", [0.1, 0.2, 0.1]), ("b", [0.2, 0.1, 0.1])):
        C.add_object(name, [(pw.Box(size), None)], joint="free")
    C.add_frame("base")
    C.annotations.add_agent("robot", base="base")
    for _ in range(count):
        C = C.copy()
        tilted = [np.cos(half := rng.uniform(0, 0.5)), np.sin(half), 0, 0]
        C.set_joint("a", [0, 0, 0, *tilted])
        C.set_joint("b", at(0.15 + rng.uniform(0, 0.4), 0, 0))
        worlds.append(C)
    return worlds


CASES = {
    "nearness": (logic.NextTo("a", "b"), {"nearness": 1.2}, 0.1),
    "reach": (logic.InReachOfAgent("b", "robot"), {"reach": 0.35}, 0.02),
    "tilt": (logic.Upright("a"), {"tilt": 0.6}, 0.05),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "case, wrong",
    [
        pytest.param("nearness", 0, marks=pytest.mark.slow),
        pytest.param("reach", 0, marks=pytest.mark.slow),
        ("tilt", 0),
        pytest.param("reach", 2, marks=pytest.mark.slow),
    ],
)
def test_the_threshold_is_found_again(case, wrong):
    predicate, values, tolerance = CASES[case]
    examples = scenes(24)
    truth = replace(predicate, **values)
    labels = np.array([truth.holds(C) for C in examples])
    assert 4 <= labels.sum() <= 20
    labels[:wrong] = ~labels[:wrong]
    fitted = logic.fit(predicate, examples, labels)
    (name,) = values
    assert fitted.parameters.keys() == values.keys()
    if not wrong:
        assert abs(fitted.parameters[name] - values[name]) < tolerance
        assert fitted.mistakes == ()
        assert ((fitted.margins > 0) == labels).all()
    assert len(fitted.mistakes) <= 2 * wrong
    assert f"{name} = " in str(fitted)
    fresh = scenes(12, seed=1)
    agree = [fitted.predicate.holds(C) == truth.holds(C) for C in fresh]
    assert np.mean(agree) >= 0.75


ERRORS = [
    (lambda C: logic.fit(logic.NextTo("a", "b"), C, [True] * 3), "all labels are True"),
    (lambda C: logic.fit(logic.NextTo("a", "b"), C, [True]), "each of the 3 scenes"),
    (lambda C: logic.fit(logic.NextTo("a", "b"), [3], [True]), "scenes.0. is 3"),
    (lambda C: logic.fit(~logic.NextTo("a", "b"), C, [1, 0, 1]), "and no formula"),
    (
        lambda C: logic.fit(logic.Under("a", "b"), C, [1, 0, 1]),
        "no positive number to fit",
    ),
    (
        lambda C: logic.fit(logic.NextTo("a", "b"), C, [1, 0, 1], ["neerness"]),
        "did you mean 'nearness'",
    ),
    (lambda C: logic.NextTo("a", "b", nearness=0), "nearness is 0"),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_mistakes_are_explained(call, message):
    with pytest.raises(logic.PredicateError, match=message):
        call(scenes(3))


def test_examples_that_tell_nothing_are_warned_of():
    """The same world ten times, as without `C.copy()`."""
    examples = scenes(1) * 10
    with pytest.warns(pw.ProblemWarning, match=r"wrong in 5 of 10 scenes, no better"):
        fitted = logic.fit(logic.Upright("a"), examples, [True, False] * 5)
    assert len(fitted.mistakes) == 5


@pytest.mark.sampled
@pytest.mark.parametrize("tilt", [1, np.float32(0.5)])
def test_any_number_is_a_parameter(tilt):
    """Three scenes below and three above a threshold of 0.3."""
    worlds = []
    for half in (0.05, 0.1, 0.13, 0.17, 0.2, 0.25):
        (C,) = scenes(1)
        C.set_joint("a", [0, 0, 0, np.cos(half), np.sin(half), 0, 0])
        worlds.append(C)
    fitted = logic.fit(logic.Upright("a", tilt=tilt), worlds, [True] * 3 + [False] * 3)
    assert 0.26 < fitted.parameters["tilt"] < 0.34 and not fitted.mistakes


@pytest.mark.parametrize(
    ("predicate", "worlds", "labels", "parameters", "message"),
    [
        (logic.Upright("a"), None, [True], None, "scenes is None, expected a list"),
        (logic.Upright("a"), [], [], None, r"scenes is \[\], expected a list"),
        (logic.Upright("a"), 2, [True, "no"], None, "labels is .*True or False"),
        (logic.Upright("a"), 2, [True, [1, 0]], None, "labels is .*True or False"),
        (
            logic.Upright("a"),
            2,
            [1, 0],
            "tilt",
            "parameters is 'tilt', expected a list",
        ),
        (logic.Upright("a"), 2, [1, 0], 3, "parameters is 3, expected a list"),
        (logic.Upright, 2, [1, 0], None, "expected one predicate with parameters"),
        (logic.OnTopOf("a", "b"), 2, [1, 0], None, "OnTopOf has no positive number"),
    ],
)
def test_arguments_are_named(predicate, worlds, labels, parameters, message):
    examples = scenes(worlds) if isinstance(worlds, int) else worlds
    with pytest.raises(logic.PredicateError, match=message):
        logic.fit(predicate, examples, labels, parameters)
