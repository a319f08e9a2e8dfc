"""Programs that XLA compiles during a test."""

import logging

import jax
import pytest


@pytest.fixture
def compiled(caplog):
    """Return the messages about programs compiled so far in this test."""
    caplog.set_level(logging.WARNING, "jax")
    # For all threads, and not for this one alone as by `jax.log_compiles`.
    before = jax.config.jax_log_compiles
    jax.config.update("jax_log_compiles", True)
    try:
        yield lambda: [
            r.getMessage() for r in caplog.records if "XLA comp" in r.getMessage()
        ]
    finally:
        jax.config.update("jax_log_compiles", before)
