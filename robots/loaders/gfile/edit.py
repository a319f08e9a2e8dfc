"""Merging of `Edit` nodes of rai's graph files into other nodes."""

from collections.abc import Callable

import numpy as np

from .nodes import GraphNode, NodeGraph, Value

CountNode = Callable[[GraphNode], None]


def merge_edit(
    count_node: CountNode,
    edit: GraphNode,
    target: GraphNode,
    parents: list[GraphNode | str],
) -> None:
    """Overwrite attributes of the same name and type; append all other attributes.

    Args:
        count_node: Called for each node that is visited or added; may stop the reading.
        edit: The node with the new parents and attributes; it is not changed.
        target: The node to change; a node with a value of another type is not changed.
        parents: New parents; if empty, the target keeps its parents.
    """
    count_node(edit)
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
        count_node(attribute)
        matches = known.setdefault((attribute.key, type(attribute.value)), [])
        for match in matches:
            match.location = attribute.location
            merge_edit(count_node, attribute, match, attribute.parents)
        if not matches:
            matches.append(_clone(count_node, attribute))
            target.value.nodes.append(matches[0])


def _clone(count_node: CountNode, node: GraphNode) -> GraphNode:
    count_node(node)
    value: Value = node.value
    if isinstance(value, NodeGraph):
        value = NodeGraph([_clone(count_node, n) for n in value.nodes])
    return GraphNode(
        node.key, _copy(value), node.location, node.tags, list(node.parents)
    )


def _copy(value: Value) -> Value:
    return value.copy() if isinstance(value, np.ndarray) else value
