"""Residuals of groups of features along a path: poses, features, and Jacobians."""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from posewise.compilation.compaction import gather
from posewise.compilation.materialize import materialize
from posewise.features.differences import (
    difference_coefficients,
    differentiate_coefficients,
)
from posewise.features.evaluate import (
    differentiate_by_durations,
    linearize_batch,
    linearize_pair_sums,
    linearize_per_coordinate,
    make_quaternions_continuous,
)
from posewise.features.linearized_feature import FeatureInputs, LinearizedFeature
from posewise.features.scaling import (
    apply_scale,
    apply_scale_and_target_to_linearization,
)
from posewise.features.symbol import PERIOD
from posewise.features.vectors import linearize_vectors
from posewise.robots.kinematics.forward import (
    FramePoses,
    fold_dofs,
    forward_pass_nodes,
    node_quaternions,
)
from posewise.robots.kinematics.manifold import (
    coordinates_to_tangent,
    interpolation_jacobian,
    tangent_to_coordinates,
)
from posewise.robots.kinematics.transforms import quat_multiply
from posewise.robots.kinematics.tree import KinematicTree
from posewise.robots.typing import Array
from posewise.solvers import ResidualBlock
from posewise.solvers.residuals import concatenate

from .durations import StepDurations
from .groups import ChainData, FeatureBatch, FeatureGroup
from .static_inputs import (
    FrameSelection,
    StaticInputs,
    concatenate_if_several,
    merged_indices,
    selected_poses,
    selection_groups,
)

T = TypeVar("T")


class PathKinematics(NamedTuple):
    """A path with the poses and twists of its joints; fixed slices come first."""

    X: jax.Array
    """Coordinates (slices, nq)."""
    nodes: FramePoses
    """Poses of the nodes of the tree in each slice."""
    twists: jax.Array
    """World twists (slices, dofs, 6)."""
    quaternions: jax.Array
    """Orientations of nodes (slices, nodes, 4); no nodes if no feature uses them."""


def path_kinematics(
    groups: Iterable[FeatureGroup], data: ChainData, X: jax.Array
) -> PathKinematics:
    """Return the kinematics of a path, as far as the groups need it."""
    if any(group.symbol.uses_quaternions for group in groups):
        quats = node_quaternions(data.K, X)
    else:
        quats = jnp.zeros((len(X), 0, 4), X.dtype)
    return PathKinematics(X, *forward_pass_nodes(data.K, X), quats)


class _SharedSelection(NamedTuple):
    """Groups that share a selection of frames, and the poses of these frames."""

    members: list[tuple[FeatureGroup, FeatureBatch]]
    selection: FrameSelection
    poses: FramePoses


class GroupEvaluation(NamedTuple):
    """Evaluates groups of features at a path."""

    tree: KinematicTree
    order: int
    """Number of fixed slices with which the path begins."""
    groups: tuple[FeatureGroup, ...]
    coordinates: str
    """"tangent" for Jacobians by tangent columns, or "q"."""
    data: ChainData
    kinematics: PathKinematics
    durations: tuple[int, ...] = ()
    """Coordinates of factors of durations; see `Chain.durations`."""

    def blocks(self, indices: list[int], inputs: StaticInputs) -> list[ResidualBlock]:
        """Return the residual blocks of some groups."""
        selections = [
            _SharedSelection(
                [(self.groups[i], self._batch(i, inputs)) for i in members],
                selection,
                poses,
            )
            for members, selection, poses in zip(
                selection_groups(self.groups, indices),
                inputs.selections,
                selected_poses(inputs, self.kinematics.nodes),
                strict=True,
            )
        ]
        blocks: list[ResidualBlock] = []
        merged = merged_indices(self.groups, indices)
        for members in merged:
            if self.groups[members[0]].symbol.vector_form is not None:
                blocks += self._vector_blocks(selections.pop(0))
            elif len(members) > 1:
                blocks += self._pair_sum_blocks([selections.pop(0) for _ in members])
            else:
                blocks.append(self._block(selections.pop(0)))
        by_index = dict(zip(sum(merged, []), blocks, strict=True))
        return [by_index[i] for i in indices]

    def _batch(self, index: int, inputs: StaticInputs) -> FeatureBatch:
        """Return the data of a group, with bodies on the nodes of the tree."""
        batch = self.data.batches[index]
        return batch._replace(params=inputs.params.get(index, batch.params))

    def _block(self, shared: _SharedSelection) -> ResidualBlock:
        """Return the block of one group."""
        ((group, b),) = shared.members
        inputs = self._feature_inputs(shared)
        params, params_axis = self._params(group, b)
        feature = group.symbol, group.order, inputs, params, params_axis
        if group.is_single_column and self.coordinates == "tangent":
            y, dq = linearize_per_coordinate(*feature, b.scale, b.target, self.data.K)
            which = np.arange(group.num_rows) // group.symbol.rows_per_coordinate
            column = gather(self._column_of_coordinate(), b.coordinates[:, which])
            return ResidualBlock(y, dq[..., None], b.slices, b.types, column)
        raw = linearize_batch(*feature, self.data.K)
        if group.num_frames:
            return self._frame_block(shared, raw)
        out = _apply_scale_and_target(group, b, raw)
        one_hot = b.coordinates[:, :, None] == jnp.arange(self.tree.nq)
        J = jnp.einsum("nrwc,ncq->nwrq", out.dq, one_hot.astype(out.dq.dtype))
        if self.coordinates == "tangent":
            X = self.kinematics.X[shared.selection.slices]
            J = coordinates_to_tangent(self.tree, X, J)
        return self._with_durations(shared, ResidualBlock(out.y, J, b.slices, b.types))

    def _pair_sum_blocks(self, shared: list[_SharedSelection]) -> list[ResidualBlock]:
        """Return the blocks of groups that are sums over pairs, as one computation."""
        members = [s.members[0] for s in shared]
        symbols = tuple(group.symbol for group, _ in members)
        inputs = list(map(self._feature_inputs, shared))
        params = [self._params(*member)[0] for member in members]
        raw = linearize_pair_sums(symbols, inputs, params)
        return list(map(self._frame_block, shared, raw))

    def _frame_block(
        self, shared: _SharedSelection, raw: LinearizedFeature
    ) -> ResidualBlock:
        """Return the block of a group of features of frames."""
        ((group, b),) = shared.members
        out = _apply_scale_and_target(group, b, raw)
        J = self._jacobian(out.force, out.moment, shared.selection)
        if group.is_between:
            J, ends = self._on_both_ends(b, J)
            J = self._by_columns(J, ends)
        else:
            J = self._by_columns(J, shared.selection.slices)
        return self._with_durations(shared, ResidualBlock(out.y, J, b.slices, b.types))

    def _on_both_ends(
        self, b: FeatureBatch, J: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return Jacobians (n, 2, rows, nv) on the slices around configurations.

        Args:
            b: instances between slices.
            J: Jacobians (n, 1, rows, nv) on their configurations.

        Returns:
            The Jacobians, and the indices (n, 2) of both slices in the path.
        """
        ends = b.slices[:, None] + np.arange(self.order - 1, self.order + 1)
        fraction = jnp.asarray(b.fractions)[:, None]
        if not self.tree.balls:
            weights = jnp.concatenate([1 - fraction, fraction], 1)
            return J * weights[:, :, None, None], ends
        X = gather(self.kinematics.X, ends)
        move = jax.vmap(partial(interpolation_jacobian, self.tree))
        moves = move(X[:, 0], X[:, 1], fraction[:, 0])
        return jnp.einsum("nrv,newv->nerw", J[:, 0], moves), ends

    def _vector_blocks(self, shared: _SharedSelection) -> list[ResidualBlock]:
        """Return the blocks of groups that are vectors, as one computation.

        Each row is u · r + shift - goal, where u is a vector of the instance and r the
        row's direction in the frame, times the coefficient of the difference.
        """
        members, (slices, _, moves), poses = shared

        def per_instance(get: Callable[[FeatureGroup], T]) -> list[T]:
            return sum(([get(group)] * group.capacity for group, _ in members), [])

        forms: list[Any] = per_instance(lambda group: group.symbol.vector_form)
        widths = per_instance(lambda group: group.num_rows)
        instance = np.repeat(np.arange(len(forms)), widths)
        direction = concatenate_if_several(
            [b.params["direction"].reshape(-1, 3) for _, b in members]
        )
        goals = concatenate([apply_scale(b.scale, b.target, 0) for _, b in members])
        shift = concatenate([b.params["shift"] for _, b in members])
        twists = gather(self.kinematics.twists, slices)
        vectors = materialize(partial(linearize_vectors, forms), *poses, moves, twists)
        R, u, du = (gather(x, instance) for x in (poses.R[:, :, 2], *vectors))
        r: Any = sum(R[..., k] * direction[:, None, k, None] for k in range(3))
        order, unscaled = members[0][0].order, r
        if order:
            coefficients = difference_coefficients(
                order, self._steps.of_windows(slices)
            )
            r = r * gather(coefficients, instance)[..., None]
        y = jnp.sum(u * r, (1, 2)) + shift - goals
        J = jnp.sum(du * r[:, :, None], -1)[:, :, None]
        J = self._by_columns(fold_dofs(self.data.K, J), gather(slices, instance))
        if order and self.durations:
            slopes = differentiate_coefficients(order, self._steps.of_windows(slices))
            values = jnp.sum(u * unscaled, -1)
            slopes = jnp.einsum("nw,nws->ns", values, gather(slopes, instance))
            J = self._add_durations(J, slopes[:, None], gather(slices, instance))
        blocks, begin = [], 0
        for group, b in members:
            shape = group.capacity, group.num_rows
            rows = slice(begin, begin := begin + math.prod(shape))
            J_group = J[rows, :, 0].reshape(*shape, *J.shape[1::2]).swapaxes(1, 2)
            blocks.append(
                ResidualBlock(y[rows].reshape(shape), J_group, b.slices, b.types)
            )
        return blocks

    def _feature_inputs(self, shared: _SharedSelection) -> FeatureInputs:
        """Return the inputs of the features of one group."""
        ((group, b),), (slices, frames, _), poses = shared
        coordinates = slices[:, :, None] * self.tree.nq + b.coordinates[:, None]
        return FeatureInputs(
            *poses,
            self._quaternions(group, slices, frames),
            gather(self.kinematics.X.reshape(-1), coordinates),
            self._steps.of_windows(slices),
        )

    def _params(
        self, group: FeatureGroup, b: FeatureBatch
    ) -> tuple[dict[str, Array], int | None]:
        """Return parameters, and their axis of instances; None: all share them."""
        if not group.num_param_sets:
            return b.params, 0
        if group.num_param_sets == 1:
            return {k: v[0] for k, v in b.params.items()}, None
        return {k: gather(v, b.param_set) for k, v in b.params.items()}, 0

    @property
    def _steps(self) -> StepDurations:
        """Durations of the steps of the path."""
        # Shared coordinates are the same in all slices.
        q = self.kinematics.X[-1]
        return StepDurations(self.data.tau, self.order, self.durations, q)

    def _with_durations(
        self, shared: _SharedSelection, block: ResidualBlock
    ) -> ResidualBlock:
        """Return the block of a group with derivatives by variable durations."""
        ((group, b),) = shared.members
        if not group.order or not self.durations:
            return block
        slopes = differentiate_by_durations(
            group.symbol,
            group.order,
            self._feature_inputs(shared),
            *self._params(group, b),
            jnp.asarray(b.scale),
            jnp.asarray(b.target),
            self.data.K,
        )
        J = self._add_durations(block.J, slopes, shared.selection.slices)
        return block._replace(J=J)

    def _add_durations(
        self, J: jax.Array, slopes: jax.Array, slices: jax.Array
    ) -> jax.Array:
        """Add derivatives by variable durations to Jacobians; see `StepDurations`."""
        columns = np.array(self.durations)
        if self.coordinates == "tangent":
            columns = self._column_of_coordinate()[columns]
        return self._steps.add_derivatives(J, slopes, slices, columns)

    def _quaternions(
        self, group: FeatureGroup, slices: Array, frames: Array
    ) -> jax.Array:
        """Return orientations (n, window, m, 4) without jumps of sign in a window."""
        quats, K = self.kinematics.quaternions, self.data.K
        if not group.symbol.uses_quaternions:
            shape = (group.capacity, group.order + 1, group.num_frames, 4)
            return jnp.zeros(shape, quats.dtype)
        rows = slices[:, :, None] * quats.shape[1] + gather(K.frame_nodes, frames)
        of_nodes = gather(quats.reshape(-1, 4), rows)
        offsets = gather(jnp.asarray(K.frame_quat, quats.dtype), frames)
        of_frames = quat_multiply(of_nodes, offsets)
        return jax.vmap(make_quaternions_continuous)(of_frames)

    def _jacobian(
        self, force: jax.Array, moment: jax.Array, selection: FrameSelection
    ) -> jax.Array:
        """Return Jacobians (n, window, rows, nv) from wrenches of frames.

        The derivative by a dof is the sum of wrench · twist over frames that it moves.

        Args:
            force: (n, rows, window, m, 3).
            moment: (n, rows, window, m, 3).
            selection: slices and frames of the instances.
        """
        wrenches = materialize(_wrench_on_dofs, force, moment, selection.moves)
        twists = gather(self.kinematics.twists, selection.slices)
        J = jnp.sum(wrenches * twists[:, None], -1).swapaxes(1, 2)
        return fold_dofs(self.data.K, J)

    def _by_columns(self, J: jax.Array, slices: Array) -> jax.Array:
        """Return Jacobians (n, window, rows, nv) by tangent columns or by q."""
        if self.coordinates == "tangent":
            return J
        return tangent_to_coordinates(self.tree, self.kinematics.X[slices], J)

    def _column_of_coordinate(self) -> np.ndarray:
        """Return the tangent column of each coordinate; 0 for quaternions."""
        columns = np.zeros(self.tree.nq, int)
        for column, coordinate in enumerate(self.tree.column_coordinate):
            if coordinate >= 0:
                columns[coordinate] = column
        return columns


def _apply_scale_and_target(
    group: FeatureGroup, b: FeatureBatch, raw: LinearizedFeature
) -> LinearizedFeature:
    return apply_scale_and_target_to_linearization(
        group.symbol,
        raw,
        jnp.asarray(b.scale),
        jnp.asarray(b.target),
        b.params.get(PERIOD),
    )


def _wrench_on_dofs(force: jax.Array, moment: jax.Array, mask: jax.Array) -> jax.Array:
    """Return the wrench on each dof, (instances, rows, window, dofs, 6)."""
    wrench = materialize(partial(jnp.concatenate, axis=-1), [force, moment])
    return jnp.sum(wrench[..., None, :] * mask[:, None, ..., None], 3)
