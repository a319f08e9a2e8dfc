"""The form of programs: sequential for CPUs, parallel for accelerators.

A CPU runs lanes one after the other in one kernel: it prefers loops that end early, and
skips what does not count. An accelerator runs all lanes together, and its time is that
of the number of kernels, and of the times at which the host is asked how a loop goes
on: it prefers sequences of known length, and computes what may not count.
"""

import jax


def is_cpu_backend() -> bool:
    """Whether JAX's default devices are CPUs."""
    return jax.default_backend() == "cpu"
