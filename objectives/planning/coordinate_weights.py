"""Weights of coordinates by how far they move the bodies of a world.

A shoulder sweeps the whole arm, a wrist only the hand: in distances that weigh both the
same, near configurations need not have near bodies (LaValle 2006, "Planning
Algorithms", section 5.1.2, on metrics for robots).
"""

import numpy as np
from jaxtyping import Float, Int

from posewise.features.pairs.tables import on_nodes
from posewise.robots.kinematics.forward import Kinematics, forward_pass_nodes

from ..clearance.interval_distances import FramePairs

MIN_WEIGHT = 0.3
"""Least weight of a coordinate that moves, relative to the largest one. With less, most
searches take less, but some in narrow places far longer."""


def coordinate_weights(
    K: Kinematics,
    pairs: FramePairs,
    q: Float[np.ndarray, "n nq"],
    moving: Int[np.ndarray, " moving"],
) -> Float[np.ndarray, " nq"]:
    """Return how far each coordinate moves any body, relative to the largest motion.

    Coordinates that do not move have weight 0, the others between `MIN_WEIGHT` and 1.

    Args:
        K: kinematics of the world.
        pairs: bodies that count.
        q: configurations, of which the largest motion counts.
        moving: coordinates in q that move, of single joints.
    """
    poses, twists = forward_pass_nodes(K, q)
    of_nodes = on_nodes(K, pairs.params)
    node, pose = of_nodes["body_frame"], of_nodes["body_pose"]
    centers = poses.p[:, node] + (poses.R[:, node] @ pose[..., 3, None])[..., 0]
    moment, axis = twists[:, None, :, :3], twists[:, None, :, 3:]
    speed = np.linalg.norm(moment + np.cross(axis, centers[:, :, None]), axis=-1)
    radius = of_nodes["core_radius"] + of_nodes["radius"]
    # Half-spaces have no size; those that move count by their origins.
    radius = np.where(np.isinf(radius), 0.0, radius)[:, None]
    tree = K.tree
    farthest = speed.max(0) + np.where(tree.indices.is_rotation, radius, 0.0)
    of_dofs = farthest * tree.node_dof_mask[node] * np.abs(K.dof_multiplier)
    drives = np.array(tree.dof_columns, int)[:, None] == np.arange(tree.nv)
    of_columns = of_dofs @ drives
    of_coordinates = np.zeros(tree.nq + 1)  # the last for columns of quaternions
    of_coordinates[list(tree.column_coordinate)] = of_columns.max(0, initial=0.0)
    weights = np.zeros(tree.nq)
    weights[moving] = of_coordinates[moving]
    largest = weights.max(initial=0.0)
    if not largest:
        weights[moving] = 1.0
        return weights
    weights[moving] = np.maximum(weights[moving] / largest, MIN_WEIGHT)
    return weights
