"""A CPU device for programs whose results are awaited at once.

JAX runs a program for a CPU in another thread. Waking that thread, and afterwards the
thread that waits for it, takes 0.1 ms: as long as solving a small problem.
"""

from functools import cache
from typing import Any

import jax

from .backend import is_cpu_backend


@cache
def synchronous_cpu_device() -> jax.Device | None:
    """Return a CPU that computes in the calling thread; None: JAX's default device.

    The device belongs to a separate client, so that JAX's settings and list of
    devices do not change.
    """
    # a second client knows nothing of the devices of other processes
    if not is_cpu_backend() or jax.process_count() > 1:
        return None
    try:
        from jaxlib.xla_client import make_cpu_client

        client: Any = make_cpu_client(asynchronous=False, num_devices=1)
        return client.local_devices()[0]
    except (ImportError, AttributeError, TypeError, RuntimeError):
        # this version of jaxlib makes clients differently; only time is lost
        return None
