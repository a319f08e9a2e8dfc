"""Transforms of USD as poses: units, the axis that is up, rotations and scales."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from ...errors import LoadError
from ...kinematics.transforms import IDENTITY, make_pose, matrix_to_quat
from ...validation import is_bounded
from .pxr_extra import Pxr

MAX_SHEAR = 1e-5
"""Largest shear of a transform, relative to its scale [1]; with more, a shape is left
out."""
UP_AXES = {
    "X": [[0.0, 0, -1], [0, 1, 0], [1, 0, 0]],
    "Y": [[1.0, 0, 0], [0, 0, -1], [0, 1, 0]],
    "Z": np.eye(3),
}
"""Rotations that turn the axis that is up in a stage to z."""


@dataclass(frozen=True, eq=False)
class StageTransforms:
    """Transforms of the prims of a stage in metres, with z up."""

    pxr: Pxr
    stage: Any
    label: str

    @cached_property
    def _cache(self) -> Any:
        return self.pxr.UsdGeom.XformCache()

    @cached_property
    def unit(self) -> float:
        """Length of a unit of the stage [m]."""
        unit = float(self.pxr.UsdGeom.GetStageMetersPerUnit(self.stage))
        if not 0 < unit < np.inf:
            raise LoadError(f"{self.label}: metersPerUnit is {unit}, expected > 0.")
        return unit

    def affine(self, prim: Any) -> Float[np.ndarray, "3 4"]:
        """Return rotation with scale, and position, of a prim in the world.

        Raises:
            LoadError: For numbers that are not finite, or enormous.
        """
        # USD's vectors are rows.
        matrix = np.array(self._cache.GetLocalToWorldTransform(prim), float).T
        up = np.array(UP_AXES[str(self.pxr.UsdGeom.GetStageUpAxis(self.stage))])
        if not is_bounded(matrix) or not is_bounded(self.unit * matrix):
            raise LoadError(
                f"{self.label}, {prim.GetPath()}: its transform has numbers that are"
                " not finite, or enormous; mend it there."
            )
        return self.unit * (up @ matrix[:3])

    def pose(self, prim: Any) -> Float[np.ndarray, "7"]:
        """Return the pose of a prim in the world, without its scale."""
        transform = self.affine(prim)
        return make_pose(transform[:, 3], rotation_of(transform[:, :3]))


def read_quaternion(quaternion: Any) -> Float[np.ndarray, "4"] | None:
    """Return USD's quaternion with length 1; None for one without a direction."""
    if quaternion is None:
        return None
    numbers = np.array([quaternion.real, *quaternion.imaginary], float)
    largest = np.abs(numbers).max()
    if not 0 < largest < np.inf:
        return None
    # Squares of huge or tiny numbers would vanish, or be infinite.
    numbers = numbers / largest
    return numbers / np.linalg.norm(numbers)


def rotation_of(matrix: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "4"]:
    """Return the quaternion of the rotation in a matrix with scale and shear."""
    if abs(np.linalg.det(matrix)) < 1e-300:
        return IDENTITY[3:]
    U, _, V = np.linalg.svd(matrix)
    R = U @ V
    if np.linalg.det(R) < 0:
        R = U @ np.diag([1.0, 1.0, -1.0]) @ V
    return np.asarray(matrix_to_quat(R))


def rotation_and_scale(
    matrix: Float[np.ndarray, "3 3"],
) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "3"]] | None:
    """Return a rotation and scales along its axes; None for a matrix with shear.

    Mirror images are left out, since primitives are their own.
    """
    scale = np.linalg.norm(matrix, axis=0)
    if not (scale > 0).all():
        return None
    R = matrix / scale
    if np.linalg.det(R) < 0:
        R = R * [1.0, 1.0, -1.0]
    return (R, scale) if np.abs(R.T @ R - np.eye(3)).max() < MAX_SHEAR else None
