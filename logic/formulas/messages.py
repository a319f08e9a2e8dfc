"""Text of formulas, and explanations that cover several cases."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import NamedTuple


class Case(NamedTuple):
    """One of several statements, with its truth and the reason for it."""

    label: str
    """Text in front of the reason, such as the name of an object."""
    truth: bool
    why: Callable[[], str]
    """Returns the reason as a sentence."""


def format_predicate(predicate: object) -> str:
    """Return a predicate as a user would write it, without arguments at defaults."""
    parameters = getattr(predicate, "__dataclass_params__", None)
    if not is_dataclass(predicate) or parameters is None or not parameters.repr:
        return repr(predicate)
    shown, options = [], []
    for f in fields(predicate):
        value = getattr(predicate, f.name)
        if not f.kw_only:
            shown.append(repr(value))
        elif value != f.default:
            options.append(f"{f.name}={value!r}")
    return f"{type(predicate).__name__}({', '.join(shown + options)})"


def describe_cases(
    cases: Sequence[Case], truth: bool, noun: str, demand: str = ""
) -> str:
    """Return a sentence that counts the decisive cases and gives the reason of each.

    Args:
        cases: the statements.
        truth: truth of the formula; cases of the same truth decide it.
        noun: word for one case, in the singular.
        demand: text after the count, e.g. " (at least 2 should)".
    """
    if not cases:
        return f"There is no {noun}: this {'always' if truth else 'never'} holds."
    decisive = [case for case in cases if case.truth == truth]
    count = f"{len(decisive)} of {len(cases)} {noun}s"
    if len(decisive) == 1:
        verb = "holds" if truth else "does not hold"
    else:
        verb = "hold" if truth else "do not hold"
    reasons = [f"{case.label}{case.why()}" for case in decisive]
    if len(reasons) > 1:
        reasons = [f"({i}) {reason}" for i, reason in enumerate(reasons, 1)]
    listed = f": {' '.join(reasons)}" if reasons else "."
    return f"{count} {verb}{demand}{listed}"
