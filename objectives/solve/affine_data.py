"""Numbers of a problem that are affine in some values, found by building it again.

Scales, margins and sizes of shapes enter a problem's arrays at many places: tables of
bodies, params of symbols, poses of attachments. All of them are affine, so that the
problem built with other values gives their slopes without any error but rounding; what
is not affine, or changes the structure, is refused.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision

from ..chain.groups import ChainData
from ..problem.spec import ProblemSpec, compile_chain
from ..terms.objective import ObjectiveError

CORE_RADIUS = "core_radius"
"""Param of tables of bodies that is no affine function of sizes: a bound of the others.
"""
MAX_CURVATURE = 1e3
"""Largest second difference of numbers that count as affine, relative to their rounding
[1]; a larger one accepts curved ones."""


class AffineData(NamedTuple):
    """Numbers of a problem that depend on some values: base + Σ (x - x₀) slope."""

    shape: tuple[int, ...]
    """Shape of the values."""
    present: Float[np.ndarray, " values"]
    structure: Any
    """Tree of the problem's data."""
    slopes: dict[int, np.ndarray]
    """Derivatives by each value, along a leading axis, of the leaves that depend on
    any."""
    radii: list[tuple[int, int, int]]
    """Indices of the leaves `core_radius`, `half` and `radii` of tables of bodies of
    which some depend on the values."""

    @full_matmul_precision
    def at(self, data: ChainData, values: Float[jax.Array, "..."]) -> ChainData:
        """Return the numbers at other values, and None for all that do not depend.

        Args:
            data: numbers at the present values, perhaps at others of other quantities.
            values: the values.
        """
        change = values.reshape(-1) - self.present
        leaves = jax.tree.leaves(data)
        varied: dict[int, jax.Array] = {}
        for i, slope in self.slopes.items():
            base = jnp.asarray(leaves[i])
            moved = jnp.tensordot(change.astype(base.dtype), slope, 1)
            varied[i] = base + moved.astype(base.dtype)
        for index, half, radii in self.radii:
            x, r = (jnp.asarray(varied.get(i, leaves[i])) for i in (half, radii))
            # a bound: half the diagonal of the box, and the ellipsoid around its points
            bound = jnp.sqrt(jnp.sum(x * x, -1)) + jnp.max(r, -1)
            old = leaves[index]
            radius = jnp.where(jnp.isinf(old), old, bound)
            varied[index] = jax.lax.stop_gradient(radius)
        every = [varied.get(i) for i in range(len(leaves))]
        changed: ChainData = jax.tree.unflatten(self.structure, every)
        return changed


def affine_data(
    spec: ProblemSpec,
    present: Float[np.ndarray, "..."],
    changed: Callable[[Float[np.ndarray, "..."]], ProblemSpec],
    label: str,
) -> AffineData:
    """Return the numbers of a problem that depend on some values.

    Args:
        spec: the problem.
        present: the values that it has.
        changed: returns the problem with other values.
        label: of the values, for messages.

    Raises:
        ObjectiveError: if numbers are not affine in the values, or these determine the
            structure of the problem.
    """
    chain, data, _ = compile_chain(spec)
    paths, structure = jax.tree_util.tree_flatten_with_path(data)
    base = [np.asarray(leaf) for _, leaf in paths]
    names = [str(getattr(path[-1], "key", "")) for path, _ in paths]

    def leaves_at(values: Float[np.ndarray, " values"]) -> list[np.ndarray]:
        other, data, _ = compile_chain(changed(values.reshape(present.shape)))
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(data)]
        is_same = other == chain and len(leaves) == len(base)
        if not is_same or not all(map(_agree_in_structure, base, leaves)):
            raise ObjectiveError(
                f"The path is no differentiable function of the {label}: the structure"
                " of the problem depends on it."
            )
        return leaves

    x = present.reshape(-1)
    slopes: list[list[np.ndarray]] = [[] for _ in base]
    steps = exact_steps(x)
    for k, step in enumerate(steps):
        direction = np.zeros(len(x))
        direction[k] = step
        once, twice = leaves_at(x + direction), leaves_at(x + 2 * direction)
        for i, (a, b, c) in enumerate(zip(base, once, twice, strict=True)):
            slopes[i].append(_slope(a, b, step))
            if names[i] != CORE_RADIUS:
                _require_affine(a, b, c, label, names[i])
    depends = [any(s.any() for s in each) for each in slopes]
    if len(x) > 1:
        every = leaves_at(x + steps)
        for i, b in enumerate(every):
            if depends[i] and names[i] != CORE_RADIUS:
                sums = sum(step * s for step, s in zip(steps, slopes[i], strict=True))
                # All values at once: 2 b = 2 (base + sums), without mixed terms.
                _require_affine(b, base[i] + sums, b, label, names[i])
    if not any(depends):
        raise ObjectiveError(f"No objective of the problem depends on the {label}.")
    radii = [
        (i, _sibling(paths, i, "half"), _sibling(paths, i, "radii"))
        for i, name in enumerate(names)
        if name == CORE_RADIUS and depends[i]
    ]
    varied = [i for i, name in enumerate(names) if depends[i] and name != CORE_RADIUS]
    return AffineData(
        shape=present.shape,
        present=x,
        structure=structure,
        slopes={i: np.stack(slopes[i]) for i in varied},
        radii=radii,
    )


def exact_steps(values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Return steps of values that keep differences of numbers exact.

    They are powers of two, and nothing that is far larger is subtracted.
    """
    steps: np.ndarray = 2.0 ** np.round(np.log2(np.maximum(np.abs(values), 2.0**-10)))
    return steps


def require_sum(data: ChainData, together: ChainData, label: str) -> None:
    """Raise an ObjectiveError unless numbers change by the sum of some changes.

    Args:
        data: numbers to which the changes by some quantities were added.
        together: those of the problem with all quantities changed at once.
        label: of the quantities, for messages.
    """
    paths = jax.tree_util.tree_flatten_with_path(data)[0]
    for (path, a), b in zip(paths, jax.tree.leaves(together), strict=True):
        name = str(getattr(path[-1], "key", ""))
        if name != CORE_RADIUS:
            _require_affine(np.asarray(b), np.asarray(a), np.asarray(b), label, name)


def _agree_in_structure(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether leaves have the same shape, and the same integers."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(a.dtype.kind == "f" or np.array_equal(a, b))


def _slope(a: np.ndarray, b: np.ndarray, step: float) -> np.ndarray:
    """Return the slope of a leaf; that of what stays infinite is zero."""
    if a.dtype.kind != "f":
        return np.zeros(a.shape)
    difference = np.subtract(b, a, where=a != b, out=np.zeros(a.shape, float))
    slope: np.ndarray = difference / step
    return slope


def _require_affine(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, label: str, name: str
) -> None:
    """Raise an ObjectiveError unless leaves at equal distances are on a line."""
    if a.dtype.kind != "f":
        return
    with np.errstate(invalid="ignore"):
        curvature = np.where((a == b) & (b == c), 0.0, a - 2.0 * b + c)
        scale = np.abs(a) + np.abs(b) + np.abs(c)
    allowed = MAX_CURVATURE * np.finfo(a.dtype).eps * scale
    if not bool((np.abs(curvature) <= allowed).all()):
        raise ObjectiveError(
            f"The path is no differentiable function of the {label}: its"
            f" {name or 'numbers'!r} are not affine in it near the present value."
        )


def _sibling(paths: list[Any], index: int, name: str) -> int:
    """Return the index of another param of the same batch."""
    prefix = paths[index][0][:-1]
    (sibling,) = (
        i
        for i, (path, _) in enumerate(paths)
        if path[:-1] == prefix and getattr(path[-1], "key", None) == name
    )
    return sibling
