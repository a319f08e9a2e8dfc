"""Logic-geometric programs in files of rai: `.lgp`, which names rules in `.fol`."""

import re
from functools import partial
from pathlib import Path

from posewise.robots.config import Config
from posewise.robots.errors import LoadError
from posewise.robots.geometry.model_files import is_existing_file
from posewise.robots.typing import StrPath

from .program import LogicGeometricProgram, facts_of
from .rules import parse_facts, parse_rules


def read_program(C: Config, file: StrPath) -> LogicGeometricProgram:
    """Return the program of a world and a file, which has the entries

        fol: <rules.fol>
        terminal: "(on tray red)"
        coll: [red hand, red table]
        genericCollisions: true

    The rules are in a file beside it, the terminal is the goal. Optional are pairs of
    frames that must not overlap, and whether that holds for all pairs that can collide,
    by default not. Other entries do not count.

    Args:
        C: The world, whose facts hold at the beginning; see `facts_of`.
        file: The file.

    Raises:
        LoadError: For a missing file or entry, and one that is not written so.
        ConfigError: For a rule without an action.
    """
    path = Path(file)
    text = re.sub(r"#.*", "", _text(path))
    entry = partial(_entry, text, path)
    rules = path.parent / entry("fol", r"<([^>]*)>")
    words = entry("coll", r"\[([^\]]*)\]", "").replace(",", " ").split()
    if len(words) % 2:
        raise LoadError(
            f"{path}: 'coll' has {len(words)} names, expected two for each pair."
        )
    return LogicGeometricProgram(
        C,
        parse_rules(_text(rules), str(rules)),
        facts_of(C),
        parse_facts(entry("terminal", r'"([^"]*)"')),
        pairs=tuple(zip(words[::2], words[1::2], strict=True)),
        collisions=entry("genericCollisions", r"(true|false)\b", "false") == "true",
    )


def _text(file: Path) -> str:
    if not is_existing_file(file):
        raise LoadError(f"No file {str(file)!r}; give the path of a .lgp or .fol file.")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LoadError(f"{file}: cannot be read as text: {error}.") from error


def _entry(
    text: str, file: Path, key: str, form: str, default: str | None = None
) -> str:
    """Return what a file says for an entry, the default if it says none.

    Raises:
        LoadError: For an entry that is written otherwise, or that must be there.
    """
    name = rf"(?<![\w.]){key}\b"
    match = re.search(rf"{name}\s*:\s*{form}", text)
    if match is not None:
        return match.group(1)
    if default is None or re.search(name, text):
        raise LoadError(f"{file}: there is no entry {key!r} as rai writes it.")
    return default
