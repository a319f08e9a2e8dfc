"""Inputs of residuals that are the same for all paths: slices and frames."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.compilation.compaction import gather
from posewise.features.pairs.tables import on_nodes
from posewise.robots.kinematics.forward import (
    FrameAttachment,
    FramePoses,
    attach_to_nodes,
    attached_poses,
)
from posewise.robots.kinematics.tree import KinematicTree
from posewise.robots.typing import Array
from posewise.solvers.residuals import concatenate

from .groups import ChainData, FeatureGroup, merge_groups


class FrameSelection(NamedTuple):
    """Slices and frames of instances, the same for all paths."""

    slices: Int[Array, "n window"]
    """Indices into the path with its fixed slices, oldest first."""
    frames: Int[Array, "n window m"]
    moves: Float[Array, "n window m dofs"]
    """1 where a dof moves a frame, else 0."""


class StaticInputs(NamedTuple):
    """Inputs of the instances of some groups that do not depend on the path."""

    selections: list[FrameSelection]
    """Selection of each group, or of all vector groups of one order together."""
    attachment: FrameAttachment | None
    """Attachment of all selected frames to the tree, in order; None: no frames."""
    params: dict[int, dict[str, Array]]
    """Params of groups with bodies on the nodes of the tree, by index of the group."""


def static_inputs(
    tree: KinematicTree,
    order: int,
    groups: tuple[FeatureGroup, ...],
    indices: list[int],
    data: ChainData,
) -> StaticInputs:
    """Return the static inputs of some groups, to be computed once for all paths.

    Args:
        tree: of the world.
        order: number of fixed slices with which the path begins.
        groups: all groups.
        indices: of the groups whose inputs are returned.
        data: numbers of the problem.
    """
    mask = jnp.asarray(tree.node_dof_mask, data.K.node_p.dtype)
    selections, frame_slices = [], []
    for members in selection_groups(groups, indices):
        # Batches count slices from 0, the path from the first fixed slice.
        oldest = order - groups[members[0]].order
        batches = [data.batches[i] for i in members]
        if groups[members[0]].is_between:
            (index,) = members
            slices = _intermediate_rows(groups, index, order + len(data.tau))
        else:
            last = concatenate_if_several([b.slices[:, None] for b in batches])
            slices = last + np.arange(oldest, order + 1)
        frames = concatenate_if_several([b.frames for b in batches])
        if groups[members[0]].symbol.reads_nodes:
            frames = frames + data.K.first_node_frame
        selections.append(
            FrameSelection(
                slices, frames, gather(mask, gather(data.K.frame_nodes, frames))
            )
        )
        frame_slices.append(jnp.broadcast_to(slices[:, :, None], frames.shape))
    if not any(s.frames.size for s in selections):
        return StaticInputs(selections, None, {})
    all_slices = concatenate(frame_slices)
    all_frames = concatenate([s.frames for s in selections])
    params = {
        i: on_nodes(data.K, data.batches[i].params)
        for i in indices
        if groups[i].symbol.reads_nodes
    }
    attachment = attach_to_nodes(data.K, all_slices, all_frames)
    return StaticInputs(selections, attachment, params)


def concatenate_if_several(parts: list[Any]) -> Any:
    """Return arrays as one; a single array stays itself, so that it may be NumPy's."""
    return jnp.concatenate(parts) if len(parts) > 1 else parts[0]


def merged_indices(
    groups: tuple[FeatureGroup, ...], indices: list[int]
) -> list[list[int]]:
    """Return indices of groups in lists, each of which is one computation."""
    return merge_groups((i, groups[i]) for i in indices)


def selection_groups(
    groups: tuple[FeatureGroup, ...], indices: list[int]
) -> list[list[int]]:
    """Return indices of groups in lists, each of which has one selection of frames."""
    lists: list[list[int]] = []
    for members in merged_indices(groups, indices):
        is_vector = groups[members[0]].symbol.vector_form is not None
        lists += [members] if is_vector else [[i] for i in members]
    return lists


def _intermediate_rows(
    groups: tuple[FeatureGroup, ...], index: int, count: int
) -> Int[np.ndarray, "n 1"]:
    """Return the indices of configurations between slices, which follow the slices.

    Args:
        groups: all groups.
        index: of a group between slices.
        count: number of slices, the fixed ones included.
    """
    before = sum(group.capacity for group in groups[:index] if group.is_between)
    return count + before + np.arange(groups[index].capacity)[:, None]


def selected_poses(inputs: StaticInputs, nodes: FramePoses) -> Iterator[FramePoses]:
    """Yield the frame poses of each selection, after computing all of them at once."""
    if inputs.attachment is None:
        no_rotations = jnp.zeros((0, 3, 3), nodes.p.dtype)
        poses = FramePoses(no_rotations, no_rotations[..., 0])
    else:
        poses = attached_poses(nodes, inputs.attachment)
    begin = 0
    for frames in (selection.frames for selection in inputs.selections):
        rows = slice(begin, begin := begin + frames.size)
        yield FramePoses(*(x[rows].reshape(*frames.shape, *x.shape[1:]) for x in poses))
