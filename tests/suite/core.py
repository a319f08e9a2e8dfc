"""The core suite (`make test`): what people run while they work.

Of each parametrised test one case, chosen by a hash of its name, and the cases marked
`edge`; nothing marked `long` or `slow`. All others run by `make test-all`.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable

import pytest

MAX_CORE_SECONDS = 3.0
"""Time of the processor that a core case should take, with its processes [s]."""
PROPERTY = "seconds of the processor"
"""Key of that time in the properties of a report, which come back from workers."""


def mark_core(items: Iterable[pytest.Item]) -> None:
    """Mark the cases of the core suite `core`."""
    cases = defaultdict(list)
    for item in items:
        if not any(item.iter_markers("long")) and not any(item.iter_markers("slow")):
            function, _, _ = item.nodeid.partition("[")
            cases[function].append(item)
    for group in cases.values():
        sample = min(group, key=lambda item: _digest(item.nodeid))
        for item in group:
            if item is sample or item.get_closest_marker("edge"):
                item.add_marker("core")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class LongCoreCases:
    """Lists core cases that take too long, as a plugin of pytest.

    They do not fail: how long a case takes depends on the machine and its load.
    """

    def __init__(self) -> None:
        self.begin = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item):
        """Start the clock."""
        self.begin = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo):
        """Add the time to the report of a case."""
        report = yield
        if report.when == "call":
            seconds = processor_seconds() - self.begin
            report.user_properties.append((PROPERTY, seconds))
        return report

    def pytest_terminal_summary(self, terminalreporter):
        """List the cases over the limit, the longest first."""
        times = [
            (dict(report.user_properties).get(PROPERTY, 0.0), report.nodeid)
            for report in terminalreporter.stats.get("passed", [])
        ]
        long = sorted((t for t in times if t[0] > MAX_CORE_SECONDS), reverse=True)
        if long:
            terminalreporter.section("core cases that take long")
            for seconds, name in long:
                line = f"{seconds:5.1f} s of the processor: {name}"
                terminalreporter.write_line(line)
            terminalreporter.write_line("make them faster, or mark them `long`")


def processor_seconds() -> float:
    """Return the time of this process and of those it has waited for [s]."""
    return sum(os.times()[:4])
