"""Merging an `Edit` node of rai's graph files into another node."""

from collections.abc import Callable

import numpy as np

from .nodes import Graph, Node, Value

Charge = Callable[[Node], None]


def merge(charge: Charge, edit: Node, target: Node, parents: list[Node | str]) -> None:
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
    if not isinstance(edit.value, Graph) or not isinstance(target.value, Graph):
        target.value = _copy(edit.value)
        return
    known: dict[tuple[str, type], list[Node]] = {}
    for node in target.value.nodes:
        known.setdefault((node.key, type(node.value)), []).append(node)
    for attribute in list(edit.value.nodes):
        charge(attribute)
        matches = known.setdefault((attribute.key, type(attribute.value)), [])
        for match in matches:
            match.place = attribute.place
            merge(charge, attribute, match, attribute.parents)
        if not matches:
            matches.append(_clone(charge, attribute))
            target.value.nodes.append(matches[0])


def _clone(charge: Charge, node: Node) -> Node:
    charge(node)
    value: Value = node.value
    if isinstance(value, Graph):
        value = Graph([_clone(charge, n) for n in value.nodes])
    return Node(node.key, _copy(value), node.place, node.tags, list(node.parents))


def _copy(value: Value) -> Value:
    return value.copy() if isinstance(value, np.ndarray) else value
