"""Parts of a plan: the seconds of each are those of its function, none twice."""

import pytest


@pytest.fixture
def plan_parts(benchmarks_folder):
    import staging.plan_parts

    return staging.plan_parts


def work(count: int) -> int:
    return sum(range(count))


def certify() -> int:
    return work(10**6)


def find_path() -> int:
    return certify() + work(3 * 10**6)


def find_nothing() -> int:
    return 0


def plan() -> int:
    return find_path() + work(2 * 10**6)


def test_seconds_are_those_of_the_functions_that_are_called(plan_parts, monkeypatch):
    parts = {"paths": find_path, "certificates": certify, "grasps": find_nothing}
    monkeypatch.setattr(plan_parts, "PARTS", parts)
    seconds = plan_parts.seconds_by_part(plan)
    assert set(seconds) == {*parts, "rest"}
    assert seconds["grasps"] == 0
    assert 0 < seconds["certificates"] < seconds["paths"]
    assert 0 < seconds["rest"] < seconds["paths"]


def test_what_fails_is_not_hidden(plan_parts):
    with pytest.raises(ZeroDivisionError):
        plan_parts.seconds_by_part(lambda: 1 / 0)
