"""The array type of signatures: NumPy arrays and JAX arrays are both welcome."""

from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import numpy as np

if TYPE_CHECKING:
    # the kind that comes in goes out, which no annotation of a union can say
    Array: TypeAlias = Any
else:
    Array = np.ndarray | jax.Array
