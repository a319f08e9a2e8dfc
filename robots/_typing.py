"""The array types of signatures: NumPy arrays and JAX arrays are both welcome."""

import jax
import numpy as np

Array = np.ndarray | jax.Array
