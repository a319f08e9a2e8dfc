"""A whole computation as one compiled function, where XLA for CPUs would run pieces.

XLA runs a program for a CPU as a sequence of small kernels; for problems as small as a
robot's, starting them takes most of the time. A call with the mark below is compiled as
one function instead, loops and all, as XLA does by itself with its smallest loops.
"""

import gc
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial, update_wrapper
from threading import Lock, local
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import jaxprs_in_params
from jax.interpreters.partial_eval import dce_jaxpr

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
from .synchronous_cpu import synchronous_cpu_device

SMALL_CALL_ATTRIBUTES = {"inlineable": "false", "xla_cpu_small_call": "true"}
XLA_OPTIONS = {
    "xla_cpu_experimental_ynn_fusion_type": "",
    "xla_backend_optimization_level": 1,
    "xla_cpu_prefer_vector_width": 512,
    "xla_disable_hlo_passes": "cpu-parallel-task-assigner,reshape-mover,"
    "tree_reduction_rewriter",
}
"""No calls of libraries and no threads, which cannot be in a marked call; half the time
to compile; vectors as wide as the processor has, which saves 2 % of a solve; no moving
of reshapes, after which XLA finds no end of simplifying, but for a limit of rounds;
sums in one loop, not in windows of 32 first, each of which is unrolled.

Those that are in XLA_FLAGS are the user's choice.
"""
TESTED_JAXLIB = ((0, 10, 2), (0, 11))
"""From this version of jaxlib on, and below that one, marked calls work."""

MAX_PROGRAMS = 64
"""So many of a function are kept, those used last: each takes some 10 MB."""

SUPPORTED_PRIMITIVES = frozenset(
    "abs acos acosh add add_any and argmax argmin asin asinh atan atan2 atanh"
    " broadcast_in_dim cbrt ceil clamp closed_call concatenate cond"
    " convert_element_type copy copy_p cos cosh cummax cummin cumprod cumsum"
    " custom_jvp_call custom_vjp_call custom_vmap_call div dot_general dynamic_slice"
    " dynamic_update_slice eq erf exp exp2 expand_dims expm1 floor gather ge gt"
    " integer_pow iota is_finite jit le le_to log log1p logistic lt max min mul ne"
    " neg nextafter not optimization_barrier or pad pjit population_count pow"
    " reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum rem reshape"
    " rev round rsqrt scan select_n sign sin sinh slice split sqrt square squeeze"
    " stack stop_gradient sub tan tanh transpose unstack while xla_metadata_value"
    " xor".split()
)
"""Primitives that have such a form; scatter, sort and LAPACK, for example, do not."""


def is_cpu_backend() -> bool:
    """Whether programs run on CPUs."""
    return jax.default_backend() == "cpu"


@cache
def _has_small_calls() -> bool:
    """Whether the compiler knows the mark."""
    version = tuple(int(n) for n in jaxlib.version.__version__.split(".")[:3])
    return is_cpu_backend() and TESTED_JAXLIB[0] <= version < TESTED_JAXLIB[1]


def _compiler_options() -> dict[str, Any]:
    """Those that the user has not chosen."""
    chosen = os.environ.get("XLA_FLAGS", "")
    return {name: value for name, value in XLA_OPTIONS.items() if name not in chosen}


_trace_state = local()
"""`parts`: whether the program being traced is made of parts."""


def subprogram(fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)`: a kernel of its own in a program that is made of parts.

    There it gives what only other parts can open, so that nothing is done between
    them; see `defer`.
    """
    if getattr(_trace_state, "parts", False):
        # taken apart once, not at each use
        barrier = jax.lax.optimization_barrier
        whole = lambda *args: fn(*jax.tree.map(barrier, unpack(args)))
        return call_single_kernel(whole, *args)
    return fn(*unpack(args))


def defer(fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)`, of what parts gave: computed within the part that uses it."""
    if getattr(_trace_state, "parts", False):
        return Deferred(fn, args)
    return fn(*unpack(args))


def compile_in_parts(fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)`, with each `subprogram` in it as one function.

    The time that LLVM takes grows faster than what it is given: of a large program,
    parts are compiled several times as fast as the whole.
    """
    if not _has_small_calls():
        return fn(*args)
    _trace_state.parts = True
    try:
        return fn(*args)
    finally:
        _trace_state.parts = False


class StaticJit:
    """A function, compiled for each value of its first arguments; one kernel on CPUs.

    Args:
        fn: the function.
        static: how many of its arguments are not arrays, but hashable.
        large: tells of these arguments whether the program is to be made of parts.
        around: of the function without them, and of them, what is compiled: the same,
            but spread over devices, for example.
        seals: which of its arguments are handed over sealed. They may not be changed
            between calls.
        fetches: whether what it returns is opened, in numpy; else it may be sealed.
            It is awaited then: what is sealed goes where no other thread computes.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        static: int = 1,
        large: Callable[..., bool] = lambda *given: False,
        around: Callable[..., Callable[..., Any]] = lambda run, *given: run,
        seals: Sequence[int] = (),
        fetches: bool = False,
    ) -> None:
        self.fn, self.static, self.large, self.around = fn, static, large, around
        self.seals, self.fetches = seals, fetches
        self.sealer = PackCache(synchronous_cpu_device if fetches else lambda: None)
        self.programs: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self.forgotten = 0
        self.lock = Lock()
        update_wrapper(self, fn)

    def __call__(self, *args: Any) -> Any:
        rest = list(args)
        for i in self.seals:
            rest[i] = self.sealer.look(args[i])
        given, rest = args[: self.static], rest[self.static :]
        unknown = [a for a in rest if not is_packed(a)]
        if any(isinstance(a, jax.core.Tracer) for a in jax.tree.leaves(unknown)):
            return full_matmul_precision(self.fn)(
                *args
            )  # it is up to the program around it
        for i in self.seals:
            rest[i - self.static] = self.sealer(rest[i - self.static])
        with self.lock:
            program = self.programs.pop(given, None)
            new = program is None
            if new:
                options = _compiler_options() if _has_small_calls() else None
                how = compile_in_parts if self.large(*given) else call_single_kernel
                run = partial(how, partial(full_matmul_precision(self.fn), *given))
                whole = self.around(run, *given)
                jitted = jax.jit(whole, compiler_options=options)
                made_of = self.fn, given, self.around, options
                program = load_or_compile(jitted, made_of)
                while len(self.programs) >= MAX_PROGRAMS:
                    _, oldest = self.programs.popitem(last=False)
                    self.forgotten += oldest._cache_size()
            self.programs[given] = program  # the last one
        with _paused_garbage_collection() if new else nullcontext():
            out = program(*rest)
        return fetch(out) if self.fetches else out

    def num_compilations(self) -> int:
        """How many programs have been compiled."""
        present = sum(program._cache_size() for program in self.programs.values())
        return self.forgotten + present


@contextmanager
def _paused_garbage_collection() -> Iterator[None]:
    """Python looks for no garbage: what is traced is searched again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def call_single_kernel(fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)` as one function, where that is possible; else a plain call.

    It gives what is sealed, or a tuple of that. What is sealed in the arguments is
    not opened.
    """
    if not _has_small_calls():
        return fn(*args)
    found: list[Any] = []

    def packs(*args: Any) -> list[jax.Array]:
        out = fn(*(a.open() if r else a for a, r in zip(args, raw, strict=True)))
        out = tuple(map(pack, out)) if type(out) is tuple else pack(out)
        leaves, tree = jax.tree.flatten(out)
        found.append(tree)
        return leaves

    raw = [not is_packed(a) for a in args]
    args = tuple(map(pack, args))
    closed = jax.make_jaxpr(packs)(*args)
    # much of what is opened is not needed
    jaxpr, _ = dce_jaxpr(closed.jaxpr, True, instantiate=True)
    consts = pack(closed.consts, max_shared_size=MAX_SHARED_SIZE)
    inputs = [*consts.packs, *jax.tree.leaves(args)]
    count = len(consts.packs)

    def compute(inputs: Sequence[jax.Array]) -> list[jax.Array]:
        own = consts.layout.open(inputs[:count])
        return jax.core.eval_jaxpr(jaxpr, own, *inputs[count:])

    if not is_single_kernel_compatible(jaxpr):
        return jax.tree.unflatten(found[-1], compute(inputs))

    different = list({id(a): a for a in inputs}.values())
    at = [next(i for i, b in enumerate(different) if a is b) for a in inputs]

    def whole(*given: jax.Array) -> list[Any]:
        return _use_all_inputs(given, compute([given[i] for i in at]))

    # the mark allows no argument that is known to be constant
    out = jax.jit(whole)(*jax.lax.optimization_barrier(different))
    out[0] = set_xla_metadata(out[0], **SMALL_CALL_ATTRIBUTES)
    return jax.tree.unflatten(found[-1], out)


def _use_all_inputs(given: Sequence[jax.Array], results: Sequence[Any]) -> list[Any]:
    """The results, computed in a way that needs each of what was given.

    The mark allows no argument that is not used.
    """
    first = jnp.where(_opaque_false(given), jnp.zeros_like(results[0]), results[0])
    return [first, *results[1:]]


def is_single_kernel_compatible(jaxpr: Any) -> bool:
    """Whether a program can be one function."""
    return {eqn.primitive.name for eqn in _all_equations(jaxpr)} <= SUPPORTED_PRIMITIVES


def _opaque_false(given: Sequence[jax.Array]) -> jax.Array:
    """False, for which a compiler that does not know it needs every array."""
    odd = np.ones(1, bool)
    for a in given:
        floats = jnp.issubdtype(a.dtype, jnp.floating)
        high = jnp.finfo(a.dtype).max if floats else jnp.iinfo(a.dtype).max
        first = jax.lax.slice(a.reshape(-1), (0,), (1,))
        odd = odd & (first == np.asarray(high // 7 * 5, a.dtype))
    return odd[0]


def _all_equations(jaxpr: Any) -> Iterator[Any]:
    """Those of a program and of all programs within."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in jaxprs_in_params(eqn.params):
            yield from _all_equations(inner)
