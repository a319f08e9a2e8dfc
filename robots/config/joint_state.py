"""The state of a world: values of its joints."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from ..facets.editable_world import EditableWorld
from ..kinematics.forward import ForwardPass, Kinematics, forward_pass
from ..typing import Array, FrameName, Frames, VectorLike
from ..world import edit
from ..world.moved_origins import with_origins


class JointState(EditableWorld):
    """A world in a state, which its joints have."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that make up q, in order."""
        return self._tree.joint_names

    @property
    def nq(self) -> int:
        """Number of coordinates of q."""
        return self._tree.nq

    @property
    def nv(self) -> int:
        """Dimension of the tangent space: a quaternion counts three."""
        return self._tree.model.layout.tree.nv

    @property
    def limits(self) -> Float[np.ndarray, "2 nq"]:
        """Lower and upper bounds (2, nq), ±inf where none."""
        return np.array(self._tree.model.kinematics.limits)

    @property
    def home(self) -> Float[np.ndarray, " nq"]:
        """The state (nq,) that costs of order 0 pull to, and where links may touch.

        It is the value of q at definition: 0 in a URDF, the key "home" of an MJCF; set
        it, e.g. `C.home = C.q`, before `C.pairs.ignore_default` and KOMO. Locked
        joints keep theirs until they are unlocked. Values must be within the limits.
        """
        return np.array(self._tree.model.kinematics.home)

    @home.setter
    def home(self, home: VectorLike) -> None:
        self._tree = self._tree.with_home(home)

    @property
    def q(self) -> Float[np.ndarray, " nq"]:
        """Joint coordinates (nq,): in frame order, quaternions as `(w, x, y, z)`."""
        return self._tree.q.copy()

    @q.setter
    def q(self, q: VectorLike) -> None:
        self._tree = self._tree.with_q(q)

    def set_joint(self, joint: str, value: float | VectorLike) -> None:
        """Set one joint's coordinates, moving or locked.

        Raises:
            ConfigError: for an unknown or mimicking joint, and a value that does not
                fit.
        """
        self._tree = edit.set_joint(self._tree, joint, value)

    def lock(self, joints: Frames) -> None:
        """Take joints out of q at their present values."""
        self._tree = edit.set_active(self._tree, joints, False)

    def unlock(self, joints: Frames) -> None:
        """Put locked joints back into q."""
        self._tree = edit.set_active(self._tree, joints, True)

    def kinematics(
        self, origins: Mapping[FrameName, Float[Array, "7"]] | None = None
    ) -> Kinematics:
        """Return a frozen snapshot of the kinematics, for JAX code.

        It is a pytree, whose arrays are float64 when JAX has that enabled, else
        float32. Poses and Jacobians are differentiable by the origins that are given:
        offsets of links, places of robots and of obstacles.

        Args:
            origins: constant poses (7,) of frames in their parents, before the joints
                of the frames, instead of those of this world, `C.frame(name).origin`.

        Raises:
            ConfigError: for an unknown frame, and what is no pose.
        """
        K = self._tree.model.jax_kinematics
        return K if origins is None else with_origins(self._tree, K, origins)

    def forward_pass(self, q: np.ndarray | None = None) -> ForwardPass:
        """Return poses and twists (NumPy) at `q` (default: the state).

        Those of the state are kept until it changes.
        """
        if q is None:
            return self._tree.forward_pass
        return forward_pass(self._tree.model.kinematics, np.asarray(q, float))
