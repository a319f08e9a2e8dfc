"""Symbols of functions that users write."""

from dataclasses import replace
from textwrap import shorten
from typing import Any
from weakref import WeakValueDictionary

import jax
import jax.numpy as jnp

from posewise.compilation.traced_function import TracedFunction, trace_function
from posewise.robots.errors import ConfigError

from .errors import FeatureError
from .symbol import Pose, Symbol
from .typing import PoseFunction

_SYMBOLS: WeakValueDictionary[tuple[TracedFunction, str], Symbol] = (
    WeakValueDictionary()
)
"""Symbols of traces, so that functions that compute the same share their programs."""


def custom_symbol(fn: PoseFunction, frames: int) -> Symbol:
    """Return the symbol of a user's function of poses."""
    name = getattr(fn, "__name__", "custom")
    # What jax.jit returns is traced once, whatever the function within reads later.
    inner = getattr(fn, "__wrapped__", fn) if isinstance(fn, jax.stages.Wrapped) else fn
    # It may read any part of its poses.
    return Symbol(
        inner, name, frames=(frames, frames), is_custom=True, uses_quaternions=True
    )


def traced_symbol(symbol: Symbol, frames: int) -> Symbol:
    """Return the symbol of what a user's function computes now.

    Args:
        symbol: of the function.
        frames: number of its poses.

    Raises:
        FeatureError: for a function that fails, or returns no rows.
    """
    dtype = jnp.result_type(float)
    shapes: Any = (jax.ShapeDtypeStruct(s, dtype) for s in ((3, 3), (3,), (4,)))
    pose = Pose(*shapes)
    try:
        traced = trace_function(symbol.fn, *[pose] * frames)
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
    new = replace(symbol, fn=traced, dim=traced.shape[0], is_custom=False)
    return _SYMBOLS.setdefault((traced, symbol.name), new)
