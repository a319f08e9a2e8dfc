"""Full-precision matrix products on every device.

By default JAX multiplies float32 matrices with fewer digits where that is faster: as
TF32 (10 bits of mantissa) on NVIDIA GPUs since Ampere, as bfloat16 (7 bits) on TPUs. A
pose one metre away would be wrong by a millimetre.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def full_matmul_precision(
    fn: Callable[Arguments, Result],
) -> Callable[Arguments, Result]:
    """Return the function with all its matrix products in full precision."""

    @wraps(fn)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with jax.default_matmul_precision("highest"):
            return fn(*args, **kwargs)

    return run
