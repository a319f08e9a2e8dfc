"""Includes, prefixes, deletions, parents and edits of rai's graph files.

Nodes are processed in reading order: an include is read at its position; prefixes,
deletions and parents act on the nodes read so far. At the end of every graph (a file,
an include, a group in braces), parents that were not known yet are looked up again,
and then the graph's `Edit` nodes are merged into all nodes of their name.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from ...errors import LoadError, unknown_name
from ..package_folders import package_root
from .edit import merge_edit
from .nodes import FileReference, GraphNode, NodeGraph, describe
from .syntax import MAX_DEPTH, MAX_NODES, parse_g
from .yaml_syntax import parse_yml

YAML_SUFFIXES = (".yml", ".yaml")
GRAPH_SUFFIXES = (".g", *YAML_SUFFIXES)
MAX_FILE_BYTES = 4_000_000
"""Size of the largest file that is read [bytes]; larger ones are refused."""
MAX_FILES = 500
"""Largest number of files that are read for one model; more are refused."""
MAX_INCLUDE_DEPTH = 20
"""Depth of includes within includes (count)."""
MAX_PREFIX_LENGTH = 100
"""Largest length of a prefix [characters]; longer ones are refused."""
MAX_SCANNED_NODES = 20_000_000
"""Largest number of nodes that deletions may scan in all; more are refused."""

_PARENTS = re.compile(r"\(([^()]*)\)")


def read_graph(path: Path) -> NodeGraph:
    """Return the nodes of a file after includes, prefixes, deletions and edits.

    Raises:
        LoadError: When a file cannot be read; the message names file and line.
    """
    graph = NodeGraph()
    root = package_root(path.resolve().parent)
    _GraphReader(root).read(path, _Scope(graph, path.parent), None)
    return graph


@dataclass
class _Scope:
    """The graph that receives nodes while a file or a group is read."""

    graph: NodeGraph
    base: Path
    outer: "_Scope | None" = None
    prefix: str = ""
    depth: int = 0
    names: dict[str, GraphNode] = field(default_factory=dict)
    """First node of each name, shared by a file and its includes."""


class _GraphReader:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.open_files: list[Path] = []
        self.files = 0
        self.count = 0
        self.scanned_count = 0

    def read(self, path: Path, scope: _Scope, include: GraphNode | None) -> None:
        """Append the nodes of a file to the graph of a scope, and end that graph."""

        def fail(message: str) -> NoReturn:
            if include is not None:
                include.fail(f"{path}: {message}")
            raise LoadError(f"{path}: {message}")

        try:
            path = path.resolve()
            size = path.stat().st_size if path.is_file() else None
        except (OSError, ValueError, RuntimeError) as error:
            fail(f"cannot be opened ({error}); check the path.")
        if path in self.open_files:
            chain = " → ".join(p.name for p in [*self.open_files, path])
            fail(f"the file includes itself ({chain}); remove one of these includes.")
        self.files += 1
        if len(self.open_files) >= MAX_INCLUDE_DEPTH or self.files > MAX_FILES:
            fail(
                f"more than {MAX_INCLUDE_DEPTH} files within each other, or"
                f" {MAX_FILES} in all; include less."
            )
        if path.suffix not in GRAPH_SUFFIXES:
            fail(
                f"the name ends in {path.suffix!r}, expected one of"
                f" {', '.join(GRAPH_SUFFIXES)} (rai's graph files)."
            )
        if size is None:
            fail("there is no such file; check the path.")
        if size > MAX_FILE_BYTES:
            fail(f"the file is larger than {MAX_FILE_BYTES / 1e6:g} MB; split it.")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LoadError(
                f"{path}: cannot be read as UTF-8 text ({error}); save it as UTF-8."
            ) from error
        parse = parse_yml if path.suffix in YAML_SUFFIXES else parse_g
        self.open_files.append(path)
        self.add_nodes(parse(text, path), scope)
        self.open_files.pop()

    def add_nodes(self, nodes: list[GraphNode], scope: _Scope) -> None:
        """Process nodes in reading order, then end the graph they belong to."""
        start = len(scope.graph.nodes)
        for node in nodes:
            self.count_node(node)
            self.process(node, scope)
        end_graph(self, scope, start)

    def count_node(self, node: GraphNode) -> None:
        """Count a node, because edits and includes can multiply nodes."""
        self.count += 1
        if self.count > MAX_NODES:
            node.fail(
                f"this is node number {MAX_NODES + 1}; that many are not a model."
            )

    def count_scan(self, node: GraphNode, scope: _Scope) -> None:
        """Count the work of a deletion, because it scans all nodes."""
        self.scanned_count += len(scope.graph.nodes)
        if self.scanned_count > MAX_SCANNED_NODES:
            node.fail("too many deletions; leave these nodes out of the file instead.")

    def process(self, node: GraphNode, scope: _Scope) -> None:
        """Process a node: execute a special key, or add the node to the graph."""
        match node.key:
            case "Include":
                self.include(node, scope)
                return
            case "Prefix":
                scope.prefix = _prefix_value(node)
                return
            case "Delete" if not isinstance(node.value, NodeGraph):
                if not isinstance(node.value, str):
                    node.fail(
                        f"is {describe(node.value)}, expected `Delete: name` with the"
                        " name of a node."
                    )
                self.count_scan(node, scope)
                _delete(scope, [n for n in scope.graph.nodes if n.key == node.value])
                return
            case "Quit":
                return
            case "ChDir":
                if not isinstance(node.value, FileReference):
                    node.fail(f"is {describe(node.value)}, expected `<folder>`.")
                scope.base = node.value.path
                return
        _split_key(node)
        node.parents = [
            _find_node(scope, name) or name for name in _take_parent_names(node)
        ]
        if isinstance(node.value, FileReference):
            node.value = FileReference(node.value.text, scope.base, self.root)
        if isinstance(node.value, NodeGraph):
            inner, node.value = node.value.nodes, NodeGraph()
            if scope.depth >= MAX_DEPTH:
                node.fail(f"groups are nested deeper than {MAX_DEPTH} levels.")
            deeper = _Scope(node.value, scope.base, scope, depth=scope.depth + 1)
            self.add_nodes(inner, deeper)
            if "DeleteBranch" in node.tags:
                self.count_scan(node, scope)
                _delete(scope, _subtree(scope.graph, node.key))
                return
        node.key = scope.prefix + node.key
        scope.graph.nodes.append(node)
        scope.names.setdefault(node.key, node)

    def include(self, node: GraphNode, scope: _Scope) -> None:
        """Read a file into the same graph; a pending prefix applies only to it."""
        if not isinstance(node.value, FileReference):
            node.fail(f"is {describe(node.value)}, expected a file as in <panda.g>.")
        file = FileReference(node.value.text, scope.base, self.root)
        if file.is_outside_model:
            node.fail(
                f"<{node.value.text}> lies outside of {self.root}; put it there or"
                " below (a package.xml marks the folder of all files of a package)."
            )
        path = file.path
        start = len(scope.graph.nodes)
        inner = _Scope(
            scope.graph, path.parent, scope.outer, "", scope.depth, scope.names
        )
        self.read(path, inner, node)
        if scope.prefix:
            for added in scope.graph.nodes[start:]:
                _add_prefix(added, scope.prefix)
            _rebuild_names(scope)
        scope.prefix = ""


def end_graph(reader: _GraphReader, scope: _Scope, start: int) -> None:
    """Resolve the remaining parents, then merge the `Edit` nodes of a graph.

    Args:
        reader: Counts the attributes that merging adds.
        scope: The graph, with nodes of outer files when an include ends.
        start: Index of the first node of the file or group that ends.
    """
    nodes = scope.graph.nodes
    inner = nodes[start:]
    for node in inner:
        for i, parent in enumerate(node.parents):
            if isinstance(parent, str):
                resolved = _find_node(scope, parent)
                if resolved is None:
                    node.fail(
                        unknown_name("parent node", parent, scope.names)
                        + " Parents in parentheses are written with their prefix."
                    )
                node.parents[i] = resolved
    for node in inner:
        if node.key == "Edit" and node.parents:
            target, *parents = node.parents
            if isinstance(target, GraphNode):
                merge_edit(reader.count_node, node, target, parents)
            node.alive = False
    edits = [n for n in inner if "Edit" in n.tags]
    if edits:
        same: dict[str, list[GraphNode]] = {}
        for node in nodes:
            if node.alive and isinstance(node.value, NodeGraph):
                same.setdefault(node.key, []).append(node)
        for edit in edits:
            if not edit.alive:
                continue
            edit.alive = False
            for target in same[edit.key]:
                if target.alive:
                    merge_edit(reader.count_node, edit, target, edit.parents)
    if not all(n.alive for n in inner):
        scope.graph.nodes[:] = [n for n in nodes if n.alive]
        _rebuild_names(scope)


def _split_key(node: GraphNode) -> None:
    """Split the key of a group into tags, name and names of parents."""
    if not isinstance(node.value, NodeGraph):
        return
    parentheses = "".join(_PARENTS.findall(node.key)[:1])
    *tags, name = _PARENTS.sub(" ", node.key).split() or [""]
    node.tags = tuple(tags)
    node.key = name
    node.parents = list(parentheses.split())


def _take_parent_names(node: GraphNode) -> list[str]:
    """Return the names of parents in a key, and remove them from it."""
    if isinstance(node.value, NodeGraph):
        return [str(p) for p in node.parents]
    match = _PARENTS.search(node.key)
    if match is None:
        return []
    node.key = (node.key[: match.start()] + node.key[match.end() :]).strip()
    return match.group(1).split()


def _find_node(scope: _Scope, name: str) -> GraphNode | None:
    level: _Scope | None = scope
    while level is not None:
        if name in level.names:
            return level.names[name]
        level = level.outer
    return None


def _prefix_value(node: GraphNode) -> str:
    if isinstance(node.value, str) and len(node.value) <= MAX_PREFIX_LENGTH:
        return node.value
    if node.value is not False:
        node.fail(
            f"is {describe(node.value)}, expected a word of at most {MAX_PREFIX_LENGTH}"
            " letters, or `Prefix: False` to end the prefix."
        )
    return ""


def _add_prefix(node: GraphNode, prefix: str) -> None:
    node.key = prefix + node.key
    if isinstance(node.value, NodeGraph):
        for attribute in node.value.nodes:
            if attribute.key.startswith("mimic") and isinstance(attribute.value, str):
                attribute.value = prefix + attribute.value


def _rebuild_names(scope: _Scope) -> None:
    """Rebuild the index of the first node of each name."""
    scope.names.clear()
    for node in scope.graph.nodes:
        scope.names.setdefault(node.key, node)


def _delete(scope: _Scope, deleted: list[GraphNode]) -> None:
    for node in deleted:
        node.alive = False
    if deleted:
        scope.graph.nodes[:] = [n for n in scope.graph.nodes if n.alive]
        _rebuild_names(scope)


def _subtree(graph: NodeGraph, name: str) -> list[GraphNode]:
    """Return the nodes of a name and all their descendants."""
    children: dict[int, list[GraphNode]] = {}
    for node in graph.nodes:
        for parent in node.parents:
            children.setdefault(id(parent), []).append(node)
    pending = [n for n in graph.nodes if n.key == name]
    subtree: dict[int, GraphNode] = {}
    while pending:
        node = pending.pop()
        if id(node) not in subtree:
            subtree[id(node)] = node
            pending += children.get(id(node), [])
    return list(subtree.values())
