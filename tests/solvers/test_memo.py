"""Values are computed once for each key; those used longest ago are dropped."""

from posewise.solvers.memo import Memo


def test_values_are_computed_once_and_the_oldest_are_dropped():
    memo: Memo[str] = Memo(2)
    computed = []

    def get(key: str) -> str:
        return memo.get(key, lambda: computed.append(key) or key.upper())

    assert [get(k) for k in "aba"] == ["A", "B", "A"]
    assert computed == ["a", "b"]
    assert get("c") == "C"  # b was used before a
    assert memo.find("b") is None and memo.find("a") == "A"
    assert get("b") == "B" and computed == ["a", "b", "c", "b"]
