"""The core suite (`make test`): what people run while they work.

Of each parametrised test one case, chosen by a hash of its name, and the cases marked
`edge`; nothing marked `long` or `slow`. All others run by `make test-all`.

Of a test marked `sampled` only these run by `make test-all`, and the others are slow;
of one that is `long` a case is chosen likewise, which is not in the core.
"""

import hashlib
import os
import time
from collections import defaultdict
from collections.abc import Iterable

import pytest

MAX_CORE_SECONDS = 3.0
"""Time of the processor that a core case may take, with its processes [s]; a longer one
fails, and has to be made faster or marked `long`."""
REFERENCE_LOOP_SECONDS = 0.02
"""Time of `loop_seconds` on a fast desktop, which `MAX_CORE_SECONDS` is meant for [s];
where it is longer, cases may take longer in proportion."""
LOOP_STEPS = 10**6
"""Number of steps of that loop."""


def mark_core(items: Iterable[pytest.Item]) -> None:
    """Mark the cases of the core suite `core`, and `slow` what `sampled` leaves out."""
    cases = defaultdict(list)
    for item in items:
        if not any(item.iter_markers("slow")):
            function, _, _ = item.nodeid.partition("[")
            cases[function].append(item)
    for group in cases.values():
        short = [item for item in group if not any(item.iter_markers("long"))]
        sample = _sample(short or group)
        for item in group:
            if item in short and (item is sample or item.get_closest_marker("edge")):
                item.add_marker("core")
            elif item is not sample and item.get_closest_marker("sampled"):
                item.add_marker("slow")


def _sample(group: list[pytest.Item]) -> pytest.Item:
    """Return the case that `sampled` names, or else the one that the hash chooses."""
    for item in group:
        mark = item.get_closest_marker("sampled")
        if mark and mark.args and item.nodeid.endswith(f"[{mark.args[0]}]"):
            return item
    return min(group, key=lambda item: _digest(item.nodeid))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class CoreTimeLimit:
    """Fails core cases that take too long, as a plugin of pytest."""

    def __init__(self) -> None:
        self.begin = 0.0
        self.limit = time_limit()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item):
        """Start the clock."""
        self.begin = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo):
        """Turn the report of a passed case over the limit into a failure."""
        report = yield
        seconds = processor_seconds() - self.begin
        if report.when == "call" and report.passed and seconds > self.limit:
            # other work may have come to the machine since the limit was set
            self.limit = max(self.limit, time_limit())
        if report.when == "call" and report.passed and seconds > self.limit:
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} took {seconds:.1f} s of the processor; a core case has"
                f" {self.limit:.1f}: make it faster, or mark it `long`."
            )
        return report


def processor_seconds() -> float:
    """Return the time of this process and of those it has waited for [s]."""
    return sum(os.times()[:4])


def time_limit() -> float:
    """Return the time that a core case may take on this machine as it is now [s]."""
    return MAX_CORE_SECONDS * max(1.0, loop_seconds() / REFERENCE_LOOP_SECONDS)


def loop_seconds() -> float:
    """Return the time of a fixed loop, the fastest of three, which tells how fast the
    machine is."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        sum(i * i for i in range(LOOP_STEPS))
        times.append(time.process_time() - begin)
    return min(times)
