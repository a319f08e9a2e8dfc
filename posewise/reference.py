"""The tables of docs/reference.md, from the code that they describe.

`python -m posewise.reference > docs/reference.md` writes them anew.
"""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from . import logic
from .features import FS
from .features.symbol import Symbol
from .logic.formulas.predicate import Formula, Predicate

HEAD = """\
# Reference

Made by `python -m posewise.reference > docs/reference.md`; edit the docstrings instead.
"""

FEATURES = """\
## Features

`y = scale · (φ_k - target)`, φ from a few frames `a`, `b`, … (of joint features: from
all joints, or those that are named), D numbers. The order k is 0 (value), 1 (velocity)
or 2 (acceleration), at least and by default that of the table.
"""

PREDICATES = """\
## Predicates

`holds(C)` computes exactly what the rule says of the world as it is. For a solver there
are rows, at most 0 only where it holds (`p.violation(C) <= 0`), or ways along a path of
slices. Where a bound is given and the rule is true by that much [m, or 1], the rows are
at most 0.
The arguments after * are given by name; "posewise", "igibson" and "document" say which
semantics is the default, where there are several.
"""

FORMULAS = """\
## Formulas

Made of predicates; their rows are those of their parts. Quantifiers take functions of
names and are for Python only.
"""


def reference() -> str:
    """The whole text."""
    parts = [
        HEAD,
        FEATURES,
        _table(("feature", "frames", "D", "unit", "order", "what it is"), _features()),
        PREDICATES,
        _table(
            ("predicate", "holds where", "rows or ways", "semantics", "bound"),
            _predicates(),
        ),
        FORMULAS,
        _table(("formula", "holds where"), _formulas()),
    ]
    return "\n".join(parts)


def kinds_of_predicates() -> dict[str, type[Predicate]]:
    """All predicates and formulas of `logic` that can be made, by name."""
    return {
        name: kind
        for name, kind in sorted(vars(logic).items())
        if isinstance(kind, type)
        and issubclass(kind, Predicate)
        and not inspect.isabstract(kind)
    }


def _features() -> Iterable[Sequence[str]]:
    for name, entry in FS.__members__.items():
        symbol = entry.symbol
        if entry.name != name:
            told = f"The same as `{entry.name}`."
        else:
            told = _sentence(symbol.fn) + _options(symbol)
        dim = "varies" if symbol.dim is None else str(symbol.dim)
        unit = symbol.unit or "1"
        yield f"`{name}`", _count(symbol), dim, unit, str(symbol.window), told


def _options(symbol: Symbol) -> str:
    """The numbers that may be set, with their defaults."""
    listed = ", ".join(f"`{k}={v:g}`" for k, v in symbol.options.items())
    return f" Options: {listed}." if listed else ""


def _count(symbol: Symbol) -> str:
    low, high = symbol.frames
    what = " joints" if symbol.input_kind == "joints" and symbol.frames[0] == 0 else ""
    if high is None:
        return f"{low} or more{what}"
    return f"{low}" if low == high else f"{low} to {high}"


def _predicates() -> Iterable[Sequence[str]]:
    for name, kind in kinds_of_predicates().items():
        if issubclass(kind, Formula):
            continue
        defaults = {f.name: f.default for f in fields(kind)}  # type: ignore[arg-type]
        yield (
            f"`{name}({_arguments(kind)})`",
            _sentence(kind),
            _rows(kind),
            str(defaults.get("semantics", "")),
            f"{defaults['bound']:g}" if "bound" in defaults else "",
        )


def _rows(kind: type[Predicate]) -> str:
    """What its rows, or its ways, say; or that there are none."""
    if kind.relaxed is not Predicate.relaxed:
        return f"rows: {_without_reference(_sentence(kind.relaxed))}"
    if kind.plans is not Predicate.plans:
        return f"ways: {_without_reference(_sentence(kind.plans))}"
    return "none"


def _formulas() -> Iterable[Sequence[str]]:
    for name, kind in kinds_of_predicates().items():
        if issubclass(kind, Formula):
            yield f"`{name}({_arguments(kind)})`", _sentence(kind)


def _arguments(kind: type[Predicate]) -> str:
    """Its arguments, without those that have a column of their own."""
    shown: list[str] = []
    starred = False
    for p in inspect.signature(kind).parameters.values():
        if p.name in ("semantics", "bound"):
            continue
        if p.kind is p.VAR_POSITIONAL:
            shown, starred = [*shown, f"*{p.name}"], True
            continue
        if p.kind is p.KEYWORD_ONLY and not starred:
            shown, starred = [*shown, "*"], True
        value = f"{p.default:.4g}" if isinstance(p.default, float) else repr(p.default)
        shown.append(p.name if p.default is p.empty else f"{p.name}={value}")
    return ", ".join(shown)


def _sentence(what: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    text = inspect.getdoc(what) or ""
    return " ".join(text.split("\n\n")[0].split())


def _without_reference(text: str) -> str:
    """Without hints at where in the code to look."""
    text = text.partition("; see ")[0].rstrip(".")
    if text.startswith("See `"):
        text = text.partition(": ")[2]
    return f"{text}."


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


if __name__ == "__main__":
    print(reference(), end="")
