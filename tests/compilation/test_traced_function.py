"""Traces are equal exactly for functions that compute the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise.compilation.fingerprint import NotFingerprintable, fingerprint
from posewise.compilation.traced_function import trace_function

NUMBERS = np.array([1.0, 2.0, 3.0])
FACTOR = {"value": 2.0}
X = jax.ShapeDtypeStruct((3,), float)


@jax.custom_jvp
def scaled_slope(x):
    return x


scaled_slope.defjvp(lambda x, dx: (x[0], FACTOR["value"] * dx[0]))


@jax.custom_vjp
def scaled_pull(x):
    return x


scaled_pull.defvjp(lambda x: (x, None), lambda _, dy: (FACTOR["value"] * dy,))


def on_the_host(x):
    return np.asarray(x) * FACTOR["value"]


def called(fn):
    return lambda x: jax.pure_callback(fn, X, x)


def looped(x):
    return jax.lax.scan(lambda c, a: (c + a * FACTOR["value"], None), x, x)[0]


def printed(x):
    jax.debug.print("{}", x)
    return x


DIFFERENT = {
    "a number": lambda x: x * 2.0,
    "another number": lambda x: x * 3.0,
    "a small difference": lambda x: x * np.nextafter(2.0, 3.0),
    "an array": lambda x: x * np.arange(3.0),
    "another array": lambda x: x * np.arange(3.0, 6.0),
    "a long array": lambda x: jnp.sum(np.ones((3000, 3)) * x, 0),
    "another long array": lambda x: jnp.sum(
        np.r_[np.ones((2999, 3)), NUMBERS[None]] * x, 0
    ),
    "the order": lambda x: x[0] - x[1:],
    "another order": lambda x: x[1] - x[1:],
    "a library's rule": lambda x: jax.nn.relu(x),
    "another rule": lambda x: jnp.maximum(x, 0),
    "a loop": looped,
    "a random key": lambda x: x * jax.random.normal(jax.random.key(0), (3,)),
    "another key": lambda x: x * jax.random.normal(jax.random.key(1), (3,)),
    "print": printed,
    "a constant": lambda x: NUMBERS,
}


def test_equal_functions_have_equal_traces_and_others_have_not():
    traces = [trace_function(fn, X) for fn in DIFFERENT.values()]
    assert len(set(traces)) == len({fingerprint(t) for t in traces}) == len(DIFFERENT)
    for fn, trace in zip(DIFFERENT.values(), traces, strict=True):
        again = trace_function(lambda x, fn=fn: fn(x), X)
        assert again == trace and fingerprint(again) == fingerprint(trace)
        np.testing.assert_array_equal(again(NUMBERS), jnp.atleast_1d(fn(NUMBERS)))


@pytest.mark.parametrize("fn", [looped, scaled_slope, scaled_pull])
def test_what_a_function_reads_is_part_of_its_trace(fn, monkeypatch):
    before = trace_function(fn, X)
    monkeypatch.setitem(FACTOR, "value", 5.0)
    after = trace_function(fn, X)
    assert before != after
    monkeypatch.undo()
    assert trace_function(fn, X) == before


def test_matrices_are_multiplied_in_full_precision():
    trace = trace_function(lambda x: jnp.outer(x, x) @ x, X)
    np.testing.assert_allclose(trace(NUMBERS), 14 * NUMBERS)


def test_arrays_that_change_in_place_are_copied():
    numbers = NUMBERS.copy()
    before = trace_function(lambda x: x + numbers, X)
    numbers[:] = 7.0
    np.testing.assert_array_equal(before(NUMBERS), 2 * NUMBERS)
    assert trace_function(lambda x: x + numbers, X) != before


def test_functions_on_the_host_are_told_apart_by_identity():
    trace = trace_function(called(on_the_host), X)
    assert trace == trace_function(called(on_the_host), X)
    assert trace != trace_function(called(lambda x: on_the_host(x)), X)
    with pytest.raises(NotFingerprintable, match="on_the_host"):
        fingerprint(trace)
