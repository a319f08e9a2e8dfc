"""The table of all names of robotic in docs/coming_from.md.

    python tools/rai_table.py            # names that posewise.rai does not account for
    python tools/rai_table.py --record   # write the table

Needs robotic. What differs or is missing is told by posewise/rai/coverage.py.
"""

import argparse
import re
import sys
from enum import EnumMeta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

PAGE = ROOT / "docs" / "coming_from.md"
BEGIN, END = "<!-- names of robotic -->", "<!-- end of names of robotic -->"
OTHERS = frozenset("os manipulation".split())
"""Modules that robotic imports, which are no names of it."""


def public_names(owner: Any) -> list[str]:
    """Return the public names of a module or of a class itself, in order."""
    names = vars(owner) if isinstance(owner, type) else dir(owner)
    return sorted(n for n in names if not n.startswith("_") and n not in OTHERS)


def members(owner: Any) -> dict[str, Any]:
    """Return the members of an enumeration of either module, else nothing."""
    is_enum = isinstance(owner, EnumMeta) or hasattr(owner, "__members__")
    return dict(owner.__members__) if is_enum else {}


def classes(module: Any) -> list[str]:
    """Return the names of a module's classes that are no enumerations."""
    names = public_names(module)
    is_class = [isinstance(getattr(module, n), type) for n in names]
    return [
        name
        for name, yes in zip(names, is_class, strict=True)
        if yes and not members(getattr(module, name))
    ]


def faults(robotic: Any, ours: Any, coverage: Any) -> list[str]:
    """Return sentences on names that are missing without a word, or told wrongly."""
    sentences = []
    for key, _, is_here in entries(robotic, ours):
        if is_here and key in coverage.ABSENT:
            sentences.append(f"{key} is in ABSENT, but is here.")
        if not is_here and key not in coverage.ABSENT:
            sentences.append(f"{key} is not here, and ABSENT does not tell why.")
    known = {key for key, _, _ in entries(robotic, ours)}
    listed = {*coverage.ABSENT, *coverage.DIFFERS}
    return sentences + [
        f"{key} is no name of robotic." for key in sorted(listed - known)
    ]


def entries(robotic: Any, ours: Any) -> list[tuple[str, str, bool]]:
    """Return key, class and presence of each name; the module's have no class."""
    result = [(n, "", has(ours, n)) for n in public_names(robotic)]
    for owner in classes(robotic):
        if has(ours, owner):
            mine = instance_names(getattr(ours, owner))
            names = public_names(getattr(robotic, owner))
            result += [(f"{owner}.{n}", owner, n in mine) for n in names]
    return result


def has(owner: Any, name: str) -> bool:
    """Return whether a module has a name, without its fallback for missing ones."""
    return name in vars(owner)


def instance_names(owner: type) -> set[str]:
    """Return the names of a class and of the fields of its instances."""
    fields = {n for base in owner.__mro__ for n in getattr(base, "__annotations__", {})}
    return {*dir(owner), *fields}


def table(robotic: Any, ours: Any, coverage: Any) -> str:
    """Return the table in Markdown: the names that are the same, then all others."""
    same: dict[str, list[str]] = {}
    rows = []
    for key, owner, is_here in entries(robotic, ours):
        if key in coverage.ABSENT:
            rows.append(f"| `{key}` | not here | {coverage.ABSENT[key]} |")
        elif key in coverage.DIFFERS:
            rows.append(f"| `{key}` | differs | {coverage.DIFFERS[key]} |")
        elif is_here:
            same.setdefault(owner, []).append(key.rpartition(".")[2])
    for name in filter(lambda name: has(ours, name), public_names(robotic)):
        theirs, mine = (members(getattr(module, name)) for module in (robotic, ours))
        if lacking := [n for n in theirs if n not in mine]:
            words = ", ".join(f"`{n}`" for n in lacking)
            rows.append(f"| members of `{name}` | not here | {words} |")
    rows = [
        f"| `{owner or 'module'}` | the same | {', '.join(f'`{n}`' for n in names)} |"
        for owner, names in same.items()
    ] + rows
    return "\n".join(["| rai | here | |", "| --- | --- | --- |", *rows])


def recorded() -> str:
    """Return the table of the page."""
    text = PAGE.read_text(encoding="utf-8")
    match = re.search(f"{BEGIN}\n\n(.*?)\n\n{END}", text, re.DOTALL)
    return match[1] if match else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    import robotic

    import posewise.rai as ours
    from posewise.rai import coverage

    print("\n".join(faults(robotic, ours, coverage)))
    if options.record:
        text = PAGE.read_text(encoding="utf-8")
        start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        new = f"\n\n{table(robotic, ours, coverage)}\n\n"
        PAGE.write_text(text[:start] + new + text[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
