"""A problem file: values that know on which line, under which key, they stand.

The text is YAML without tags and aliases: mappings, lists, and scalars. A scalar
without quotes is a number, true, false or null where it looks like one, else a text.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from posewise.robots.errors import LoadError, PosewiseError, unknown_name

MAX_FILE_LENGTH = 1_000_000
"""Characters of a problem file; what is larger belongs into files of its scene."""

_INTEGER = re.compile(r"[-+]?\d{1,18}")
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_INFINITE = re.compile(r"([-+]?)\.?inf")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}


class ProblemError(LoadError):
    """A mistake in a problem file; names the file, the line and the key."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A value in a file, and where it stands."""

    value: Any
    """A scalar, a list of entries, or a dictionary of entries."""
    file: Path
    line: int
    """Counted from 1."""
    key: str
    """The way to it from the top, such as `objectives[2].frames`."""

    def fail(self, problem: str) -> NoReturn:
        """Raise a ProblemError that says where."""
        key = f"{self.key}: " if self.key else ""
        raise ProblemError(f"{self.file}:{self.line}: {key}{problem}")

    @contextmanager
    def locating_errors(self) -> Iterator[None]:
        """Errors within are about this entry."""
        try:
            yield
        except ProblemError:
            raise
        except PosewiseError as error:
            self.fail(str(error))

    def fields(self, known: Iterable[str], what: str = "key") -> dict[str, "Entry"]:
        """The entries of a mapping (of none: nothing), each with a known key.

        Raises:
            ProblemError: for anything else, with near matches of the key.
        """
        names = list(known)
        found = self.mapping(f"a mapping with some of the keys {', '.join(names)}")
        for key, entry in found.items():
            if key not in names:
                entry.fail(unknown_name(what, key, names))
        return found

    def mapping(self, expected: str) -> dict[str, "Entry"]:
        """The entries of a mapping (of none: nothing) by key."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            self._fail_with_expected(expected)
        return self.value

    def items(self, expected: str) -> list["Entry"]:
        """The entries of a list (of none: nothing)."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            self._fail_with_expected(f"a list of {expected}")
        return self.value

    def text(self, expected: str = "a text") -> str:
        """A scalar that is a text, and not empty."""
        if not isinstance(self.value, str) or not self.value:
            self._fail_with_expected(expected)
        return self.value

    def boolean(self) -> bool:
        """true or false."""
        if not isinstance(self.value, bool):
            self._fail_with_expected("true or false")
        return self.value

    def to_python(self) -> Any:
        """The value in Python's lists and dictionaries."""
        if isinstance(self.value, list):
            return [entry.to_python() for entry in self.value]
        if isinstance(self.value, dict):
            return {key: entry.to_python() for key, entry in self.value.items()}
        return self.value

    def path(self, name: str) -> Path:
        """A file beside the problem file or below it.

        Raises:
            ProblemError: for a file elsewhere, or none.
        """
        folder = self.file.parent.resolve()
        try:
            path = (folder / name).resolve()
            there = path.is_file()
        except (OSError, ValueError):
            self.fail(f"{name!r} is no name of a file.")
        if not path.is_relative_to(folder):
            self.fail(
                f"{name!r} lies outside of the problem file's folder; put it there or"
                " below, and name it relative to that folder."
            )
        if not there:
            near = [f.relative_to(folder).as_posix() for f in _sibling_files(path)]
            self.fail(unknown_name("file", name, near))
        return path

    def _fail_with_expected(self, expected: str) -> NoReturn:
        self.fail(f"got {shorten(self.to_python())}, expected {expected}.")


def read_entries(file: Path) -> Entry:
    """The mapping that a problem file consists of.

    Raises:
        ProblemError: for what is no such YAML; names file and line.
        ImportError: without pyyaml.
    """
    top = Entry(None, file, 1, "")
    try:
        import yaml
    except ImportError as error:
        raise ImportError(
            f'{file}: problem files need pyyaml: pip install "posewise[cli]".'
        ) from error
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ProblemError(f"{file} cannot be read as a text: {error}.") from error
    if len(text) > MAX_FILE_LENGTH:
        raise ProblemError(
            f"{file} has {len(text)} characters, expected at most {MAX_FILE_LENGTH};"
            " put models and meshes into separate files."
        )
    try:
        node = yaml.compose(text, Loader=yaml.BaseLoader)
        if not isinstance(node, yaml.MappingNode):
            top.fail("expected a mapping at the top, such as `scene: ...`.")
        return _NodeReader(yaml, file).entry(node, "", 1)
    except RecursionError:
        raise ProblemError(f"{file}: it is nested too deep to be read.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = mark.line + 1 if mark is not None else 1
        replace(top, line=line).fail(f"not valid YAML: {problem}; correct it.")


class _NodeReader:
    """Nodes of YAML as entries."""

    def __init__(self, yaml: Any, file: Path):
        self.yaml, self.file = yaml, file
        self.seen: set[int] = set()

    def entry(self, node: Any, key: str, line: int) -> Entry:
        """An entry that begins on a line."""
        here = Entry(None, self.file, line, key)
        if id(node) in self.seen:
            here.fail("aliases (*name) are not known here; write the value out.")
        self.seen.add(id(node))
        if node.tag not in _TAGS:
            here.fail(f"tags ({node.tag}) are not known here; leave it out.")
        if isinstance(node, self.yaml.MappingNode):
            return replace(here, value=self.mapping(node, here))
        if isinstance(node, self.yaml.SequenceNode):
            made = [
                self.entry(child, f"{key}[{k}]", child.start_mark.line + 1)
                for k, child in enumerate(node.value)
            ]
            return replace(here, value=made)
        return replace(here, value=_read_scalar(node))

    def mapping(self, node: Any, here: Entry) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for name, child in node.value:
            at = replace(here, line=name.start_mark.line + 1)
            if not isinstance(name, self.yaml.ScalarNode):
                at.fail("a key is a list or a mapping, expected a name.")
            key = f"{here.key}.{name.value}" if here.key else name.value
            if name.value in found:
                at.fail(f"the key {name.value!r} stands there twice; keep one.")
            found[name.value] = self.entry(child, key, at.line)
        return found


def shorten(value: Any) -> str:
    """A value for messages, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _read_scalar(node: Any) -> Any:
    text = node.value
    if node.style is not None:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if infinite := _INFINITE.fullmatch(text):
        return float(f"{infinite[1]}inf")
    return text


def _sibling_files(path: Path) -> list[Path]:
    folder = path.parent
    return sorted(f for f in folder.iterdir() if f.is_file()) if folder.is_dir() else []
