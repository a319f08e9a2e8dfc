"""The grammar of rai's `.g` files: text to nodes, before anything is interpreted.

A file is a list of `key: value`; keys may hold blanks, parents in parentheses and
leading tags; values are flags, numbers, words, strings, `<files>`, `[arrays]` and
`{groups}`. `yaml_syntax` parses the YAML spelling of the same nodes.
"""

import re
from bisect import bisect_right
from pathlib import Path
from typing import NoReturn

import numpy as np

from .nodes import FileReference, GraphNode, NodeGraph, NodeNames, SourceLocation, Value

MAX_DEPTH = 30
"""Depth of braces within braces (count)."""
MAX_NODES = 100_000
"""Largest number of frames and attributes of a model, including those of edits and
copies; more are refused."""

_BETWEEN = re.compile(r"(?:[ \t\r\n,;]++|#[^\n]*+)*+")
_BLANKS = re.compile(r"[ \t]*")
_KEY = re.compile(r"[^:\t\n\r,;\[{})<=!~'#]*")
_WORD = re.compile(r"[A-Za-z_/][^ \t\r\n,;}]*")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_AFTER_NUMBER = " \t\r\n,;}#]"
_ARRAY_GAP = re.compile(r"(?:[ \t\r,]++|#[^\n]*+)*+")
_ARRAY_SPACE = re.compile(r"(?:[ \t\r\n,]++|#[^\n]*+)*+")
_ARRAY_WORD = re.compile(r"[^ \t\r\n,\]\"]+")
_NAMES = re.compile(r"\(([^()\n]*)\)")


def parse_g(text: str, file: Path) -> list[GraphNode]:
    """Return the nodes of a `.g` text; parents and tags are still part of the keys.

    Args:
        text: The content of the file.
        file: The path of the file, for messages and as the base of `<files>`.

    Raises:
        LoadError: When the text breaks the grammar; the message names file and line.
    """
    return _GraphParser(text, file).file_nodes()


def to_file_reference(text: str, base: Path) -> str | FileReference:
    """Return a string, or the file that it names if it is written `<..>`."""
    if len(text) > 2 and text[0] == "<" and text[-1] == ">":
        return FileReference(text[1:-1], base)
    return text


class _GraphParser:
    def __init__(self, text: str, file: Path):
        self.text = text
        self.file = file
        self.base = file.parent
        self.position = 0
        self.count = 0
        self.breaks = [i for i, c in enumerate(text) if c == "\n"]

    def location(self, position: int) -> SourceLocation:
        line = bisect_right(self.breaks, position - 1) + 1
        return SourceLocation(self.file, line)

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        self.location(self.position if position is None else position).fail(message)

    def peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        return match.group()

    def file_nodes(self) -> list[GraphNode]:
        self.take(_BETWEEN)
        braced = self.peek() == "{"
        if braced:
            nodes = self.group()
        else:
            nodes = self.nodes(0)
        self.take(_BETWEEN)
        if self.peek():
            self.fail(
                f"found {self.peek()!r} after the end of the last node; check that"
                " the braces { } match."
            )
        return nodes

    def nodes(self, depth: int) -> list[GraphNode]:
        """Parse nodes up to a closing brace, which is not consumed, or the end."""
        if depth > MAX_DEPTH:
            self.fail(f"braces are nested deeper than {MAX_DEPTH} levels.")
        nodes: list[GraphNode] = []
        while True:
            self.take(_BETWEEN)
            if self.peek() in ("", "}"):
                return nodes
            self.count += 1
            if self.count > MAX_NODES:
                self.fail(f"more than {MAX_NODES} nodes; that many are not a model.")
            nodes.append(self.node(depth))

    def group(self, depth: int = 0) -> list[GraphNode]:
        start = self.position
        self.position += 1
        nodes = self.nodes(depth)
        if self.peek() != "}":
            self.fail("this brace { is never closed; add the missing }.", start)
        self.position += 1
        return nodes

    def node(self, depth: int) -> GraphNode:
        start = self.position
        location = self.location(start)
        key = self.take(_KEY)
        while self.peek() == ")" and key.count("(") > key.count(")"):
            self.position += 1
            key += ")" + self.take(_KEY)
        key = key.strip()
        if key.count("(") != key.count(")"):
            self.fail(f"parentheses do not match in {key!r}.", start)
        if len(key) > 1 and key[0] == '"' == key[-1]:
            key = key[1:-1]
        self.take(_BLANKS)
        value: Value = True
        if self.peek() in (":", "="):
            self.position += 1
            self.take(_BLANKS)
            value = self.value(depth)
        elif self.peek() and self.peek() in "{[<'!~":
            value = self.value(depth)
        elif not key:
            self.fail(f"found {self.peek()!r}, expected a node such as `name: value`.")
        return GraphNode(key, value, location)

    def value(self, depth: int) -> Value:
        c = self.peek()
        if c == "" or c in "\r\n,;}#":
            return True
        if c == "{":
            return NodeGraph(self.group(depth + 1))
        if c == "[":
            return self.array()
        if c in "\"'":
            return to_file_reference(self.quoted(c), self.base)
        if c == "<":
            return self.file_ref()
        if c in "!~":
            self.position += 1
            return c == "~"
        if c == "(":
            match = _NAMES.match(self.text, self.position)
            if match is None:
                self.fail("this parenthesis ( is never closed.")
            self.position = match.end()
            return NodeNames(tuple(match.group(1).split()))
        if c.isdigit() or c in "-.":
            return self.number()
        word = self.take(_WORD)
        if not word:
            self.fail(
                f"a value cannot start with {c!r}; expected a number (without +), a"
                " word, a string in quotes, <file>, [array] or {group}."
            )
        if word in ("true", "True"):
            return True
        return False if word in ("false", "False") else word

    def number(self) -> float:
        start = self.position
        digits = self.take(_NUMBER)
        if not digits or (self.peek() and self.peek() not in _AFTER_NUMBER):
            token = re.split(r"[ \t\r\n,;}\]]", self.text[start : start + 30])[0]
            self.fail(f"{token!r} is not a number; put strings in quotes.", start)
        return float(digits)

    def quoted(self, quote: str) -> str:
        end = self.text.find(quote, self.position + 1)
        if end < 0:
            self.fail(f"this quote {quote} is never closed.")
        text = self.text[self.position + 1 : end]
        self.position = end + 1
        return text

    def file_ref(self) -> FileReference:
        line_end = self.text.find("\n", self.position)
        end = self.text.find(
            ">", self.position, len(self.text) if line_end < 0 else line_end
        )
        if end < 0:
            self.fail("this file name is never closed; add the missing >.")
        name = self.text[self.position + 1 : end]
        self.position = end + 1
        return FileReference(name, self.base)

    def array(self) -> np.ndarray | tuple[str, ...] | list[np.ndarray]:
        start = self.position
        self.position += 1
        self.take(_ARRAY_SPACE)
        c = self.peek()
        if c == '"':
            return self.strings(start)
        if c.isalpha() or (c and c in "_/<"):
            return self.strings(start)
        if c == "[":
            return self.arrays(start)
        return self.numbers(start)

    def strings(self, start: int) -> tuple[str, ...]:
        words = []
        while self.in_array(start):
            if self.peek() == '"':
                words.append(self.quoted('"'))
            else:
                words.append(self.take(_ARRAY_WORD))
            self.take(_ARRAY_SPACE)
        return tuple(words)

    def arrays(self, start: int) -> list[np.ndarray]:
        arrays = []
        while self.in_array(start):
            if self.peek() != "[":
                self.fail(f"found {self.peek()!r} in a list of arrays, expected [.")
            inner = self.position
            self.position += 1
            arrays.append(self.numbers(inner))
            self.take(_ARRAY_SPACE)
        return arrays

    def in_array(self, start: int) -> bool:
        """Whether the array continues; its closing bracket is consumed."""
        if not self.peek():
            self.fail("this bracket [ is never closed; add the missing ].", start)
        if self.peek() != "]":
            return True
        self.position += 1
        return False

    def numbers(self, start: int) -> np.ndarray:
        numbers: list[float] = []
        width = 0
        while True:
            self.take(_ARRAY_GAP)
            ends = self.peek() == "]"
            if self.peek() and self.peek() in ";\n]":
                if width and len(numbers) % width:
                    self.fail(
                        f"a row of this array ends after {len(numbers) % width}"
                        f" numbers, its first row has {width}.",
                    )
                if not ends and numbers and not width:
                    width = len(numbers)
                self.position += 1
                if ends:
                    break
            elif self.in_array(start):
                numbers.append(self.number())
        array = np.array(numbers)
        return array.reshape(-1, width) if 0 < width < len(numbers) else array
