"""Poses at which a hand, with what it holds, keeps its distance from what stands still.

At other poses it collides, wherever the rest of the robot is: they are left out before
configurations are searched, all in one batch.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.config import Config
from posewise.robots.contact.hands import subtree_indices
from posewise.robots.contact.pose_batches import distances_at_poses
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import FrameName


def are_free(
    X: Config,
    link: FrameName,
    poses: Float[np.ndarray, "n 7"],
    starts: Float[np.ndarray, "n nq"],
    pairs: Int[np.ndarray, "pairs 2"],
    required: Float[np.ndarray, " pairs"],
) -> Bool[np.ndarray, " n"]:
    """Return at which poses a link and all below it keep their distances.

    Args:
        X: the world.
        link: of a hand; the joints below it are as in the starts.
        poses: of the link, in the world.
        starts: configuration for each pose.
        pairs: frame indices; those of frames below the link and frames that do not move
            count.
        required: distance of each pair [m]; pairs that may overlap do not count.
    """
    below = subtree_indices(X.tree, X.index(link))
    stands = ~X.tree.model.kinematics.dof_mask.any(1)
    R, p = X.forward_pass(starts).frames
    # From where the link is in a start to the pose.
    R_move = quat_to_matrix(poses[:, 3:]) @ R[:, X.index(link)].swapaxes(-1, -2)
    offset = p - p[:, X.index(link), None]
    free = np.ones(len(poses), bool)
    for i in sorted(below):
        R_part = R_move @ R[:, i]
        p_part = (R_move @ offset[:, i, :, None])[..., 0] + poses[:, :3]
        for distance, others in _obstacles(i, stands, pairs, required).items():
            posed = [(X.frames[j], *_pose(X, j)) for j in others]
            nearest = distances_at_poses(
                [X.frames[i]], R_part[free, None], p_part[free, None], posed, distance
            )
            free[free] = nearest >= distance
    return free


def _obstacles(
    i: int,
    stands: Bool[np.ndarray, " frames"],
    pairs: Int[np.ndarray, "pairs 2"],
    required: Float[np.ndarray, " pairs"],
) -> dict[float, list[int]]:
    """Return the frames that a frame keeps a distance from, by the distance."""
    obstacles: dict[float, list[int]] = {}
    for (a, b), distance in zip(pairs.tolist(), required.tolist(), strict=True):
        other = b if a == i else a
        if i in (a, b) and stands[other] and distance >= 0:
            obstacles.setdefault(distance, []).append(other)
    return obstacles


def _pose(
    X: Config, frame: int
) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "3"]]:
    """Return orientation and origin of a frame in the world."""
    frames = X.forward_pass().frames
    return frames.R[frame], frames.p[frame]
