"""Whole computations compiled as one kernel for CPUs.

XLA runs a program for a CPU as a sequence of small kernels; for problems as small as a
robot's, starting kernels takes most of the time. A marked call is compiled as one
function instead, loops included, as XLA itself does with its smallest loops; see
`small_calls`.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial, update_wrapper
from threading import local
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Jaxpr, JaxprEqn
from jaxtyping import PyTree

from . import private_jax
from .compile_time import novelty
from .loaded_programs import CompiledFunction, FunctionPrograms
from .packed_pytree import (
    MAX_SHARED_SIZE,
    Deferred,
    PackCache,
    fetch,
    is_packed,
    pack,
    unpack,
)
from .precision import full_matmul_precision
from .program_cache import load_or_compile
from .small_calls import mark_small_call, small_calls
from .synchronous_cpu import synchronous_cpu_device
from .traced import is_traced

SUPPORTED_PRIMITIVES = frozenset(
    "abs acos acosh add add_any and argmax argmin asin asinh atan atan2 atanh"
    " broadcast_in_dim cbrt ceil clamp closed_call concatenate cond"
    " convert_element_type copy copy_p cos cosh cummax cummin cumprod cumsum"
    " custom_jvp_call custom_vjp_call custom_vmap_call div dot_general dynamic_slice"
    " dynamic_update_slice eq erf exp exp2 expand_dims expm1 floor gather ge gt"
    " integer_pow iota is_finite jit le le_to log log1p logistic lt max min mul ne"
    " neg nextafter not optimization_barrier or pad pjit population_count pow"
    " reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum rem reshape"
    " rev round rsqrt scan select_n shared_call sign sin sinh slice split sqrt square"
    " squeeze stack stop_gradient sub tan tanh transpose unstack while"
    " xla_metadata_value xor".split()
)
"""Primitives that a small call may contain; not scatter, sort and LAPACK's."""


def _has_small_calls() -> bool:
    """Whether programs are compiled as single kernels."""
    return small_calls().options is not None


_trace_state = local()
"""`in_parts`: whether the program being traced in this thread is made of parts."""


def is_in_parts() -> bool:
    """Whether the program being traced in this thread is made of parts."""
    return getattr(_trace_state, "in_parts", False)


def subprogram(fn: Callable[..., Any], *args: PyTree) -> Any:
    """Return `fn(*args)`, computed in a separate kernel if the program has parts.

    The kernel's result is packed then, and only another subprogram unpacks it, so that
    no operation remains between kernels; see `defer`.
    """
    if is_in_parts():
        # without a barrier, XLA repeats the slicing of a buffer at each use of a leaf
        barrier = jax.lax.optimization_barrier

        def run(*args: Any) -> Any:
            return fn(*jax.tree.map(barrier, unpack(args)))

        return call_single_kernel(run, *args)
    return fn(*unpack(args))


def defer(fn: Callable[..., Any], *args: PyTree) -> Any:
    """Return `fn(*args)`, of subprograms' results, computed where it is read."""
    if is_in_parts():
        return Deferred(fn, args)
    return fn(*unpack(args))


def compile_in_parts(fn: Callable[..., Any], *args: PyTree) -> Any:
    """Return `fn(*args)`, with each `subprogram` in it as one kernel.

    The time that LLVM takes grows faster than the size of a function: the parts of a
    large program are compiled several times as fast as the whole.
    """
    if not _has_small_calls():
        return fn(*args)
    _trace_state.in_parts = True
    try:
        return fn(*args)
    finally:
        _trace_state.in_parts = False


class StaticJit:
    """A function compiled once for each value of its static arguments.

    Args:
        fn: the function.
        num_static: number of leading arguments that are hashable instead of arrays.
        is_large: of the static arguments, whether the program is made of parts.
        transform: maps the function without its static arguments, and these, to the
            function that is compiled.
        packs: indices of the arguments that are packed before the call.
        fetches: whether the result is awaited and returned as NumPy arrays. Packed
            arguments are then put on a device that computes in the calling thread.
        has_kernels: see `compile_program`.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        num_static: int = 1,
        is_large: Callable[..., bool] = lambda *static: False,
        transform: Callable[..., Callable[..., Any]] = lambda run, *static: run,
        packs: Sequence[int] = (),
        fetches: bool = False,
        has_kernels: bool = True,
    ) -> None:
        self.fn, self.num_static, self.is_large = fn, num_static, is_large
        self.has_kernels = has_kernels
        self.transform, self.packs, self.fetches = transform, packs, fetches
        self.pack_cache = PackCache(synchronous_cpu_device if fetches else lambda: None)
        self.programs = FunctionPrograms()
        update_wrapper(self, fn)

    def __call__(self, *args: PyTree) -> Any:
        # looked up before anything else: a packed argument has few leaves to inspect
        arrays = list(args)
        for i in self.packs:
            arrays[i] = self.pack_cache.lookup(args[i])
        static, arrays = args[: self.num_static], arrays[self.num_static :]
        unpacked = [a for a in arrays if not is_packed(a)]
        if is_traced(unpacked):
            # the enclosing program decides how it is compiled
            return full_matmul_precision(self.fn)(*args)
        for i in self.packs:
            k = i - self.num_static
            arrays[k] = self.pack_cache.pack(arrays[k])
        program, is_new = self.programs.get(static, lambda: self._make_program(static))
        with _paused_garbage_collection() if is_new else nullcontext():
            out = program(*arrays)
        return fetch(out) if self.fetches else out

    def _make_program(self, static: tuple[Any, ...]) -> CompiledFunction:
        has_kernels = self.has_kernels and _has_small_calls()
        options = small_calls().options if has_kernels else None
        run: Callable[..., Any] = partial(full_matmul_precision(self.fn), *static)
        if self.has_kernels:
            is_large = self.is_large(*static)
            run = partial(compile_in_parts if is_large else call_single_kernel, run)
        whole = self.transform(run, *static)
        identity = self.fn, static, self.transform, options
        others = [key[0] for key in self.programs.by_static] if static else []
        reason = novelty(static[0], others) if static else ""
        jitted = jax.jit(whole, compiler_options=options)
        return load_or_compile(jitted, identity, reason)

    def num_compilations(self) -> int:
        """Return the number of programs that have been compiled."""
        return self.programs.num_compilations()


@contextmanager
def _paused_garbage_collection() -> Iterator[None]:
    """Pause garbage collection, which would search a growing trace again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def call_single_kernel(fn: Callable[..., Any], *args: PyTree) -> Any:
    """Return `fn(*args)`, as one kernel where that is possible.

    The result is packed, or a tuple of packed values. Packed arguments are passed on to
    the function, which unpacks them.
    """
    if not _has_small_calls():
        return fn(*args)
    treedefs: list[Any] = []

    def packed_leaves(*packed: Any) -> list[jax.Array]:
        pairs = zip(packed, was_plain, strict=True)
        out = fn(*(a.unpack() if plain else a for a, plain in pairs))
        out = tuple(map(pack, out)) if type(out) is tuple else pack(out)
        leaves, tree = jax.tree.flatten(out)
        treedefs.append(tree)
        return leaves

    # Packed arguments stay packed within: the function unpacks the ones it reads.
    was_plain = [not is_packed(a) for a in args]
    args = tuple(map(pack, args))
    closed = jax.make_jaxpr(packed_leaves)(*args)
    # drop unpacked leaves that the computation never reads
    jaxpr, _ = private_jax.dce_jaxpr(closed.jaxpr, True, instantiate=True)
    consts = pack(closed.consts, max_shared_size=MAX_SHARED_SIZE)
    inputs = [*consts.buffers, *jax.tree.leaves(args)]
    count = len(consts.buffers)

    def compute(inputs: Sequence[jax.Array]) -> list[jax.Array]:
        constants = consts.layout.unpack(inputs[:count])
        return private_jax.eval_jaxpr(jaxpr, constants, *inputs[count:])

    # still packed, so that the caller gets the same structure in both cases
    has_work = bool(inputs and jaxpr.outvars)
    if not has_work or not is_single_kernel_compatible(jaxpr):
        return jax.tree.unflatten(treedefs[-1], compute(inputs))

    # an array that is passed twice becomes one argument of the kernel
    distinct = list({id(a): a for a in inputs}.values())
    places = [next(i for i, b in enumerate(distinct) if a is b) for a in inputs]

    def kernel(*distinct: jax.Array) -> list[Any]:
        return _use_all_inputs(distinct, compute([distinct[i] for i in places]))

    # XLA rejects a small call with an argument that it knows to be constant: the
    # barrier hides constants from it
    out = mark_small_call(jax.jit(kernel)(*jax.lax.optimization_barrier(distinct)))
    return jax.tree.unflatten(treedefs[-1], out)


def _use_all_inputs(inputs: Sequence[jax.Array], results: Sequence[Any]) -> list[Any]:
    """Return the results, computed so that each input seems to be needed.

    XLA rejects a small call with an unused argument.
    """
    zero = jnp.zeros_like(results[0])
    first = jnp.where(_opaque_false(inputs), zero, results[0])
    return [first, *results[1:]]


def is_single_kernel_compatible(jaxpr: Jaxpr) -> bool:
    """Whether a program can be compiled as one kernel."""
    return {eqn.primitive.name for eqn in _all_equations(jaxpr)} <= SUPPORTED_PRIMITIVES


def _opaque_false(inputs: Sequence[jax.Array]) -> jax.Array:
    """Return False, computed from an entry of each input.

    The entries of all inputs would have to be one odd number each, which the compiler
    cannot exclude.
    """
    odd = np.ones(1, bool)
    for a in inputs:
        floats = jnp.issubdtype(a.dtype, jnp.floating)
        # a multiple of the greatest number that no data of a robot contains
        high = jnp.finfo(a.dtype).max if floats else jnp.iinfo(a.dtype).max
        first = jax.lax.slice(a.reshape(-1), (0,), (1,))
        odd = odd & (first == np.asarray(high // 7 * 5, a.dtype))
    is_odd: jax.Array = odd[0]
    return is_odd


def _all_equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    """Yield the equations of a program and of all programs within it."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in private_jax.jaxprs_in_params(eqn.params):
            yield from _all_equations(inner)
