"""The sources of problems: the package bddl, files, or text."""

from importlib.util import find_spec
from pathlib import Path

from posewise.robots.errors import LoadError, unknown_name
from posewise.robots.typing import StrPath

from .problem import Problem, parse


def load(source: StrPath) -> Problem:
    """Return a problem of BDDL.

    Args:
        source: the name of an activity that the installed package bddl defines (1.0.1:
            BEHAVIOR-100, 3.6.0: BEHAVIOR-1K; many names are in both, defined
            differently); or a file, as a path or a name with a suffix or folder; or the
            text itself.

    Raises:
        LoadError: if the file is not there, the activity is unknown, with near matches,
            or the text is wrong, with line and column.
        ImportError: if an activity is asked for without bddl; names the extra.
    """
    if isinstance(source, str) and "(" in source:
        return parse(source)
    if not isinstance(source, str | Path) or not str(source):
        raise LoadError(
            f"source is {source!r}, expected an activity, a file or a text of BDDL."
        )
    path = Path(source)
    if isinstance(source, str) and not path.suffix and len(path.parts) == 1:
        path = _definitions() / source / "problem0.bddl"
        if not path.is_file():
            raise LoadError(unknown_name("activity", source, activities()))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LoadError(f"{path} cannot be read as a text: {error}.") from error
    return parse(text, str(path))


def activities() -> tuple[str, ...]:
    """Return the names of the activities that the installed package bddl defines.

    Raises:
        ImportError: without bddl; names the extra.
    """
    return tuple(sorted(p.parent.name for p in _definitions().glob("*/problem0.bddl")))


def _definitions() -> Path:
    """Return the folder of definitions of bddl, which is not imported."""
    spec = find_spec("bddl")
    folder = Path(spec.origin or "").parent / "activity_definitions" if spec else None
    if folder is None or not folder.is_dir():
        raise ImportError(
            "Activities are defined by the package bddl: pip install"
            ' "posewise[bddl]" (BEHAVIOR-1K), or pip install bddl==1.0.1'
            " (BEHAVIOR-100); or load a file or a text."
        )
    return folder
