"""Params of users' functions: any tree of arrays, as data of compiled programs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..errors import FeatureError
from ..symbol import Arrays


def leaf_name(index: int) -> str:
    """Return the name that a leaf of the tree has among the params of a symbol."""
    return f"leaf {index}"


class FunctionParams(NamedTuple):
    """A tree of arrays in parts: its structure, and its leaves by name."""

    structure: Any
    leaves: Arrays

    @classmethod
    def of(cls, label: str, tree: PyTree) -> "FunctionParams":
        """Return the parts of a tree.

        Args:
            label: what the params belong to, for messages.
            tree: of finite numbers.

        Raises:
            FeatureError: for leaves that are no finite numbers, and trees without any.
        """
        paths, structure = jax.tree_util.tree_flatten_with_path(tree)
        if not paths:
            raise FeatureError(
                f"{label}: params has no arrays; leave it out, or give a tree of them."
            )
        leaves = {}
        for i, (path, leaf) in enumerate(paths):
            name = "params" + jax.tree_util.keystr(path)
            leaves[leaf_name(i)] = _as_leaf(f"{label}: {name}", leaf)
        return cls(structure, leaves)

    def with_leaves_of(self, label: str, tree: PyTree) -> "FunctionParams":
        """Return another tree of the same structure and shapes, in parts.

        Raises:
            FeatureError: for another structure or shape.
        """
        new = FunctionParams.of(label, tree)
        self._require_alike(label, new.structure, new.leaves, leading=0)
        return new

    def stacked(self, label: str, tree: PyTree) -> tuple[int, Arrays]:
        """Return several trees, stacked along a first axis: their number and leaves.

        Raises:
            FeatureError: for another structure or shape, and unequal numbers.
        """
        new = FunctionParams.of(label, tree)
        counts = {np.shape(v)[0] if np.ndim(v) else None for v in new.leaves.values()}
        self._require_alike(label, new.structure, new.leaves, leading=1)
        if len(counts) != 1:
            raise FeatureError(
                f"{label}: params have first axes of {sorted(map(str, counts))},"
                " expected one number of problems in all arrays."
            )
        return counts.pop() or 0, new.leaves

    def traced_leaves(self, label: str, tree: PyTree) -> dict[str, jax.Array]:
        """Return the leaves of a tree of arrays that may be traced.

        Raises:
            FeatureError: for another structure or shape.
        """
        flat, structure = jax.tree.flatten(tree)
        leaves = {leaf_name(i): jnp.asarray(v) for i, v in enumerate(flat)}
        self._require_alike(label, structure, leaves, leading=0)
        return leaves

    def _require_alike(
        self, label: str, structure: Any, leaves: Any, leading: int
    ) -> None:
        if structure != self.structure:
            raise FeatureError(
                f"{label}: params are {structure}, expected {self.structure}, as when"
                " the feature was made."
            )
        for name, old in self.leaves.items():
            shape = np.shape(leaves[name])[leading:]
            if shape != old.shape or np.ndim(leaves[name]) != old.ndim + leading:
                extra = "problems, " * leading
                raise FeatureError(
                    f"{label}: {name} of params has shape {np.shape(leaves[name])},"
                    f" expected ({extra}{', '.join(map(str, old.shape))}), as when the"
                    " feature was made."
                )


def _as_leaf(label: str, leaf: Any) -> np.ndarray:
    if isinstance(leaf, jax.core.Tracer):
        raise FeatureError(
            f"{label} is traced by JAX: make the feature with numbers, and give traced"
            " ones to feature.function(C)(q, params) or to KOMO.function."
        )
    array = np.array(leaf)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise FeatureError(
            f"{label} is {array.dtype} {array.tolist()!r:.60}, expected finite numbers."
        )
    return array


@dataclass(frozen=True, eq=False)
class FunctionOfTree:
    """A user's function of poses and a tree, as one of poses and leaves."""

    fn: Callable[..., Any]
    structure: Any

    def __call__(self, *poses: Any, **leaves: Any) -> Any:
        """Call the function with the tree of the leaves."""
        values = [leaves[leaf_name(i)] for i in range(self.structure.num_leaves)]
        return self.fn(*poses, jax.tree.unflatten(self.structure, values))


@dataclass(frozen=True)
class FunctionOfLeaves:
    """A function of poses and leaves in order, as one that knows these by name."""

    fn: Callable[..., jax.Array]
    count: int
    """Number of leaves."""

    def __call__(self, *poses: Any, **leaves: Any) -> jax.Array:
        """Call the function."""
        return self.fn(*poses, *(leaves[leaf_name(i)] for i in range(self.count)))
