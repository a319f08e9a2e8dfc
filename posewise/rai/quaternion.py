"""`Quaternion` with rai's names, over SciPy's rotations."""

import numpy as np
from scipy.spatial.transform import Rotation

from posewise.robots.typing import MatrixLike, VectorLike


class Quaternion:
    """Quaternion `(w, x, y, z)`, identity at first; setters return it."""

    def __init__(self) -> None:
        self._q = np.array([1.0, 0.0, 0.0, 0.0])

    def __str__(self) -> str:
        return "[" + ", ".join(f"{v:g}" for v in self._q) + "]"

    def __repr__(self) -> str:
        return f"Quaternion({self})"

    def __mul__(self, other: "Quaternion") -> "Quaternion":
        """Return the product: first the rotation `other`, then this one."""
        a, A = self._q[0], self._q[1:]
        b, B = other._q[0], other._q[1:]
        return Quaternion().set([a * b - A @ B, *(a * B + b * A + np.cross(A, B))])

    def __neg__(self) -> "Quaternion":
        """Return the inverse rotation."""
        return Quaternion().set(self._q * [1, -1, -1, -1])

    w = property(lambda self: float(self._q[0]), doc="Real part.")
    x = property(lambda self: float(self._q[1]), doc="First imaginary part.")
    y = property(lambda self: float(self._q[2]), doc="Second imaginary part.")
    z = property(lambda self: float(self._q[3]), doc="Third imaginary part.")

    # -- setters -----------------------------------------------------------------

    def set(self, q: VectorLike) -> "Quaternion":
        """Set all four numbers, as given."""
        self._q = np.array(np.ravel(q), float)
        return self

    def setZero(self) -> "Quaternion":
        """Set the identity."""
        return self.set([1, 0, 0, 0])

    def setRandom(self) -> "Quaternion":
        """Set a random rotation, uniform over all."""
        q = np.random.standard_normal(4)
        return self.set(q / np.linalg.norm(q))

    def setRad(self, radians: float, axis: VectorLike) -> "Quaternion":
        """Set the rotation by an angle [rad] about an axis (3,)."""
        unit = np.ravel(axis) / np.linalg.norm(axis)
        return self.set([np.cos(radians / 2), *(np.sin(radians / 2) * unit)])

    def setExp(self, vector_w: VectorLike) -> "Quaternion":
        """Set the rotation of a rotation vector (3,) [rad]."""
        return self._set_rotation(Rotation.from_rotvec(np.ravel(vector_w)))

    def setMatrix(self, R: MatrixLike) -> "Quaternion":
        """Set the rotation of a matrix (3, 3), with a real part of at least 0."""
        return self._set_rotation(Rotation.from_matrix(np.reshape(R, (3, 3))))

    def setEuler(self, euler_zxz: VectorLike) -> "Quaternion":
        """Set the rotation of Euler angles (3,) about z, x and z [rad]."""
        return self._set_rotation(Rotation.from_euler("ZXZ", np.ravel(euler_zxz)))

    def setRollPitchYaw(
        self, roll_pitch_yaw: VectorLike, reverse: bool = False
    ) -> "Quaternion":
        """Set the rotation of angles (3,) about x, y and z [rad].

        Args:
            roll_pitch_yaw: the angles.
            reverse: whether yaw comes first: the axes of the world in place of those
                that turn along.
        """
        axes = "xyz" if reverse else "XYZ"
        return self._set_rotation(Rotation.from_euler(axes, np.ravel(roll_pitch_yaw)))

    # rai's keyword for the first vector is `from`, which Python reserves.
    def setDiff(self, start: VectorLike, to: VectorLike) -> "Quaternion":
        """Set the smallest rotation that turns one vector (3,) towards another."""
        a, b = (np.ravel(v) / np.linalg.norm(v) for v in (start, to))
        axis = np.cross(a, b)
        if np.linalg.norm(axis) < 1e-12:
            if a @ b > 0:
                return self.setZero()
            axis = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        return self.setRad(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b), axis)

    def setInterpolateProper(
        self, t: float, start: "Quaternion", to: "Quaternion"
    ) -> "Quaternion":
        """Set the rotation at `t` of the shortest way from one to another."""
        step = Quaternion().setExp(t * np.asarray((-start * to).getLog()))
        return self.set((start * step)._q)

    def setInterpolateEmbedded(
        self, t: float, start: "Quaternion", to: "Quaternion"
    ) -> "Quaternion":
        """Set the normalized mean of two quaternions, of weights 1 - t and t."""
        sign = 1.0 if start._q @ to._q >= 0 else -1.0
        return self.set((1 - t) * start._q + t * sign * to._q).normalize()

    # -- changes -----------------------------------------------------------------

    def normalize(self) -> "Quaternion":
        """Scale it to unit length."""
        return self.set(self._q / np.linalg.norm(self._q))

    def invert(self) -> "Quaternion":
        """Invert the rotation."""
        return self.set((-self)._q)

    def flipSign(self) -> "Quaternion":
        """Negate all four numbers, which is the same rotation."""
        return self.set(-self._q)

    def append(self, q: "Quaternion") -> "Quaternion":
        """Multiply by another quaternion from the right."""
        return self.set((self * q)._q)

    def multiply(self, f: float) -> None:
        """Multiply the angle of rotation, from 0 to 2π, by a factor."""
        self.setRad(f * self.getRad(), self._q[1:])

    def applyOnPointArray(self, pts: np.ndarray) -> None:
        """Rotate points (n, 3) in place; rai leaves them unchanged."""
        pts[...] = pts @ self.getMatrix().T

    # -- getters -----------------------------------------------------------------

    def asArr(self) -> np.ndarray:
        """Return `(w, x, y, z)`."""
        return self._q.copy()

    def sqrNorm(self) -> float:
        """Return the squared length."""
        return float(self._q @ self._q)

    def getRad(self) -> float:
        """Return the angle of rotation, from 0 to 2π [rad]."""
        return float(2 * np.arccos(np.clip(self._q[0], -1, 1)))

    def getLog(self) -> np.ndarray:
        """Return the rotation vector (3,), at most π long [rad]."""
        return self._rotation().as_rotvec()

    def getMatrix(self) -> np.ndarray:
        """Return the rotation matrix (3, 3)."""
        return self._rotation().as_matrix()

    def getRollPitchYaw(self) -> np.ndarray:
        """Return angles (3,) about x, y and z [rad], for `setRollPitchYaw`."""
        return self._rotation().as_euler("XYZ")

    def getJacobian(self) -> np.ndarray:
        """Return the matrix (3, 4) from changes of the quaternion to angular ones."""
        w, x, y, z = 2 * self._q
        return np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])

    def _rotation(self) -> Rotation:
        return Rotation.from_quat(self._q[[1, 2, 3, 0]])

    def _set_rotation(self, rotation: Rotation) -> "Quaternion":
        return self.set(rotation.as_quat(canonical=True)[[3, 0, 1, 2]])
