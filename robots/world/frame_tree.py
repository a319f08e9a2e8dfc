"""The frames of a world and the values of their joints, as one immutable value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Unpack

import jax
import numpy as np
from jaxtyping import Float

from ..errors import ConfigError, unknown_name
from ..kinematics.forward import (
    MIN_FRAME_CAPACITY,
    ForwardPass,
    Kinematics,
    forward_pass,
    frame_index,
    frame_quaternions,
)
from ..kinematics.joint_types import neutral_value
from ..kinematics.periods import coordinate_periods
from ..kinematics.transforms import quat_normalize
from ..typing import FrameName, Frames, VectorLike
from ..validation import MAX_NUMBER, float_array, is_bounded
from .argument_parsing import refuse_outside
from .frame import Frame, FrameFields, Joint
from .kinematics_builder import KinematicsLayout, build_kinematics, move_rigid_frame
from .mimic_joints import (
    bounds_of_leader,
    followers_by_leader,
    mimic_value,
    resolve_mimics,
)


@dataclass(frozen=True, eq=False)
class KinematicModel:
    """Everything derived from frames that does not depend on the moving joints' values.

    All trees that differ only in q, or in shapes, masses and attributes, share one
    model, so that it is built once.
    """

    frames: tuple[Frame, ...]
    values: Mapping[int, np.ndarray]
    """Joint values by frame index; those of locked joints become constant poses."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each frame."""
        return tuple(f.name for f in self.frames)

    @cached_property
    def first_index(self) -> dict[str, int]:
        """Index of the first frame of each name."""
        return {name: i for i, name in reversed([*enumerate(self.names)])}

    @cached_property
    def children(self) -> dict[int | None, list[int]]:
        """Indices of the frames attached to each frame; None: to the world."""
        below: dict[int | None, list[int]] = {}
        for i, frame in enumerate(self.frames):
            below.setdefault(frame.parent, []).append(i)
        return below

    @cached_property
    def layout(self) -> KinematicsLayout:
        """Structure of the kinematics, and where each joint stands in q.

        Raises:
            ConfigError: for frames in a circle, and mimic joints that do not fit.
        """
        return build_kinematics(self.frames, self.values)

    @cached_property
    def bounds(self) -> tuple[Float[np.ndarray, "2 nq"], Float[np.ndarray, "3 nq"]]:
        """Limits of the coordinates, and the largest velocity, acceleration and jerk.

        Entries are ±inf where there is none.
        """
        limits = np.zeros((2, self.layout.tree.nq))
        rates = np.zeros((3, self.layout.tree.nq))
        relations = resolve_mimics(self.frames)
        followers = followers_by_leader(relations)
        for slot in self.layout.slots:
            part, i = slice(slot.start, slot.start + slot.dim), slot.frame
            bounds = bounds_of_leader(self.frames, i, followers[i], relations)
            limits[:, part], rates[:, part] = bounds
        return limits, rates

    @cached_property
    def kinematics(self) -> Kinematics:
        """Kinematics with NumPy arrays, for single evaluations."""
        layout = self.layout
        limits, rates = self.bounds
        home = np.zeros(layout.tree.nq)
        for slot in layout.slots:
            joint = joint_of(self.frames[slot.frame])
            value = neutral_value(joint.type) if joint.q is None else joint.q
            home[slot.start : slot.start + slot.dim] = value
        return Kinematics(
            layout.tree,
            self.names,
            **layout.data,
            limits=limits,
            home=home,
            max_velocity=rates[0],
        )

    @cached_property
    def periods(self) -> Float[np.ndarray, " nq"]:
        """Period of each coordinate [rad], inf where it has none."""
        K = self.kinematics
        return coordinate_periods(K.tree, np.asarray(K.dof_multiplier), K.limits)

    @cached_property
    def jax_kinematics(self) -> Kinematics:
        """Kinematics with JAX arrays, for compiled programs."""
        K = self.kinematics
        arrays = {k: v for k, v in vars(K).items() if k not in ("tree", "names")}
        return replace(K, **jax.device_put(arrays))

    @cached_property
    def unnamed_kinematics(self) -> Kinematics:
        """Kinematics for programs, with room for as many frames as there are."""
        return self.program_kinematics(MIN_FRAME_CAPACITY)

    def program_kinematics(self, least: int) -> Kinematics:
        """Return kinematics for programs, with NumPy arrays in JAX's precision.

        They serve as data of compiled programs; arrays that stay on the host are faster
        to change and to pack.

        Args:
            least: smallest class of the number of frames.
        """
        dtype = jax.dtypes.canonicalize_dtype(float)
        return jax.tree.map(
            lambda a: np.asarray(a, dtype if a.dtype.kind == "f" else None),
            self.kinematics.for_programs(least),
        )

    def with_moved_frame(
        self, frames: tuple[Frame, ...], moved: int
    ) -> "KinematicModel":
        """Return the model of the same frames after the origin of one has changed.

        What does not depend on origins is taken over, and where no joint is on the
        frame or below it, so are all other poses.

        Args:
            frames: all frames, with the new origin.
            moved: index of the frame.
        """
        model = KinematicModel(frames, self.values)
        for name in ("names", "first_index", "children"):
            if name in vars(self):
                vars(model)[name] = vars(self)[name]
        if "kinematics" in vars(self):
            data: Any = move_rigid_frame(self.layout, frames, self.children, moved)
            if data is not None:
                vars(model)["layout"] = replace(self.layout, data=data)
                vars(model)["kinematics"] = replace(self.kinematics, **data)
        return model


def joint_of(frame: Frame) -> Joint:
    """Return the joint of a frame.

    Raises:
        ConfigError: when the frame has none.
    """
    if frame.joint is None:
        raise ConfigError(f"Frame {frame.name!r} has no joint.")
    return frame.joint


@dataclass(frozen=True, eq=False)
class FrameTree:
    """Frames in order, and the values of their joints.

    Edits return a new tree and do not change this one; see `edit` and `add`.
    """

    frames: tuple[Frame, ...]
    values: Mapping[int, np.ndarray]
    """Coordinates (dim,) by frame index, of moving and of locked joints."""
    model: KinematicModel = field(repr=False)
    structure: object = field(default_factory=object, repr=False)
    """A token that trees share which differ only in q and in origins of frames."""

    @classmethod
    def build(
        cls,
        frames: Sequence[Frame] = (),
        values: Mapping[int, np.ndarray] | None = None,
    ) -> "FrameTree":
        """Make a tree with a new kinematic model, which is built when needed."""
        frames, values = tuple(frames), {} if values is None else values
        return cls(frames, values, KinematicModel(frames, values))

    def checked(self) -> "FrameTree":
        """Return this tree, its kinematics built, which warns of contradictory limits.

        Raises:
            ConfigError: for frames in a circle, and mimic joints that do not fit.
        """
        # Reading the cached property builds it, which raises for a bad structure.
        _ = self.model.kinematics
        return self

    # -- edits -------------------------------------------------------------------

    def with_frame(self, i: int, **changes: Unpack[FrameFields]) -> "FrameTree":
        """Replace fields of a frame, which may change how it moves."""
        return FrameTree.build(self._replaced(i, changes), self.values)

    def with_origin(self, i: int, origin: Float[np.ndarray, "7"]) -> "FrameTree":
        """Replace the constant pose of a frame in its parent."""
        frames = self._replaced(i, {"origin": origin})
        model = self.model.with_moved_frame(frames, i)
        return FrameTree(frames, self.values, model, self.structure)

    def with_properties(self, i: int, **changes: Unpack[FrameFields]) -> "FrameTree":
        """Replace fields that no motion depends on: shapes, contact, mass, attributes.

        The kinematic model is shared with this tree.
        """
        return FrameTree(self._replaced(i, changes), self.values, self.model)

    def _replaced(self, i: int, changes: Mapping[str, Any]) -> tuple[Frame, ...]:
        if "geometries" in changes:
            # Other shapes than those that a fit stands for.
            changes = {"unfitted": (), **changes}
        changed = replace(self.frames[i], **changes)
        return (*self.frames[:i], changed, *self.frames[i + 1 :])

    def with_value(self, i: int, value: Float[np.ndarray, " dim"]) -> "FrameTree":
        """Set the coordinates of one joint, moving or locked."""
        values = {**self.values, i: value}
        if joint_of(self.frames[i]).active:
            return FrameTree(self.frames, values, self.model, self.structure)
        return FrameTree.build(self.frames, values)

    def with_q(self, q: VectorLike) -> "FrameTree":
        """Set the coordinates of all moving joints.

        Raises:
            ConfigError: for a wrong number, NaN, infinite or enormous values, and zero
                quaternions.
        """
        q = self.checked_coordinates("q", q)
        values = dict(self.values)
        for s in self.model.layout.slots:
            values[s.frame] = q[s.start : s.start + s.dim].copy()
        return FrameTree(self.frames, values, self.model, self.structure)

    def with_home(self, home: VectorLike) -> "FrameTree":
        """Set the home of all moving joints; see `Config.home`.

        Raises:
            ConfigError: for the same as `with_q`, and values outside of the limits.
        """
        q = self.checked_coordinates("home", home)
        limits = np.asarray(self.model.kinematics.limits)
        refuse_outside("home", self.coordinate_names, q, limits)
        for first, _ in self.model.layout.tree.balls:
            q[first : first + 4] = quat_normalize(q[first : first + 4])
        frames = [*self.frames]
        for s in self.model.layout.slots:
            value = q[s.start : s.start + s.dim].copy()
            joint = replace(joint_of(frames[s.frame]), q=value)
            frames[s.frame] = replace(frames[s.frame], joint=joint)
        return FrameTree.build(frames, self.values)

    def checked_coordinates(
        self, label: str, q: VectorLike
    ) -> Float[np.ndarray, " nq"]:
        """Return coordinates of all moving joints, as a user gave them.

        Args:
            label: of them, the subject of messages.
            q: one number for each coordinate.

        Raises:
            ConfigError: for a wrong number, NaN, infinite or enormous values, and zero
                quaternions.
        """
        q = float_array(label, q, f"{self.nq} numbers")
        if q.shape != (self.nq,):
            raise ConfigError(
                f"{label} has shape {q.shape}, expected ({self.nq},): one number for"
                f" each coordinate of {', '.join(self.joint_names) or 'no joint'}."
                f"{' lock(names) holds joints still.' * (q.size < self.nq)}"
            )
        if not np.isfinite(q).all():
            bad = self.coordinate_names[int(np.argmin(np.isfinite(q)))]
            raise ConfigError(f"{label} has a NaN or infinite entry at {bad!r}.")
        if not is_bounded(q):
            k = int(np.argmax(np.abs(q)))
            raise ConfigError(
                f"{label} is {q[k]:g} at {self.coordinate_names[k]!r}, expected at most"
                f" {MAX_NUMBER:g} in size."
            )
        for first, _ in self.model.layout.tree.balls:
            if not q[first : first + 4].any():
                bad = self.coordinate_names[first].partition(":")[0]
                raise ConfigError(
                    f"{label} has a zero quaternion in joint {bad!r}, expected (w, x,"
                    " y, z) of length 1."
                )
        return q

    # -- frames ------------------------------------------------------------------

    def index(self, frame: FrameName | int) -> int:
        """Return the index of the first frame of a name; the world is `len(frames)`.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        if isinstance(frame, str) and frame in self.model.first_index:
            return self.model.first_index[frame]
        if isinstance(frame, str) and frame != "world":
            for other in self.frames:
                if other.joint is not None and other.joint.name == frame:
                    raise ConfigError(
                        f"No frame {frame!r}: that is the joint of frame"
                        f" {other.name!r}; name the frame, which the joint moves."
                    )
        return frame_index(frame, self.model.names, len(self.frames))

    def own_index(self, frame: FrameName | int) -> int:
        """Return the index of a frame that can be changed: any one but the world.

        Raises:
            ConfigError: for an unknown name, with near matches, and for the world.
        """
        i = self.index(frame)
        if i == len(self.frames):
            raise ConfigError("The world itself cannot be changed; name a frame.")
        return i

    def parent_index(self, parent: FrameName | int | None) -> int | None:
        """Return `Frame.parent` of frames attached to a frame; None for the world."""
        if parent is None:
            return None
        i = self.index(parent)
        return None if i == len(self.frames) else i

    def children(self, frame: FrameName | int) -> tuple[str, ...]:
        """Return the names of the frames attached to a frame, or to the world."""
        below = self.model.children.get(self.parent_index(frame), ())
        return tuple(self.frames[i].name for i in below)

    def subtree_names(self, root: FrameName) -> tuple[str, ...]:
        """Return the names of a frame and of all frames below it, each once."""
        names = dict.fromkeys([root])
        pending = [root]
        for name in pending:
            new = [n for n in self.children(name) if n not in names]
            names |= dict.fromkeys(new)
            pending += new
        return tuple(names)

    # -- joints ------------------------------------------------------------------

    def joint(self, i: int) -> Joint:
        """Return the joint of the frame of an index.

        Raises:
            ConfigError: when the frame has none.
        """
        return joint_of(self.frames[i])

    def joint_frame(self, name: FrameName) -> int:
        """Return the index of the frame that carries a joint.

        Args:
            name: of the joint, or else of its frame.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        joints = {i: f.joint for i, f in enumerate(self.frames) if f.joint is not None}
        for i, joint in joints.items():
            if joint.name == name:
                return i
        for i in joints:
            if self.frames[i].name == name:
                return i
        raise ConfigError(
            unknown_name("joint", name, (j.name for j in joints.values()))
        )

    @property
    def moving_joints(self) -> tuple[Joint, ...]:
        """The joints that make up q, in order."""
        return tuple(joint_of(self.frames[s.frame]) for s in self.model.layout.slots)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints with a value in q, in its order."""
        return tuple(joint.name for joint in self.moving_joints)

    @property
    def nq(self) -> int:
        """Length of q."""
        return self.model.layout.tree.nq

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """One name for each entry of q: the joint's, with `:i` where it has several."""
        names: list[str] = []
        for joint in self.moving_joints:
            several = [f"{joint.name}:{i}" for i in range(joint.dim)]
            names += several if joint.dim > 1 else [joint.name]
        return tuple(names)

    def coordinates(self, joints: Frames) -> np.ndarray:
        """Return the indices into q of joints, given by joint or frame name.

        Raises:
            ConfigError: for an unknown, locked, mimicking or rigid joint.
        """
        names = [joints] if isinstance(joints, str) else list(joints)
        indices: dict[str, np.ndarray] = {}
        for s in self.model.layout.slots:
            frame = self.frames[s.frame]
            entries = np.arange(s.start, s.start + s.dim)
            indices.setdefault(frame.name, entries)
            indices.setdefault(joint_of(frame).name, entries)
        for name in names:
            if name not in indices:
                raise ConfigError(
                    unknown_name("moving joint", name, indices)
                    + " (Locked, mimicking and fixed joints are not part of q.)"
                )
        return np.concatenate([np.zeros(0, int), *(indices[n] for n in names)])

    def joint_value(self, joint: str) -> np.ndarray:
        """Return the coordinates (dim,) of any joint: moving, locked or mimicking."""
        i = self.joint_frame(joint)
        relation = resolve_mimics(self.frames)[i]
        source = self.values[relation.source]
        return mimic_value(joint_of(self.frames[i]).type, source, relation)

    # -- poses -------------------------------------------------------------------

    @cached_property
    def q(self) -> np.ndarray:
        """Coordinates (nq,) of the moving joints; not to be written to."""
        slots = self.model.layout.slots
        return np.concatenate([np.zeros(0), *(self.values[s.frame] for s in slots)])

    @cached_property
    def forward_pass(self) -> ForwardPass:
        """Poses of all frames and twists of all dofs at these values."""
        return forward_pass(self.model.kinematics, self.q)

    @cached_property
    def quaternions(self) -> Float[np.ndarray, "frames 4"]:
        """World orientations of all frames and, last, of the world."""
        return frame_quaternions(self.model.kinematics, self.q)

    def pose(self, frame: FrameName | int) -> Float[np.ndarray, "7"]:
        """Return where a frame is in the world (7,)."""
        i = self.index(frame)
        return np.concatenate([self.forward_pass.frames.p[i], self.quaternions[i]])
