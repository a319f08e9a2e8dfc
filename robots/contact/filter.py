"""Choice of the pairs of frames that can collide."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
from jaxtyping import Int

from ..errors import ConfigError, unknown_name
from ..loaders.urdf.srdf import read_srdf
from ..typing import Frames, StrPath
from ..world.frame import Frame
from ..world.frame_tree import FrameTree
from .collision_pairs import FramePair, collision_pairs, ordered_pairs


@dataclass(frozen=True, eq=False)
class CollisionFilter:
    """Pairs of frames that never collide, whatever their shapes and contact flags.

    Methods return a new filter and do not change this one.
    """

    ignored: frozenset[FramePair] = frozenset()

    def pairs(self, tree: FrameTree) -> Int[np.ndarray, "n 2"]:
        """Return the index pairs of the frames that can collide, sorted."""
        nodes = tree.model.layout.tree.frame_nodes
        return _cached_pairs(tree.frames, nodes, self.ignored)

    def ignoring(self, pairs: Iterable[FramePair]) -> "CollisionFilter":
        """Ignore more pairs."""
        return CollisionFilter(self.ignored | frozenset(pairs))

    def restoring(self, pairs: Iterable[FramePair]) -> "CollisionFilter":
        """Ignore fewer pairs."""
        return CollisionFilter(self.ignored - frozenset(pairs))

    def reindexed(self, new_index: Mapping[int, int]) -> "CollisionFilter":
        """Return the filter after frames were removed.

        Args:
            new_index: new indices of the remaining frames by their old ones.
        """
        return CollisionFilter(
            frozenset(
                (new_index[a], new_index[b])
                for a, b in self.ignored
                if a in new_index and b in new_index
            )
        )


@lru_cache(maxsize=64)
def _cached_pairs(
    frames: tuple[Frame, ...], nodes: tuple[int, ...], ignored: frozenset[FramePair]
) -> Int[np.ndarray, "n 2"]:
    pairs = collision_pairs(frames, nodes, ignored)
    # All callers share this array, so that nobody may write to it.
    pairs.flags.writeable = False
    return pairs


def apply_srdf(
    collision_filter: CollisionFilter, tree: FrameTree, path: StrPath, prefix: str
) -> CollisionFilter:
    """Ignore and restore the pairs that an SRDF file names; see `Config.read_srdf`."""
    srdf = read_srdf(path)
    index = tree.model.first_index

    def pairs(kind: str) -> set[FramePair]:
        named: set[FramePair] = set()
        for links, element in srdf[kind].items():
            for name in links:
                if prefix + name not in index:
                    known = tree.model.names
                    raise element.error(unknown_name("link", prefix + name, known))
            frames = [index[prefix + name] for name in links]
            others = frames[1:] or range(len(tree.frames))
            named |= ordered_pairs(product(frames[:1], others))
        return named

    by_default = pairs("disable_default_collisions")
    enabled, disabled = pairs("enable_collisions"), pairs("disable_collisions")
    return collision_filter.ignoring(by_default).restoring(enabled).ignoring(disabled)


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
