"""XML as a tree of elements that know their line, so that errors can name it.

A small layer on expat. DOCTYPE and entity declarations are refused (no robot needs
them, and they are how a short file grows without bound), as are enormous files.
"""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np

from ..errors import LoadError

MAX_BYTES = 16 * 2**20
MAX_ELEMENTS = 500_000


@dataclass(frozen=True, eq=False)
class XmlElement:
    """One XML element."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    children: list["XmlElement"] = field(default_factory=list)

    def all(self, tag: str) -> list["XmlElement"]:
        """The children of that tag, in file order."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> "XmlElement | None":
        """The first child of that tag, or None."""
        return next((child for child in self.children if child.tag == tag), None)

    def iter(self) -> Iterator["XmlElement"]:
        """This element and all below it, in file order."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def error(self, problem: str) -> LoadError:
        """The error to raise for a mistake in this element."""
        name = self.attributes.get("name")
        named = f" name={name!r}" if name is not None else ""
        return LoadError(
            f"{self.file}, line {self.line}, <{self.tag}{named}>: {problem}"
        )

    def text(self, name: str) -> str:
        """A required attribute, without surrounding blanks.

        Raises:
            LoadError: when it is missing or empty.
        """
        value = self.attributes.get(name, "").strip()
        if not value:
            raise self.error(
                f'attribute {name!r} is missing or empty; write {name}="...".'
            )
        return value

    def numbers(
        self,
        name: str,
        count: int,
        default: tuple[float, ...] | None = None,
        infinite: bool = False,
    ) -> np.ndarray:
        """An attribute of `count` numbers (count,).

        Args:
            name: The attribute.
            count: How many numbers it must hold.
            default: The value of a missing attribute; None: it is required.
            infinite: Whether ±inf is welcome.

        Raises:
            LoadError: for a missing attribute, another count, or what is no number.
        """
        if name not in self.attributes and default is not None:
            return np.array(default, float)
        words = self.text(name).split()
        values = [self._number(name, word, infinite) for word in words]
        if len(values) != count:
            raise self.error(
                f"{name}={self.attributes[name]!r} has {len(values)} numbers, expected"
                f" {count} separated by blanks."
            )
        return np.array(values)

    def number(
        self, name: str, default: float | None = None, infinite: bool = False
    ) -> float:
        """An attribute of one number; see `numbers`."""
        fallback = None if default is None else (default,)
        return float(self.numbers(name, 1, fallback, infinite)[0])

    def _number(self, name: str, word: str, infinite: bool) -> float:
        try:
            value = float("x" if "_" in word else word)
        except ValueError:
            value = math.nan
        if math.isnan(value) or (math.isinf(value) and not infinite):
            raise self.error(
                f"{name}={self.attributes[name]!r} has {word!r}, expected a finite"
                " number; write it with a decimal point, like 0.5."
            )
        return value


def read_xml(path: str | os.PathLike) -> XmlElement:
    """The root element of an XML file.

    Raises:
        LoadError: when there is no such file, it is too large, or is not plain XML.
    """
    file = Path(path)
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise LoadError(
                f"{file}: {size} bytes, expected at most {MAX_BYTES}; a description"
                " this large holds data that belongs into mesh files."
            )
        data = file.read_bytes()
    except OSError as error:
        raise LoadError(
            f"{file}: cannot be read ({error.strerror}); check the path."
        ) from error
    return parse_xml(data, str(file))


def parse_xml(data: bytes, file: str) -> XmlElement:
    """The root element of XML text; `file` is what errors call it."""
    if not data.strip():
        raise LoadError(f"{file}: the file is empty, expected XML; check the path.")
    parser = expat.ParserCreate()
    roots: list[XmlElement] = []
    stack: list[XmlElement] = []
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            raise LoadError(
                f"{file}, line {parser.CurrentLineNumber}: more than {MAX_ELEMENTS}"
                " elements; split the file."
            )
        element = XmlElement(tag, attributes, file, parser.CurrentLineNumber)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(_: str) -> None:
        stack.pop()

    def declaration(*_: object) -> None:
        raise LoadError(
            f"{file}, line {parser.CurrentLineNumber}: a DOCTYPE or entity declaration"
            " is not allowed in a robot description; delete it and write its entities"
            " out."
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = declaration
    parser.EntityDeclHandler = declaration
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise LoadError(
            f"{file}, line {error.lineno}: not well-formed XML"
            f" ({expat.ErrorString(error.code)}); mend the tag there."
        ) from error
    except (LookupError, ValueError) as error:
        if isinstance(error, LoadError):
            raise
        raise LoadError(f"{file}: {error}; save the file as UTF-8.") from error
    return roots[0]
