"""Shared calls are computed as one batch, with the results of separate calls."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise import collision
from posewise.compilation import shared_calls
from posewise.compilation.plain_jit import uses_plain_jit
from posewise.compilation.shared_calls import SharedFunction, evaluate_together
from posewise.compilation.single_kernel import compile_in_parts

pytestmark = pytest.mark.skipif(uses_plain_jit(), reason="no programs in parts")


@pytest.fixture
def batches():
    """Lengths of the batches for which the shared function is evaluated."""
    return []


@pytest.fixture
def square(batches):
    def fn(x):
        batches.append(len(x))
        return (x * x,)

    def join(calls):
        return (jnp.concatenate([x for (x,) in calls]),)

    return SharedFunction(fn, lambda x: x.dtype.name, join)


def in_loop(square, x):
    return jax.lax.fori_loop(0, 3, lambda _, y: 0.1 * square(y)[0], x)


CASES = {
    "one call each": ([lambda f, x: f(x)[0], lambda f, x: 2 * f(x + 1)[0]], 6),
    "two calls of a part": ([lambda f, x: f(x)[0] + f(2 * x)[0]], 6),
    "a call that depends on another": ([lambda f, x: f(f(x)[0])[0]], 3),
    "a call in a loop": ([in_loop, lambda f, x: f(x)[0]], 3),
    "mapped calls": ([lambda f, x: jax.vmap(lambda x: f(x[None])[0])(x)], None),
    "no call": ([lambda f, x: jnp.sin(x)], None),
}


@pytest.mark.parametrize("functions, joined", CASES.values(), ids=CASES)
def test_results_are_those_of_separate_calls(square, batches, functions, joined):
    x = jnp.array([0.3, -1.0, 2.0])
    parts = [partial(fn, square) for fn in functions]
    expected = [fn(x) for fn in parts]
    batches.clear()

    def program(x):
        return evaluate_together([(fn, (x,)) for fn in parts])

    got = jax.jit(partial(compile_in_parts, program))(x)
    got = [a.unpack() for a in got]
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert joined is None or joined in batches


def boxes(rng, n, size):
    R, _ = np.linalg.qr(rng.normal(size=(n, 3, 3)))
    R[:, :, 0] *= np.linalg.det(R)[:, None]
    half, radius = np.full((n, 3), size), np.full(n, 0.01)
    return collision.Body(collision.Box(half), radius, R, rng.normal(size=(n, 3)))


def test_pairs_with_and_without_cutoff_share_a_batch(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = boxes(rng, 5, 0.4), boxes(rng, 5, 0.3)
    cutoff = np.array([-np.inf, 0.1, 0.5, np.inf, 3.0])
    near = partial(collision.contact_within, cutoff=cutoff)
    functions = [collision.contact, near]
    expected = [jax.jit(fn)(a, b) for fn in functions]
    calls = []
    subprogram = shared_calls.subprogram

    def count(fn, *args):
        calls.append(fn)
        return subprogram(fn, *args)

    monkeypatch.setattr(shared_calls, "subprogram", count)

    def program(a, b):
        return evaluate_together([(fn, (a, b)) for fn in functions])

    got = jax.jit(partial(compile_in_parts, program))(a, b)
    # the arguments, one batch, and what is left of the two functions
    assert len(calls) == 4
    for contacts, values in zip(got, expected, strict=True):
        for x, y in zip(contacts.unpack(), values, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-12)
