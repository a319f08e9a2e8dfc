"""Cases of `make test`, their order and the list of long ones."""

from types import SimpleNamespace

import pytest
from suite.core import LongCoreCases, mark_core, processor_seconds
from suite.longest_first import KEY, LongestFirst


class Case:
    """A collected case with marks."""

    def __init__(self, nodeid: str, *marks: str):
        self.nodeid, self.marks = nodeid, set(marks)

    def iter_markers(self, name):
        return [name] * (name in self.marks)

    def get_closest_marker(self, name):
        return name if name in self.marks else None

    def add_marker(self, name):
        self.marks.add(name)


def core(cases: list[Case]) -> list[str]:
    mark_core(cases)
    return [case.nodeid for case in cases if "core" in case.marks]


def test_one_case_of_each_function_and_the_edges_are_core():
    many = [Case(f"a.py::test_many[{k}]") for k in range(50)]
    (chosen,) = core(many)
    assert core([Case(case.nodeid) for case in reversed(many)]) == [chosen]
    assert core([Case("a.py::test_single"), Case("a.py::T::test_single")]) == [
        "a.py::test_single",
        "a.py::T::test_single",
    ]
    edge = Case("a.py::test_many[edge]", "edge")
    names = core([*(Case(case.nodeid) for case in many), edge])
    assert edge.nodeid in names and len(names) <= 2
    assert core([Case("a.py::test_l", "long"), Case("a.py::test_s", "slow")]) == []


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_a_long_core_case_is_listed_and_passes(seconds):
    plugin, lines = LongCoreCases(), []
    plugin.begin = processor_seconds() - seconds
    report = SimpleNamespace(
        when="call", outcome="passed", nodeid="a.py::test_a", user_properties=[]
    )
    hook = plugin.pytest_runtest_makereport(Case("a.py::test_a"), None)
    next(hook)
    with pytest.raises(StopIteration):
        hook.send(report)
    plugin.pytest_terminal_summary(
        SimpleNamespace(
            stats={"passed": [report]}, section=lines.append, write_line=lines.append
        )
    )
    assert report.outcome == "passed"
    assert any("a.py::test_a" in line for line in lines) == (seconds > 3.0)


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
