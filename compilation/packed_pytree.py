"""Trees of arrays as a few: each that a program or a kernel is given takes time."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache, partial
from threading import Lock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .materialize import materialize

MAX_SHARED_SIZE = 256
"""Arrays of up to so many numbers go together,"""
MAX_SHARED_SIZE_BETWEEN_KERNELS = 2048
"""of what goes from kernel to kernel, where each array is copied, up to so many."""
MAX_FUSED_SIZE = 64
"""Arrays of more axes and more numbers than that take long to be computed in line."""
MAX_CACHED_TREES = 16
"""So many sealed trees are kept."""


class PackLayout:
    """Which array of a tree is where; there is one object for each layout."""

    def __init__(
        self, tree: Any, arrays: tuple[tuple[tuple[int, ...], str], ...], small: int
    ) -> None:
        self.tree, self.arrays, self.small = tree, arrays, small
        packs: dict[tuple[str, int | None], list[int]] = {}
        for i, (shape, dtype) in enumerate(arrays):
            size = int(np.prod(shape, dtype=int))
            # no kernel takes booleans
            carrier = "int32" if dtype == "bool" else dtype
            if size:
                alone = i if size > small else None
                packs.setdefault((carrier, alone), []).append(i)
        self.packs = [(dtype, own) for (dtype, _), own in packs.items()]
        self.places: list[tuple[int, int, int] | None] = [None] * len(arrays)
        """Of arrays with numbers: the pack, where they begin in it, and end."""
        for k, (_, own) in enumerate(self.packs):
            ends = np.cumsum([int(np.prod(arrays[i][0], dtype=int)) for i in own])
            begins = [0, *ends[:-1].tolist()]
            for i, begin, end in zip(own, begins, ends.tolist(), strict=True):
                self.places[i] = k, begin, end

    def __fingerprint__(self) -> tuple[Any, ...]:
        return self.tree, self.arrays, self.small

    def __reduce__(self) -> Any:
        return _pack_layout, (self.tree, self.arrays, self.small)

    def close(self, leaves: Sequence[Any], xp: Any = jnp) -> tuple[Any, ...]:
        """The packs of a tree's leaves."""
        arrays = {i: xp.asarray(leaves[i], t) for t, own in self.packs for i in own}
        join = xp.concatenate
        if xp is jnp:
            # there, and in their own shape, before they are copied
            join = partial(materialize, join)
            wide = {
                i: a
                for i, a in arrays.items()
                if a.ndim > 1 and a.size > MAX_FUSED_SIZE
            }
            arrays |= materialize(dict, wide) if wide else {}
        found = []
        for _, own in self.packs:
            parts = [arrays[i].reshape(-1) for i in own]
            found.append(join(parts) if len(parts) > 1 else parts[0])
        return tuple(found)

    def open(self, packs: Sequence[Any]) -> Any:
        """The tree."""
        on_host = all(isinstance(p, np.ndarray) for p in packs)
        leaves = []
        for place, (shape, dtype) in zip(self.places, self.arrays, strict=True):
            if place is None:
                leaves.append((np if on_host else jnp).zeros(shape, dtype))
                continue
            k, begin, end = place
            if on_host:  # at once: results of each solve are opened
                part = packs[k][begin:end].reshape(shape)
            else:
                part = _slice_buffer(packs[k], begin, end, shape)
            leaves.append(part.astype(bool) if dtype == "bool" else part)
        return jax.tree.unflatten(self.tree, leaves)


@cache
def _pack_layout(
    tree: Any, arrays: tuple[tuple[tuple[int, ...], str], ...], small: int
) -> PackLayout:
    return PackLayout(tree, arrays, small)


def _slice_buffer(pack: Any, begin: int, end: int, shape: tuple[int, ...]) -> Any:
    whole = end - begin == pack.size
    part = pack if whole else jax.lax.slice(pack, (begin,), (end,))
    return jax.lax.reshape(part, shape)


@jax.tree_util.register_pytree_node_class
class PackedTree:
    """A tree as a few arrays."""

    def __init__(self, layout: PackLayout, packs: tuple[Any, ...]) -> None:
        self.layout, self.packs = layout, packs

    def open(self) -> Any:
        """The tree."""
        return self.layout.open(self.packs)

    def tree_flatten(self) -> tuple[tuple[Any, ...], PackLayout]:
        return self.packs, self.layout

    @classmethod
    def tree_unflatten(cls, layout: PackLayout, packs: Any) -> "PackedTree":
        return cls(layout, tuple(packs))


@jax.tree_util.register_pytree_node_class
class Deferred:
    """A function of sealed trees, to be computed where it is opened."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.fn, self.args = fn, args

    def open(self) -> Any:
        """Its value."""
        return self.fn(*unpack(self.args))

    def tree_flatten(self) -> tuple[tuple[Any, ...], Callable[..., Any]]:
        return self.args, self.fn

    @classmethod
    def tree_unflatten(cls, fn: Callable[..., Any], args: Any) -> "Deferred":
        return cls(fn, tuple(args))


Packed = PackedTree | Deferred


def is_packed(value: Any) -> bool:
    """Whether it can be opened."""
    return isinstance(value, Packed)


def pack(
    tree: Any, xp: Any = jnp, max_shared_size: int = MAX_SHARED_SIZE_BETWEEN_KERNELS
) -> Any:
    """A tree as a few arrays, by numpy or its like; what is sealed stays so.

    Args:
        tree: of arrays.
        xp: numpy or its like.
        max_shared_size: arrays of up to so many numbers go together.
    """
    if is_packed(tree):
        return tree
    leaves, structure = jax.tree.flatten(tree)
    arrays = tuple((np.shape(a), jnp.result_type(a).name) for a in leaves)
    layout = _pack_layout(structure, arrays, max_shared_size)
    return PackedTree(layout, layout.close(leaves, xp))


def unpack(tree: Any) -> Any:
    """The tree, with all that is sealed in it opened."""
    return jax.tree.map(
        lambda v: v.open() if is_packed(v) else v, tree, is_leaf=is_packed
    )


def fetch(tree: Any) -> Any:
    """What a program gave, opened, in numpy."""

    def own(v: Any) -> Any:
        if isinstance(v, PackedTree):
            return v.layout.open([np.asarray(pack) for pack in v.packs])
        return np.asarray(v)

    return own(tree) if is_packed(tree) else jax.tree.map(own, tree, is_leaf=is_packed)


class PackCache:
    """Seals trees of arrays on the host; the last ones are known by their identity.

    Args:
        device: tells where they go; None: JAX's default device.
    """

    def __init__(self, device: Callable[[], jax.Device | None]) -> None:
        self.device = device
        self.known: OrderedDict[int, tuple[Any, PackedTree]] = OrderedDict()
        self.lock = Lock()

    def look(self, tree: Any) -> Any:
        """The tree sealed, if it is one of the last ones, otherwise as it is."""
        with self.lock:
            if found := self.known.get(id(tree)):
                self.known.move_to_end(id(tree))
                return found[1]
        return tree

    def __call__(self, tree: Any) -> Any:
        """The tree sealed; none of its arrays may be changed later."""
        found = tree if is_packed(tree) else self.look(tree)
        if is_packed(found):
            return found
        sealed = jax.device_put(pack(tree, np, MAX_SHARED_SIZE), self.device())
        with self.lock:
            self.known[id(tree)] = tree, sealed  # kept, so that its id stays its own
            while len(self.known) > MAX_CACHED_TREES:
                self.known.popitem(last=False)
        return sealed
