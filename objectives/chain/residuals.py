"""Rows of all instances of some kinds, at a path: poses, features, and Jacobians."""

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.compilation.compaction import gather
from posewise.compilation.materialize import materialize
from posewise.features.evaluate import (
    FeatureInputs,
    LinearizedFeature,
    apply_scale,
    apply_scale_and_target_to_linearization,
    difference_coefficients,
    linearize_batch,
    linearize_pair_sums,
    linearize_per_coordinate,
    make_quaternions_continuous,
)
from posewise.features.vectors import linearize_vectors
from posewise.robots.kinematics.forward import (
    FrameAttachment,
    FramePoses,
    attach_to_nodes,
    attached_poses,
    fold_dofs,
    forward_pass_nodes,
    frame_quaternions,
)
from posewise.robots.kinematics.manifold import (
    coordinates_to_tangent,
    tangent_to_coordinates,
)
from posewise.robots.kinematics.tree import KinematicTree
from posewise.robots.typing import Array
from posewise.solvers import ResidualBlock
from posewise.solvers.residuals import concatenate

from .groups import ChainData, FeatureBatch, FeatureGroup, merge_groups


class PathKinematics(NamedTuple):
    """A path, with where joints are on it and how they move; fixed slices first."""

    X: jax.Array
    nodes: FramePoses
    twists: jax.Array
    quaternions: jax.Array


def path_kinematics(
    kinds: Iterable[FeatureGroup], data: ChainData, X: jax.Array
) -> PathKinematics:
    """The motion of a path, as far as these kinds ask for it."""
    if any(kind.symbol.uses_quaternions for kind in kinds):
        quats = frame_quaternions(data.K, X)
    else:
        quats = jnp.zeros((len(X), 0, 4), X.dtype)
    return PathKinematics(X, *forward_pass_nodes(data.K, X), quats)


class FrameSelection(NamedTuple):
    """What instances look at, the same at all paths."""

    at: Int[Array, "n window"]
    """Slices, oldest first."""
    frames: Int[Array, "n window m"]
    moves: Float[Array, "n window m dofs"]
    """1 where a dof moves a frame."""


class StaticInputs(NamedTuple):
    """What the instances of some kinds look at, the same at all paths."""

    seen: list[FrameSelection]
    """Of each kind, but of those that are vectors together."""
    on: FrameAttachment | None
    """All of its frames, in order; None: there are none."""


class _SharedSelection(NamedTuple):
    """Kinds that look at as many slices and frames each, and at what."""

    members: list[tuple[FeatureGroup, FeatureBatch]]
    seen: FrameSelection
    poses: FramePoses
    """Of these frames."""


class GroupEvaluation(NamedTuple):
    """Kinds with their numbers, at a path."""

    tree: KinematicTree
    order: int
    """How many fixed slices the path begins with."""
    kinds: tuple[FeatureGroup, ...]
    coordinates: str
    """Jacobians are by "tangent" columns, or by "q"."""
    data: ChainData
    motion: PathKinematics

    @classmethod
    def still(
        cls,
        tree: KinematicTree,
        order: int,
        kinds: tuple[FeatureGroup, ...],
        which: list[int],
        data: ChainData,
    ) -> StaticInputs:
        """Of some of the kinds; to be computed once for all paths."""
        mask = jnp.asarray(tree.dof_mask, data.K.node_p.dtype)
        join = lambda parts: jnp.concatenate(parts) if len(parts) > 1 else parts[0]
        seen, rows = [], []
        for group in _looks(kinds, which):
            first = order - kinds[group[0]].order
            batches = [data.batches[i] for i in group]
            at = join([b.last[:, None] for b in batches]) + np.arange(first, order + 1)
            frames = join([b.frames for b in batches])
            seen.append(FrameSelection(at, frames, gather(mask, frames)))
            rows.append(jnp.broadcast_to(at[:, :, None], frames.shape))
        if not any(s.frames.size for s in seen):
            return StaticInputs(seen, None)
        return StaticInputs(
            seen,
            attach_to_nodes(
                data.K, concatenate(rows), concatenate([s.frames for s in seen])
            ),
        )

    def rows(self, which: list[int], still: StaticInputs) -> list[ResidualBlock]:
        """Of some of the kinds."""
        poses = _poses(still, self.motion.nodes)
        looks = [
            _SharedSelection(
                [(self.kinds[i], self.data.batches[i]) for i in group], seen, T
            )
            for group, seen, T in zip(
                _looks(self.kinds, which), still.seen, poses, strict=True
            )
        ]
        rows: list[ResidualBlock] = []
        groups = _groups(self.kinds, which)
        for group in groups:
            if self.kinds[group[0]].symbol.vector_form is not None:
                rows += self._vectors(looks.pop(0))
            elif len(group) > 1:
                rows += self._sums([looks.pop(0) for _ in group])
            else:
                rows.append(self._alone(looks.pop(0)))
        found = dict(zip(sum(groups, []), rows, strict=True))
        return [found[i] for i in which]

    def _alone(self, look: _SharedSelection) -> ResidualBlock:
        """Of one kind."""
        ((kind, b),) = look.members
        inputs, (params, each) = self._inputs(look), self._params(kind, b)
        given = kind.symbol, kind.order, inputs, params, each
        if kind.single and self.coordinates == "tangent":
            y, dq = linearize_per_coordinate(*given, b.scale, b.target, self.data.K)
            which = np.arange(kind.scale[0]) // kind.symbol.rows_per_coordinate
            column = gather(self._columns(), b.coordinates[:, which])
            return ResidualBlock(y, dq[..., None], b.last, b.kind, column)
        raw = linearize_batch(*given, self.data.K)
        if kind.frames:
            return self._of_frames(look, raw)
        out = _aimed(kind, b, raw)
        own = b.coordinates[:, :, None] == jnp.arange(self.tree.nq)
        J = jnp.einsum("nrwc,ncq->nwrq", out.dq, own.astype(out.dq.dtype))
        if self.coordinates == "tangent":
            J = coordinates_to_tangent(self.tree, self.motion.X[look.seen.at], J)
        return ResidualBlock(out.y, J, b.last, b.kind)

    def _sums(self, looks: list[_SharedSelection]) -> list[ResidualBlock]:
        """Of kinds that are sums over pairs."""
        members = [look.members[0] for look in looks]
        symbols = tuple(kind.symbol for kind, _ in members)
        inputs = list(map(self._inputs, looks))
        params = [self._params(*member)[0] for member in members]
        raw = linearize_pair_sums(symbols, inputs, params)
        return list(map(self._of_frames, looks, raw))

    def _of_frames(
        self, look: _SharedSelection, raw: LinearizedFeature
    ) -> ResidualBlock:
        ((kind, b),) = look.members
        out = _aimed(kind, b, raw)
        J = self._jacobian(out.force, out.moment, look.seen)
        return ResidualBlock(out.y, J, b.last, b.kind)

    def _vectors(self, look: _SharedSelection) -> list[ResidualBlock]:
        """Of kinds that are vectors."""
        members, (at, _, moves), poses = look
        repeat = lambda get: sum(([get(k)] * k.capacity for k, _ in members), [])
        forms, widths = (
            repeat(lambda k: k.symbol.vector_form),
            repeat(lambda k: k.scale[0]),
        )
        owner = np.repeat(np.arange(len(forms)), widths)
        rows = [b.params["direction"].reshape(-1, 3) for _, b in members]
        direction = jnp.concatenate(rows) if len(rows) > 1 else rows[0]
        goals = concatenate([apply_scale(b.scale, b.target, 0) for _, b in members])
        shift = concatenate([b.params["shift"] for _, b in members])
        twists = gather(self.motion.twists, at)
        of = materialize(partial(linearize_vectors, forms), *poses, moves, twists)
        seen, u, du = (gather(x, owner) for x in (poses.R[:, :, 2], *of))
        r: Any = sum(seen[..., k] * direction[:, None, k, None] for k in range(3))
        if order := members[0][0].order:
            r = (
                r
                * gather(difference_coefficients(order, self._steps(at)), owner)[
                    ..., None
                ]
            )
        y = jnp.sum(u * r, (1, 2)) + shift - goals
        J = jnp.sum(du * r[:, :, None], -1)[:, :, None]
        J = self._by_columns(J, gather(at, owner))
        found, begin = [], 0
        for kind, b in members:
            shape = kind.capacity, kind.scale[0]
            own = slice(begin, begin := begin + math.prod(shape))
            J_own = J[own, :, 0].reshape(*shape, *J.shape[1::2]).swapaxes(1, 2)
            found.append(ResidualBlock(y[own].reshape(shape), J_own, b.last, b.kind))
        return found

    def _inputs(self, look: _SharedSelection) -> FeatureInputs:
        ((kind, b),), (at, frames, _), poses = look
        return FeatureInputs(
            *poses,
            self._quaternions(kind, at, frames),
            gather(
                self.motion.X.reshape(-1),
                at[:, :, None] * self.tree.nq + b.coordinates[:, None],
            ),
            self._steps(at),
        )

    def _params(
        self, kind: FeatureGroup, b: FeatureBatch
    ) -> tuple[dict[str, Array], int | None]:
        """Of all instances, and the axis of instances; None: they share them."""
        if not kind.groundings:
            return b.params, 0
        pick = partial(gather, indices=b.own) if kind.groundings > 1 else lambda v: v[0]
        shared = {k: pick(v) for k, v in b.params.items()}
        return shared, 0 if kind.groundings > 1 else None

    def _steps(self, at: jax.Array) -> jax.Array:
        """The time of each step of windows (n, steps)."""
        # before the first slice time goes on in steps as long as the first one
        return gather(self.data.tau, jnp.maximum(at[:, 1:] - self.order, 0))

    def _quaternions(
        self, kind: FeatureGroup, at: jax.Array, frames: jax.Array
    ) -> jax.Array:
        quats = self.motion.quaternions
        if not kind.symbol.uses_quaternions:
            shape = (kind.capacity, kind.order + 1, kind.frames, 4)
            return jnp.zeros(shape, quats.dtype)
        place = at[:, :, None] * quats.shape[1] + frames
        return jax.vmap(make_quaternions_continuous)(
            gather(quats.reshape(-1, 4), place)
        )

    def _jacobian(
        self, force: jax.Array, moment: jax.Array, seen: FrameSelection
    ) -> jax.Array:
        """(n, window, rows, columns), of wrenches (n, rows, window, m, 3)."""
        felt = materialize(_felt, force, moment, seen.moves)
        twists = gather(self.motion.twists, seen.at)
        J = jnp.sum(felt * twists[:, None], -1).swapaxes(1, 2)
        return self._by_columns(J, seen.at)

    def _by_columns(self, J: jax.Array, at: jax.Array) -> jax.Array:
        """Jacobians (n, window, rows, dofs) by the columns that are asked for."""
        J = fold_dofs(self.data.K, J)
        if self.coordinates == "tangent":
            return J
        return tangent_to_coordinates(self.tree, self.motion.X[at], J)

    def _columns(self) -> np.ndarray:
        """Of each coordinate its tangent column; of quaternions no matter what."""
        found = np.zeros(self.tree.nq, int)
        for column, coordinate in enumerate(self.tree.column_coordinate):
            if coordinate >= 0:
                found[coordinate] = column
        return found


def _groups(kinds: tuple[FeatureGroup, ...], which: list[int]) -> list[list[int]]:
    """Places of kinds, each group of which is one computation."""
    return merge_groups((i, kinds[i]) for i in which)


def _looks(kinds: tuple[FeatureGroup, ...], which: list[int]) -> list[list[int]]:
    """Places of kinds, each group of which looks at frames as one."""
    vectors = lambda group: kinds[group[0]].symbol.vector_form is not None
    alone = lambda group: [group] if vectors(group) else [[i] for i in group]
    return sum(map(alone, _groups(kinds, which)), [])


def _poses(still: StaticInputs, nodes: FramePoses) -> Iterator[FramePoses]:
    """Of the frames of each look, all of them at once."""
    if still.on is None:
        none = jnp.zeros((0, 3, 3), nodes.p.dtype)
        T = FramePoses(none, none[..., 0])
    else:
        T = attached_poses(nodes, still.on)
    begin = 0
    for f in (seen.frames for seen in still.seen):
        own = slice(begin, begin := begin + f.size)
        yield FramePoses(*(x[own].reshape(*f.shape, *x.shape[1:]) for x in T))


def _aimed(
    kind: FeatureGroup, b: FeatureBatch, raw: LinearizedFeature
) -> LinearizedFeature:
    return apply_scale_and_target_to_linearization(
        kind.symbol, raw, jnp.asarray(b.scale), jnp.asarray(b.target)
    )


def _felt(force: jax.Array, moment: jax.Array, mask: jax.Array) -> jax.Array:
    """What each dof feels of all frames, (instances, rows, window, dofs, 6)."""
    wrench = materialize(partial(jnp.concatenate, axis=-1), [force, moment])
    return jnp.sum(wrench[..., None, :] * mask[:, None, ..., None], 3)
