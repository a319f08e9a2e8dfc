"""A world whose immutable values are replaced by every edit."""

from ..annotations.annotations import Annotations
from ..annotations.objects import WorldObject
from ..contact.filter import CollisionFilter
from ..contact.hands import held_pairs, subtree_indices
from ..typing import FrameName
from ..world.frame import Frame
from ..world.frame_tree import FrameTree
from .annotations import WorldAnnotations
from .joints import WorldJoints
from .pairs import WorldPairs


class EditableWorld:
    """Frames, annotations and a collision filter, immutable values that edits replace.

    Copies and compiled programs share them, so that nothing stale can be used and a
    failed edit changes nothing.
    """

    def __init__(self) -> None:
        self._tree = FrameTree.build()
        self._annotations = Annotations()
        self._filter = CollisionFilter()

    @property
    def joints(self) -> WorldJoints:
        """The joints: types, limits, coordinates, and named states."""
        return WorldJoints(self)

    @property
    def pairs(self) -> WorldPairs:
        """The pairs of frames that may collide, also those of SRDF files."""
        return WorldPairs(self)

    @property
    def annotations(self) -> WorldAnnotations:
        """Annotations that predicates read: regions, rooms, states, cameras, agents."""
        return WorldAnnotations(self)

    @property
    def tree(self) -> FrameTree:
        """Frames and joint values of the present state, as an immutable value."""
        return self._tree

    @property
    def collision_filter(self) -> CollisionFilter:
        """Pairs of frames that never collide, as an immutable value."""
        return self._filter

    @property
    def structure_key(self) -> tuple[object, ...]:
        """A key for caches of what depends on this world but not on q.

        Two keys are equal only for the same frames, values of locked joints and
        collision filter; annotations do not count, nor do origins of frames that
        `set_pose` moves: see `origins_key`.
        """
        return self._tree.structure, self._filter

    @property
    def origins_key(self) -> object:
        """A key for caches of what depends on constant poses of frames too."""
        return self._tree.model

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All frames in order."""
        return self._tree.frames

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames in order."""
        return self._tree.model.names

    def index(self, frame: FrameName | int) -> int:
        """Return the index of the first frame of a name; the world: `len(frames)`.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        return self._tree.index(frame)

    def frame(self, name: FrameName | int) -> Frame:
        """Return the frame of that name.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        i = self._tree.index(name)
        return Frame("world") if i == len(self.frames) else self.frames[i]

    def children(self, name: FrameName) -> tuple[str, ...]:
        """Return the names of the frames attached to a frame."""
        return self._tree.children(name)

    def subtree(self, root: FrameName) -> tuple[str, ...]:
        """Return the names of a frame and of all frames below it."""
        return self._tree.subtree_names(root)

    @property
    def objects(self) -> dict[str, WorldObject]:
        """Objects by name."""
        return {name: self.object(name) for name in self._annotations.objects}

    def object(self, name: str) -> WorldObject:
        """Return the object of that name.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        annotation = self._annotations.check_object(name)
        return WorldObject(self, name, annotation.category, annotation.abilities)

    def hold(self, frame: FrameName) -> None:
        """Let a frame touch the hand that its parent is; see `attach`."""
        i = self._tree.own_index(frame)
        self._release(i)
        objects = {self.index(name) for name in self._annotations.objects}
        agents = self._annotations.agents.values()
        pairs = held_pairs(self._tree, objects, agents, self._filter.attached, i)
        self._filter = self._filter.holding(i, pairs)

    def _release(self, i: int) -> None:
        self._filter = self._filter.releasing(i, subtree_indices(self._tree, i))
