"""Parts of a plan: the seconds of each are those of its function, none twice."""

from types import SimpleNamespace

import pytest

seconds_worked = 0.0


@pytest.fixture
def plan_parts(benchmarks_folder, monkeypatch):
    """The module, by a clock that only `work` moves."""
    import staging.plan_parts

    clock = SimpleNamespace(process_time=lambda: seconds_worked)
    monkeypatch.setattr(staging.plan_parts, "time", clock)
    return staging.plan_parts


def work(seconds: float) -> None:
    global seconds_worked
    seconds_worked += seconds


def certify() -> None:
    work(1.0)


def find_path() -> None:
    certify()
    work(3.0)


def find_nothing() -> None:
    pass


def plan() -> None:
    find_path()
    work(2.0)


def test_seconds_are_those_of_the_functions_that_are_called(plan_parts, monkeypatch):
    parts = {"paths": find_path, "certificates": certify, "grasps": find_nothing}
    monkeypatch.setattr(plan_parts, "PARTS", parts)
    seconds = plan_parts.seconds_by_part(plan)
    expected = {"paths": 3.0, "certificates": 1.0, "grasps": 0.0, "rest": 2.0}
    assert seconds == pytest.approx(expected)


def test_what_fails_is_not_hidden(plan_parts):
    with pytest.raises(ZeroDivisionError):
        plan_parts.seconds_by_part(lambda: 1 / 0)
