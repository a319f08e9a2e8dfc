"""A whole computation as one compiled function, where XLA for CPUs would run pieces.

XLA runs a program for a CPU as a sequence of small kernels; for problems as small as a
robot's, starting them takes most of the time. A call with the mark below is compiled as
one function instead, loops and all, as XLA does by itself with its smallest loops.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial, update_wrapper
from threading import Lock, local
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import jaxprs_in_params

from .packing import Packer

MARK = {"inlineable": "false", "xla_cpu_small_call": "true"}
OPTIONS = {
    "xla_cpu_experimental_ynn_fusion_type": "",
    "xla_backend_optimization_level": 1,
}
"""No calls of libraries, which cannot be in a marked call; half the time to compile.

Those that are in XLA_FLAGS are the user's choice.
"""
TESTED = ((0, 10, 2), (0, 11))
"""From this version of jaxlib on, and below that one, marked calls work."""

SMALL = 64
"""Arrays of up to so many numbers are handed over in one."""

KNOWN = frozenset(
    "abs acos acosh add add_any and argmax argmin asin asinh atan atan2 atanh"
    " broadcast_in_dim cbrt ceil clamp closed_call concatenate cond"
    " convert_element_type copy copy_p cos cosh cummax cummin cumprod cumsum"
    " custom_jvp_call custom_vjp_call custom_vmap_call div dot_general dynamic_slice"
    " dynamic_update_slice eq erf exp exp2 expand_dims expm1 floor gather ge gt"
    " integer_pow iota is_finite jit le le_to log log1p logistic lt max min mul ne neg"
    " nextafter not optimization_barrier or pad pjit pow reduce_and reduce_max"
    " reduce_min reduce_or reduce_prod reduce_sum rem reshape rev round rsqrt scan"
    " select_n sign sin sinh slice split sqrt square squeeze stack stop_gradient sub"
    " tan tanh transpose unstack while xor".split()
)
"""Primitives that have such a form; scatter, sort and LAPACK, for example, do not."""


def on_cpu() -> bool:
    """Whether programs run on CPUs."""
    return jax.default_backend() == "cpu"


@cache
def _known() -> bool:
    """Whether the compiler knows the mark."""
    version = tuple(int(n) for n in jaxlib.version.__version__.split(".")[:3])
    return on_cpu() and TESTED[0] <= version < TESTED[1]


def _options() -> dict[str, Any]:
    """Those that the user has not chosen."""
    chosen = os.environ.get("XLA_FLAGS", "")
    return {name: value for name, value in OPTIONS.items() if name not in chosen}


_tracing = local()
"""`parts`: whether the program being traced is made of parts."""


def part(fn: Callable[..., Any], still: Any, *args: Any) -> Any:
    """`fn(still, *args)`: a kernel of its own in a program that is made of parts.

    `still`: what is the same in each pass of a loop around it.
    """
    if getattr(_tracing, "parts", False):
        return one_kernel(fn, still, *args)
    return fn(still, *args)


def in_parts(fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)`, with each `part` in it as one function.

    The time that LLVM takes grows faster than what it is given: of a large program,
    parts are compiled several times as fast as the whole.
    """
    if not _known():
        return fn(*args)
    _tracing.parts = True
    try:
        return fn(*args)
    finally:
        _tracing.parts = False


class Compiled:
    """A function, compiled for each value of its first arguments; one kernel on CPUs.

    Args:
        fn: the function.
        static: how many of its arguments are not arrays, but hashable.
        large: tells of these arguments whether the program is to be made of parts.
        around: of the function without them, and of them, what is compiled: the same,
            but spread over devices, for example.
        packs: whether the first argument after these is handed over packed. It may not
            be changed between calls.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        static: int = 1,
        large: Callable[..., bool] = lambda *given: False,
        around: Callable[..., Callable[..., Any]] = lambda run, *given: run,
        packs: bool = False,
    ) -> None:
        self.fn, self.static, self.large, self.around = fn, static, large, around
        self.packer = Packer() if packs else None
        self.programs: dict[tuple[Any, ...], Any] = {}
        self.lock = Lock()
        update_wrapper(self, fn)

    def __call__(self, *args: Any) -> Any:
        if any(isinstance(a, jax.core.Tracer) for a in jax.tree.leaves(args)):
            return self.fn(*args)  # it is up to the program around it
        given, rest = args[: self.static], args[self.static :]
        run: Callable[..., Any] = partial(self.fn, *given)
        key: tuple[Any, ...] = given
        if self.packer:
            layout, vectors = self.packer(rest[0])
            key, rest = (*given, layout), (vectors, *rest[1:])
            of = run
            run = lambda vectors, *more: of(part(layout.apart, vectors), *more)
        with self.lock:
            if key not in self.programs:
                options = _options() if _known() else None
                how = in_parts if self.large(*given) else one_kernel
                program = self.around(partial(how, run), *given)
                self.programs[key] = jax.jit(program, compiler_options=options)
        return self.programs[key](*rest)

    def compilations(self) -> int:
        """How many programs have been compiled."""
        return sum(program._cache_size() for program in self.programs.values())


def one_kernel(fn: Callable[..., Any], still: Any, *args: Any) -> Any:
    """`fn(still, *args)` as one function, where that is possible; else a plain call."""
    if not _known():
        return fn(still, *args)
    trees = []

    def leaves(*args: Any) -> list[Any]:
        found, tree = jax.tree.flatten(fn(*args))
        trees.append(tree)
        return found

    closed = jax.make_jaxpr(leaves)(still, *args)
    tree = trees[-1]
    inputs = [*closed.consts, *jax.tree.leaves((still, args))]
    count = len(closed.consts)
    compute = lambda every: jax.core.eval_jaxpr(
        closed.jaxpr, every[:count], *every[count:]
    )
    if not expressible(closed.jaxpr):
        return jax.tree.unflatten(tree, compute(inputs))

    packs = _packs(inputs, count + len(jax.tree.leaves(still)))

    def whole(*given: jax.Array) -> list[Any]:
        every = [jnp.zeros(jnp.shape(a), jnp.result_type(a)) for a in inputs]
        for pack, own in zip(given, packs, strict=True):
            ends = np.cumsum([every[i].size for i in own])
            for i, part in zip(own, jnp.split(jnp.ravel(pack), ends[:-1]), strict=True):
                every[i] = part.reshape(every[i].shape).astype(every[i].dtype)
        # taken apart once, not at each use
        return _needing(given, compute(jax.lax.optimization_barrier(every)))

    # nor does the mark allow an argument that is known to be constant
    packed = jax.lax.optimization_barrier([_packed(inputs, own) for own in packs])
    out = jax.jit(whole)(*packed)
    out[0] = set_xla_metadata(out[0], **MARK)
    return jax.tree.unflatten(tree, out)


def _packs(inputs: Sequence[Any], still: int) -> list[list[int]]:
    """Which inputs are handed over together; the first ones are `still`.

    Each argument costs about a microsecond, so small ones go together; what does not
    change in a loop goes apart from what does, so that it is done once.
    """
    packs: dict[Any, list[int]] = {}
    for i, a in enumerate(inputs):
        size = jnp.size(a)
        alone = i if size > SMALL else None
        if size:
            packs.setdefault((_type(a), i < still, alone), []).append(i)
    return list(packs.values())


def _type(a: Any) -> Any:
    """Of an argument: no booleans."""
    dtype = jnp.result_type(a)
    return jnp.dtype(jnp.int32) if jnp.issubdtype(dtype, jnp.bool_) else dtype


def _packed(inputs: Sequence[Any], own: Sequence[int]) -> jax.Array:
    parts = [jnp.asarray(inputs[i], _type(inputs[i])) for i in own]
    return parts[0] if len(parts) == 1 else jnp.concatenate(list(map(jnp.ravel, parts)))


def _needing(given: Sequence[jax.Array], results: Sequence[Any]) -> list[Any]:
    """The results, computed in a way that needs each of what was given.

    The mark allows no argument that is not used.
    """
    out = list(results)
    k = next(i for i, a in enumerate(out) if a.size)
    out[k] = jnp.where(_never(given), jnp.zeros_like(out[k]), out[k])
    return out


def expressible(jaxpr: Any) -> bool:
    """Whether a program can be one function."""
    return {eqn.primitive.name for eqn in _equations(jaxpr)} <= KNOWN


def _never(given: Sequence[jax.Array]) -> jax.Array:
    """False, for which a compiler that does not know it needs every array."""
    odd = jnp.ones((), bool)
    for a in given:
        floats = jnp.issubdtype(a.dtype, jnp.floating)
        high = jnp.finfo(a.dtype).max if floats else jnp.iinfo(a.dtype).max
        odd = odd & (a.reshape(-1)[0] == jnp.asarray(high // 7 * 5, a.dtype))
    return odd


def _equations(jaxpr: Any) -> Iterator[Any]:
    """Those of a program and of all programs within."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in jaxprs_in_params(eqn.params):
            yield from _equations(inner)
