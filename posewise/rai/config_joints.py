"""Joint state of a configuration."""

from collections.abc import Iterable, Sequence

import numpy as np

import posewise as pw
from posewise.robots.typing import MatrixLike, VectorLike

from .config_frames import ConfigFrames
from .frame import Frame


class ConfigJoints(ConfigFrames):
    """Configuration with its joint state."""

    def getJointNames(self) -> list[str]:
        """Return a name for each entry of the joint state; `name:i` if a joint has
        more."""
        return list(self.C.joints.coordinate_names)

    def getJointDimension(self) -> int:
        """Return the number of degrees of freedom."""
        return self.C.nq

    def getJointState(self) -> np.ndarray:
        """Return the joint state (n,)."""
        return self.C.q

    def setJointState(
        self, q: VectorLike | MatrixLike, joints: Sequence[str] = ()
    ) -> None:
        """Set the joint state, or the concatenated values of the named joints.

        The state may be a path (1, n). Named joints may be ones that `selectJoints` has
        left out.

        Raises:
            ConfigError: for a wrong number of values.
        """
        self.restore_origins(self.C)
        self.displaced = {}
        if not joints:
            self.C.q = np.ravel(np.asarray(q, float))
            return
        sizes = [self.C.joints.value(name).size for name in joints]
        if np.size(q) != sum(sizes):
            raise pw.ConfigError(
                f"q has {np.size(q)} numbers, but the joints {list(joints)} have"
                f" {sum(sizes)}."
            )
        parts = np.split(np.ravel(np.asarray(q, float)), np.cumsum(sizes)[:-1])
        for name, value in zip(joints, parts, strict=True):
            self.C.set_joint(name, value)

    def setRandom(self, timeSlices_d1: int = 0, verbose: int = 0) -> None:
        """Set a random joint state within the limits, or within ±1 without limits.

        Args:
            timeSlices_d1: ignored, because configurations have no slices.
            verbose: ignored.
        """
        self.setJointState(np.random.uniform(*self._ranges()))

    def _ranges(self) -> np.ndarray:
        """Return ends (2, n) of what joints move through, ±1 without limits."""
        unlimited = np.full((2, self.C.nq), [[-1.0], [1.0]])
        return np.where(np.isfinite(self.C.limits).all(0), self.C.limits, unlimited)

    def getJointLimits(self) -> np.ndarray:
        """Return the limits (2, n), lower row first; [0, -1] without limits."""
        limits = self.C.limits
        is_unlimited = ~np.isfinite(limits).all(0)
        return np.where(is_unlimited, [[0.0], [-1.0]], limits)

    def selectJoints(self, jointNames: Sequence[str], notThose: bool = False) -> None:
        """Make only the named joints (or all others) degrees of freedom."""
        self._select_joints(jointNames, notThose)

    def selectJointsByTag(self, tags: Iterable[str]) -> None:
        """Make only joints whose frame has one of the attributes degrees of freedom."""
        tags = set(tags)
        self._select_joints(
            f.name for f in self.C.frames if f.joint and tags & {*f.attributes}
        )

    def selectJointsBySubtree(self, root: Frame | str) -> None:
        """Make only the joints in the subtree of a frame degrees of freedom."""
        names = [root if isinstance(root, str) else root.name]
        for name in names:
            names += self.C.children(name)
        self._select_joints(n for n in names if self.C.frame(n).joint)

    def _select_joints(self, names: Iterable[str], others: bool = False) -> None:
        selected = list(names)
        if others:
            self.C.joints.select(selected)
            selected = [f.name for f in self.C.frames if f.joint and not f.joint.active]
        self.C.joints.select(selected)
