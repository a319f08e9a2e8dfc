"""The chain problem of objectives: one batch for each group of features.

Only shapes are static: the tree, the number of slices, and the number of instances of
each group. Frames, slices, targets, scales, types and parameters of symbols are data.
"""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posewise.compilation.call_together import call_together
from posewise.compilation.compaction import gather
from posewise.compilation.packed_pytree import Packed
from posewise.compilation.precision import full_matmul_precision
from posewise.compilation.single_kernel import defer, subprogram
from posewise.robots.kinematics.manifold import integrate, interpolate
from posewise.robots.kinematics.tree import KinematicTree
from posewise.robots.typing import Array
from posewise.solvers import ResidualBlock, StepBounds

from .groups import ChainData, FeatureGroup, merge_groups
from .residuals import (
    GroupEvaluation,
    PathKinematics,
    path_kinematics,
)
from .static_inputs import StaticInputs, static_inputs

MAX_UNSPLIT_CODE = 4
"""Amount of code, in light groups, up to which a single slice is one program.

Larger programs are compiled in parts.
"""
HEAVY_CODE = 5
"""Amount of code of a heavy group (collisions), in light groups; with a larger one,
smaller problems are compiled in parts."""


@dataclass(frozen=True)
class Chain:
    """The structure of a problem; the solver's `ChainProblem`."""

    tree: KinematicTree
    slices: int
    order: int
    groups: tuple[FeatureGroup, ...]
    shared: tuple[int, ...] = ()
    """Tangent columns that are one variable for all slices."""
    durations: tuple[int, ...] = ()
    """For each slice the coordinate that is the factor of the duration of the step into
    it, a shared one; empty: durations are constant."""

    @cached_property
    def _hash(self) -> int:
        parts = (self.tree, self.slices, self.order, self.groups, self.shared)
        return hash((*parts, self.durations))

    def __hash__(self) -> int:
        # Cached, because each solve looks up its programs by the hash.
        return self._hash

    def novelty(self, others: Iterable[object]) -> str:
        """Return what is new about the problem, as words; see `compile_time`."""
        return describe_novelty(self, [x for x in others if isinstance(x, Chain)])

    @property
    def nv(self) -> int:
        """Dimension of the tangent space of a slice."""
        return self.tree.nv

    @property
    def is_large(self) -> bool:
        """Whether evaluation is large enough code to be compiled in parts."""
        merged = merge_groups(enumerate(self.groups))
        first = [self.groups[indices[0]] for indices in merged]
        code = sum(HEAVY_CODE if group.is_heavy else 1 for group in first)
        return self.slices > 1 or code > MAX_UNSPLIT_CODE

    @full_matmul_precision
    def evaluate(
        self,
        data: ChainData | Packed,
        x: jax.Array | Packed,
        coordinates: str = "tangent",
    ) -> Any:
        """Return a `ResidualBlock` for each group, at a path.

        Args:
            data: numbers of the problem.
            x: path (T, nq).
            coordinates: "tangent" for Jacobians by tangent columns, or "q".
        """
        heavy = merge_groups((i, g) for i, g in enumerate(self.groups) if g.is_heavy)
        light = [i for i, group in enumerate(self.groups) if not group.is_heavy]
        parts = [light, *heavy]

        def evaluation(data: ChainData, kinematics: PathKinematics) -> GroupEvaluation:
            return GroupEvaluation(
                self.tree,
                self.order,
                self.groups,
                coordinates,
                data,
                kinematics,
                self.durations,
            )

        def all_static_inputs(data: ChainData) -> list[StaticInputs]:
            return [
                static_inputs(self.tree, self.order, self.groups, indices, data)
                for indices in parts
            ]

        def light_blocks(data: ChainData, x: jax.Array, inputs: StaticInputs) -> Any:
            X = jnp.concatenate([self._prefix(data, x), x])
            X = jnp.concatenate([X, *self._intermediate(data, X)])
            kinematics = path_kinematics(self.groups, data, X)
            return kinematics, evaluation(data, kinematics).blocks(light, inputs)

        def heavy_blocks(
            indices: list[int],
            data: ChainData,
            kinematics: PathKinematics,
            inputs: StaticInputs,
        ) -> Any:
            return evaluation(data, kinematics).blocks(indices, inputs)

        # Static inputs do not depend on the path: in a subprogram without x they are
        # computed before the solver's loop.
        static = subprogram(all_static_inputs, data)
        inputs = [defer(operator.itemgetter(k), static) for k in range(len(parts))]
        kinematics, first = subprogram(light_blocks, data, x, inputs[0])
        heavy_results = call_together(
            [
                (partial(heavy_blocks, indices), (data, kinematics, part_inputs))
                for indices, part_inputs in zip(heavy, inputs[1:], strict=True)
            ]
        )

        def in_order(*blocks: list[ResidualBlock]) -> tuple[ResidualBlock, ...]:
            indices = [*light, *sum(heavy, [])]
            by_index = dict(zip(indices, sum(blocks, []), strict=True))
            return tuple(by_index[i] for i in sorted(by_index))

        return defer(in_order, first, *heavy_results)

    def shapes(self, data: ChainData, x: Array) -> tuple[ResidualBlock, ...]:
        """Return shapes and dtypes of `evaluate` in the tangent space, untraced."""
        dtype, blocks = jnp.result_type(x, data.K.node_p), []
        for group, b in zip(self.groups, data.batches, strict=True):
            n, D = group.capacity, group.num_rows
            columns = 1 if group.is_single_column else self.nv
            y: Any = jax.ShapeDtypeStruct((n, D), dtype)
            J: Any = jax.ShapeDtypeStruct((n, group.window, D, columns), dtype)
            column: Any = None
            if group.is_single_column:
                column = jax.ShapeDtypeStruct((n, D), jnp.result_type(b.coordinates))
            blocks.append(
                ResidualBlock(y, J, _shape(b.slices), _shape(b.types), column)
            )
        return tuple(blocks)

    def _intermediate(self, data: ChainData, X: jax.Array) -> list[jax.Array]:
        """Return the configurations between slices at which features are evaluated.

        Args:
            data: numbers of the problem.
            X: the path with its fixed slices.
        """
        return [
            interpolate(
                self.tree,
                gather(X, b.slices + (self.order - 1)),
                gather(X, b.slices + self.order),
                jnp.asarray(b.fractions),
            )
            for group, b in zip(self.groups, data.batches, strict=True)
            if group.is_between
        ]

    def _prefix(self, data: ChainData, x: jax.Array) -> jax.Array:
        """Return the fixed slices before the first, with shared coordinates of x."""
        if not self.shared:
            return jnp.asarray(data.prefix)
        quaternion_of = {c + i: q for q, c in self.tree.balls for i in range(3)}
        is_shared = np.zeros(self.tree.nq, bool)
        for column in self.shared:
            q = quaternion_of.get(column)
            if q is None:
                is_shared[self.tree.column_coordinate[column]] = True
            else:
                is_shared[q : q + 4] = True
        return jnp.where(is_shared, x[0], data.prefix)

    def retract_unbounded(
        self, data: ChainData, x: jax.Array, step: jax.Array
    ) -> jax.Array:
        """Return x moved along a tangent step, without regard to limits."""
        return integrate(self.tree, x, step)

    def retract(self, data: ChainData, x: jax.Array, step: jax.Array) -> jax.Array:
        """Return x moved along a tangent step, clipped to the limits."""
        low, high = self.bounds(data)
        return jnp.clip(self.retract_unbounded(data, x, step), low, high)

    def step_bounds(self, data: ChainData, x: jax.Array) -> StepBounds:
        """Return the least and the largest tangent step within the limits."""
        low, high = self.bounds(data)
        if not self.tree.balls:
            return StepBounds(low - x, high - x)
        # A quaternion that is not free is fixed.
        source = np.array(self.tree.column_coordinate, int)
        for first, column in self.tree.balls:
            source[column : column + 3] = first
        is_single = np.array(self.tree.column_coordinate, int) >= 0
        range_of_turn = jnp.where(low < high, jnp.inf, 0.0)[:, source]
        return StepBounds(
            jnp.where(is_single, (low - x)[:, source], -range_of_turn),
            jnp.where(is_single, (high - x)[:, source], range_of_turn),
        )

    def bounds(self, data: ChainData) -> tuple[jax.Array, jax.Array]:
        """Return lower and upper limits; quaternions are free or fixed."""
        low, high = data.limits
        if not self.tree.balls:
            return low, high
        is_free = np.zeros(self.tree.nq, bool)
        is_free[self.tree.indices.quaternion_coordinates.reshape(-1)] = True
        is_free = is_free & (low < high)
        return jnp.where(is_free, -jnp.inf, low), jnp.where(is_free, jnp.inf, high)


def describe_novelty(chain: Chain, others: Sequence[Chain]) -> str:
    """Return which part of a problem's structure no other one has, as words."""
    if not others:
        return "the first problem of this process"
    alike = [other for other in others if other.tree == chain.tree]
    if not alike:
        return "other joints than before"
    same_path = [o for o in alike if (o.slices, o.order) == (chain.slices, chain.order)]
    if not same_path:
        return f"{chain.slices} slices of order {chain.order}, not as before"
    symbols = {(group.symbol.name, group.order) for group in chain.groups}
    known = [
        {(group.symbol.name, group.order) for group in other.groups}
        for other in same_path
    ]
    if symbols not in known:
        nearest = min(known, key=lambda others: len(symbols ^ others))
        new = sorted(f"{name} of order {k}" for name, k in symbols - nearest)
        return f"features together for the first time ({', '.join(new) or 'fewer'})"
    kinds = _pair_kinds(chain) - set().union(*map(_pair_kinds, same_path))
    if kinds:
        return f"new kinds of bodies beside each other ({', '.join(sorted(kinds))})"
    return "more bodies or objectives than before"


def _pair_kinds(chain: Chain) -> set[str]:
    """Return the names of the kinds of pairs of bodies that a problem measures."""
    sums = (g.symbol.pair_sum for g in chain.groups if g.symbol.pair_sum is not None)
    kinds = {kind.name for types, _ in sums for kind in types.kinds}
    return {name.lower().replace("_", " and ") for name in kinds}


def _shape(a: Any) -> Any:
    return jax.ShapeDtypeStruct(jnp.shape(a), jnp.result_type(a))
