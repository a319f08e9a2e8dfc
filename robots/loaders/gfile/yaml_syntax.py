"""The YAML spelling of rai's graph files (`.yml`): mappings are groups of nodes."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import LoadError
from .nodes import GraphNode, NodeGraph, SourceLocation, Value
from .syntax import MAX_DEPTH, MAX_NODES, to_file_reference

_INTEGER = re.compile(r"[-+]?\d{1,18}")


def parse_yml(text: str, file: Path) -> list[GraphNode]:
    """Return the nodes of a `.yml` text; parents and tags are still part of the keys.

    Args:
        text: The content of the file.
        file: The path of the file, for messages and as the base of `<files>`.

    Raises:
        LoadError: When the text is no YAML of mappings, flat sequences and scalars; the
            message names file and line.
        ImportError: When pyyaml is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise ImportError(
            f'{file}: reading .yml models needs pyyaml: pip install "posewise[rai]".'
        ) from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _YamlParser(yaml, yaml.parse(text, Loader=loader), file).nodes()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise LoadError(
            f"{file}:{line}: not valid YAML: {problem}; correct it, or use rai's own"
            " grammar in a file that ends in .g."
        ) from error


class _YamlParser:
    def __init__(self, yaml: Any, events: Any, file: Path):
        self.yaml = yaml
        self.events = events
        self.file = file
        self.count = 0

    def location(self, event: Any) -> SourceLocation:
        return SourceLocation(self.file, event.start_mark.line + 1)

    def nodes(self) -> list[GraphNode]:
        """Return the nodes of all documents."""
        nodes: list[GraphNode] = []
        for event in self.events:
            if isinstance(event, self.yaml.MappingStartEvent):
                nodes += self.mapping(0)
            elif isinstance(event, self.yaml.NodeEvent):
                self.location(event).fail("expected `name: {attributes}` at the top.")
        return nodes

    def mapping(self, depth: int) -> list[GraphNode]:
        nodes = []
        for event in self.events:
            if isinstance(event, self.yaml.MappingEndEvent):
                break
            location = self.location(event)
            self.count += 1
            if self.count > MAX_NODES:
                location.fail(
                    f"more than {MAX_NODES} nodes; that many are not a model."
                )
            if depth > MAX_DEPTH:
                location.fail(f"mappings are nested deeper than {MAX_DEPTH} levels.")
            if not isinstance(event, self.yaml.ScalarEvent):
                location.fail("a key must be a plain name.")
            value = self.value(next(self.events), depth)
            nodes.append(GraphNode(event.value.strip(), value, location))
        return nodes

    def value(self, event: Any, depth: int) -> Value:
        if isinstance(event, self.yaml.MappingStartEvent):
            return NodeGraph(self.mapping(depth + 1))
        if isinstance(event, self.yaml.SequenceStartEvent):
            return self.sequence()
        if isinstance(event, self.yaml.AliasEvent):
            self.location(event).fail(
                f"aliases (*{event.anchor}) are not supported; write the value out."
            )
        text = event.value
        if text in ("", "~", "true", "True"):
            return True
        if text in ("false", "False"):
            return False
        if _INTEGER.fullmatch(text):
            return int(text)
        number = _parse_number(text)
        return to_file_reference(text, self.file.parent) if number is None else number

    def sequence(self) -> np.ndarray | tuple[str, ...]:
        items = []
        for event in self.events:
            if isinstance(event, self.yaml.SequenceEndEvent):
                break
            if not isinstance(event, self.yaml.ScalarEvent):
                self.location(event).fail(
                    "a list may hold only numbers or words, no lists or mappings."
                )
            items.append(event.value)
        numbers = [_parse_number(item) for item in items]
        if any(number is None for number in numbers):
            return tuple(items)
        return np.array(numbers, float)


def _parse_number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None
