"""Joints of a world: what they are, their coordinates and limits, named states."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Unpack

import numpy as np
from jaxtyping import Float, Int

from ..kinematics.forward import frame_quaternions
from ..typing import FrameName, Frames, JointTypeName, MatrixLike, VectorLike
from ..world import edit
from ..world.argument_parsing import JointOptions
from ..world.named_states import (
    apply_state,
    find_state,
    make_state,
    public_values,
    states_by_name,
)
from .facet import Facet


class WorldJoints(Facet):
    """The joints of a world, as `Config.joints`; `C.joint_names` and `C.q` are theirs.

    Arrays have an entry for each coordinate of q, in its order.
    """

    __slots__ = ()

    @property
    def types(self) -> tuple[str, ...]:
        """Types of the joints that make up q, in order."""
        return tuple(joint.type for joint in self._tree.moving_joints)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates: the joint's, with `:i` where it has several."""
        return self._tree.coordinate_names

    @property
    def periods(self) -> Float[np.ndarray, " nq"]:
        """Period of each coordinate (nq,) [rad], inf where it has none.

        Joints that turn without end have one: URDF's continuous joints, and all other
        rotations about an axis without limits, unless a joint that follows them does
        not repeat with them. Differences of such joints to a target and to home are
        modulo the period.
        """
        return np.array(self._tree.model.periods)

    @property
    def max_velocity(self) -> Float[np.ndarray, " nq"]:
        """Largest speed of each coordinate (nq,), inf where none."""
        return np.array(self._tree.model.kinematics.max_velocity)

    @property
    def max_acceleration(self) -> Float[np.ndarray, " nq"]:
        """Largest size of each coordinate's acceleration (nq,), inf where none.

        Files of URDF 1.2 have such limits; of different ones for acceleration and
        deceleration the smaller one counts.
        """
        return self._tree.model.bounds[1][1].copy()

    @property
    def max_jerk(self) -> Float[np.ndarray, " nq"]:
        """Largest jerk of each coordinate (nq,), inf where none."""
        return self._tree.model.bounds[1][2].copy()

    @property
    def quaternions(self) -> tuple[int, ...]:
        """First coordinate of each quaternion in q."""
        return tuple(first for first, _ in self._tree.model.layout.tree.balls)

    def quaternions_at(
        self, q: np.ndarray | None = None
    ) -> Float[np.ndarray, "*batch frames 4"]:
        """Return the orientations of all frames and, last, of the world, at `q`."""
        if q is None:
            return self._tree.quaternions
        return frame_quaternions(self._tree.model.kinematics, np.asarray(q, float))

    def coordinates(self, joints: Frames) -> Int[np.ndarray, " n"]:
        """Return the places in q of some joints; a frame stands for its joint.

        Raises:
            ConfigError: for an unknown, locked, mimicking or rigid joint.
        """
        return self._tree.coordinates(joints)

    def value(self, joint: str) -> Float[np.ndarray, " dim"]:
        """Return the value (dim,) of a joint, also of a locked or mimicking one."""
        return self._tree.joint_value(joint)

    def set_type(
        self,
        frame: FrameName,
        joint: JointTypeName | None,
        **options: Unpack[JointOptions],
    ) -> None:
        """Put a frame on another joint (None: fix it), where it stands.

        The pose in its parent becomes the joint's value where the joint reaches it,
        else the constant origin before the joint.

        Args:
            frame: the frame.
            joint: a joint type's name, or None.
            **options: `axis`, `limits`, `mimic`, `multiplier` and `offset`, as for
                `add_frame`.

        Raises:
            ConfigError: for an argument that does not fit.
        """
        self._tree = edit.set_joint_type(self._tree, frame, joint, **options)

    def set_limits(self, joint: str, limits: MatrixLike | VectorLike | None) -> None:
        """Set a joint's limits (2, dim), lower row first; None: no limits."""
        self._tree = edit.set_limits(self._tree, joint, limits)

    def select(self, joints: Frames) -> None:
        """Make exactly these joints (by joint or frame name) the moving ones."""
        self._tree = edit.select_joints(self._tree, joints)

    @property
    def named_states(self) -> Mapping[str, Mapping[str, float | np.ndarray]]:
        """Values of joints by the name of a state; `add_named_state` adds one.

        They come from SRDF files, MJCF keys and `add_named_state`, and can only be
        read here. A name that several groups have is "group/name". Values of joints
        with several coordinates are arrays (dim,).
        """
        states = states_by_name(self._annotations.named_states)
        return MappingProxyType({n: public_values(s) for n, s in states.items()})

    def add_named_state(
        self, name: str, values: Mapping[str, float | VectorLike] | None = None
    ) -> None:
        """Add a named state, or replace the one of that name; SRDF files keep it.

        Args:
            name: e.g. "ready", or "group/name"; without a group it is in "all".
            values: by joint or frame name, (dim,) for joints with several coordinates;
                joints that are not named stay where they are when the state is set.
                None: the present values of the joints of q.

        Raises:
            ConfigError: for unknown joints, with near matches, joints that mimic
                another one, and values that do not fit or are outside of the limits.
        """
        states = self._annotations.named_states
        state = make_state(states, self._tree, name, values)
        self._annotations = self._annotations.with_named_states([state])

    def set_named_state(self, name: str) -> None:
        """Set the joints of a named state; all others stay.

        Args:
            name: one of `named_states`, or "group/name".

        Raises:
            ConfigError: for an unknown name, with near matches, one that several groups
                have, and a state whose joints have changed.
        """
        state = find_state(self._annotations.named_states, name)
        self._tree = apply_state(self._tree, state)
