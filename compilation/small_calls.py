"""A trial of whether XLA compiles a marked call as one function.

A call with the attributes of `SMALL_CALL_ATTRIBUTES` is compiled as one function
instead of a sequence of kernels. The attributes and some compiler options are internal
to XLA and may change with any version, so that a small program is compiled with them
and compared before they are used.
"""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import private_jax
from .backend import is_cpu_backend
from .packed_pytree import pack
from .plain_jit import why_plain_jit
from .precision import full_matmul_precision
from .program_cache import read_entry, write_entry

SMALL_CALL_ATTRIBUTES = {"inlineable": "false", "xla_cpu_small_call": "true"}
"""Attributes that make XLA for CPUs compile a call as one function."""

XLA_OPTIONS: dict[str, Any] = {
    # no calls of libraries, which cannot be in a small call
    "xla_cpu_experimental_ynn_fusion_type": "",
    # half the time to compile of level 3
    "xla_backend_optimization_level": 1,
    # vectors as wide as the processor has, which saves 2 % of a solve
    "xla_cpu_prefer_vector_width": 512,
    "xla_disable_hlo_passes": ",".join(
        [
            # no threads, which cannot be in a small call
            "cpu-parallel-task-assigner",
            # after it, XLA simplifies reshapes until it reaches a limit of rounds
            "reshape-mover",
            # it splits a sum into windows of 32 entries, each of which is unrolled
            "tree_reduction_rewriter",
        ]
    ),
}
"""Compiler options of all programs; those named in XLA_FLAGS are left to the user."""


@dataclass(frozen=True)
class SmallCalls:
    """The result of the trial: whether small calls are used, and how."""

    options: dict[str, Any] | None
    """Compiler options of all programs; None: small calls are not used."""
    reason: str = ""
    """Why they are not used: a sentence."""


@cache
def small_calls() -> SmallCalls:
    """Return whether small calls are used in this process.

    A success is kept on disk for the next process. A failure, which may be due to the
    moment, is found again by each process, and logged.
    """
    if reason := why_plain_jit():
        return SmallCalls(None, reason)
    if not is_cpu_backend():
        return SmallCalls(None, "JAX's default device is not a CPU.")
    flags = os.environ.get("XLA_FLAGS", "")
    wanted = {name: value for name, value in XLA_OPTIONS.items() if name not in flags}
    key = "small calls", *wanted.items()
    options = _known_options(read_entry(key), wanted)
    if options is not None:
        return SmallCalls(options)
    found = probe(wanted)
    if found.options is None:
        logging.getLogger("posewise").warning(
            "The fast form of programs is off, solves take 1.5 to 5 times as long: %s",
            found.reason,
        )
    else:
        write_entry(key, json.dumps(found.options).encode())
    return found


def _known_options(
    entry: bytes | None, wanted: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the options in an entry of the cache; None if they are no wanted ones."""
    try:
        options = json.loads(entry or b"null")
    except (ValueError, RecursionError):
        return None
    if not isinstance(options, dict):
        return None
    return options if all(wanted.get(k) == v for k, v in options.items()) else None


def probe(wanted: Mapping[str, Any]) -> SmallCalls:
    """Compile a small program with and without marks, and compare the two.

    Args:
        wanted: compiler options; those that this version of XLA does not know are left
            out, which it says by an error.
    """
    arguments = np.linspace(0.0, 1.0, 5), np.array([3])
    try:
        lowered = jax.jit(_compute).lower(*arguments)
        options = dict(wanted)
        plain = _compile(lowered, options)
        if plain is None:
            options = {k: v for k, v in wanted.items() if _compile(lowered, {k: v})}
            plain = lowered.compile(options)
        marked = jax.jit(_compute_marked).lower(*arguments).compile(options)
        want, got = plain(*arguments), marked(*arguments)
    except Exception as error:
        summary = str(error).split("\n")[0][:200]
        return SmallCalls(None, f"a trial ended with {type(error).__name__}: {summary}")
    # XLA gives the attribute to small loops itself, unless a version has dropped it
    _, mark = marks = [f'{k}="{v}"' for k, v in SMALL_CALL_ATTRIBUTES.items()]
    if mark not in (plain.as_text() or ""):
        return SmallCalls(None, "this version of XLA does not mark small loops.")
    entry = (marked.as_text() or "").split("ENTRY")[-1].splitlines()
    if not any(" call(" in line and all(m in line for m in marks) for line in entry):
        return SmallCalls(None, "this version of XLA inlines a marked call.")
    tolerance = 100 * float(jnp.finfo(want[0].dtype).eps)
    if not all(map(lambda a, b: np.allclose(a, b, tolerance, tolerance), want, got)):
        return SmallCalls(None, "a marked call returned other values than a plain one.")
    return SmallCalls(options)


def mark_small_call(results: Sequence[jax.Array]) -> list[jax.Array]:
    """Return the results of a call, which is marked to be compiled as one function."""
    # XLA reads the attributes on one result of the call as those of the whole call
    first = private_jax.set_xla_metadata(results[0], **SMALL_CALL_ATTRIBUTES)
    return [first, *results[1:]]


@full_matmul_precision
def _compute(x: jax.Array, count: jax.Array) -> tuple[jax.Array, ...]:
    """Return results of a loop with a product, of an index and of a sum."""

    def step(i: jax.Array, y: jax.Array) -> jax.Array:
        return 0.1 * (jnp.outer(y, y) @ y) + jnp.sin(y[::-1])

    y = jax.lax.fori_loop(0, count[0], step, x)
    return y, jax.lax.dynamic_slice_in_dim(y, count[0], 2), jnp.sum(y * x), y > 0.5


def _compute_marked(x: jax.Array, count: jax.Array) -> list[jax.Array]:
    packed = pack((x, count))

    def run(*buffers: jax.Array) -> tuple[jax.Array, ...]:
        return _compute(*packed.layout.unpack(buffers))

    barrier = jax.lax.optimization_barrier(packed.buffers)
    return mark_small_call(jax.jit(run)(*barrier))


def _compile(lowered: Any, options: dict[str, Any]) -> Any:
    """Return the compiled program; None: XLA does not know one of the options."""
    try:
        return lowered.compile(options)
    except Exception:
        return None
