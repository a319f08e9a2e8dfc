"""Computations as one kernel give what plain calls give, whatever their arguments."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise.solvers import Options
from posewise.solvers.augmented_lagrangian import from_start
from posewise.solvers.kernel import Compiled, expressible, part

TABLE = np.array([True, False, True])


def loop(x, n):
    return jax.lax.fori_loop(0, n[0], lambda i, y: y * 0.5 + jnp.sin(y[::-1]), x)


CASES = {
    "a loop": lambda x, n, none: {"out": loop(x, n)},
    "unused arguments": lambda x, n, none: 2.0 * x,
    "an argument handed on": lambda x, n, none: (x, n, none, jnp.zeros((2, 0))),
    "constants": lambda x, n, none: jnp.where(TABLE, x, jnp.arange(3.0)),
    "indices": lambda x, n, none: jax.lax.dynamic_slice_in_dim(x, n[0], 3),
    "products": lambda x, n, none: jnp.outer(x, x) @ x,
    "truth values": lambda x, n, none: (x > 0, jnp.any(x > 1)),
    "a branch": lambda x, n, none: jax.lax.cond(n[0] > 1, jnp.sin, jnp.cos, x),
    "a scatter, which has no such form": lambda x, n, none: x.at[n].add(1.0),
    "LAPACK": lambda x, n, none: jnp.linalg.cholesky(jnp.outer(x, x) + jnp.eye(3)),
    "sorting": lambda x, n, none: jnp.sort(x),
}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_equal_to_plain_calls(name, large):
    fn = CASES[name]
    args = jnp.array([0.3, -1.0, 2.0]), jnp.array([2]), jnp.zeros((0, 3))
    made = Compiled(lambda key, *args: part(fn, *args), large=lambda key: large)
    got = made(name, *args)
    want = fn(*args)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_truth_values_alone_and_nothing_at_all():
    given = jnp.array([False, True]), jnp.zeros(0), jnp.zeros((2, 0), bool)
    out = Compiled(lambda key, a, b, c: (~a, b, c))("", *given)
    assert out[0].tolist() == [True, False] and out[0].dtype == bool
    assert out[1].shape == (0,) and out[2].shape == (2, 0)


def test_compiled_once_for_each_static_argument():
    scaled = Compiled(lambda factor, x: factor * x)
    for factor in (2, 3, 2):
        assert scaled(factor, jnp.ones(3))[0] == factor
    assert scaled.compilations() == 2


def test_within_other_programs():
    halved = Compiled(lambda factor, x: loop(x, jnp.array([2])) / factor)
    x = jnp.array([[0.3, -1.0, 2.0], [1.0, 2.0, 3.0]])
    got = jax.jit(jax.vmap(lambda x: halved(2, x)))(x)
    np.testing.assert_allclose(got, [halved(2, row) for row in x], rtol=1e-12)


def test_parts_in_a_loop():
    def step(x, n, odd):
        x = part(loop, x, n)
        return part(lambda x, odd: jnp.where(odd, x, -x), x, odd), n, ~odd

    def run(key, x, n, odd):
        return jax.lax.fori_loop(0, 5, lambda i, state: step(*state), (x, n, odd))

    given = jnp.array([0.3, -1.0, 2.0]), jnp.array([3]), TABLE
    got = Compiled(run, large=lambda key: True)("", *given)
    for x, y in zip(got, run("", *given), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_solves_have_such_a_form():
    C = pw.load("planar3")
    C.add_frame("post", shape=pw.Cylinder(0.4, 0.1), position=[0.5, 0.5, 0], contact=1)
    komo = pw.KOMO(C, 1, 3, 2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective(None, pw.FS.accumulatedCollisions, [], pw.OT.ineq)
    komo.add_objective(None, pw.FS.jointLimits, [], pw.OT.ineq)
    chain, data, _ = komo.chain()
    x = jnp.asarray(komo.starts(0, 1)[0])
    run = partial(from_start, chain)
    assert expressible(jax.make_jaxpr(run)(data, x, Options()).jaxpr)
