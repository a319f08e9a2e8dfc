"""Nodes of rai's graph files, and typed access to the attributes of frames."""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...errors import LoadError
from ...validation import MAX_NUMBER, is_bounded, open_bounds


@dataclass(frozen=True)
class SourceLocation:
    """A line of a file, which error messages name."""

    file: Path
    line: int

    def fail(self, message: str, cause: Exception | None = None) -> NoReturn:
        """Raise a `LoadError` that names this line."""
        if len(message) > 1000:
            message = f"{message[:600]} … {message[-300:]}"
        raise LoadError(f"{self.file}:{self.line}: {message}") from cause


@dataclass(frozen=True)
class FileReference:
    """A file named between `<` and `>`, relative to the folder of the naming file."""

    text: str
    base: Path
    root: Path | None = None
    """Only files in this folder are read; None: not known yet."""

    @property
    def is_outside_model(self) -> bool:
        """Whether the file, with links followed, lies outside the model's folder."""
        try:
            return self.root is None or not self.path.resolve().is_relative_to(
                self.root.resolve()
            )
        except (OSError, ValueError, RuntimeError):
            return True

    @property
    def path(self) -> Path:
        """The path, with environment variables expanded."""
        return Path(os.path.normpath(self.base / os.path.expandvars(self.text)))


@dataclass(frozen=True)
class NodeNames:
    """Names of nodes between parentheses."""

    names: tuple[str, ...]


@dataclass(eq=False)
class NodeGraph:
    """A list of nodes in order, whose keys may repeat."""

    nodes: list["GraphNode"] = field(default_factory=list)

    def first(self, *keys: str) -> "GraphNode | None":
        """Return the first node with the first of the keys that occurs."""
        for key in keys:
            for node in self.nodes:
                if node.key == key:
                    return node
        return None


Value = (
    bool
    | float
    | int
    | str
    | FileReference
    | NodeNames
    | np.ndarray
    | tuple
    | list
    | NodeGraph
)
"""A tuple holds strings, a list holds number arrays; `type(value)` tells them apart."""


@dataclass(eq=False)
class GraphNode:
    """A node: a key, parents and a value; messages name its location."""

    key: str
    value: Value
    location: SourceLocation
    tags: tuple[str, ...] = ()
    """Words before the key of a graph, such as `Edit`."""
    parents: list["GraphNode | str"] = field(default_factory=list)
    """Resolved nodes; a string is a name not found yet."""
    alive: bool = True
    """Whether the node is neither deleted nor merged into another one."""

    def fail(self, message: str, cause: Exception | None = None) -> NoReturn:
        """Raise a `LoadError` at this node."""
        self.location.fail(f"{_node_title(self)}: {message}", cause)


def _node_title(node: GraphNode) -> str:
    return (
        f"frame {node.key!r}" if isinstance(node.value, NodeGraph) else repr(node.key)
    )


_KINDS: dict[type, str] = {
    bool: "a flag",
    float: "a number",
    int: "a number",
    str: "a string",
    FileReference: "a file",
    NodeNames: "names in parentheses",
    np.ndarray: "an array of numbers",
    tuple: "an array of strings",
    list: "a list of arrays",
    NodeGraph: "a group in braces",
}


def describe(value: Value) -> str:
    """Return a description of a value for messages."""
    shown = "" if isinstance(value, NodeGraph) else f" ({to_plain_value(value)!r})"
    return _KINDS[type(value)] + (shown if len(shown) < 60 else shown[:57] + "…)")


def to_plain_value(value: Value) -> Any:
    """Return a value as bool, number, string, list or dictionary."""
    match value:
        case np.ndarray():
            return value.tolist()
        case FileReference():
            return str(value.path)
        case NodeNames():
            return list(value.names)
        case tuple():
            return list(value)
        case list():
            return [array.tolist() for array in value]
        case NodeGraph():
            return {n.key: to_plain_value(n.value) for n in reversed(value.nodes)}
        case _:
            return value


class Attributes:
    """The attributes of one frame, with access by the type that each must have."""

    def __init__(self, node: GraphNode):
        self.node = node
        self._first: dict[str, GraphNode] = {}
        if isinstance(node.value, NodeGraph):
            for attribute in node.value.nodes:
                self._first.setdefault(attribute.key, attribute)

    def __contains__(self, key: str) -> bool:
        return key in self._first

    def get(self, key: str) -> GraphNode | None:
        """Return the first attribute of a name."""
        return self._first.get(key)

    def fail(self, key: str, message: str, cause: Exception | None = None) -> NoReturn:
        """Raise a `LoadError` at an attribute."""
        place = self._first[key].location if key in self._first else self.node.location
        place.fail(f"{_node_title(self.node)}, attribute {key!r}: {message}", cause)

    def number(self, key: str, default: float) -> float:
        """Return a number of at most `MAX_NUMBER` in size; a flag counts as 1."""
        attribute = self.get(key)
        if attribute is None:
            return default
        value = attribute.value
        if not isinstance(value, bool | int | float):
            self.fail(key, f"is {describe(value)}, expected one number.")
        number = _as_float(value)
        if not is_bounded(number):
            self.fail(
                key,
                f"is {value}, expected a finite number, at most {MAX_NUMBER:g} in"
                " size.",
            )
        return number

    def numbers(
        self, key: str, scalar: bool = False, bounds: bool = False
    ) -> np.ndarray | None:
        """Return an array of numbers, flattened; None if it is absent.

        Args:
            key: name of the attribute.
            scalar: whether one number without brackets is an array too.
            bounds: whether the numbers are bounds, which may be infinite; see
                `open_bounds`.
        """
        attribute = self.get(key)
        if attribute is None:
            return None
        value = attribute.value
        if scalar and isinstance(value, bool | int | float):
            value = np.array([_as_float(value)])
        if not isinstance(value, np.ndarray):
            self.fail(key, f"is {describe(value)}, expected numbers in brackets.")
        if np.isnan(value).any():
            self.fail(key, f"is {value.tolist()}; not-a-number is not allowed.")
        if bounds:
            return open_bounds(value.reshape(-1))
        if not is_bounded(value):
            self.fail(
                key,
                f"is {value.tolist()}, expected finite numbers, at most"
                f" {MAX_NUMBER:g} in size.",
            )
        return value.reshape(-1)

    def word(self, key: str) -> str | None:
        """Return a string; None if it is absent."""
        attribute = self.get(key)
        if attribute is None:
            return None
        if isinstance(attribute.value, NodeNames) and len(attribute.value.names) == 1:
            return attribute.value.names[0]
        if not isinstance(attribute.value, str):
            self.fail(key, f"is {describe(attribute.value)}, expected a word.")
        return attribute.value

    def flag(self, key: str, default: bool) -> bool:
        """Return whether a flag is set."""
        return bool(self.number(key, float(default)))

    def file(self, key: str) -> FileReference | None:
        """Return a file; None if it is absent."""
        attribute = self.get(key)
        if attribute is None:
            return None
        if not isinstance(attribute.value, FileReference):
            self.fail(
                key, f"is {describe(attribute.value)}, expected a file as in <a.h5>."
            )
        return attribute.value

    def plain(self) -> dict[str, Any]:
        """Return all attributes as plain Python values."""
        return {key: to_plain_value(node.value) for key, node in self._first.items()}


def _as_float(value: bool | int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
