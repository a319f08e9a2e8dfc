"""The protocol of the worlds that pictures and the viewer show."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from ..annotations.agents import Agent, Camera
from ..annotations.regions import Region
from ..annotations.rooms import RoomMap
from ..contact.proximity import Contact
from ..kinematics.forward import ForwardPass
from ..typing import FrameName, PoseLike, VectorLike
from ..world.frame import Frame


@runtime_checkable
class ViewableWorld(Protocol):
    """A world as pictures and the viewer use it; `Config` is one.

    `Config.view` opens the viewer, so that the viewer cannot import `Config`.
    """

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All frames in order."""

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames in order."""

    @property
    def regions(self) -> Sequence[Region]:
        """Regions of all objects."""

    @property
    def rooms(self) -> RoomMap | None:
        """The map of rooms."""

    @property
    def cameras(self) -> Mapping[str, Camera]:
        """Cameras by name."""

    @property
    def agents(self) -> Mapping[str, Agent]:
        """Agents by name."""

    @property
    def nq(self) -> int:
        """Number of joint coordinates."""

    @property
    def q(self) -> Float[np.ndarray, " nq"]:
        """Joint coordinates."""

    @q.setter
    def q(self, q: VectorLike) -> None: ...

    def copy(self) -> "ViewableWorld":
        """Return an independent copy."""

    def index(self, frame: FrameName | int) -> int:
        """Return the index of a frame; the world: `len(frames)`."""

    def pose(self, frame: FrameName | int) -> Float[np.ndarray, "7"]:
        """Return the world pose of a frame."""

    def poses(self) -> Float[np.ndarray, "frames 7"]:
        """Return the world poses of all frames."""

    def set_pose(self, frame: FrameName, pose: PoseLike) -> None:
        """Move a frame."""

    def forward_pass(self, q: np.ndarray | None = None) -> ForwardPass:
        """Return the poses of all frames as matrices and positions."""

    def quaternions_at(
        self, q: np.ndarray | None = None
    ) -> Float[np.ndarray, "*batch frames 4"]:
        """Return the orientations of all frames and, last, of the world."""

    def collision_indices(self) -> Int[np.ndarray, "n 2"]:
        """Return the pairs of frames that can collide."""

    def contacts(
        self, pairs: Int[np.ndarray, "n 2"], cutoff: float = np.inf
    ) -> dict[int, Contact]:
        """Return the contacts of pairs that are nearer than a cutoff."""
