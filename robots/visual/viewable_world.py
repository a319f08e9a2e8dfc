"""The protocol of the worlds that pictures and the viewer show."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from ..contact.proximity import Contact
from ..facets.annotations import WorldAnnotations
from ..facets.joints import WorldJoints
from ..facets.pairs import WorldPairs
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
        """Frames, in the order of `poses`."""

    @property
    def frame_names(self) -> tuple[str, ...]:
        """The names of `frames`."""

    @property
    def joints(self) -> WorldJoints:
        """The joints."""

    @property
    def pairs(self) -> WorldPairs:
        """The pairs of frames that may collide."""

    @property
    def annotations(self) -> WorldAnnotations:
        """Regions, rooms, cameras and agents."""

    @property
    def nq(self) -> int:
        """Number of joint coordinates."""

    @property
    def q(self) -> Float[np.ndarray, " nq"]:
        """Joint coordinates."""

    @q.setter
    def q(self, q: VectorLike) -> None: ...

    def copy(self) -> "ViewableWorld":
        """Return a world that moves apart from this one."""

    def index(self, frame: FrameName | int) -> int:
        """Return the index of a frame; the world: `len(frames)`."""

    def pose(self, frame: FrameName | int) -> Float[np.ndarray, "7"]:
        """Return the world pose of a frame."""

    def poses(self) -> Float[np.ndarray, "frames 7"]:
        """Return the poses of all frames at the state (frames, 7)."""

    def set_pose(self, frame: FrameName, pose: PoseLike) -> None:
        """Move a frame."""

    def forward_pass(self, q: np.ndarray | None = None) -> ForwardPass:
        """Return the poses of all frames as matrices and positions."""

    def contacts(
        self, pairs: Int[np.ndarray, "n 2"], cutoff: float = np.inf
    ) -> dict[int, Contact]:
        """Return the contacts of pairs that are nearer than a cutoff."""
