"""Interrupts sent to the test process itself."""

import signal


def ctrl_c():
    signal.raise_signal(signal.SIGINT)
