"""Objectives as a chain problem: one batch for each kind of feature.

What is static is shape: the tree, the number of slices, and for each kind of feature
how many instances there are. Frames, slices, targets, scales, types and numbers of the
symbols are data.
"""

import operator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posewise.compilation.packed_pytree import Packed
from posewise.compilation.precision import full_matmul_precision
from posewise.compilation.single_kernel import defer, subprogram
from posewise.robots.kinematics.manifold import integrate
from posewise.robots.kinematics.tree import KinematicTree
from posewise.solvers import ResidualBlock

from .groups import ChainData, FeatureGroup, merge_groups
from .residuals import GroupEvaluation, PathKinematics, StaticInputs, path_kinematics

MAX_UNSPLIT_CODE = 4
"""Single slices with up to so much code are not compiled in parts."""


@dataclass(frozen=True)
class Chain:
    """The structure of a problem; the solver's `ChainProblem`."""

    tree: KinematicTree
    slices: int
    order: int
    kinds: tuple[FeatureGroup, ...]
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
    def is_large(self) -> bool:
        """See `ChainProblem`: contacts are about five times as much code as others."""
        first = [self.kinds[group[0]] for group in merge_groups(enumerate(self.kinds))]
        code = sum(5 if kind.heavy else 1 for kind in first)
        return self.slices > 1 or code > MAX_UNSPLIT_CODE

    @full_matmul_precision
    def evaluate(
        self,
        data: ChainData | Packed,
        x: jax.Array | Packed,
        coordinates: str = "tangent",
    ) -> Any:
        """All `ResidualBlock` with their Jacobians in the tangent space, or by "q"."""
        heavy = merge_groups((i, k) for i, k in enumerate(self.kinds) if k.heavy)
        light = [i for i, kind in enumerate(self.kinds) if not kind.heavy]
        about = self.tree, self.order, self.kinds

        every = [light, *heavy]

        def still(data: ChainData) -> list[StaticInputs]:
            return [GroupEvaluation.still(*about, own, data) for own in every]

        def begin(data: ChainData, x: jax.Array, still: StaticInputs) -> Any:
            X = jnp.concatenate([self._before(data, x), x])
            motion = path_kinematics(self.kinds, data, X)
            at = GroupEvaluation(*about, coordinates, data, motion)
            return motion, at.rows(light, still)

        def rows(
            own: list[int], data: ChainData, motion: PathKinematics, still: StaticInputs
        ) -> Any:
            return GroupEvaluation(*about, coordinates, data, motion).rows(own, still)

        # of no path, and so computed before the solver's loop
        stills = subprogram(still, data)
        seen = [defer(operator.itemgetter(k), stills) for k in range(len(every))]
        motion, found = subprogram(begin, data, x, seen[0])
        more = [
            subprogram(partial(rows, own), data, motion, looks)
            for own, looks in zip(heavy, seen[1:], strict=True)
        ]

        def ordered(*found: list[ResidualBlock]) -> tuple[ResidualBlock, ...]:
            groups = dict(zip([*light, *sum(heavy, [])], sum(found, []), strict=True))
            return tuple(groups[i] for i in sorted(groups))

        return defer(ordered, found, *more)

    def shapes(self, data: ChainData, x: jax.Array) -> tuple[ResidualBlock, ...]:
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
            found.append(ResidualBlock(y, J, *rest))
        return tuple(found)

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

    def retract_unbounded(
        self, data: ChainData, x: jax.Array, step: jax.Array
    ) -> jax.Array:
        """x moved along a tangent step, limits aside."""
        return integrate(self.tree, x, step)

    def retract(self, data: ChainData, x: jax.Array, step: jax.Array) -> jax.Array:
        """x moved along a tangent step, clipped to the limits."""
        low, high = self.bounds(data)
        return jnp.clip(self.retract_unbounded(data, x, step), low, high)

    def max_step_fraction(
        self, data: ChainData, x: jax.Array, step: jax.Array
    ) -> jax.Array:
        """See `ChainProblem`."""
        low, high = self.bounds(data)
        below, above = (self._of_columns(a, jnp.inf) for a in (x - low, high - x))
        room = jnp.where(step > 0, above, below)
        bent = (room > 1e-10) & (jnp.abs(step) > room)
        ratio = jnp.where(bent, room / jnp.where(bent, jnp.abs(step), 1.0), 1.0)
        return jnp.min(ratio, initial=1.0)

    def active_bounds(
        self, data: ChainData, x: jax.Array, gradient: jax.Array
    ) -> jax.Array:
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
        free[self.tree.indices.quaternion_coordinates.reshape(-1)] = True
        return jnp.where(free, -jnp.inf, low), jnp.where(free, jnp.inf, high)


def _shape(a: Any) -> Any:
    return jax.ShapeDtypeStruct(jnp.shape(a), jnp.result_type(a))
