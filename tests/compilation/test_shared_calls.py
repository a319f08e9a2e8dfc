"""Calls of one function in several parts of a program are made as one call."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise.compilation.call_together import call_together
from posewise.compilation.packed_pytree import fetch
from posewise.compilation.shared_calls import SharedFunction
from posewise.compilation.single_kernel import compile_in_parts
from posewise.compilation.zero_tangents import instantiate_zeros

X = np.linspace(0.1, 1.0, 6).reshape(3, 2)
computed: list[int] = []
"""Number of rows of each computation that was traced."""


def _compute(rows, limit):
    x, y = rows
    computed.append(len(x))
    out = jnp.sin(x).sum(1) * y
    return (out if limit is None else jnp.minimum(out, limit), x + y[:, None])


def _tangents(primals, tangents):
    def plain(rows, limit):
        x, y = rows
        out = jnp.sin(x).sum(1) * y
        return (out if limit is None else jnp.minimum(out, limit), x + y[:, None])

    rates = instantiate_zeros(tangents, primals)
    return jax.jvp(plain, primals, rates)


shared = SharedFunction(_compute, _tangents)


def _one(x):
    return shared((x, x[:, 0]))[0] * 2


def _two(x):
    first, moved = shared((x + 1, x[:, 1]), jnp.full(len(x), 0.7))
    second, _ = shared((moved, first))
    return {"sum": first + second, "constant": jnp.arange(3)}


def _none(x):
    return x.sum()


def _expected(x):
    f = lambda x, y: np.sin(x).sum(1) * y  # noqa: E731
    first = np.minimum(f(x + 1, x[:, 1]), 0.7)
    second = f(x + 1 + x[:, 1:], first)
    return f(x, x[:, 0]) * 2, first + second, x.sum()


def _parts(x):
    return call_together([(_one, (x,)), (_two, (x,)), (_none, (x,))])


def _together(x):
    one, two, total = _parts(x)
    return one, two["sum"], total


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_results_are_those_of_separate_calls(transform):
    rows = jnp.asarray(X)
    for got, want in zip(transform(_together)(rows), _expected(X), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_calls_of_one_stage_are_computed_together():
    computed.clear()
    jax.jit(lambda x: _together(x)).lower(X)
    # The types of results are found out with one row.
    assert [n for n in computed if n > 1] == [6, 3]


def test_parts_of_a_compiled_program_share_calls():
    packed = jax.jit(partial(compile_in_parts, _parts))(X)
    one, two, total = fetch(packed)
    for got, want in zip((one, two["sum"], total), _expected(X), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_instances_of_vmap_are_rows():
    batch = np.stack([X, X + 0.2, X - 0.3])
    computed.clear()
    got = jax.jit(jax.vmap(_together))(batch)
    assert max(computed) == 18
    for k, x in enumerate(batch):
        for a, b in zip(got, _expected(x), strict=True):
            np.testing.assert_allclose(a[k], b, rtol=1e-12)


def test_derivatives_are_differences():
    step = np.random.default_rng(0).normal(size=X.shape)
    _, got = jax.jvp(_together, (X,), (step,))
    h = 1e-6
    plus, minus = _expected(X + h * step), _expected(X - h * step)
    for d, a, b in zip(got, plus, minus, strict=True):
        np.testing.assert_allclose(d, (a - b) / (2 * h), atol=1e-8)
    total = lambda x: sum(y.sum() for y in _together(x))  # noqa: E731
    slope = np.vdot(jax.grad(total)(jnp.asarray(X)), step)
    np.testing.assert_allclose(slope, sum(np.sum(d) for d in got), rtol=1e-9)
