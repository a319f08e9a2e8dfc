"""What a twin tells: how things moved, and where they touch."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..config import Config
from ..errors import PosewiseError


class SimulationError(PosewiseError):
    """A simulation that ran away."""


@dataclass(frozen=True, eq=False)
class SimulatedTrajectory:
    """A world over time, as simulated; the first instant is the start."""

    C: Config
    """The world that was simulated, at its start."""
    times: Float[np.ndarray, " T"]
    """[s]"""
    q: Float[np.ndarray, "*batch T nq"]
    """Joint coordinates, as in `Config.q`."""

    def poses(
        self, frame: str, instants: Any = slice(None)
    ) -> Float[np.ndarray, "*batch t 7"]:
        """World poses of a frame over time.

        Args:
            frame: its name.
            instants: indices into `times`; default: all.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        i, q = self.C.index(frame), self.q[..., instants, :]
        p = self.C.forward_pass(q).frames.p[..., i, :]
        return np.concatenate([p, self.C.quaternions_at(q)[..., i, :]], -1)

    def at(self, instant: int = -1) -> Config:
        """The world at one instant; only of one run, not of a batch.

        Args:
            instant: index into `times`; default: the last.
        """
        C = self.C.copy()
        C.q = self.q[instant]
        return C


@dataclass(frozen=True, eq=False)
class SimulatedContact:
    """A contact point of two frames in a simulation."""

    a: str
    b: str
    point: Float[np.ndarray, "3"]
    """[m, world]"""
    normal: Float[np.ndarray, "3"]
    """Unit, from a to b."""
    force: Float[np.ndarray, "3"]
    """What a exerts on b [N, world]."""
    distance: float
    """[m], negative in penetration."""


@dataclass(frozen=True, eq=False)
class RayHits:
    """What rays meet first."""

    distance: Float[np.ndarray, " rays"]
    """From the origin [m]; inf: nothing is met."""
    frame: np.ndarray
    """Indices (rays,) of the frames that are met; -1: none."""


def check_stable(mujoco: Any, datas: Iterable[Any]) -> None:
    """Raise a SimulationError when MuJoCo found numbers that are not sane."""
    kinds = mujoco.mjtWarning
    bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
    if any(d.warning[int(k)].number for d in datas for k in bad):
        raise SimulationError(
            "The simulation ran away: forces or overlaps are too large; start"
            " where things do not overlap, or give lighter forces."
        )
