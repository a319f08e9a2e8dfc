"""All tests run in float64, as notebooks, docs and the command line do."""

import jax

jax.config.update("jax_enable_x64", True)
