"""Pytrees packed into few flat buffers.

Each argument of a compiled program, and each array passed from kernel to kernel, adds
overhead to every call; the arrays of a robot's problem are many and small.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache, partial
from threading import Lock
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import PyTreeDef
from jaxtyping import PyTree

from .arrays import Array
from .materialize import materialize
from .plain_jit import uses_plain_jit

MAX_SHARED_SIZE = 256
"""Size up to which arrays of a program's arguments share a buffer [entries].

A higher limit means fewer arguments, but more entries to copy when packing.
"""
MAX_SHARED_SIZE_BETWEEN_KERNELS = 2048
"""The same limit for pytrees passed between kernels [entries].

It is higher because a kernel copies each of its results anyway.
"""
MAX_FUSED_SIZE = 64
"""Size up to which arrays of several axes are computed within the copy [entries].

Above it, XLA spends more on indexing the flat buffer than on another copy.
"""
MAX_CACHED_TREES = 16
"""Number of packed pytrees that a `PackCache` keeps."""

LeafType = tuple[tuple[int, ...], str]
"""Shape and name of the dtype of a leaf."""


class PackLayout:
    """The position of each leaf of a pytree in its buffers; equal layouts are one.

    Args:
        treedef: the structure of the pytree.
        leaf_types: shapes and dtypes of the leaves.
        max_shared_size: size up to which leaves share a buffer [entries].
    """

    def __init__(
        self, treedef: PyTreeDef, leaf_types: tuple[LeafType, ...], max_shared_size: int
    ) -> None:
        self.treedef, self.leaf_types = treedef, leaf_types
        self.max_shared_size = max_shared_size
        groups: dict[tuple[str, int | None], list[int]] = {}
        for i, (shape, dtype) in enumerate(leaf_types):
            size = int(np.prod(shape, dtype=int))
            # single kernels take no booleans, so that these travel as integers
            carrier = "int32" if dtype == "bool" else dtype
            if size:
                # copying a large array costs more than one more buffer
                alone = i if size > max_shared_size else None
                groups.setdefault((carrier, alone), []).append(i)
        self.buffers = [(dtype, members) for (dtype, _), members in groups.items()]
        """For each buffer its dtype and the indices of its leaves."""
        self.slices: list[tuple[int, int, int] | None] = [None] * len(leaf_types)
        """For each leaf that has entries: its buffer, and where it begins and ends."""
        for k, (_, members) in enumerate(self.buffers):
            sizes = [int(np.prod(leaf_types[i][0], dtype=int)) for i in members]
            ends = np.cumsum(sizes)
            begins = [0, *ends[:-1].tolist()]
            for i, begin, end in zip(members, begins, ends.tolist(), strict=True):
                self.slices[i] = k, begin, end

    def __fingerprint__(self) -> tuple[Any, ...]:
        return self.treedef, self.leaf_types, self.max_shared_size

    def __reduce__(self) -> Any:
        return _pack_layout, (self.treedef, self.leaf_types, self.max_shared_size)

    def pack(
        self,
        leaves: Sequence[Any],
        xp: ModuleType = jnp,
        which: Sequence[int] | None = None,
    ) -> tuple[Any, ...]:
        """Return the buffers of a pytree's leaves.

        Args:
            leaves: of the pytree.
            xp: NumPy or JAX's namespace of the same functions.
            which: indices of the buffers that are returned; None: all.
        """
        chosen = self.buffers if which is None else [self.buffers[k] for k in which]
        members = [(i, dtype) for dtype, group in chosen for i in group]
        arrays = {i: xp.asarray(leaves[i], dtype) for i, dtype in members}
        join = xp.concatenate
        if xp is jnp:
            # XLA would fuse what computes the leaves into the concatenation, where
            # each entry selects its leaf: leaves are stored first, in their own shape.
            join = partial(materialize, join)
            wide = {
                i: a
                for i, a in arrays.items()
                if a.ndim > 1 and a.size > MAX_FUSED_SIZE
            }
            arrays |= materialize(dict, wide) if wide else {}
        buffers = []
        for _, group in chosen:
            parts = [arrays[i].reshape(-1) for i in group]
            buffers.append(join(parts) if len(parts) > 1 else parts[0])
        return tuple(buffers)

    def unpack(self, buffers: Sequence[Array]) -> PyTree:
        """Return the pytree."""
        on_host = all(isinstance(b, np.ndarray) for b in buffers)
        leaves = []
        for place, (shape, dtype) in zip(self.slices, self.leaf_types, strict=True):
            if place is None:
                leaves.append((np if on_host else jnp).zeros(shape, dtype))
                continue
            k, begin, end = place
            if on_host:  # views, because the results of every solve are unpacked
                leaf = buffers[k][begin:end].reshape(shape)
            else:
                leaf = _slice_buffer(buffers[k], begin, end, shape)
            leaves.append(leaf.astype(bool) if dtype == "bool" else leaf)
        return jax.tree.unflatten(self.treedef, leaves)


def _leaf_type(leaf: Any) -> LeafType:
    return np.shape(leaf), jnp.result_type(leaf).name


@cache
def _pack_layout(
    treedef: PyTreeDef, leaf_types: tuple[LeafType, ...], max_shared_size: int
) -> PackLayout:
    return PackLayout(treedef, leaf_types, max_shared_size)


def _slice_buffer(buffer: Any, begin: int, end: int, shape: tuple[int, ...]) -> Any:
    # without the slice, a buffer of one leaf is passed on as it stands
    is_whole = end - begin == buffer.size
    leaf = buffer if is_whole else jax.lax.slice(buffer, (begin,), (end,))
    return jax.lax.reshape(leaf, shape)


@jax.tree_util.register_pytree_node_class
class PackedTree:
    """A pytree packed into a few buffers."""

    def __init__(self, layout: PackLayout, buffers: tuple[Any, ...]) -> None:
        self.layout, self.buffers = layout, buffers

    def unpack(self) -> PyTree:
        """Return the pytree."""
        return self.layout.unpack(self.buffers)

    def tree_flatten(self) -> tuple[tuple[Any, ...], PackLayout]:
        """Return the buffers as children and the layout as static data."""
        return self.buffers, self.layout

    @classmethod
    def tree_unflatten(cls, layout: PackLayout, buffers: Sequence[Any]) -> "PackedTree":
        """Return the packed pytree of some buffers."""
        return cls(layout, tuple(buffers))


@jax.tree_util.register_pytree_node_class
class Deferred:
    """A function of packed pytrees that is computed in the kernel that reads it."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.fn, self.args = fn, args

    def unpack(self) -> PyTree:
        """Return the value of the function."""
        return self.fn(*unpack(self.args))

    def tree_flatten(self) -> tuple[tuple[Any, ...], Callable[..., Any]]:
        """Return the arguments as children and the function as static data."""
        return self.args, self.fn

    @classmethod
    def tree_unflatten(cls, fn: Callable[..., Any], args: Sequence[Any]) -> "Deferred":
        """Return the deferred call with some arguments."""
        return cls(fn, tuple(args))


Packed = PackedTree | Deferred
"""A value that `unpack` turns into a pytree of arrays."""


def is_packed(value: object) -> bool:
    """Whether a value is packed."""
    return isinstance(value, Packed)


def pack(
    tree: PyTree,
    xp: ModuleType = jnp,
    max_shared_size: int = MAX_SHARED_SIZE_BETWEEN_KERNELS,
) -> PyTree:
    """Return a pytree packed into a few buffers; a packed one is returned unchanged.

    With POSEWISE_PLAIN_JIT=1 nothing is packed and the pytree itself is returned.

    Args:
        tree: the pytree of arrays.
        xp: NumPy or JAX's namespace of the same functions.
        max_shared_size: size up to which arrays share a buffer [entries].
    """
    if is_packed(tree) or uses_plain_jit():
        return tree
    leaves, treedef = jax.tree.flatten(tree)
    leaf_types = tuple(map(_leaf_type, leaves))
    layout = _pack_layout(treedef, leaf_types, max_shared_size)
    return PackedTree(layout, layout.pack(leaves, xp))


def unpack(tree: PyTree) -> PyTree:
    """Return a pytree in which every packed node is replaced by its value."""
    return jax.tree.map(
        lambda v: v.unpack() if is_packed(v) else v, tree, is_leaf=is_packed
    )


def fetch(tree: PyTree) -> PyTree:
    """Return the result of a program, unpacked, as NumPy arrays."""

    def to_host(v: Any) -> Any:
        if isinstance(v, PackedTree):
            # buffers are copied to the host whole, then cut into views
            return v.layout.unpack([np.asarray(buffer) for buffer in v.buffers])
        return np.asarray(v)

    # the common case, which needs no traversal
    if is_packed(tree):
        return to_host(tree)
    return jax.tree.map(to_host, tree, is_leaf=is_packed)


class PackCache:
    """Packed pytrees of the last arguments, looked up by the identity of the pytree.

    A pytree that shares leaves with one of them shares the buffers without others.

    Args:
        device: returns the device that packed arguments are put on; None: JAX's
            default device.
    """

    def __init__(self, device: Callable[[], jax.Device | None]) -> None:
        self.device = device
        self.entries: OrderedDict[int, _PackedArgument] = OrderedDict()
        self.lock = Lock()

    def lookup(self, tree: PyTree) -> PyTree:
        """Return the packed pytree if it is in the cache, otherwise the argument."""
        with self.lock:
            if entry := self.entries.get(id(tree)):
                self.entries.move_to_end(id(tree))
                return entry.packed
        return tree

    def pack(self, tree: PyTree) -> PyTree:
        """Return the packed pytree; none of its arrays may be changed afterwards."""
        found = tree if is_packed(tree) else self.lookup(tree)
        if is_packed(found):
            return found
        leaves, treedef = jax.tree.flatten(tree)
        packed = self._pack_changes(leaves, treedef)
        if packed is None:
            packed = pack(tree, np, MAX_SHARED_SIZE)
            packed = jax.device_put(packed, self.device())
        with self.lock:
            # the pytree is kept alive, so that no other object gets its id
            self.entries[id(tree)] = _PackedArgument(tree, leaves, packed)
            while len(self.entries) > MAX_CACHED_TREES:
                self.entries.popitem(last=False)
        return packed

    def _pack_changes(self, leaves: list[Any], treedef: PyTreeDef) -> PackedTree | None:
        """Return the packed pytree with the buffers of the last similar one."""
        with self.lock:
            entries = [*reversed(self.entries.values())]
        for entry in entries:
            layout = getattr(entry.packed, "layout", None)
            if layout is None or layout.treedef != treedef:
                continue
            pairs = enumerate(zip(leaves, entry.leaves, strict=True))
            changed = {i for i, (a, b) in pairs if a is not b}
            if any(_leaf_type(leaves[i]) != layout.leaf_types[i] for i in changed):
                continue
            which = [
                k
                for k, (_, members) in enumerate(layout.buffers)
                if not changed.isdisjoint(members)
            ]
            new = jax.device_put(layout.pack(leaves, np, which), self.device())
            buffers = [*entry.packed.buffers]
            for k, buffer in zip(which, new, strict=True):
                buffers[k] = buffer
            return PackedTree(layout, tuple(buffers))
        return None


class _PackedArgument(NamedTuple):
    """An entry of a `PackCache`."""

    tree: PyTree
    leaves: list[Any]
    packed: PyTree
    """A `PackedTree`, or with POSEWISE_PLAIN_JIT=1 the pytree."""
