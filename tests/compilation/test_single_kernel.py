"""Computations as one kernel return what plain calls return."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise.compilation import loaded_programs, single_kernel
from posewise.compilation.packed_pytree import (
    MAX_SHARED_SIZE,
    fetch,
    pack,
    unpack,
)
from posewise.compilation.plain_jit import uses_plain_jit
from posewise.compilation.precision import full_matmul_precision
from posewise.compilation.program import compile_program
from posewise.compilation.single_kernel import (
    StaticJit,
    defer,
    is_single_kernel_compatible,
    subprogram,
)
from posewise.compilation.synchronous_cpu import synchronous_cpu_device
from posewise.objectives.problem.spec import compile_chain, initial_paths
from posewise.solvers import Options
from posewise.solvers.augmented_lagrangian import (
    compiles_in_parts,
    resume,
    solve,
    solve_from_start,
)
from posewise.solvers.interruptible import empty_state

pytestmark = pytest.mark.skipif(uses_plain_jit(), reason="no single kernels")

TABLE = np.array([True, False, True])
LONG = np.arange(1e5)


def loop(x, n):
    return jax.lax.fori_loop(0, n[0], lambda i, y: y * 0.5 + jnp.sin(y[::-1]), x)


CASES = {
    "a loop": lambda x, n, empty: {"out": loop(x, n)},
    "unused arguments": lambda x, n, empty: 2.0 * x,
    "an argument as a result": lambda x, n, empty: (x, n, empty, jnp.zeros((2, 0))),
    "constants": lambda x, n, empty: jnp.where(TABLE, x, jnp.arange(3.0)),
    "indices": lambda x, n, empty: jax.lax.dynamic_slice_in_dim(x, n[0], 3),
    "products": lambda x, n, empty: jnp.outer(x, x) @ x,
    "truth values": lambda x, n, empty: (x > 0, jnp.any(x > 1)),
    "a branch": lambda x, n, empty: jax.lax.cond(n[0] > 1, jnp.sin, jnp.cos, x),
    "a scatter, which no single kernel may contain": lambda x, n, empty: x.at[n].add(
        1.0
    ),
    "LAPACK": lambda x, n, empty: jnp.linalg.cholesky(jnp.outer(x, x) + jnp.eye(3)),
    "work for several threads": lambda x, n, empty: jnp.exp(jnp.sin(LONG[:, None] * x)),
    "sorting": lambda x, n, empty: jnp.sort(x),
}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_single_kernel_equals_a_plain_call(name, large):
    fn = full_matmul_precision(CASES[name])
    args = jnp.array([0.3, -1.0, 2.0]), jnp.array([2]), jnp.zeros((0, 3))
    run = StaticJit(
        lambda key, *args: subprogram(fn, *args), is_large=lambda key: large
    )
    got = fetch(run(name, *args))
    want = fn(*args)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_single_kernel_of_booleans_and_empty_arrays():
    arguments = jnp.array([False, True]), jnp.zeros(0), jnp.zeros((2, 0), bool)
    out = fetch(StaticJit(lambda key, a, b, c: (~a, b, c))("", *arguments))
    assert out[0].tolist() == [True, False] and out[0].dtype == bool
    assert out[1].shape == (0,) and out[2].shape == (2, 0)


def test_static_jit_compiles_once_for_each_static_argument():
    scaled = StaticJit(lambda factor, x: factor * x)
    for factor in (2, 3, 2):
        assert fetch(scaled(factor, jnp.ones(3)))[0] == factor
    assert scaled.num_compilations() == 2


def test_static_jit_evicts_the_least_recently_used_program(monkeypatch):
    monkeypatch.setattr(loaded_programs, "MAX_PROGRAMS", 3)
    scaled = StaticJit(lambda factor, x: factor * x)
    x = jnp.arange(3.0)
    for factor in (1, 2, 3, 1, 4):  # 2 is then the least recently used
        np.testing.assert_array_equal(fetch(scaled(factor, x)), factor * x)
    assert {static[0] for static in scaled.programs.by_static} == {3, 1, 4}
    assert scaled.num_compilations() == 4
    scaled(1, x)
    assert scaled.num_compilations() == 4
    scaled(2, x)
    assert scaled.num_compilations() == 5


def test_static_jit_within_other_programs():
    halved = StaticJit(lambda factor, x: loop(x, jnp.array([2])) / factor)
    x = jnp.array([[0.3, -1.0, 2.0], [1.0, 2.0, 3.0]])
    got = jax.jit(jax.vmap(lambda x: halved(2, x)))(x)
    want = [fetch(halved(2, row)) for row in x]
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_subprograms_in_a_loop():
    def first(x, n):
        return {"x": loop(x, n), "large": jnp.tile(x, MAX_SHARED_SIZE)}, x > 0

    def second(results, odd, positive, total):
        x = jnp.where(odd & positive, results["x"], -results["x"])
        return x, total + 1

    def run(key, x, n, odd):
        def step(i, state):
            x = defer(lambda s: s[0], state)
            results, positive = subprogram(first, x, n)
            total = defer(lambda s: s[1], state)
            return pack(unpack(subprogram(second, results, odd, positive, total)))

        return jax.lax.fori_loop(0, 5, step, pack((x, jnp.zeros((), int))))

    arguments = jnp.array([0.3, -1.0, 2.0]), jnp.array([3]), TABLE
    got, want = (
        fetch(StaticJit(run, is_large=lambda key: True)("", *arguments)),
        run("", *arguments),
    )
    for x, y in zip(got, unpack(want), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_subprogram_slices_only_the_leaves_it_reads():
    tree = [np.full(3, float(k)) for k in range(40)]
    run = partial(
        single_kernel.compile_in_parts, partial(subprogram, lambda t: 2 * t[7])
    )
    np.testing.assert_array_equal(fetch(run(pack(tree))), 2 * tree[7])
    assert jax.jit(run).lower(pack(tree)).as_text().count("stablehlo.slice") < 5


def test_fetching_programs_run_on_the_synchronous_device():
    """JAX's own devices and settings do not change."""
    before = jax.devices(), jnp.ones(2).devices()
    fn = lambda key, a, n: (loop(unpack(a), n), unpack(a))
    run = StaticJit(fn, packs=(1,), fetches=True)
    arguments = np.ones(3), np.array([4])
    for _ in range(2):
        got = run("", *arguments)
    assert all(isinstance(a, np.ndarray) for a in got) and run.num_compilations() == 1
    np.testing.assert_allclose(got[0], loop(*arguments))
    (where,) = run.pack_cache.pack(arguments[0]).buffers[0].devices()
    assert where == (synchronous_cpu_device() or jax.devices()[0])
    assert (where in jax.devices()) == (jax.default_backend() != "cpu")
    assert before == (jax.devices(), jnp.ones(2).devices())


@pytest.mark.parametrize("broken", [TypeError, RuntimeError, AttributeError])
def test_synchronous_device_is_optional(broken, monkeypatch):
    def fails(**options):
        raise broken("of another version")

    monkeypatch.setattr("jaxlib.xla_client.make_cpu_client", fails)
    assert synchronous_cpu_device.__wrapped__() is None
    monkeypatch.setattr(
        single_kernel, "synchronous_cpu_device", synchronous_cpu_device.__wrapped__
    )
    run = StaticJit(lambda key, a: 2 * unpack(a), packs=(1,), fetches=True)
    np.testing.assert_array_equal(run("", np.ones(3)), 2 * np.ones(3))


def planar_path():
    C = pw.load("planar3")
    C.add_frame("post", shape=pw.Cylinder(0.4, 0.1), position=[0.5, 0.5, 0], contact=1)
    komo = pw.KOMO(C, 1, 3, 2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective(None, pw.FS.accumulatedCollisions, [], pw.OT.ineq)
    komo.add_objective(None, pw.FS.jointLimits, [], pw.OT.ineq)
    chain, data, _ = compile_chain(komo.spec)
    return chain, data, initial_paths(komo.spec, 0, 1)[0]


@pytest.mark.slow
def test_rounds_are_one_program_without_single_kernels(monkeypatch):
    chain, data, x = planar_path()
    monkeypatch.setattr(single_kernel, "_has_small_calls", lambda: False)
    options = Options(max_iterations=40)
    run = StaticJit(resume, is_large=compiles_in_parts, packs=(1, 5))
    state = jax.device_put(pack(empty_state(chain, data, x, options), np))
    for k in range(4):
        state, out = run(chain, data, x, state, k == 0, options, 10)
    assert run.num_compilations() == 1
    monkeypatch.undo()
    whole = solve(chain, data, x, options)
    np.testing.assert_allclose(fetch(out).x, whole.x, atol=1e-9)


def test_solves_are_single_kernel_compatible():
    chain, data, x = planar_path()
    x = jnp.asarray(x)
    run = partial(solve_from_start, chain)
    assert is_single_kernel_compatible(jax.make_jaxpr(run)(data, x, Options()).jaxpr)


@pytest.mark.parametrize("x", [np.zeros((0, 3)), np.ones((2, 3))])
def test_programs_without_inputs_or_results(x):
    """Features of no joints have no rows; constants need no input."""
    empty = compile_program(lambda x: x[:0], num_static=0, fetches=True)
    assert empty(x).shape == (0, 3)
    constant = compile_program(lambda: jnp.full(2, 3.0), num_static=0, fetches=True)
    np.testing.assert_array_equal(constant(), [3.0, 3.0])
