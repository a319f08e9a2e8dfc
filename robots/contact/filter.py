"""Choice of the pairs of frames that can collide."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from ..errors import ConfigError
from ..typing import Frames
from ..world.frame import Frame
from ..world.frame_tree import FrameTree
from .collision_pairs import FramePair, collision_pairs, moving_bodies, ordered_pairs


@dataclass(frozen=True, eq=False)
class CollisionFilter:
    """Pairs of frames that never collide, whatever their shapes and contact flags.

    Methods return a new filter and do not change this one.
    """

    reasons: Mapping[FramePair, str] = field(default_factory=dict)
    """Why each pair is ignored, in the words of SRDF files."""
    attached: Mapping[int, frozenset[FramePair]] = field(default_factory=dict)
    """Frames that have been attached to others, each with the pairs that are ignored
    for as long as it stays there."""
    reserved: frozenset[FramePair] = frozenset()
    """Pairs that have a place among all pairs even while they cannot collide, so that
    worlds with the same frames share programs."""

    @cached_property
    def ignored(self) -> frozenset[FramePair]:
        """All pairs that never collide in the present state of attachment."""
        return frozenset(self.reasons).union(*self.attached.values())

    def pairs(self, tree: FrameTree) -> Int[np.ndarray, "n 2"]:
        """Return the index pairs of the frames that can collide, sorted."""
        return _cached_pairs(tree.frames, moving_bodies(tree.model), self.ignored)

    def places(
        self, tree: FrameTree
    ) -> tuple[Int[np.ndarray, "n 2"], Bool[np.ndarray, " n"]]:
        """Return `pairs` with the reserved ones, and which of them can collide."""
        pairs = self.pairs(tree)
        if not self.reserved:
            return pairs, np.ones(len(pairs), bool)
        colliding = set(map(tuple, pairs.tolist()))
        every = sorted(colliding | self.reserved)
        can_collide = np.array([pair in colliding for pair in every], bool)
        return np.array(every, int).reshape(-1, 2), can_collide

    def reserving(self, pairs: Iterable[FramePair]) -> "CollisionFilter":
        """Give pairs a place even while they cannot collide."""
        return replace(self, reserved=frozenset(pairs))

    def ignoring(self, reasons: Mapping[FramePair, str]) -> "CollisionFilter":
        """Ignore more pairs, for these reasons."""
        return replace(self, reasons={**self.reasons, **reasons})

    def restoring(self, pairs: Iterable[FramePair]) -> "CollisionFilter":
        """Ignore fewer pairs."""
        restored = frozenset(pairs)
        return replace(
            self,
            reasons={p: why for p, why in self.reasons.items() if p not in restored},
            attached={root: pairs - restored for root, pairs in self.attached.items()},
        )

    def holding(self, root: int, pairs: Iterable[FramePair]) -> "CollisionFilter":
        """Ignore pairs for as long as a frame stays attached."""
        return replace(self, attached={**self.attached, root: frozenset(pairs)})

    def releasing(self, root: int, subtree: Collection[int]) -> "CollisionFilter":
        """Restore what is ignored because a frame is attached, before it moves on.

        Args:
            root: the frame.
            subtree: indices of all frames that move with it, its own too.
        """
        # What lies within the subtree, or apart from it, stays as it is.
        remaining = {
            other: frozenset(p for p in pairs if (p[0] in subtree) == (p[1] in subtree))
            for other, pairs in self.attached.items()
            if other != root
        }
        return replace(self, attached=remaining)

    def reindexed(self, new_index: Mapping[int, int]) -> "CollisionFilter":
        """Return the filter after frames were removed or reordered.

        Args:
            new_index: new indices of the remaining frames by their old ones.
        """

        def moved(pairs: Iterable[FramePair]) -> dict[FramePair, FramePair]:
            remaining = [p for p in pairs if p[0] in new_index and p[1] in new_index]
            # The lower index of a pair stands first, also after a change of order.
            return {
                (a, b): (
                    min(new_index[a], new_index[b]),
                    max(new_index[a], new_index[b]),
                )
                for a, b in remaining
            }

        return CollisionFilter(
            {new: self.reasons[old] for old, new in moved(self.reasons).items()},
            {
                new_index[root]: frozenset(moved(pairs).values())
                for root, pairs in self.attached.items()
                if root in new_index
            },
            frozenset(moved(self.reserved).values()),
        )

    def with_copies(self, copy_index: Mapping[int, int]) -> "CollisionFilter":
        """Return the filter after a subtree was copied.

        Copies ignore collisions with all frames that their originals ignore, except
        those that the root ignores because a hand holds it.

        Args:
            copy_index: indices of the copies by those of the originals, the root first.
        """
        counterparts = {i: (i, copy_index[i]) for i in copy_index}
        ignored = {
            (min(a, b), max(a, b)): reason
            for pair, reason in self.reasons.items()
            if counterparts.keys() & set(pair)
            for a in counterparts.get(pair[0], (pair[0],))
            for b in counterparts.get(pair[1], (pair[1],))
        }
        new_filter = self.ignoring(ignored)
        root = next(iter(copy_index), None)
        for i in copy_index.keys() & self.attached.keys() - {root}:
            within = (p for p in self.attached[i] if copy_index.keys() >= set(p))
            pairs = ordered_pairs((copy_index[a], copy_index[b]) for a, b in within)
            new_filter = new_filter.holding(copy_index[i], pairs)
        return new_filter


@lru_cache(maxsize=64)
def _cached_pairs(
    frames: tuple[Frame, ...], bodies: tuple[int, ...], ignored: frozenset[FramePair]
) -> Int[np.ndarray, "n 2"]:
    pairs = collision_pairs(frames, bodies, ignored)
    # All callers share this array, so that nobody may write to it.
    pairs.flags.writeable = False
    return pairs


def pairs_between(
    tree: FrameTree, objects: Collection[str], a: Frames, b: Frames | None
) -> set[FramePair]:
    """Return the index pairs of frames that `Config.ignore_collisions` means.

    Args:
        tree: the frames.
        objects: names that stand for all parts of an object.
        a: a frame or an object, or a list of them.
        b: the same, paired with all of `a`; None: the frames of `a` among themselves.

    Raises:
        ConfigError: for an unknown name, with near matches, or a single frame.
    """
    first = _part_indices("a", tree, objects, a)
    if b is not None:
        return ordered_pairs(product(first, _part_indices("b", tree, objects, b)))
    if len(first) == 1:
        raise ConfigError(
            f"a is {a!r}, a single frame, and b is not given; name as b the other"
            f" side of the pairs (to end all of them: set_contact({a!r}, 0))."
        )
    return ordered_pairs(combinations(first, 2))


def _part_indices(
    label: str, tree: FrameTree, objects: Collection[str], names: Any
) -> list[int]:
    """Return the indices of frames, and of all parts of objects."""
    is_single = isinstance(names, str) or not isinstance(names, Iterable)
    listed = [names] if is_single else list(names)
    if not all(isinstance(name, str | int | np.integer) for name in listed):
        raise ConfigError(
            f"{label} is {names!r}, expected the name of a frame or an object, or a"
            " list of names."
        )
    frames = []
    for name in listed:
        parts = tree.subtree_names(name) if name in objects else (name,)
        frames += [tree.index(part) for part in parts]
    if len(tree.frames) in frames:
        raise ConfigError(
            f"{label} has 'world', the fixed origin, which has no shape; name a frame."
        )
    return frames


def solid_parts(tree: FrameTree, objects: Collection[str], name: str) -> list[int]:
    """Return the indices of the frames whose shapes stand for a frame or an object.

    For an object these are the parts with a shape for collisions, or else the root.

    Raises:
        ConfigError: for an unknown name, with near matches.
    """
    if name not in objects:
        return [tree.index(name)]
    parts = [tree.index(part) for part in tree.subtree_names(name)]
    solid = [i for i in parts if any(g.collision for g in tree.frames[i].geometries)]
    return solid or [tree.index(name)]
