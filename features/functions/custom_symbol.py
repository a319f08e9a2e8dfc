"""Symbols of functions that users write."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from textwrap import shorten
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import jax
import jax.numpy as jnp

from posewise.compilation.traced_function import TracedFunction, trace_function
from posewise.robots.errors import ConfigError, ProblemWarning

from ..errors import FeatureError
from ..symbol import Arrays, Pose, Symbol
from ..symbol_kinds import PoseSymbol
from ..typing import PoseFunction
from .function_params import FunctionOfLeaves, FunctionOfTree, FunctionParams, leaf_name

_SYMBOLS: WeakValueDictionary[tuple[TracedFunction, str], PoseSymbol] = (
    WeakValueDictionary()
)
"""Symbols of traces, so that functions that compute the same share their programs."""

_LAST_TRACES: WeakKeyDictionary[Symbol, dict[Any, PoseSymbol | None]] = (
    WeakKeyDictionary()
)
"""The trace with which each symbol was last used, by the type of numbers; None once it
has been told that they change."""

_TRACED: ContextVar[dict[tuple[Symbol, int], PoseSymbol] | None] = ContextVar(
    "traced", default=None
)
"""Symbols of what functions compute, within `tracing_once`."""


class CustomSymbol(PoseSymbol):
    """A user's function, which may read anything and is traced for each use."""


def custom_symbol(
    fn: PoseFunction, frames: int, params: FunctionParams | None = None
) -> CustomSymbol:
    """Return the symbol of a user's function of poses, and perhaps of params."""
    name = getattr(fn, "__name__", "custom")
    called = fn if params is None else FunctionOfTree(fn, params.structure)
    # It may read any part of its poses.
    return CustomSymbol(called, name, frames=(frames, frames), uses_quaternions=True)


@contextmanager
def tracing_once() -> Iterator[None]:
    """Trace each function only once within, if it reads the same or not.

    One problem has one trace of each function, also of a function that computes
    something else each time, such as one that draws random numbers.
    """
    if _TRACED.get() is not None:
        yield
        return
    token = _TRACED.set({})
    try:
        yield
    finally:
        _TRACED.reset(token)


def traced_symbol(
    symbol: Symbol, frames: int, leaves: Arrays | None = None
) -> PoseSymbol:
    """Return the symbol of what a user's function computes now.

    Args:
        symbol: of the function.
        frames: number of its poses.
        leaves: of its params, of which only shapes and types count; None: no params.

    Raises:
        FeatureError: for a function that fails, or returns no rows.
    """
    traced = _TRACED.get()
    if traced is None:
        return _trace(symbol, frames, leaves or {})
    if (symbol, frames) not in traced:
        traced[symbol, frames] = _trace(symbol, frames, leaves or {})
    return traced[symbol, frames]


def _trace(symbol: Symbol, frames: int, leaves: Arrays) -> PoseSymbol:
    dtype = jnp.result_type(float)
    types = [
        jax.ShapeDtypeStruct(v.shape, dtype if v.dtype.kind == "f" else v.dtype)
        for v in leaves.values()
    ]
    shapes: Any = (jax.ShapeDtypeStruct(s, dtype) for s in ((3, 3), (3,), (4,)))
    pose = Pose(*shapes)
    try:
        rows = _Rows(symbol.fn, symbol.name, frames)
        traced = trace_function(rows, *[pose] * frames, *types)
    except (ConfigError, FeatureError):
        raise
    except Exception as error:
        # Errors of JAX may be pages long; the whole one is the cause of this one.
        reason = shorten(str(error), 600, placeholder=" …")
        raise FeatureError(
            f"{symbol.name}: the function failed on {frames} poses: {reason}"
        ) from error
    if len(traced.shape) != 1:
        raise FeatureError(
            f"{symbol.name}: the function returned shape {traced.shape}, expected (D,)."
        )
    new = PoseSymbol(
        FunctionOfLeaves(traced, len(types)) if types else traced,
        symbol.name,
        symbol.frames,
        traced.shape[0],
        uses_quaternions=True,
        # Weights of a network are large.
        shares_params=bool(types),
    )
    new = _SYMBOLS.setdefault((traced, symbol.name), new)
    _warn_of_other_numbers(symbol, new, dtype)
    return new


def _warn_of_other_numbers(symbol: Symbol, new: PoseSymbol, dtype: Any) -> None:
    """Warn, once for each feature, of a function that computes something else now."""
    traces = _LAST_TRACES.setdefault(symbol, {})
    last = traces.setdefault(dtype, new)
    if last is new or last is None:
        return
    traces[dtype] = None
    warnings.warn(
        f"{symbol.name}: the function reads numbers that have changed since the"
        " feature was last used, and is compiled again. Give what changes as params,"
        f" which compile nothing: Feature({symbol.name}, frames, params=...).",
        ProblemWarning,
        stacklevel=7,
    )


@dataclass(frozen=True)
class _Rows:
    """A user's function, with its result as rows of the numbers of this process."""

    fn: Callable[..., Any]
    name: str
    frames: int

    def __call__(self, *inputs: Any) -> jax.Array:
        leaves = enumerate(inputs[self.frames :])
        named = {leaf_name(i): leaf for i, leaf in leaves}
        y = self.fn(*inputs[: self.frames], **named)
        parts = y if type(y) in (list, tuple) and y else [y]
        try:
            rows = jnp.concatenate([jnp.atleast_1d(jnp.asarray(a)) for a in parts])
        except (TypeError, ValueError) as error:
            raise FeatureError(
                f"{self.name}: the function returned {shorten(repr(y), 200)}, expected"
                " an array (D,), or a list of numbers or rows."
            ) from error
        if jnp.iscomplexobj(rows):
            raise FeatureError(
                f"{self.name}: the function returned complex numbers ({rows.dtype}),"
                " expected real ones: return its real and imaginary parts as rows."
            )
        # Integers and truth values have no derivatives: those of the rows are zero.
        return rows.astype(jnp.result_type(float))
