"""How formulas are written, and sentences about several cases."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple


class Case(NamedTuple):
    """One of several statements, with its truth and the reason for it."""

    label: str
    truth: bool
    why: Callable[[], str]


def format_predicate(leaf: Any) -> str:
    """A predicate as one would write it: without what is left at its default."""
    parameters = getattr(leaf, "__dataclass_params__", None)
    if parameters is None or not parameters.repr:
        return repr(leaf)
    shown, options = [], []
    for f in fields(leaf):
        value = getattr(leaf, f.name)
        if not f.kw_only:
            shown.append(repr(value))
        elif value != f.default:
            options.append(f"{f.name}={value!r}")
    return f"{type(leaf).__name__}({', '.join(shown + options)})"


def describe_cases(
    cases: Sequence[Case], truth: bool, noun: str, demand: str = ""
) -> str:
    """How many of the cases decide a truth, which they are, and why each is so."""
    if not cases:
        return f"There is no {noun}: this {'always' if truth else 'never'} holds."
    telling = [case for case in cases if case.truth == truth]
    count = f"{len(telling)} of {len(cases)} {noun}s"
    if len(telling) == 1:
        does = "holds" if truth else "does not hold"
    else:
        does = "hold" if truth else "do not hold"
    reasons = [f"{case.label}{case.why()}" for case in telling]
    if len(reasons) > 1:
        reasons = [f"({i}) {reason}" for i, reason in enumerate(reasons, 1)]
    listed = f": {' '.join(reasons)}" if reasons else "."
    return f"{count} {does}{demand}{listed}"
