"""Methods of predicates that have become functions are refused, not ignored."""

import pytest

from posewise import logic
from posewise.logic.formulas.predicate import MOVED_METHODS


@pytest.mark.parametrize("name", sorted(MOVED_METHODS))
def test_methods_that_nothing_calls_are_refused(name):
    with pytest.raises(logic.PredicateError, match=f"{name} is not called any more"):
        type("Mine", (logic.Predicate,), {name: lambda self, C: None})
