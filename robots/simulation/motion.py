"""Results of simulations: trajectories, contacts and ray hits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ..config import Config
from ..errors import PosewiseError

if TYPE_CHECKING:
    from mujoco import MjData


class SimulationError(PosewiseError):
    """A simulation that became unstable."""


@dataclass(frozen=True, eq=False)
class SimulatedTrajectory:
    """The simulated states of a world over time, from the start on."""

    C: Config
    """The world that was simulated, at its start."""
    times: Float[np.ndarray, " T"]
    """[s]"""
    q: Float[np.ndarray, "*batch T nq"]
    """Joint coordinates, as in `Config.q`."""

    def poses(
        self, frame: str, steps: slice | Sequence[int] | np.ndarray = slice(None)
    ) -> Float[np.ndarray, "*batch t 7"]:
        """Return world poses of a frame over time.

        Args:
            frame: The name of the frame.
            steps: Indices into `times`; default: all.

        Raises:
            ConfigError: For an unknown name, with near matches.
        """
        i, q = self.C.index(frame), self.q[..., steps, :]
        p = self.C.forward_pass(q).frames.p[..., i, :]
        return np.concatenate([p, self.C.joints.quaternions_at(q)[..., i, :]], -1)

    def world_at(self, step: int = -1) -> Config:
        """Return the world at one step of a single trajectory, not of a batch.

        Args:
            step: Index into `times`; default: the last.
        """
        C = self.C.copy()
        C.q = self.q[step]
        return C


@dataclass(frozen=True, eq=False)
class SimulatedContact:
    """A contact point of two frames in a simulation."""

    a: str
    """Name of the first frame."""
    b: str
    """Name of the second frame."""
    point: Float[np.ndarray, "3"]
    """[m, world]"""
    normal: Float[np.ndarray, "3"]
    """Unit vector from a to b."""
    force: Float[np.ndarray, "3"]
    """Force of a on b [N, world]."""
    distance: float
    """Signed distance [m], negative in penetration."""


def check_stable(mujoco: ModuleType, datas: "Iterable[MjData]") -> None:
    """Raise a `SimulationError` if MuJoCo met numbers that are too large or NaN."""
    kinds = mujoco.mjtWarning
    bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
    if any(d.warning[int(k)].number for d in datas for k in bad):
        raise SimulationError(
            "The simulation became unstable: forces or overlaps are too large; start"
            " from a state without overlaps, or apply smaller forces."
        )
