"""Objectives as a chain problem: one batch for each kind of feature.

What is static is shape: the tree, the number of slices, and for each kind of feature
how many instances there are, rounded up to a bucket. Frames, slices, targets, scales,
types and numbers of the symbols are data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..features.evaluate import Inputs, aimed, continuous
from ..features.feature import Grounded
from ..features.symbol import Symbol
from ..robots.kinematics import (
    Kinematics,
    coordinates_to_tangent,
    fold_dofs,
    integrate,
    quaternions,
    tangent_to_coordinates,
)
from ..robots.tree import Tree
from ..solvers import SOS, Rows
from .objective import Objective


@dataclass(frozen=True)
class Kind:
    """What instances share to be evaluated as one batch."""

    symbol: Symbol
    order: int
    frames: int
    coordinates: int
    scale: tuple[int, ...]
    params: tuple[tuple[str, tuple[int, ...]], ...]
    capacity: int


class Batch(NamedTuple):
    """Data of the instances of one kind; those beyond the last one have scale 0."""

    frames: jax.Array
    coordinates: jax.Array
    params: dict[str, jax.Array]
    scale: jax.Array
    target: jax.Array
    last: jax.Array
    kind: jax.Array


class ChainData(NamedTuple):
    """Everything that may vary without compiling anew."""

    K: Kinematics
    prefix: jax.Array
    tau: jax.Array
    batches: tuple[Batch, ...]


@dataclass(frozen=True)
class Chain:
    """The structure of a problem; the solver's `ChainProblem`."""

    tree: Tree
    slices: int
    order: int
    kinds: tuple[Kind, ...]

    @property
    def nv(self) -> int:
        """Dimension of the tangent space of a slice."""
        return self.tree.nv

    def evaluate(
        self, data: ChainData, x: jax.Array, coordinates: str = "tangent"
    ) -> tuple[Rows, ...]:
        """All rows with their Jacobians in the tangent space, or by "q"."""
        K = data.K
        X = jnp.concatenate([data.prefix, x])
        w = K.walk(X)
        quats = quaternions(K, X)
        mask = jnp.asarray(self.tree.mask, x.dtype)
        groups = []
        for kind, b in zip(self.kinds, data.batches, strict=True):
            window = np.arange(kind.order + 1) + (self.order - kind.order)
            at = b.last[:, None] + window
            f = b.frames[:, None, :]
            inputs = Inputs(
                w.frames.R[at[:, :, None], f],
                w.frames.p[at[:, :, None], f],
                self._quaternions(kind, quats, at, f),
                X[at[:, :, None], b.coordinates[:, None, :]],
                jnp.broadcast_to(data.tau, (kind.capacity,)),
            )
            one = lambda x, params, scale, target, kind=kind: aimed(
                kind.symbol, kind.order, x, params, scale, target, K
            )
            out = jax.vmap(one)(inputs, b.params, b.scale, b.target)
            if kind.frames:
                wrench = jnp.concatenate([out.force, out.moment], -1)
                # (n, window, m, rows, 6) @ (n, window, 1, 6, dofs)
                wrench = jnp.transpose(wrench, (0, 2, 3, 1, 4))
                J = wrench @ jnp.swapaxes(w.twists[at], -1, -2)[:, :, None]
                J = jnp.sum(J * mask[b.frames][:, None, :, None, :], 2)
                J = fold_dofs(K, J)
                if coordinates == "q":
                    J = tangent_to_coordinates(self.tree, X[at], J)
            else:
                J = self._joint_jacobian(out.dq, b.coordinates)
                if coordinates == "tangent":
                    J = coordinates_to_tangent(self.tree, X[at], J)
            groups.append(Rows(out.y, J, b.last, b.kind))
        return tuple(groups)

    def _quaternions(
        self, kind: Kind, quats: jax.Array, at: jax.Array, frames: jax.Array
    ) -> jax.Array:
        if not kind.symbol.quaternions:
            shape = (kind.capacity, kind.order + 1, kind.frames, 4)
            return jnp.zeros(shape, quats.dtype)
        return jax.vmap(continuous)(quats[at[:, :, None], frames])

    def _joint_jacobian(self, dq: jax.Array, coordinates: jax.Array) -> jax.Array:
        dq = jnp.swapaxes(dq, 1, 2)
        n, window, rows, _ = dq.shape
        J = jnp.zeros((n, window, rows, self.tree.nq), dq.dtype)
        i, w, r = np.ogrid[:n, :window, :rows]
        at = coordinates[:, None, None, :]
        return J.at[i[..., None], w[..., None], r[..., None], at].set(dq)

    def move(self, data: ChainData, x: jax.Array, step: jax.Array) -> jax.Array:
        """x moved along a tangent step, limits aside."""
        return integrate(self.tree, x, step)

    def retract(self, data: ChainData, x: jax.Array, step: jax.Array) -> jax.Array:
        """x moved along a tangent step, clipped to the limits."""
        low, high = self.bounds(data)
        return jnp.clip(self.move(data, x, step), low, high)

    def blocked(self, data: ChainData, x: jax.Array, gradient: jax.Array) -> jax.Array:
        """Coordinates at a limit that descent would push outwards."""
        low, high = self.bounds(data)
        at_low, at_high = x <= low + 1e-10, x >= high - 1e-10
        source = np.array(self.tree.column_coordinate, int)
        single = source >= 0
        low_v, high_v = at_low[:, source] & single, at_high[:, source] & single
        return (low_v & (gradient > 0)) | (high_v & (gradient < 0))

    def bounds(self, data: ChainData) -> tuple[jax.Array, jax.Array]:
        """Limits; quaternions have none."""
        free = np.zeros(self.tree.nq, bool)
        free[self.tree.table.quaternions.reshape(-1)] = True
        low, high = data.K.limits
        return jnp.where(free, -jnp.inf, low), jnp.where(free, jnp.inf, high)


class Placed(NamedTuple):
    """Where the rows of an objective stand: batch, and places in it."""

    batch: int
    rows: slice


def make_chain(
    K: Kinematics,
    objectives: Sequence[tuple[Objective, Grounded]],
    prefix: np.ndarray,
    slices: int,
    tau: float,
) -> tuple[Chain, ChainData, list[Placed]]:
    """Structure, data, and where each objective's rows stand."""
    grouped: dict[tuple, list[tuple[int, Objective, Grounded]]] = {}
    for i, (objective, g) in enumerate(objectives):
        params = tuple((k, np.shape(v)) for k, v in sorted(g.params.items()))
        key = (
            g.symbol,
            g.order,
            len(g.frames),
            len(g.coordinates),
            g.scale.shape,
            params,
        )
        grouped.setdefault(key, []).append((i, objective, g))

    dtype = K.node_p.dtype
    order = len(prefix)
    placed: dict[int, Placed] = {}
    kinds: list[Kind] = []
    batches: list[Batch] = []
    for key, members in grouped.items():
        rows: list[tuple[int, Objective, Grounded]] = []
        for i, objective, g in members:
            start = len(rows)
            rows += [(t, objective, g) for t in objective.slices]
            placed[i] = Placed(len(kinds), slice(start, len(rows)))
        capacity = _bucket(len(rows))
        pad = capacity - len(rows)
        first = rows[0][2]

        def stack(get: Any, dtype: Any, rows=rows, pad=pad) -> jax.Array:
            values = [get(t, o, g) for t, o, g in rows]
            values += [values[0]] * pad
            return jnp.asarray(np.stack(values), dtype)

        scale = np.stack([g.scale for _, _, g in rows] + [0 * first.scale] * pad)
        arrays = {
            k: stack(lambda t, o, g, k=k: np.asarray(g.params[k]), _dtype(v, dtype))
            for k, v in first.params.items()
        }
        kinds.append(Kind(*key, capacity=capacity))
        batches.append(
            Batch(
                stack(lambda t, o, g: g.frames, int),
                stack(lambda t, o, g: g.coordinates, int),
                arrays,
                jnp.asarray(scale, dtype),
                stack(lambda t, o, g: g.target, dtype),
                jnp.asarray([t for t, _, _ in rows] + [slices - 1] * pad),
                jnp.asarray([o.type.value for _, o, _ in rows] + [SOS] * pad),
            )
        )
    chain = Chain(K.tree, slices, order, tuple(kinds))
    data = ChainData(
        K.anonymous(),
        jnp.asarray(prefix, dtype),
        jnp.asarray(tau, dtype),
        tuple(batches),
    )
    return chain, data, [placed[i] for i in range(len(objectives))]


def _bucket(n: int) -> int:
    """The next power of two, or multiple of 32 beyond that."""
    return 1 << (n - 1).bit_length() if n <= 32 else -(-n // 32) * 32


def _dtype(values: Any, dtype: Any) -> Any:
    kind = np.asarray(values).dtype
    return dtype if np.issubdtype(kind, np.floating) else kind
