"""XML elements that know their line, so that error messages can name it.

The tree is that of `xml.etree`; expat is driven directly because only it tells the
line of a tag. DOCTYPE and entity declarations are refused: no robot description needs
them, and nested entities let a short file expand without bound ("billion laughs").
"""

import math
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET
from xml.parsers import expat

import numpy as np

from ..errors import LoadError
from ..validation import MAX_NUMBER, is_bounded

XML_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
"""First line of the XML files that are written."""
MAX_BYTES = 16 * 2**20
"""Size of the largest file that is read [bytes]; larger ones are refused."""
MAX_ELEMENTS = 500_000
"""Number of elements of the largest file that is read; larger ones are refused."""


class XmlElement(ET.Element):
    """An XML element with its position, and typed access to its attributes."""

    def __init__(self, tag: str, attrib: dict[str, str], file: str, line: int) -> None:
        super().__init__(tag, attrib)
        self.file = file
        self.line = line

    if TYPE_CHECKING:  # the tree holds only elements of this class

        def find(self, path: str, namespaces: Any = None) -> "XmlElement | None": ...
        def findall(  # type: ignore[override]
            self, path: str, namespaces: Any = None
        ) -> list["XmlElement"]: ...
        def iter(  # type: ignore[override]
            self, tag: str | None = None
        ) -> Iterator["XmlElement"]: ...
        def __iter__(self) -> Iterator["XmlElement"]: ...

    def error(self, problem: str) -> LoadError:
        """Return the error to raise for a mistake in this element."""
        name = self.get("name")
        shown_name = f" name={name!r}" if name is not None else ""
        return LoadError(
            f"{self.file}, line {self.line}, <{self.tag}{shown_name}>: {problem}"
        )

    def shape(self, tags: Collection[str]) -> "XmlElement":
        """Return the shape in the <geometry> of a collision or visual.

        Args:
            tags: of shapes that are known.

        Raises:
            LoadError: when there is none.
        """
        geometry = self.find("geometry")
        kinds = [] if geometry is None else list(geometry)
        for kind in kinds:
            if kind.tag in tags:
                return kind
        raise (kinds[0] if kinds else self).error(
            f"{'this shape is unknown' if kinds else 'has no shape'}; expected"
            f" <geometry> with one of {', '.join(tags)} in it."
        )

    def required(self, name: str) -> str:
        """Return a required attribute, without surrounding blanks.

        Raises:
            LoadError: When the attribute is missing or empty.
        """
        value = self.get(name, "").strip()
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
        allow_infinite: bool = False,
    ) -> np.ndarray:
        """Return an attribute of `count` numbers (count,).

        Args:
            name: The attribute.
            count: How many numbers it must hold.
            default: The value of a missing attribute; None: it is required.
            allow_infinite: Accept ±inf.

        Raises:
            LoadError: When the attribute is missing, has another count, or holds a
                word that is no number.
        """
        if name not in self.attrib and default is not None:
            return np.array(default, float)
        words = self.required(name).split()
        values = [self._number(name, word, allow_infinite) for word in words]
        if len(values) != count:
            raise self.error(
                f"{name}={self.attrib[name]!r} has {len(values)} numbers, expected"
                f" {count} separated by blanks."
            )
        return np.array(values)

    def number(
        self, name: str, default: float | None = None, allow_infinite: bool = False
    ) -> float:
        """Return an attribute of one number, like `numbers`."""
        fallback = None if default is None else (default,)
        return float(self.numbers(name, 1, fallback, allow_infinite)[0])

    def _number(self, name: str, word: str, allow_infinite: bool) -> float:
        try:
            # Python's float accepts "1_000", which no other XML reader does.
            value = float("x" if "_" in word else word)
        except ValueError:
            value = math.nan
        if math.isnan(value) or (math.isinf(value) and not allow_infinite):
            raise self.error(
                f"{name}={self.attrib[name]!r} has {word!r}, expected a finite"
                " number; write it with a decimal point, like 0.5."
            )
        if not allow_infinite and not is_bounded(value):
            raise self.error(
                f"{name}={self.attrib[name]!r} has {word!r}, expected at most"
                f" {MAX_NUMBER:g} in size."
            )
        return value


def read_xml(path: str | os.PathLike[str]) -> XmlElement:
    """Return the root element of an XML file.

    Raises:
        LoadError: When the file is missing, too large, or not plain XML.
    """
    return parse_xml(read_bytes(path), str(Path(path)))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file of at most `MAX_BYTES`.

    Raises:
        LoadError: When the file is missing or too large.
    """
    file = Path(path)
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise LoadError(
                f"{file}: {size} bytes, expected at most {MAX_BYTES}; a description"
                " this large holds data that belongs into mesh files."
            )
        return file.read_bytes()
    except OSError as error:
        raise LoadError(
            f"{file}: cannot be read ({error.strerror}); check the path."
        ) from error


def _declaration_first(data: bytes) -> bytes:
    """Move blanks from before an XML declaration to after it, which XML demands.

    Text in a program often begins with a line break; lines keep their numbers.
    """
    text = data.lstrip()
    blanks, end = data[: len(data) - len(text)], text.find(b"?>") + 2
    if not blanks or not text.startswith(b"<?xml") or end < 2:
        return data
    return text[:end] + blanks + text[end:]


def parse_xml(data: bytes | str, file: str) -> XmlElement:
    """Return the root element of XML; errors call it `file`.

    A `str` is decoded already, so that its XML declaration of an encoding is ignored.

    Raises:
        LoadError: When it is too large, or not plain XML.
    """
    is_text = isinstance(data, str)
    data = data.encode(errors="replace") if isinstance(data, str) else data
    if not data.strip():
        raise LoadError(f"{file}: the file is empty, expected XML; check the path.")
    if len(data) > MAX_BYTES:
        raise LoadError(f"{file}: {len(data)} bytes, expected at most {MAX_BYTES}.")
    data = _declaration_first(data)
    parser = expat.ParserCreate("utf-8" if is_text else None)
    count = 0

    def make_element(tag: str, attrib: dict[str, str]) -> XmlElement:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            raise LoadError(
                f"{file}, line {parser.CurrentLineNumber}: more than {MAX_ELEMENTS}"
                " elements; split the file."
            )
        return XmlElement(tag, attrib, file, parser.CurrentLineNumber)

    def refuse_declaration(*_: object) -> None:
        raise LoadError(
            f"{file}, line {parser.CurrentLineNumber}: a DOCTYPE or entity declaration"
            " is not allowed in a robot description; delete it and write its entities"
            " out."
        )

    builder: Any = ET.TreeBuilder(element_factory=make_element)
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse_declaration
    parser.EntityDeclHandler = refuse_declaration
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
    return builder.close()
