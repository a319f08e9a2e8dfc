"""A device for programs whose results are awaited at once.

JAX hands a program for a CPU to another thread and goes on. To wake that thread, and
then the one that waits, takes 0.1 ms: as long as a small problem takes.
"""

from functools import cache
from typing import Any

import jax


@cache
def synchronous_cpu_device() -> jax.Device | None:
    """A CPU that computes in the thread that asks; None: JAX's default device.

    It has a client of its own; JAX's settings and devices stay as they are.
    """
    if jax.default_backend() != "cpu" or jax.process_count() > 1:
        return None
    try:
        from jaxlib.xla_client import make_cpu_client

        client: Any = make_cpu_client(asynchronous=False, num_devices=1)
        return client.local_devices()[0]
    except (ImportError, AttributeError, TypeError, RuntimeError):
        return None  # of a version that makes them in another way
