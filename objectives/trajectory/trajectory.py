"""Trajectories: a motion at given times, as a controller reads it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from posewise.robots.errors import LoadError, first_few
from posewise.robots.typing import StrPath
from posewise.robots.validation import require_finite

from ..terms.objective import ObjectiveError
from .files import (
    TrajectoryArrays,
    estimate_missing,
    read_trajectory,
    write_trajectory,
)


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Positions, velocities and accelerations of joint coordinates over time.

    Raises:
        ObjectiveError: for arrays that do not fit each other, numbers that are not
            finite, or times that do not increase.
    """

    joint_names: tuple[str, ...]
    """Name of each coordinate: the joint's, with `:i` where it has several."""
    times: Float[np.ndarray, " n"]
    """Time of each sample since the start [s]."""
    positions: Float[np.ndarray, "n joints"]
    """Coordinates [rad, m]; quaternions as `(w, x, y, z)`."""
    velocities: Float[np.ndarray, "n joints"]
    """Derivatives of the coordinates by time [rad/s, m/s]."""
    accelerations: Float[np.ndarray, "n joints"]
    """Second derivatives of the coordinates by time [rad/s², m/s²]."""
    deviation: float = 0.0
    """Largest distance of a coordinate from the straight path between slices, where
    its corners are rounded [rad, m]; files do not keep it."""
    others: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict)
    """Other quantities at each sample, by name, in `.csv` and `.npz` files too:
    `slice` is its row in `path`, between two rows a fraction, and -1 at the start of a
    solution; of plans also the coordinates of the objects."""

    def __repr__(self) -> str:
        return (
            f"Trajectory({len(self.times)} samples of {len(self.joint_names)}"
            f" coordinates, {self.duration:.4g} s)"
        )

    def __post_init__(self) -> None:
        n, joints = np.size(self.times), len(self.joint_names)
        if not n:
            raise ObjectiveError("There is no sample; expected one at least.")
        for name in ("times", "positions", "velocities", "accelerations"):
            values = getattr(self, name)
            shape = (n,) if name == "times" else (n, joints)
            require_finite(name, np.asarray(values), ObjectiveError)
            if np.shape(values) != shape:
                raise ObjectiveError(
                    f"{name} has shape {np.shape(values)}, expected {shape}: {n} times,"
                    f" {joints} joint names."
                )
        for name, values in self.others.items():
            if np.shape(values) != (n,) or not np.isfinite(values).all():
                raise ObjectiveError(
                    f"others[{name!r}] has shape {np.shape(values)}, expected {n}"
                    " finite numbers, one for each sample."
                )
        late = np.flatnonzero(np.diff(self.times) <= 0)
        if len(late):
            k = late[0] + 1
            raise ObjectiveError(
                f"Sample {k} is at {self.times[k]:g} s, not after {self.times[k - 1]:g}"
                " s of the sample before; times must increase."
            )

    @property
    def duration(self) -> float:
        """Time of the last sample since the first [s]."""
        return float(self.times[-1] - self.times[0])

    def save(self, file: StrPath) -> None:
        """Write the trajectory in the format that the file's suffix tells.

        - `.csv`: a header and a row for each sample: time, then the positions,
          velocities and accelerations of all joints, then `others`;
        - `.npz`: NumPy arrays with the names of this class's attributes;
        - `.json`: the fields of a ROS message `trajectory_msgs/JointTrajectory`,
          without `others` and joints of several coordinates, which it cannot tell.

        Raises:
            ObjectiveError: for another suffix.

        Warns:
            UserWarning: for joints that are left out.
        """
        write_trajectory(
            file,
            TrajectoryArrays(
                self.joint_names,
                self.times,
                self.positions,
                self.velocities,
                self.accelerations,
                self.others,
            ),
        )

    @classmethod
    def load(cls, file: StrPath) -> "Trajectory":
        """Return a trajectory that `save` wrote, or a JointTrajectory of ROS as JSON.

        Velocities and accelerations that a JointTrajectory lacks are estimated by
        differences of its positions and velocities.

        Raises:
            LoadError: for a file that cannot be read, or does not fit, with the place.
            ObjectiveError: for another suffix.
        """
        return cls.from_arrays(file, read_trajectory(file))

    @classmethod
    def from_arrays(cls, file: StrPath, arrays: TrajectoryArrays) -> "Trajectory":
        """Return the trajectory of the arrays in a file.

        Raises:
            LoadError: for arrays that do not fit each other.
        """
        counts = Counter(arrays.joint_names)
        if twice := [name for name, n in counts.items() if n > 1]:
            raise LoadError(f"{file}: joint_names has {first_few(twice)!r} twice.")
        arrays = estimate_missing(arrays)
        try:
            return cls(*arrays[:-1], others=arrays.others)
        except ObjectiveError as error:
            raise LoadError(f"{file}: {error}") from None
