"""Modes of a path: which frame is attached to which, from which slice on.

A mode switch does not move an object in the kinematic tree. The world gets a copy of
the object for each attachment instead, and features refer to the copy that is active in
their slice. Frame indices are data, so the tree stays the same in all slices. The
coordinates of a stable attachment are shared: one variable for all slices. So are those
of stable helper frames, which belong to the problem and not to the world. Other
attachments have coordinates in each slice.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from posewise.features import Feature
from posewise.features.bound_feature import BoundFeature
from posewise.features.regions import bounding_ellipsoids
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.kinematics.joint_types import neutral_value, value_from_pose
from posewise.robots.kinematics.transforms import IDENTITY, pose_inverse, pose_multiply
from posewise.robots.world.frame import Joint

from .contact_forces import ActiveContact
from .courses import (
    Course,
    add_courses,
    course_joint,
    set_course_state,
    set_courses,
)

MODE_JOINTS = {
    "stable": "free",
    "stableOn": "transXYPhi",
    "rigid": None,
    "free": "free",
    "slidingOn": "transXYPhi",
}
"""Joint type of each kind of attachment; None: no joint, so that the frames
coincide."""
MODES_ON_TOP = "stableOn", "slidingOn"
"""Kinds of attachments that stand on the upper face of the frame that carries."""
STABLE_MODES = "stable", "stableOn"
"""Kinds of attachments whose joint has the same value in all slices."""


@dataclass(frozen=True)
class ModeSwitch:
    """Attachment of a frame, and of all that is attached to it, from a slice on."""

    start: int
    kind: str
    parent: str
    frame: str


@dataclass(frozen=True, eq=False)
class HelperFrame:
    """A frame of the problem that its world does not contain."""

    name: str
    parent: str
    arguments: dict[str, Any]
    """Keyword arguments of `Config.add_frame`."""
    is_stable: bool
    """Whether the joint of the frame is one variable for all slices."""


@dataclass(eq=False)
class Mode:
    """The world in consecutive slices between two switches."""

    config: Config
    """World with all frames; inactive copies do not collide."""
    names: dict[str, str]
    """Name of the active copy of each frame that has one."""
    joints: tuple[str, ...] | None
    """Joints that a feature of all joints refers to; None: all joints."""
    _features: dict[Feature, Feature] = field(default_factory=dict)

    def active_frame(self, name: str) -> str:
        """Return the name of the active copy of a frame, or of the frame itself."""
        return self.names.get(name, name)

    def bind(self, feature: Feature) -> BoundFeature:
        """Return a feature bound to the active frames."""
        return self.on_active_frames(feature).bind(self.config)

    def on_active_frames(self, feature: Feature) -> Feature:
        """Return a feature with the names of the active frames."""
        if self.joints is None:
            return feature
        if feature not in self._features:
            frames = tuple(self.active_frame(name) for name in feature.frames)
            if feature.symbol.takes_joints and not frames:
                frames = self.joints
            self._features[feature] = feature.with_frames(frames)
        return self._features[feature]


@dataclass(frozen=True)
class Attachment:
    """A copy of a frame that moves, from a slice on, with its new parent."""

    start: int
    previous: str
    """Name of the active frame of the object before the switch."""
    copy: str
    parent: str
    joint: Joint


@dataclass(eq=False)
class ModeSequence:
    """A world with a copy of each object for each attachment, and its modes."""

    base: Config
    """The user's world."""
    with_helpers: Config
    """The base with helper frames and contacts: the frames that users may name."""
    world: Config
    """The world that is solved, which also has the copies."""
    modes: list[Mode]
    starts: list[int]
    """First slice of each mode after the first one."""
    shared: tuple[str, ...]
    """Names of joints that are one variable for all slices."""
    contacts: tuple[ActiveContact, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    """Attachments with a joint, in the order of their starts."""
    driven: tuple[str, ...] = ()
    """Names of frames with a course."""

    def at(self, t: int) -> Mode:
        """Return the mode of a slice; before slice 0 the first mode."""
        return self.modes[int(np.searchsorted(self.starts, t, side="right"))]

    @cached_property
    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices in the world's q, and in the base's q, of the joints of both."""
        common = [n for n in self.base.joint_names if n in set(self.world.joint_names)]
        return self.world.joints.coordinates(common), self.base.joints.coordinates(
            common
        )

    @cached_property
    def course_coordinates(self) -> np.ndarray:
        """Indices in the world's q of the joints of frames with a course."""
        return self.world.joints.coordinates(
            [course_joint(name) for name in self.driven]
        )

    @cached_property
    def shared_coordinates(self) -> np.ndarray:
        """Indices in the world's q of the shared joints."""
        return self.world.joints.coordinates(self.shared)

    @cached_property
    def shared_columns(self) -> tuple[int, ...]:
        """Columns of the world's tangent space of the shared joints."""
        tree = self.world.tree.model.layout.tree
        shared = set(self.shared_coordinates.tolist())
        rotations = [c + i for q, c in tree.balls if q in shared for i in range(3)]
        single = [k for k, q in enumerate(tree.column_coordinate) if q in shared]
        return tuple(sorted(rotations + single))

    def limits(self, T: int, courses: tuple[Course, ...] = ()) -> np.ndarray:
        """Return the limits of the world's q in each slice.

        The shape is (2, T, nq), or (2, 1, nq) without contacts and courses. The point
        and the force of a contact are fixed at zero in slices without it, and frames
        with a course at their poses.
        """
        limits = self.world.limits[:, None]
        if not self.contacts and not self.driven:
            return limits
        limits = np.repeat(limits, T, 1)
        set_courses(self.world, courses, limits)
        for contact in self.contacts:
            variable = contact.variable
            inactive = np.setdiff1d(np.arange(T), contact.slices)
            columns = self.world.joints.coordinates([variable.point, variable.force])
            limits[:, inactive[:, None], columns] = 0.0
        return limits

    def whole_path(
        self, q: np.ndarray, x: np.ndarray, courses: tuple[Course, ...]
    ) -> np.ndarray:
        """Return a path of the world (T + 1, nq) with its start as the first point.

        Args:
            q: coordinates (nq,) of the base at the start.
            x: coordinates (T, nq) of the world in all slices.
            courses: courses of frames.
        """
        start = np.array(self.from_base(q))
        start[self.shared_coordinates] = x[0, self.shared_coordinates]
        set_course_state(self.world, courses, start, -1)
        return np.concatenate([start[None], x])

    def from_base(self, q: np.ndarray) -> np.ndarray:
        """Return coordinates of the world (…, nq) from coordinates of the base."""
        if self.world is self.base:
            return q
        in_world, in_base = self.coordinates
        full = np.tile(self.world.q, (*q.shape[:-1], 1))
        full[..., in_world] = q[..., in_base]
        return full

    def without_jumps(self, path: np.ndarray) -> np.ndarray:
        """Return a path (T, nq) of the world whose frames do not jump when attached.

        Each attachment gets the pose that the frame had before, as far as the joint of
        the attachment can reach it: an object is put on the surface below it.
        """
        if not self.attachments:
            return path
        path, X = path.copy(), self.world.copy()
        for a in self.attachments:
            X.q = path[a.start - 1] if a.start else self.from_base(self.base.q)
            pose = X.pose(a.previous)
            X.q = path[a.start]
            up = pose_multiply(X.pose(a.parent), X.frame(a.copy).origin)
            moved = pose_multiply(pose_inverse(up), pose)
            value, _ = value_from_pose(a.joint.type, a.joint.axis, moved)
            columns = X.joints.coordinates([a.joint.name])
            path[:, columns] = np.clip(value, *X.limits[:, columns])
        return path

    def config_at(self, q: np.ndarray, t: int) -> Config:
        """Return the user's world in slice t, with helper frames and attachments.

        Args:
            q: coordinates (nq,) of the world with the copies.
            t: the slice.
        """
        C, X, mode = self._config_with_helpers(q, t), self.world.copy(), self.at(t)
        X.q = q
        bases = {copy: name for name, copy in mode.names.items()}
        for name, copy in mode.names.items():
            up = X.frame(copy).parent
            parent = "world" if up is None else X.frames[up].name
            parent = bases.get(parent, parent)
            old = C.frame(name).parent
            if old is None or C.frames[old].name != parent:
                C.attach(parent, name)
                C.set_pose(name, X.pose(copy))
        return C

    def to_base(self, q: np.ndarray, t: int) -> np.ndarray:
        """Return coordinates of the base in slice t from coordinates of the world.

        Joints of carried objects get the values that put the objects where their active
        copies are.
        """
        if self.world is self.base:
            return q
        C = self._config_with_helpers(q, t)
        return C.q[C.joints.coordinates(self.base.joint_names)]

    def path_to_base(self, x: np.ndarray) -> np.ndarray:
        """Return the coordinates (T, nq) of the base from those of the world."""
        if self.world is self.base:
            return x.copy()
        in_world, in_base = self.coordinates
        if len(in_base) == self.base.nq:
            path = np.empty((len(x), self.base.nq))
            path[:, in_base] = x[:, in_world]
            return path
        return np.stack([self.to_base(q, t) for t, q in enumerate(x)])

    def _config_with_helpers(self, q: np.ndarray, t: int) -> Config:
        """Return the base with helper frames in slice t, with carried objects moved."""
        C, X = self.with_helpers.copy(), self.world.copy()
        common = [n for n in C.joint_names if n in set(X.joint_names)]
        full = C.q
        full[C.joints.coordinates(common)] = q[X.joints.coordinates(common)]
        X.q, C.q = q, full
        for contact in self.contacts:
            contact.variable.renamed({}, t in contact.slices).register(C)
        for name in self.driven:
            # It stays where it is if its joint in that world cannot reach the pose.
            with suppress(ConfigError):
                C.set_pose(name, X.pose(name))
        for name, copy in self.at(t).names.items():
            if not set(_own_joint(C, name)) <= set(common):
                # The object stays where it is if its joint cannot reach that pose.
                with suppress(ConfigError):
                    C.set_pose(name, X.pose(copy))
        return C


def build_modes(
    C: Config,
    switches: tuple[ModeSwitch, ...],
    helpers: tuple[HelperFrame, ...] = (),
    contacts: tuple[ActiveContact, ...] = (),
    driven: tuple[str, ...] = (),
) -> ModeSequence:
    """Build the world that is solved, and its modes.

    Args:
        C: the user's world.
        switches: mode switches of the problem.
        helpers: helper frames of the problem.
        contacts: contacts of the problem.
        driven: names of frames with a course.

    Raises:
        ConfigError: for unknown frames, a frame attached to a part of itself, or
            helper frames that do not fit.
    """
    if not switches and not helpers and not contacts and not driven:
        return ModeSequence(C, C, C, [Mode(C, {}, None)], [], ())
    X = C.copy()
    for h in helpers:
        X.add_frame(h.name, h.parent, **h.arguments)
    for contact in contacts:
        contact.variable.add_to(X)
    with_helpers = X.copy() if helpers or contacts else C
    add_courses(X, driven)
    shared = [n for h in helpers if h.is_stable for n in _own_joint(X, h.name)]
    X.lock([n for s in switches for n in _own_joint(X, s.frame)])
    base_joints = tuple(n for n in X.joint_names if n in set(C.joint_names))
    names: dict[str, str] = {}
    inactive: set[str] = set()
    views: list[tuple[dict[str, str], set[str]]] = [({}, set())]
    starts: list[int] = []
    attachments: list[Attachment] = []
    for k, s in enumerate(sorted(switches, key=lambda s: s.start)):
        root, parent = names.get(s.frame, s.frame), names.get(s.parent, s.parent)

        def rename(name: str, k: int = k) -> str:
            return f"{original_name(name)}@{k}"

        joint, origin = attachment_joint(X, s.kind, parent, root, rename(s.frame))
        copies = X.copy_subtree(
            root, parent, rename, origin=origin, joint=joint, without=inactive
        )
        # Only the copy that the hand holds may touch it, so only in these slices.
        X.hold(copies[root])
        if joint is not None:
            if s.kind in STABLE_MODES:
                shared.append(joint.name)
            attachments.append(Attachment(s.start, root, copies[root], parent, joint))
        inactive |= copies.keys()
        names = names | {original_name(n): copy for n, copy in copies.items()}
        if starts and starts[-1] == s.start:
            views[-1] = names, set(inactive)
        else:
            starts.append(s.start)
            views.append((names, set(inactive)))
    every = {copy for view, _ in views for copy in view.values()}
    changes = sorted(
        {*starts, *(t for contact in contacts for t in contact.change_slices)}
    )
    modes = []
    for t in (-1, *changes):
        view, absent = views[int(np.searchsorted(starts, t, side="right"))]
        world = X.copy()
        for name in absent | (every - set(view.values())):
            if world.frame(name).contact:
                world.set_contact(name, 0)
        for contact in contacts:
            contact.variable.renamed(view, t in contact.slices).register(world)
        modes.append(Mode(world, dict(view), base_joints))
    # Sums over pairs have the same structure in all modes, so that one program serves.
    every_pair = {(int(a), int(b)) for m in modes for a, b in m.config.pairs.indices()}
    for mode in modes:
        mode.config.pairs.reserve(every_pair)
    return ModeSequence(
        base=C,
        with_helpers=with_helpers,
        world=X,
        modes=modes,
        starts=changes,
        shared=tuple(shared),
        contacts=contacts,
        attachments=tuple(attachments),
        driven=driven,
    )


def original_name(name: str) -> str:
    """Return the name of the frame that a copy `frame@k` for an attachment stands for.

    Other names stay; a frame of a user should have none of this form.
    """
    return re.sub(r"@\d+$", "", name)


def attachment_joint(
    C: Config, kind: str, parent: str, frame: str, name: str
) -> tuple[Joint | None, np.ndarray]:
    """Return the joint of an attachment, and the constant pose before the joint."""
    if kind not in MODE_JOINTS:
        raise ConfigError(unknown_name("mode", kind, MODE_JOINTS))
    origin, type = IDENTITY.copy(), MODE_JOINTS[kind]
    if type is None:
        return None, origin
    joint = Joint(type, name, q=neutral_value(type))
    if kind in MODES_ON_TOP:
        (low, high), (bottom, _) = _extent(C, parent), _extent(C, frame)
        origin[2] = high[2] - bottom[2]
        limits = [[low[0], low[1], -2 * np.pi], [high[0], high[1], 2 * np.pi]]
        joint = replace(joint, limits=np.array(limits))
    return joint, origin


def _extent(C: Config, frame: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest corner of a frame's shapes, in its axes."""
    solid = [g for g in C.frame(frame).geometries if g.collision]
    if not solid:
        raise ConfigError(
            f"Frame {frame!r} has no shape, so that it cannot stand on a frame, nor a"
            " frame on it; use mode 'stable', or give it a shape."
        )
    parts = [bounding_ellipsoids(g, frame) for g in solid]
    reach = [np.linalg.norm(axes, axis=-1) for _, axes in parts]
    low = [(core - r).min(0) for (core, _), r in zip(parts, reach, strict=True)]
    high = [(core + r).max(0) for (core, _), r in zip(parts, reach, strict=True)]
    return np.min(low, 0), np.max(high, 0)


def _own_joint(C: Config, frame: str) -> list[str]:
    """Return the name of the frame's joint in a list, empty if not part of q."""
    joint = C.frame(frame).joint
    return [joint.name] if joint is not None and joint.name in C.joint_names else []
