"""Matrix products with all the digits of their numbers, on every device.

By default JAX multiplies matrices of float32 with fewer digits where that is faster:
as TF32 on NVIDIA's GPUs since Ampere, as bfloat16 on TPUs. A pose a metre away would be
off by a millimetre.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

Given = ParamSpec("Given")
Found = TypeVar("Found")


def full_matmul_precision(fn: Callable[Given, Found]) -> Callable[Given, Found]:
    """The function, in which no matrix product loses digits."""

    @wraps(fn)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        with jax.default_matmul_precision("highest"):
            return fn(*args, **kwargs)

    return run
