"""Compilation by `jax.jit` alone, without any work-around for XLA.

Set the environment variable POSEWISE_PLAIN_JIT=1 before posewise is imported to choose
it: to find out whether a work-around is at fault, or to use a version of JAX that lacks
the private interfaces. Results agree to rounding; solves take 1.5 to 5 times as long on
CPUs, and no program is read from posewise's own program cache.
"""

import logging
import os
from collections.abc import Callable
from functools import cache, partial, update_wrapper
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from . import private_jax
from .loaded_programs import FunctionPrograms, JittedFunction
from .precision import full_matmul_precision
from .traced import is_traced

VARIABLE = "POSEWISE_PLAIN_JIT"
"""Name of the environment variable; empty or "0" means that it is not set."""


@cache
def why_plain_jit() -> str:
    """Return why programs are compiled by `jax.jit` alone; empty: they are not.

    The answer does not change while a process runs, because programs are made when
    modules are imported.
    """
    if os.environ.get(VARIABLE, "") not in ("", "0"):
        return f"the environment has {VARIABLE}={os.environ[VARIABLE]}."
    if private_jax.MISSING:
        reason = f"this version of JAX lacks a private interface: {private_jax.MISSING}"
        logging.getLogger("posewise").warning(
            "Programs are compiled by jax.jit alone, solves take 1.5 to 5 times as"
            " long: %s",
            reason,
        )
        return reason
    return ""


def uses_plain_jit() -> bool:
    """Whether programs are compiled by `jax.jit` alone."""
    return bool(why_plain_jit())


class PlainJit:
    """A function compiled by `jax.jit`, with the interface of `StaticJit`.

    Args:
        fn: the function.
        num_static: number of leading arguments that are hashable instead of arrays.
        transform: maps the function without its static arguments, and these, to the
            function that is compiled.
        fetches: whether results are returned as NumPy arrays.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        num_static: int,
        transform: Callable[..., Callable[..., Any]],
        fetches: bool,
    ) -> None:
        self.fn, self.num_static, self.fetches = fn, num_static, fetches
        self.transform = transform
        self.programs = FunctionPrograms()
        update_wrapper(self, fn)

    def _make_program(self, static: tuple[Any, ...]) -> JittedFunction:
        run = partial(full_matmul_precision(self.fn), *static)
        return JittedFunction(jax.jit(self.transform(run, *static)))

    def __call__(self, *args: PyTree) -> Any:
        static, arrays = args[: self.num_static], args[self.num_static :]
        program, _ = self.programs.get(static, lambda: self._make_program(static))
        out = program(*arrays)
        # within another program the result is a tracer, which has no value yet
        fetches = self.fetches and not is_traced(out)
        return jax.tree.map(np.asarray, out) if fetches else out

    def num_compilations(self) -> int:
        """Return the number of programs that have been compiled."""
        return self.programs.num_compilations()
