"""Objectives as a chain problem: one batch for each kind of feature.

What is static is shape: the tree, the number of slices, and for each kind of feature
how many instances there are. Frames, slices, targets, scales, types and numbers of the
symbols are data.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..collision.needed import taken
from ..collision.once import once
from ..collision.precise import precise
from ..features.evaluate import (
    Inputs,
    aimed,
    continuous,
    linearize_all,
    linearize_each,
)
from ..features.symbol import Symbol
from ..robots._typing import Array
from ..robots.kinematics import (
    Kinematics,
    Poses,
    fold_dofs,
    frames_of,
    quaternions,
    walk_nodes,
)
from ..robots.tangent import coordinates_to_tangent, integrate, tangent_to_coordinates
from ..robots.tree import Tree
from ..solvers import Rows
from ..solvers.kernel import later, part
from ..solvers.sealed import Closed

LARGE = 4
"""Single slices with up to so much code are not compiled in parts."""


@dataclass(frozen=True)
class Kind:
    """What instances share to be evaluated as one batch."""

    symbol: Symbol
    order: int
    frames: int
    coordinates: int
    scale: tuple[int, ...]
    params: tuple[tuple[str, tuple[int, ...]], ...]
    capacity: int = 0
    groundings: int = 0
    """How many sets of params there are, of which instances use one; 0: each its own.
    """
    single: bool = False
    """Whether each row depends on one tangent column only, of those not shared."""


class Batch(NamedTuple):
    """Data of the instances of one kind; those beyond the last one have scale 0."""

    frames: Array
    """(n, window, m): of each slice of the window, oldest first."""
    coordinates: Array
    params: dict[str, Array]
    own: Array
    """Which of the params an instance uses; see `Kind.groundings`."""
    scale: Array
    target: Array
    last: Array
    kind: Array


class ChainData(NamedTuple):
    """Everything that may vary without compiling anew."""

    K: Kinematics
    prefix: Array
    tau: Float[jax.Array, " T"]
    """Time from the slice before to each slice [s]."""
    limits: Float[jax.Array, "2 slices nq"]
    """Of each slice, or once for all."""
    batches: tuple[Batch, ...]


@dataclass(frozen=True)
class Chain:
    """The structure of a problem; the solver's `ChainProblem`."""

    tree: Tree
    slices: int
    order: int
    kinds: tuple[Kind, ...]
    shared: tuple[int, ...] = ()
    """Tangent columns that are one variable for all slices."""

    @cached_property
    def _hash(self) -> int:
        return hash((self.tree, self.slices, self.order, self.kinds, self.shared))

    def __hash__(self) -> int:
        return self._hash  # programs are found by it in each solve

    @property
    def nv(self) -> int:
        """Dimension of the tangent space of a slice."""
        return self.tree.nv

    @property
    def large(self) -> bool:
        """See `ChainProblem`: contacts are about five times as much code as others."""
        code = sum(5 if k.symbol.stacked else 1 for k in self.kinds)
        return self.slices > 1 or code > LARGE

    @precise
    def evaluate(
        self,
        data: ChainData | Closed,
        x: jax.Array | Closed,
        coordinates: str = "tangent",
    ) -> Any:
        """All `Rows` with their Jacobians in the tangent space, or by "q"."""
        heavy = [i for i, kind in enumerate(self.kinds) if kind.symbol.stacked]
        light = [i for i in range(len(self.kinds)) if i not in heavy]

        def begin(data: ChainData, x: jax.Array) -> tuple[_Motion, list[Rows]]:
            motion = self._motion(data, x)
            return motion, self._rows(light, coordinates, data, motion)

        motion, found = part(begin, data, x)
        of = lambda i: partial(self._rows, [i], coordinates)
        more = [part(of(i), data, motion) for i in heavy]

        def ordered(found: list[Rows], *more: list[Rows]) -> tuple[Rows, ...]:
            groups = dict(zip([*light, *heavy], sum(more, found), strict=True))
            return tuple(groups[i] for i in sorted(groups))

        return later(ordered, found, *more)

    def shapes(self, data: ChainData, x: jax.Array) -> tuple[Rows, ...]:
        """Of what `evaluate` gives in the tangent space, without tracing it."""
        dtype, found = jnp.result_type(x, data.K.node_p), []
        for kind, b in zip(self.kinds, data.batches, strict=True):
            n = kind.capacity
            D = kind.scale[0]
            y: Any = jax.ShapeDtypeStruct((n, D), dtype)
            columns = 1 if kind.single else self.nv
            J: Any = jax.ShapeDtypeStruct((n, kind.order + 1, D, columns), dtype)
            which: Any = jax.ShapeDtypeStruct((n, D), jnp.result_type(b.coordinates))
            rest = _shape(b.last), _shape(b.kind), which if kind.single else None
            found.append(Rows(y, J, *rest))
        return tuple(found)

    def _motion(self, data: ChainData, x: jax.Array) -> "_Motion":
        X = jnp.concatenate([self._before(data, x), x])
        if any(kind.symbol.quaternions for kind in self.kinds):
            quats = quaternions(data.K, X)
        else:
            quats = jnp.zeros((len(X), 0, 4), X.dtype)
        return _Motion(X, *walk_nodes(data.K, X), quats)

    def _rows(
        self, which: list[int], coordinates: str, data: ChainData, motion: "_Motion"
    ) -> list[Rows]:
        """Of some of the kinds."""
        chosen = [(self.kinds[i], data.batches[i]) for i in which]
        windows = [self._window(kind, batch) for kind, batch in chosen]
        poses = self._poses([b.frames for _, b in chosen], windows, data, motion)
        return [
            self._group(*of, at, T, coordinates, data, motion)
            for of, at, T in zip(chosen, windows, poses, strict=True)
        ]

    def _window(self, kind: Kind, b: Batch) -> jax.Array:
        """The slices each instance looks at, (n, window)."""
        return b.last[:, None] + np.arange(self.order - kind.order, self.order + 1)

    def _group(
        self,
        kind: Kind,
        b: Batch,
        at: jax.Array,
        poses: Poses,
        coordinates: str,
        data: ChainData,
        m: "_Motion",
    ) -> Rows:
        mask = jnp.asarray(self.tree.mask, m.X.dtype)
        # before the first slice time goes on in steps as long as the first one
        steps = jnp.maximum(at[:, 1:] - self.order, 0)
        f, own = b.frames, b.coordinates
        inputs = Inputs(
            *poses,
            self._quaternions(kind, m.quaternions, at, f),
            taken(m.X.reshape(-1), at[:, :, None] * self.tree.nq + own[:, None]),
            taken(data.tau, steps),
        )
        single = kind.single and coordinates == "tangent"
        params, each = b.params, 0 if kind.groundings != 1 else None
        if kind.groundings:
            pick = partial(taken, at=b.own) if kind.groundings > 1 else lambda v: v[0]
            params = {k: pick(v) for k, v in params.items()}
        given = kind.symbol, kind.order
        if single:
            aims = b.scale, b.target
            y, dq = linearize_each(*given, inputs, params, each, *aims, data.K)
            which = np.arange(kind.scale[0]) // kind.symbol.each
            column = taken(self._columns(), own[:, which])
            return Rows(y, dq[..., None], b.last, b.kind, column)
        raw = linearize_all(*given, inputs, params, each, data.K)
        out = aimed(kind.symbol, raw, jnp.asarray(b.scale), jnp.asarray(b.target))
        if kind.frames:
            felt = once(_felt, out.force, out.moment, taken(mask, f))
            J = jnp.sum(felt * taken(m.twists, at)[:, None], -1).swapaxes(1, 2)
            J = fold_dofs(data.K, J)
            if coordinates == "q":
                J = tangent_to_coordinates(self.tree, m.X[at], J)
        else:
            J = self._joint_jacobian(out.dq, b.coordinates)
            if coordinates == "tangent":
                J = coordinates_to_tangent(self.tree, m.X[at], J)
        return Rows(out.y, J, b.last, b.kind)

    def _columns(self) -> np.ndarray:
        """Of each coordinate its tangent column; of quaternions no matter what."""
        found = np.zeros(self.tree.nq, int)
        for column, coordinate in enumerate(self.tree.column_coordinate):
            if coordinate >= 0:
                found[coordinate] = column
        return found

    def _before(self, data: ChainData, x: jax.Array) -> jax.Array:
        """The fixed slices before the first, with what all slices share."""
        if not self.shared:
            return jnp.asarray(data.prefix)
        balls = {c + i: q for q, c in self.tree.balls for i in range(3)}
        tied = np.zeros(self.tree.nq, bool)
        for column in self.shared:
            q = balls.get(column)
            tied[
                self.tree.column_coordinate[column] if q is None else slice(q, q + 4)
            ] = True
        return jnp.where(tied, x[0], data.prefix)

    def _poses(
        self, frames: list[Array], at: list[jax.Array], data: ChainData, m: "_Motion"
    ) -> list[Poses]:
        """Of the frames (n, window, m) of several kinds, all of them at once."""
        flat = lambda arrays: jnp.concatenate([jnp.reshape(a, -1) for a in arrays])
        rows = [
            jnp.broadcast_to(a[:, :, None], f.shape)
            for a, f in zip(at, frames, strict=True)
        ]
        if any(f.size for f in frames):
            T = frames_of(data.K, m.nodes, flat(rows), flat(frames))
        else:
            none = jnp.zeros((0, 3, 3), m.nodes.p.dtype)
            T = Poses(none, none[..., 0])
        ends = np.cumsum([f.size for f in frames])
        part = lambda f, end: Poses(
            *(x[end - f.size : end].reshape(*f.shape, *x.shape[1:]) for x in T)
        )
        return [part(f, end) for f, end in zip(frames, ends, strict=True)]

    def _quaternions(
        self, kind: Kind, quats: jax.Array, at: jax.Array, frames: jax.Array
    ) -> jax.Array:
        if not kind.symbol.quaternions:
            shape = (kind.capacity, kind.order + 1, kind.frames, 4)
            return jnp.zeros(shape, quats.dtype)
        place = at[:, :, None] * quats.shape[1] + frames
        return jax.vmap(continuous)(taken(quats.reshape(-1, 4), place))

    def _joint_jacobian(self, dq: jax.Array, coordinates: jax.Array) -> jax.Array:
        own = coordinates[:, :, None] == jnp.arange(self.tree.nq)
        return jnp.einsum("nrwc,ncq->nwrq", dq, own.astype(dq.dtype))

    def move(self, data: ChainData, x: jax.Array, step: jax.Array) -> jax.Array:
        """x moved along a tangent step, limits aside."""
        return integrate(self.tree, x, step)

    def retract(self, data: ChainData, x: jax.Array, step: jax.Array) -> jax.Array:
        """x moved along a tangent step, clipped to the limits."""
        low, high = self.bounds(data)
        return jnp.clip(self.move(data, x, step), low, high)

    def share(self, data: ChainData, x: jax.Array, step: jax.Array) -> jax.Array:
        """See `ChainProblem`."""
        low, high = self.bounds(data)
        below, above = (self._of_columns(a, jnp.inf) for a in (x - low, high - x))
        room = jnp.where(step > 0, above, below)
        bent = (room > 1e-10) & (jnp.abs(step) > room)
        ratio = jnp.where(bent, room / jnp.where(bent, jnp.abs(step), 1.0), 1.0)
        return jnp.min(ratio, initial=1.0)

    def blocked(self, data: ChainData, x: jax.Array, gradient: jax.Array) -> jax.Array:
        """Coordinates at a limit that descent would push outwards."""
        low, high = self.bounds(data)
        at_low = self._of_columns(x <= low + 1e-10, False)
        at_high = self._of_columns(x >= high - 1e-10, False)
        return (at_low & (gradient > 0)) | (at_high & (gradient < 0))

    def _of_columns(self, a: jax.Array, otherwise: Any) -> jax.Array:
        """By tangent column; `otherwise` in those of quaternions."""
        source = np.array(self.tree.column_coordinate, int)
        if np.array_equal(source, np.arange(self.tree.nq)):
            return a
        return jnp.where(source >= 0, a[:, source], otherwise)

    def bounds(self, data: ChainData) -> tuple[jax.Array, jax.Array]:
        """Limits; quaternions have none."""
        low, high = data.limits
        if not self.tree.balls:
            return low, high
        free = np.zeros(self.tree.nq, bool)
        free[self.tree.table.quaternions.reshape(-1)] = True
        return jnp.where(free, -jnp.inf, low), jnp.where(free, jnp.inf, high)


class _Motion(NamedTuple):
    """A path, with where joints are on it and how they move; fixed slices first."""

    X: jax.Array
    nodes: Poses
    twists: jax.Array
    quaternions: jax.Array


def _felt(force: jax.Array, moment: jax.Array, mask: jax.Array) -> jax.Array:
    """What each dof feels of all frames, (instances, rows, window, dofs, 6)."""
    wrench = once(partial(jnp.concatenate, axis=-1), [force, moment])
    return jnp.sum(wrench[..., None, :] * mask[:, None, ..., None], 3)


def _shape(a: Any) -> Any:
    return jax.ShapeDtypeStruct(jnp.shape(a), jnp.result_type(a))
