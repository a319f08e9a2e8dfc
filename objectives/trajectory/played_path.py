"""The path of a solution over time, in the world with its mode switches."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning, first_few
from posewise.robots.typing import VectorLike

from ..chain.courses import Course
from ..chain.modes import ModeSequence
from .limits import ACCELERATION_PER_VELOCITY, parse_limits, require_limits
from .retiming import fastest_timing, round_corners
from .sampling import configurations_at, parse_times, rounded_in_time, sample_at_rate
from .straight_path import StraightPath
from .trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class PlayedPath:
    """The path of a solution, straight between slices and from the start to the first.

    `Solution` documents the methods.
    """

    world: Config
    """The user's world; its state is the start."""
    modes: ModeSequence
    x: Float[np.ndarray, "T n"]
    """Coordinates of the solved world in all slices."""
    tau: Float[np.ndarray, " T"]
    """Duration of the step into each slice [s]."""
    courses: tuple[Course, ...] = ()
    """Courses of frames."""
    before: Float[np.ndarray, " nq"] | None = None
    """Coordinates of the world one step before the start; None: at rest."""

    @cached_property
    def straight(self) -> StraightPath:
        """The path of the solved world; its first knot is the start."""
        return StraightPath(
            np.concatenate([[0.0], np.cumsum(self.tau)]),
            self.modes.whole_path(self.world.q, self.x, self.courses),
            self.modes.world.joints.quaternions,
        )

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the world's joints, without those of attached objects."""
        return self.modes.modes[0].joints or self.world.joint_names

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates of `joints`."""
        names = self.world.joints.coordinate_names
        return tuple(names[k] for k in self.world.joints.coordinates(self.joints))

    @cached_property
    def of_joints(self) -> StraightPath:
        """The path of `joints` alone."""
        path, columns = self.straight, self.modes.world.joints.coordinates(self.joints)
        quaternions = np.flatnonzero(np.isin(columns, path.quaternions))
        points = path.points[:, columns]
        before = self.before
        if before is not None:
            before = before[self.world.joints.coordinates(self.joints)]
        return StraightPath(path.times, points, tuple(quaternions.tolist()), before)

    def at_time(self, t: float | VectorLike) -> np.ndarray:
        """Return the coordinates at one time or at several."""
        times = parse_times(t, self.straight.times[-1])
        q = configurations_at(self.straight, self.modes, np.atleast_1d(times))
        return q.reshape(*times.shape, q.shape[1])

    def resample(self, dt: float, rounded: bool) -> Trajectory:
        """Return samples at a fixed rate."""
        path = self.of_joints
        if not rounded:
            return sample_at_rate(
                path.sample, path.times[-1], dt, self.names, _slices_at(path.times)
            )
        curve = rounded_in_time(path)
        # Its first knot lies before the start.
        slices_at = _slices_at(curve.times[1:])
        return sample_at_rate(
            curve.sample, curve.times[-1], dt, self.names, slices_at, curve.deviation
        )

    def retime(
        self,
        velocity: float | VectorLike | None,
        acceleration: float | VectorLike | None,
        deviation: float,
        dt: float,
        stated: Float[np.ndarray, "2 nq"],
    ) -> Trajectory:
        """Return the fastest motion along the path within limits.

        Those that the problem and the joints state count where others are not given.
        """
        self._warn_of_jerk()
        limits = self._limits(velocity, acceleration, stated)
        require_limits(self.of_joints, self.names, limits)
        curve, knots = round_corners(self.of_joints, deviation)
        slices_at = _slices_at(knots)
        if len(curve.times) < 2:
            still = self.of_joints.sample
            return sample_at_rate(still, 0.0, dt, self.names, slices_at)
        timing = fastest_timing(curve, limits)
        return sample_at_rate(
            timing.sample,
            timing.times[-1],
            dt,
            self.names,
            lambda t: slices_at(timing.progress(t)[0]),
            curve.deviation,
        )

    def _warn_of_jerk(self) -> None:
        """Warn of limits of jerk, since accelerations of the fastest motion jump."""
        C = self.world
        columns = C.joints.coordinates(self.joints)
        moves = np.ptp(self.of_joints.points, axis=0) > 0
        limited = np.flatnonzero(np.isfinite(C.joints.max_jerk[columns]) & moves)
        if len(limited):
            shown = [
                f"{self.names[i]} ({C.joints.max_jerk[columns][i]:.4g})"
                for i in limited
            ]
            warnings.warn(
                "retime keeps limits of velocity and acceleration only, but the model"
                f" limits the jerk of {first_few(shown)}. Where it counts, use"
                " add_motion_limits with k_order=3 in place of retime.",
                ProblemWarning,
                stacklevel=4,
            )

    def _limits(
        self,
        velocity: float | VectorLike | None,
        acceleration: float | VectorLike | None,
        stated: Float[np.ndarray, "2 nq"],
    ) -> Float[np.ndarray, "2 n"]:
        """Return limits of velocity and acceleration of the coordinates of `joints`."""
        C = self.world
        fastest = np.minimum(C.joints.max_velocity, stated[0])
        if velocity is not None:
            fastest = parse_limits("velocity", velocity, C.joints.coordinate_names)
        hardest = np.minimum(C.joints.max_acceleration, stated[1])
        usual = ACCELERATION_PER_VELOCITY * fastest
        hardest = np.where(np.isfinite(hardest), hardest, usual)
        if acceleration is not None:
            hardest = parse_limits(
                "acceleration", acceleration, C.joints.coordinate_names
            )
        return np.stack([fastest, hardest])[:, C.joints.coordinates(self.joints)]


def _slices_at(
    knots: Float[np.ndarray, " knots"],
) -> Callable[[Float[np.ndarray, " samples"]], Float[np.ndarray, " samples"]]:
    """Return a function that tells the place on a path in slices, -1 at the start.

    Args:
        knots: values of the path's parameter at the start and in each slice.
    """
    slices = np.arange(len(knots)) - 1.0
    return lambda parameter: np.interp(parameter, knots, slices)
