"""The base of all facets: the immutable values of their world, and their edits."""

from typing import Protocol, runtime_checkable

from ..annotations.annotations import Annotations
from ..annotations.objects import WorldObject
from ..contact.filter import CollisionFilter
from ..typing import FrameName
from ..world.frame_tree import FrameTree


@runtime_checkable
class FacetWorld(Protocol):
    """The part of a world that its facets read and edit."""

    _tree: FrameTree
    _annotations: Annotations
    _filter: CollisionFilter

    def hold(self, frame: FrameName) -> None:
        """Let a frame touch the hand that its parent is."""

    def object(self, name: str) -> WorldObject:
        """Return an object by its name."""


class Facet:
    """Methods of a world about one idea; its values are those of the world."""

    __slots__ = ("_world",)

    def __init__(self, world: FacetWorld) -> None:
        self._world = world

    @property
    def _tree(self) -> FrameTree:
        return self._world._tree

    @_tree.setter
    def _tree(self, tree: FrameTree) -> None:
        self._world._tree = tree

    @property
    def _annotations(self) -> Annotations:
        return self._world._annotations

    @_annotations.setter
    def _annotations(self, annotations: Annotations) -> None:
        self._world._annotations = annotations

    @property
    def _filter(self) -> CollisionFilter:
        return self._world._filter

    @_filter.setter
    def _filter(self, collision_filter: CollisionFilter) -> None:
        self._world._filter = collision_filter
