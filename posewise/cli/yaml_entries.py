"""Values of a problem file, with the line and the key at which they stand.

The file is YAML without tags and aliases: mappings, lists, and scalars. A scalar
without quotes is a number, true, false or null if it looks like one, otherwise a text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from posewise.robots.errors import LoadError, PosewiseError, unknown_name
from posewise.robots.validation import integer

MAX_FILE_LENGTH = 1_000_000
"""Largest length of a problem file (characters); models belong into separate files."""

_INTEGER = re.compile(r"[-+]?\d{1,18}")
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_INFINITE = re.compile(r"([-+]?)\.?inf")
_EXPRESSION = re.compile(r"(?<![\"'\w])[A-Z]\w*\([^\"']*[\[{,]")
"""A call with brackets or commas that is not in quotes."""
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}


class ProblemError(LoadError):
    """Mistake in a problem file; the message names the file, the line and the key."""


@dataclass(frozen=True, eq=False)
class Entry:
    """Value in a file, with its position."""

    value: Any
    """Scalar, list of entries, or dictionary of entries."""
    file: Path
    line: int
    """Line number, counted from 1."""
    key: str
    """Path of keys from the top, such as `objectives[2].frames`."""

    def fail(self, problem: str) -> NoReturn:
        """Raise a ProblemError with the position of this entry."""
        key = f"{self.key}: " if self.key else ""
        raise ProblemError(f"{self.file}:{self.line}: {key}{problem}")

    @contextmanager
    def locating_errors(self) -> Iterator[None]:
        """Raise errors of the block as errors of this entry."""
        try:
            yield
        except ProblemError:
            raise
        except PosewiseError as error:
            self.fail(str(error))

    def fields(self, known: Iterable[str], kind: str = "key") -> dict[str, "Entry"]:
        """Return the entries of a mapping, all with known keys; null gives none.

        Args:
            known: the known keys.
            kind: noun for a key in messages.

        Raises:
            ProblemError: for any other value, and for unknown keys, with near matches.
        """
        names = list(known)
        entries = self.mapping(f"a mapping with some of the keys {', '.join(names)}")
        for key, entry in entries.items():
            if key not in names:
                # A key of an older version may resemble none of the present ones.
                message = unknown_name(kind, key, names)
                if "did you mean" in message:
                    message += f" All keys: {', '.join(names)}."
                if ")" in key:
                    message += ' Put expressions into quotes: "OnTopOf(a, b)".'
                entry.fail(message)
        return entries

    def mapping(self, expected: str) -> dict[str, "Entry"]:
        """Return the entries of a mapping by key; null gives none."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            self._fail_with_expected(expected)
        return self.value

    def items(self, expected: str) -> list["Entry"]:
        """Return the entries of a list; null gives none."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            self._fail_with_expected(f"a list of {expected}")
        return self.value

    def text(self, expected: str = "a text") -> str:
        """Return a scalar that is a text and not empty."""
        if not isinstance(self.value, str) or not self.value:
            self._fail_with_expected(expected)
        return self.value

    def boolean(self) -> bool:
        """Return a scalar that is true or false."""
        if not isinstance(self.value, bool):
            self._fail_with_expected("true or false")
        return self.value

    def to_python(self) -> Any:
        """Return the value as Python's scalars, lists and dictionaries."""
        if isinstance(self.value, list):
            return [entry.to_python() for entry in self.value]
        if isinstance(self.value, dict):
            return {key: entry.to_python() for key, entry in self.value.items()}
        return self.value

    def path(self, name: str) -> Path:
        """Return the path of a file in the folder of the problem file, or below.

        Raises:
            ProblemError: for a file in another folder, or a missing file.
        """
        folder, path = self._inner_path(name)
        if not path.is_file():
            near = [f.relative_to(folder).as_posix() for f in _sibling_files(path)]
            self.fail(unknown_name("file", name, near))
        return path

    def folder(self, name: str) -> Path:
        """Return the path of a folder in the folder of the problem file, or below.

        Raises:
            ProblemError: for any other folder, or a missing one.
        """
        path = self._inner_path(name)[1]
        if not path.is_dir():
            self.fail(f"{name!r} is no folder; expected one beside the problem file.")
        return path

    def _inner_path(self, name: str) -> tuple[Path, Path]:
        """Return the problem file's folder, and a path in it that may not exist."""
        folder = self.file.parent.resolve()
        try:
            path = (folder / name).resolve()
            path.exists()
        except (OSError, ValueError):
            self.fail(f"{name!r} is not a valid file name.")
        if not path.is_relative_to(folder):
            self.fail(
                f"{name!r} lies outside of the problem file's folder; put it in"
                " that folder or below, and write its path relative to it; files of"
                " models may have absolute paths."
            )
        return folder, path

    def _fail_with_expected(self, expected: str) -> NoReturn:
        self.fail(f"got {shorten(self.to_python())}, expected {expected}.")


def read_entries(file: Path) -> Entry:
    """Return the mapping at the top of a problem file.

    Raises:
        ProblemError: for invalid YAML, with file and line.
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
        raise ProblemError(f"{file} cannot be read as text: {error}.") from error
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
        raise ProblemError(
            f"{file} is nested too deeply; use fewer levels of lists and mappings."
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = mark.line + 1 if mark is not None else 1
        at_line = text.splitlines()[line - 1 : line]
        hint = "correct it."
        if any(map(_EXPRESSION.search, at_line)):
            hint = 'put expressions into quotes, such as shape: "Box([1, 1, 1])".'
        replace(top, line=line).fail(f"not valid YAML: {problem}; {hint}")


class _NodeReader:
    """Reader of YAML nodes."""

    def __init__(self, yaml: Any, file: Path):
        self.yaml, self.file = yaml, file
        self.seen: set[int] = set()

    def entry(self, node: Any, key: str, line: int) -> Entry:
        """Return the entry of a node that begins on a line."""
        empty = Entry(None, self.file, line, key)
        if id(node) in self.seen:
            empty.fail("aliases (*name) are not supported; write the value again.")
        self.seen.add(id(node))
        if node.tag not in _TAGS:
            empty.fail(f"tags ({node.tag}) are not supported; leave the tag out.")
        if isinstance(node, self.yaml.MappingNode):
            return replace(empty, value=self.mapping(node, empty))
        if isinstance(node, self.yaml.SequenceNode):
            entries = [
                self.entry(child, f"{key}[{k}]", child.start_mark.line + 1)
                for k, child in enumerate(node.value)
            ]
            return replace(empty, value=entries)
        return replace(empty, value=_read_scalar(node))

    def mapping(self, node: Any, empty: Entry) -> dict[str, Entry]:
        """Return the entries of a mapping node by key."""
        entries: dict[str, Entry] = {}
        for name, child in node.value:
            position = replace(empty, line=name.start_mark.line + 1)
            if not isinstance(name, self.yaml.ScalarNode):
                position.fail("a key is a list or a mapping, expected a name.")
            key = f"{empty.key}.{name.value}" if empty.key else name.value
            if name.value in entries:
                position.fail(f"the key {name.value!r} occurs twice; keep one of them.")
            entries[name.value] = self.entry(child, key, position.line)
        return entries


def read_names(fields: Mapping[str, Entry], key: str) -> tuple[str, ...]:
    """Return the names under a key: one text, a list of texts, or nothing."""
    if key not in fields or fields[key].value is None:
        return ()
    if isinstance(fields[key].value, str):
        return (fields[key].value,)
    return tuple(e.text("a name") for e in fields[key].items("names"))


def read_integer(entry: Entry, minimum: int) -> int:
    """Return a scalar that is an integer of at least some size."""
    with entry.locating_errors():
        name = entry.key.rpartition(".")[2]
        expected = f"an integer >= {minimum}"
        return integer(name, entry.to_python(), expected, lambda n: n >= minimum)


def to_python(fields: Mapping[str, Entry]) -> dict[str, Any]:
    """Return Python values by key; null is treated as a missing key."""
    return {
        key: entry.to_python()
        for key, entry in fields.items()
        if entry.value is not None
    }


def shorten(value: object) -> str:
    """Return a value as a text of at most 60 characters, for messages."""
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
