"""Functions of a user's as JAX traces them: a value with all numbers that they read.

A Python function may read anything: globals, closures, attributes, arrays that change
in place. Its trace has read all of that once, so that two traces are equal only if they
compute the same, and equal ones share compiled programs.
"""

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxpr_as_fun
from jaxtyping import PyTree

from .fingerprint import SCALAR_TYPES, NotFingerprintable, fingerprint
from .precision import full_matmul_precision
from .private_jax import clear_traces

CUSTOM_DERIVATIVES = "custom_jvp_call", "custom_vjp_call"
"""Primitives with a rule for derivatives, a new Python object in each trace."""
LIBRARY_SOURCES = tuple(
    f" at {folder}{os.sep}"
    for folder in (Path(jax.__file__).parent, Path(__file__).parents[1])
)
"""Notes of JAX about the source of functions in JAX and here, which never change."""
_new_contexts = itertools.count(1)
"""Numbers of new contexts, from 1."""
MAX_KEPT_TRACES = 1000
"""Number of new contexts after which their traces are dropped; fewer take less memory
(20 kB each), and functions of JAX are traced again more often."""


@dataclass(frozen=True)
class TracedFunction:
    """A function of arrays, as it was when it was traced."""

    digest: str
    """Digest of all operations and numbers."""
    opaque: tuple[Any, ...]
    """Python objects that the function calls when it runs."""
    jaxpr: ClosedJaxpr = field(compare=False, repr=False)
    source: tuple[Any, ...] = field(compare=False, repr=False)
    """The function, and what it was traced with."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Traces cannot be pickled; a copy traces the function again.
        return trace_function, self.source

    def __call__(self, *args: PyTree) -> jax.Array:
        """Compute the function of arguments of the same shapes and types."""
        result: jax.Array = jaxpr_as_fun(self.jaxpr)(*jax.tree.leaves(args))[0]
        return result

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return tuple(self.jaxpr.out_avals[0].shape)

    def __fingerprint__(self) -> tuple[Any, ...]:
        return self.digest, self.opaque


@full_matmul_precision
def trace_function(fn: Callable[..., Any], *args: PyTree) -> TracedFunction:
    """Trace a function that returns one array.

    Args:
        fn: the function.
        *args: arrays, or `jax.ShapeDtypeStruct`s.
    """
    reader, closed, words = _read(fn, args)
    if reader.has_inner_functions:
        # JAX keeps their traces by identity: they may be of earlier numbers. A new
        # context for all functions would cost milliseconds.
        if next(_new_contexts) % MAX_KEPT_TRACES == 0:
            clear_traces()
        with _trace_context()(object()):
            reader, closed, words = _read(fn, args)
    if reader.has_while_loop:
        # Its derivatives fail here, with the function's name, rather than in a solve.
        jax.eval_shape(_pull_back(closed), *args)
    text = "".join(f"{len(word)}:{word}" for word in words)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return TracedFunction(digest, tuple(reader.opaque), closed, (fn, *args))


@cache
def _trace_context() -> Callable[[object], AbstractContextManager[Any]]:
    """Return the context of traces: JAX reuses inner traces only for an equal value.

    It is made when it is first needed, since functions compiled before are compiled
    again then.
    """
    context: Callable[[object], AbstractContextManager[Any]] = jax.make_user_context()
    return context


def _read(
    fn: Callable[..., Any], args: tuple[PyTree, ...]
) -> tuple["_Reader", ClosedJaxpr, list[str]]:
    """Trace a function; return the reader, the trace and its words."""
    # JAX keeps traces by the identity of the function, which hence is a new one.
    traced = jax.make_jaxpr(lambda *args: jnp.atleast_1d(fn(*args)))(*args)
    # A user may change an array in place.
    closed = traced.replace(consts=[_copy(c) for c in traced.consts])
    reader = _Reader()
    words = [*reader.words(closed)]
    if reader.has_custom_derivatives:
        # The rules are read by what they compute.
        with suppress(Exception):
            words += reader.words(jax.make_jaxpr(_pull_back(closed))(*args))
    return reader, closed, words


def _source(jaxpr: Any) -> str:
    """Return JAX's note about the function that a trace is of."""
    info = getattr(jaxpr, "debug_info", None)
    return str(getattr(info, "func_src_info", ""))


def _is_in_library(source: str) -> bool:
    return any(folder in source for folder in LIBRARY_SOURCES)


def _copy(const: Any) -> Any:
    return const if isinstance(const, jax.Array) else np.array(const)


def _pull_back(closed: ClosedJaxpr) -> Callable[..., Any]:
    """Return the derivatives of a function, at the cotangent of ones."""

    def derivatives(*args: PyTree) -> Any:
        y, pull = jax.vjp(jaxpr_as_fun(closed), *jax.tree.leaves(args))
        return pull([jnp.ones_like(a) for a in y])

    return derivatives


class _Reader:
    """Reader of a trace as words that are equal for equal computations."""

    def __init__(self) -> None:
        self.opaque: list[Any] = []
        self.has_custom_derivatives = False
        self.has_inner_functions: bool = False
        """Whether loops, branches or jitted functions of the user's are called."""
        self.has_while_loop = False

    def words(self, v: Any) -> Iterator[str]:
        """Return the words of a trace, or of a parameter of an operation."""
        if isinstance(v, ClosedJaxpr):
            yield "consts"
            for const in v.consts:
                yield from self.array(const)
            yield from self.operations(v.jaxpr)
        elif isinstance(v, Jaxpr):
            yield from self.operations(v)
        elif type(v) in SCALAR_TYPES:
            yield repr(v)
        elif hasattr(v, "__array__"):
            yield from self.array(v)
        elif isinstance(v, tuple | list):
            yield f"{type(v).__name__} {len(v)}"
            for part in v:
                yield from self.words(part)
        elif isinstance(v, Mapping):
            yield f"mapping {len(v)}"
            for key, part in v.items():
                yield from self.words(key)
                yield from self.words(part)
        elif isinstance(v, Enum | np.dtype | type) or " at 0x" not in repr(v):
            yield repr(v)
        else:
            try:
                yield fingerprint(v)
            except NotFingerprintable:
                yield type(v).__name__
                self.opaque.append(v)

    def array(self, v: Any) -> Iterator[str]:
        """Return the words of an array."""
        if jax.dtypes.issubdtype(v.dtype, jax.dtypes.extended):
            v = jax.random.key_data(v)
        a = np.asarray(v)
        yield f"{a.dtype} {a.shape}"
        yield hashlib.sha256(a.tobytes()).hexdigest()

    def operations(self, jaxpr: Jaxpr) -> Iterator[str]:
        """Return the words of all operations, variables by their order."""
        # The outermost function is one of this module.
        self.has_inner_functions |= not _is_in_library(_source(jaxpr))
        names: dict[Any, str] = {}

        def name(atom: Any) -> str:
            if isinstance(atom, Literal):
                # Texts of numbers may be rounded.
                number = np.asarray(atom.val).tobytes().hex()
                return f"{atom.aval} {getattr(atom.aval, 'weak_type', False)} {number}"
            if atom not in names:
                names[atom] = f"{len(names)}"
                aval = atom.aval
                return f"{names[atom]} {aval} {getattr(aval, 'weak_type', False)}"
            return names[atom]

        yield " ".join(map(name, (*jaxpr.constvars, *jaxpr.invars)))
        for eqn in jaxpr.eqns:
            atoms = " ".join(map(name, (*eqn.invars, *eqn.outvars)))
            yield f"{eqn.primitive.name} {atoms}"
            self.has_while_loop |= eqn.primitive.name == "while"
            is_custom = eqn.primitive.name in CUSTOM_DERIVATIVES
            if is_custom:
                source = _source(getattr(eqn.params.get("call_jaxpr"), "jaxpr", None))
                self.has_custom_derivatives |= not _is_in_library(source)
                yield source.partition(" at ")[0]
            for key, value in sorted(eqn.params.items()):
                # Messages that are printed are no part of what is computed.
                is_rule = is_custom and not isinstance(value, ClosedJaxpr)
                if not is_rule and not eqn.primitive.name.startswith("debug"):
                    yield key
                    yield from self.words(value)
        yield " ".join(map(name, jaxpr.outvars))
