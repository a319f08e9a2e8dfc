"""Fingerprints are equal exactly for equal values."""

import functools
import sys
from dataclasses import dataclass
from enum import Enum

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise.compilation.fingerprint import NotFingerprintable, fingerprint


def as_posewise(fn):
    """Return the function as if a function of posewise had made it."""
    fn.__module__ = "posewise.inner"
    return fn


def scaled(by, extra=None):
    return as_posewise(lambda x: x * by if extra is None else x + extra)


def pair():
    return as_posewise(lambda x: x + 1), as_posewise(lambda x: x + 2)


def recursive(last):
    def down(n):
        return n if n <= last else down(n - 1)

    return as_posewise(down)


@dataclass(frozen=True)
class Point:
    x: float
    y: object = None


class Colour(Enum):
    RED = 1
    BLUE = 2


Point.__module__ = Colour.__module__ = "numpy"
sys.modules["numpy"].Point, sys.modules["numpy"].Colour = Point, Colour

EXAMPLES = {
    "numbers": [lambda: 1, lambda: 1.0, lambda: True, lambda: "1", lambda: None],
    "texts": [lambda: ("ab", "c"), lambda: ("a", "bc"), lambda: ["ab", "c"]],
    "arrays": [
        lambda: np.arange(3),
        lambda: np.arange(3.0),
        lambda: np.arange(3)[:, None],
        lambda: np.array([0, 1, 3]),
        lambda: jnp.arange(4.0),
    ],
    "containers": [
        lambda: {"a": 1, "b": 2},
        lambda: {"a": 2, "b": 1},
        lambda: {"b": 2, "a": 1},
        lambda: ("a", "b", 1, 2),
        lambda: slice(0, 4),
        lambda: frozenset("abc"),
    ],
    "dataclasses": [
        lambda: Point(1.0),
        lambda: Point(2.0),
        lambda: Point(1.0, Point(1.0)),
        lambda: Colour.RED,
        lambda: Colour.BLUE,
    ],
    "functions": [
        lambda: scaled(2.0),
        lambda: scaled(3.0),
        lambda: scaled(2.0, np.ones(2)),
        lambda: scaled(2.0, np.zeros(2)),
        lambda: pair()[0],
        lambda: pair()[1],
        lambda: recursive(3),
        lambda: recursive(4),
        lambda: jnp.sin,
        lambda: functools.partial(jnp.sum, axis=0),
        lambda: functools.partial(jnp.sum, axis=1),
        lambda: fingerprint,
    ],
    "structures": [
        lambda: jax.tree.structure({"a": 1, "b": (2, 3)}),
        lambda: jax.tree.structure({"a": 1, "c": (2, 3)}),
        lambda: jax.tree.structure({"a": 1, "b": [2, 3]}),
        lambda: jax.tree.structure({"a": 1, "b": [2, 3, None]}),
    ],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_fingerprints_are_equal_exactly_for_equal_values(name):
    first = [fingerprint(make()) for make in EXAMPLES[name]]
    assert first == [fingerprint(make()) for make in EXAMPLES[name]]
    assert len(set(first)) == len(first)


def test_fingerprint_of_shared_and_equal_components():
    one = (1.5, np.arange(3))
    assert fingerprint((one, one)) == fingerprint((one, (1.5, np.arange(3))))


class Unknown:
    pass


UNKNOWN = {
    "a user's function": lambda x: x,
    "a user's function in a partial one": functools.partial(lambda x: x, 1),
    "an object": Unknown(),
    "a class of a user": Unknown,
    "a list of objects": np.array([None, 1], object),
    "a set of tuples": frozenset([(1, 2)]),
    "a closure that holds an object": scaled(Unknown()),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_fingerprint_of_unknown_values_raises(name):
    with pytest.raises(NotFingerprintable):
        fingerprint({"some": (UNKNOWN[name],)})
