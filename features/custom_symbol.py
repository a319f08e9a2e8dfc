"""Symbols of functions that users write."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from textwrap import shorten
from typing import Any
from weakref import WeakValueDictionary

import jax
import jax.numpy as jnp

from posewise.compilation.traced_function import TracedFunction, trace_function
from posewise.robots.errors import ConfigError

from .errors import FeatureError
from .symbol import Pose, Symbol
from .symbol_kinds import PoseSymbol
from .typing import PoseFunction

_SYMBOLS: WeakValueDictionary[tuple[TracedFunction, str], Symbol] = (
    WeakValueDictionary()
)
"""Symbols of traces, so that functions that compute the same share their programs."""

_TRACED: ContextVar[dict[tuple[Symbol, int], Symbol] | None] = ContextVar(
    "traced", default=None
)
"""Symbols of what functions compute, within `tracing_once`."""


class CustomSymbol(PoseSymbol):
    """A user's function, which may read anything and is traced for each use."""


def custom_symbol(fn: PoseFunction, frames: int) -> CustomSymbol:
    """Return the symbol of a user's function of poses."""
    name = getattr(fn, "__name__", "custom")
    # It may read any part of its poses.
    return CustomSymbol(fn, name, frames=(frames, frames), uses_quaternions=True)


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


def traced_symbol(symbol: Symbol, frames: int) -> Symbol:
    """Return the symbol of what a user's function computes now.

    Args:
        symbol: of the function.
        frames: number of its poses.

    Raises:
        FeatureError: for a function that fails, or returns no rows.
    """
    traced = _TRACED.get()
    if traced is None:
        return _trace(symbol, frames)
    if (symbol, frames) not in traced:
        traced[symbol, frames] = _trace(symbol, frames)
    return traced[symbol, frames]


def _trace(symbol: Symbol, frames: int) -> Symbol:
    dtype = jnp.result_type(float)
    shapes: Any = (jax.ShapeDtypeStruct(s, dtype) for s in ((3, 3), (3,), (4,)))
    pose = Pose(*shapes)
    try:
        traced = trace_function(_Rows(symbol.fn, symbol.name), *[pose] * frames)
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
        traced, symbol.name, symbol.frames, traced.shape[0], uses_quaternions=True
    )
    return _SYMBOLS.setdefault((traced, symbol.name), new)


@dataclass(frozen=True)
class _Rows:
    """A user's function, with its result as rows of the numbers of this process."""

    fn: Callable[..., Any]
    name: str

    def __call__(self, *poses: Pose) -> jax.Array:
        y = self.fn(*poses)
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
