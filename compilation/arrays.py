"""The array type of all annotations."""

from typing import TypeAlias

import jax
import numpy as np

Array: TypeAlias = jax.Array | np.ndarray
"""An array on a device or on the host; functions of JAX accept either."""
