"""Merging an `Edit` node of rai's graph files into another node."""

from collections.abc import Callable

import numpy as np

from .nodes import GraphNode, NodeGraph, Value

CountNode = Callable[[GraphNode], None]


def merge_edit(
    charge: CountNode,
    edit: GraphNode,
    target: GraphNode,
    parents: list[GraphNode | str],
) -> None:
    """Overwrite what has the same name and type, append what has no such match.

    Args:
        charge: called for each node looked at or added; may stop the reading.
        edit: the node with the new parents and attributes; stays as it is.
        target: the node to change; one with a value of another type is left alone.
        parents: new parents; empty: the target keeps its own.
    """
    charge(edit)
    if type(edit.value) is not type(target.value):
        return
    if parents:
        target.parents = list(parents)
    if not isinstance(edit.value, NodeGraph) or not isinstance(target.value, NodeGraph):
        target.value = _copy(edit.value)
        return
    known: dict[tuple[str, type], list[GraphNode]] = {}
    for node in target.value.nodes:
        known.setdefault((node.key, type(node.value)), []).append(node)
    for attribute in list(edit.value.nodes):
        charge(attribute)
        matches = known.setdefault((attribute.key, type(attribute.value)), [])
        for match in matches:
            match.location = attribute.location
            merge_edit(charge, attribute, match, attribute.parents)
        if not matches:
            matches.append(_clone(charge, attribute))
            target.value.nodes.append(matches[0])


def _clone(charge: CountNode, node: GraphNode) -> GraphNode:
    charge(node)
    value: Value = node.value
    if isinstance(value, NodeGraph):
        value = NodeGraph([_clone(charge, n) for n in value.nodes])
    return GraphNode(
        node.key, _copy(value), node.location, node.tags, list(node.parents)
    )


def _copy(value: Value) -> Value:
    return value.copy() if isinstance(value, np.ndarray) else value
