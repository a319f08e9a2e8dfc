"""The order of test files: those that took longest in the last run come first."""

from collections import Counter

import pytest

KEY = "posewise/seconds"
"""Key of the time of each file [s] in pytest's own cache."""


class LongestFirst:
    """Orders files by their time in the last run, as a plugin of pytest.

    New files come first. Cases of a file stay together, since they share programs.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.cache = config.cache
        self.seconds: Counter[str] = Counter()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort the cases."""
        last = self.cache.get(KEY, {})
        items.sort(key=lambda item: -last.get(file_of(item.nodeid), 1e9))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the time of a case to that of its file."""
        self.seconds[file_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep the times for the next run."""
        if not hasattr(session.config, "workerinput"):  # workers see only their cases
            self.cache.set(KEY, self.cache.get(KEY, {}) | self.seconds)


def file_of(nodeid: str) -> str:
    """Return the file of a case."""
    return nodeid.partition("::")[0]
