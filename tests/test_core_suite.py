"""Cases of `make test`, their order and their limit of time."""

from types import SimpleNamespace

import pytest
from suite import core
from suite.core import CoreTimeLimit, mark_core, processor_seconds
from suite.longest_first import KEY, LongestFirst


class Case:
    """A collected case with marks, and what `sampled` is given."""

    def __init__(self, nodeid: str, *marks: str, args: tuple[str, ...] = ()):
        self.nodeid, self.marks, self.args = nodeid, set(marks), args

    def iter_markers(self, name):
        return [name] * (name in self.marks)

    def get_closest_marker(self, name):
        return SimpleNamespace(args=self.args) if name in self.marks else None

    def add_marker(self, name):
        self.marks.add(name)


def core_cases(cases: list[Case]) -> list[str]:
    mark_core(cases)
    return [case.nodeid for case in cases if "core" in case.marks]


def test_one_case_of_each_function_and_the_edges_are_core():
    many = [Case(f"a.py::test_many[{k}]") for k in range(50)]
    (chosen,) = core_cases(many)
    assert core_cases([Case(case.nodeid) for case in reversed(many)]) == [chosen]
    assert core_cases([Case("a.py::test_single"), Case("a.py::T::test_single")]) == [
        "a.py::test_single",
        "a.py::T::test_single",
    ]
    edge = Case("a.py::test_many[edge]", "edge")
    names = core_cases([*(Case(case.nodeid) for case in many), edge])
    assert edge.nodeid in names and len(names) <= 2
    assert (
        core_cases([Case("a.py::test_l", "long"), Case("a.py::test_s", "slow")]) == []
    )


def kept_cases(cases: list[Case]) -> list[str]:
    mark_core(cases)
    return [case.nodeid for case in cases if "slow" not in case.marks]


def test_of_a_sampled_test_one_case_is_not_slow():
    names = [f"a.py::test_many[{k}]" for k in range(50)]
    core = core_cases([Case(name) for name in names])
    edge = Case("a.py::test_many[edge]", "edge", "sampled")
    many = [*(Case(name, "sampled") for name in names), edge]
    assert {*kept_cases(many)} == {*core, edge.nodeid}
    assert {*core_cases(many)} == {*core, edge.nodeid}
    long = [Case(name, "sampled", "long") for name in names]
    assert kept_cases(long) == core and core_cases(long) == []
    assert kept_cases([Case("a.py::test_single", "sampled")]) == ["a.py::test_single"]
    some = [Case(name, *["sampled"] * (name > names[9])) for name in names]
    assert {*kept_cases(some)} == {*core, *(n for n in names if n <= names[9])}


def test_the_case_that_sampled_names_stays():
    names = [f"a.py::test_many[{k}-0]" for k in range(50)]
    long = [Case(name, "sampled", "long", args=("7-0",)) for name in names]
    assert kept_cases(long) == ["a.py::test_many[7-0]"]
    # Where it is slow or was not collected, the hash chooses.
    other = [Case(name, "sampled", "long", args=("none",)) for name in names]
    assert kept_cases(other) == core_cases([Case(name) for name in names])


@pytest.mark.parametrize(
    ("seconds", "limit_now", "outcome"),
    [(0.0, 3.0, "passed"), (10.0, 3.0, "failed"), (10.0, 20.0, "passed")],
)
def test_a_core_case_over_its_limit_fails(monkeypatch, seconds, limit_now, outcome):
    plugin = CoreTimeLimit()
    assert plugin.limit >= 3.0
    monkeypatch.setattr(core, "time_limit", lambda: limit_now)
    plugin.limit, plugin.begin = 3.0, processor_seconds() - seconds
    report = SimpleNamespace(when="call", passed=True, outcome="passed")
    hook = plugin.pytest_runtest_makereport(Case("a.py::test_a"), None)
    next(hook)
    with pytest.raises(StopIteration):
        hook.send(report)
    assert report.outcome == outcome
    if outcome == "failed":
        assert "a.py::test_a took" in report.longrepr and "`long`" in report.longrepr


def test_files_that_took_longest_come_first():
    stored = {KEY: {"a.py": 1.0, "b.py": 9.0}}
    cache = SimpleNamespace(get=stored.get, set=stored.__setitem__)
    order = LongestFirst(SimpleNamespace(cache=cache))
    items = [Case("a.py::x"), Case("b.py::x"), Case("a.py::y"), Case("new.py::z")]
    order.pytest_collection_modifyitems(items)
    names = [case.nodeid for case in items]
    assert names == ["new.py::z", "b.py::x", "a.py::x", "a.py::y"]
    order.pytest_runtest_logreport(SimpleNamespace(nodeid="a.py::x", duration=20.0))
    order.pytest_sessionfinish(SimpleNamespace(config=object()))
    assert stored[KEY] == {"a.py": 20.0, "b.py": 9.0}
