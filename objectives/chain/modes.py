"""Modes: what is attached to what, from which slice on.

An object that changes hands is not moved in the tree. The world gets a copy of it for
each attachment, and features look at the copy that is real in their slice: frame
indices are data, so the tree stays one. Coordinates of a stable attachment are shared:
one variable for all slices. So are those of stable helper frames, which the problem
has and the world has not.
"""

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

MODE_JOINTS = {
    "stable": "free",
    "stableOn": "transXYPhi",
    "rigid": None,
}
"""Attachments, and the joint whose value stays constant; rigid: the frames coincide."""


@dataclass(frozen=True)
class ModeSwitch:
    """From a slice on, a frame with all attached to it is attached to another one."""

    start: int
    kind: str
    parent: str
    frame: str


@dataclass(frozen=True, eq=False)
class HelperFrame:
    """A frame that only the problem has."""

    name: str
    parent: str
    given: dict[str, Any]
    """See `Config.add_frame`."""
    stable: bool
    """Its joint is one variable for all slices."""


@dataclass(eq=False)
class Mode:
    """The world in some slices: which frames are real, under which names."""

    config: Config
    """All frames; those that are not real do not collide."""
    names: dict[str, str]
    """The real copy of each frame that has one."""
    joints: tuple[str, ...] | None
    """Joints that features of all joints mean; None: all there are."""
    _features: dict[Feature, Feature] = field(default_factory=dict)

    def real(self, name: str) -> str:
        """The frame that stands for `name`."""
        return self.names.get(name, name)

    def bind(self, feature: Feature) -> BoundFeature:
        """A feature on the frames that are real."""
        return self.named(feature).bind(self.config)

    def named(self, feature: Feature) -> Feature:
        """A feature under the names of the frames that are real."""
        if self.joints is None:
            return feature
        if feature not in self._features:
            named = tuple(self.real(n) for n in feature.frames)
            if feature.symbol.input_kind == "joints" and not named:
                named = self.joints
            self._features[feature] = feature.with_frames(named)
        return self._features[feature]


@dataclass(frozen=True)
class Attachment:
    """A copy that moves, from a slice on, with what it is attached to."""

    start: int
    before: str
    """What stood for the object until then."""
    copy: str
    parent: str
    joint: Joint


@dataclass(eq=False)
class ModeSequence:
    """A world with a copy of each object for each attachment."""

    base: Config
    named: Config
    """With helper frames: what features may speak of."""
    world: Config
    """With the copies too."""
    modes: list[Mode]
    starts: list[int]
    """First slice of each mode after the first one."""
    shared: tuple[str, ...]
    """Joints that are one variable for all slices."""
    contacts: tuple[ActiveContact, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    """Those with a joint, in the order of their starts."""

    def at(self, t: int) -> Mode:
        """The mode of a slice; the first one before slice 0."""
        return self.modes[int(np.searchsorted(self.starts, t, side="right"))]

    @cached_property
    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Places in the world's q and in the base's q of what both have."""
        common = [n for n in self.base.joint_names if n in set(self.world.joint_names)]
        return self.world.coordinates(common), self.base.coordinates(common)

    @cached_property
    def shared_coordinates(self) -> np.ndarray:
        """Places in the world's q of the shared joints."""
        return self.world.coordinates(self.shared)

    @cached_property
    def shared_columns(self) -> tuple[int, ...]:
        """Columns of the world's tangent space of the shared joints."""
        tree, at = self.world.kinematics().tree, set(self.shared_coordinates.tolist())
        spins = [c + i for first, c in tree.balls if first in at for i in range(3)]
        single = [k for k, c in enumerate(tree.column_coordinate) if c in at]
        return tuple(sorted(spins + single))

    def limits(self, T: int) -> np.ndarray:
        """Of the world's q in each slice (2, T, nq); (2, 1, nq) where all agree.

        A point and a force that do not act are held at zero.
        """
        limits = self.world.limits[:, None]
        if not self.contacts:
            return limits
        limits = np.repeat(limits, T, 1)
        for acting in self.contacts:
            e = acting.variable
            idle = np.setdiff1d(np.arange(T), acting.slices)
            columns = self.world.coordinates([e.point, e.force])
            limits[:, idle[:, None], columns] = 0.0
        return limits

    def widen(self, q: np.ndarray) -> np.ndarray:
        """Coordinates of the world (…, nq) from those of the base."""
        if self.world is self.base:
            return q
        wide, narrow = self.coordinates
        full = np.tile(self.world.q, (*q.shape[:-1], 1))
        full[..., wide] = q[..., narrow]
        return full

    def settled(self, path: np.ndarray) -> np.ndarray:
        """The path (T, nq) of the world, with attachments at which nothing jumps.

        As far as their joints allow: what is put on a surface is put below it.
        """
        if not self.attachments:
            return path
        path, X = path.copy(), self.world.copy()
        for a in self.attachments:
            X.q = path[a.start - 1] if a.start else self.widen(self.base.q)
            pose = X.pose(a.before)
            X.q = path[a.start]
            up = pose_multiply(X.pose(a.parent), X.frame(a.copy).origin)
            moved = pose_multiply(pose_inverse(up), pose)
            value, _ = value_from_pose(a.joint.type, a.joint.axis, moved)
            at = X.coordinates([a.joint.name])
            path[:, at] = np.clip(value, *X.limits[:, at])
        return path

    def attached(self, q: np.ndarray, t: int) -> Config:
        """The world in slice t, with helpers and attachments; q: with the copies."""
        C, X, mode = self._placed(q, t), self.world.copy(), self.at(t)
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

    def narrow(self, q: np.ndarray, t: int) -> np.ndarray:
        """Coordinates of the base in slice t; its own joints follow what is carried."""
        if self.world is self.base:
            return q
        C = self._placed(q, t)
        return C.q[C.coordinates(self.base.joint_names)]

    def narrow_path(self, x: np.ndarray) -> np.ndarray:
        """Coordinates (T, nq) of the base from those of the world."""
        if self.world is self.base:
            return x.copy()
        return np.stack([self.narrow(q, t) for t, q in enumerate(x)])

    def _placed(self, q: np.ndarray, t: int) -> Config:
        """The world with its helpers in slice t; own joints follow what is carried."""
        C, X = self.named.copy(), self.world.copy()
        common = [n for n in C.joint_names if n in set(X.joint_names)]
        full = C.q
        full[C.coordinates(common)] = q[X.coordinates(common)]
        X.q, C.q = q, full
        for acting in self.contacts:
            acting.variable.renamed({}, t in acting.slices).register(C)
        for name, copy in self.at(t).names.items():
            if not set(_own_joint(C, name)) <= set(common):
                with suppress(ConfigError):  # a joint that cannot reach that pose
                    C.set_pose(name, X.pose(copy))
        return C


def build_modes(
    C: Config,
    switches: tuple[ModeSwitch, ...],
    helpers: tuple[HelperFrame, ...] = (),
    exchanges: tuple[ActiveContact, ...] = (),
) -> ModeSequence:
    """The world and its modes.

    Raises:
        ConfigError: for unknown frames, a frame attached to a part of itself, or
            helpers that do not fit.
    """
    if not switches and not helpers and not exchanges:
        return ModeSequence(C, C, C, [Mode(C, {}, None)], [], ())
    X = C.copy()
    for h in helpers:
        X.add_frame(h.name, h.parent, **h.given)
    for acting in exchanges:
        acting.variable.add_to(X)
    named = X.copy() if helpers or exchanges else C
    shared = [n for h in helpers if h.stable for n in _own_joint(X, h.name)]
    X.lock([n for s in switches for n in _own_joint(X, s.frame)])
    base_joints = tuple(n for n in X.joint_names if n in set(C.joint_names))
    names: dict[str, str] = {}
    gone: set[str] = set()
    views: list[tuple[dict[str, str], set[str]]] = [({}, set())]
    starts: list[int] = []
    attachments: list[Attachment] = []
    for k, s in enumerate(sorted(switches, key=lambda s: s.start)):
        root, parent = names.get(s.frame, s.frame), names.get(s.parent, s.parent)
        rename = lambda n, k=k: f"{n.partition('@')[0]}@{k}"
        joint, origin = attachment_joint(X, s.kind, parent, root, rename(s.frame))
        copies = X.copy_subtree(
            root, parent, rename, origin=origin, joint=joint, without=gone
        )
        if joint is not None:
            shared.append(joint.name)
            attachments.append(Attachment(s.start, root, copies[root], parent, joint))
        gone |= copies.keys()
        names = names | {n.partition("@")[0]: copy for n, copy in copies.items()}
        if starts and starts[-1] == s.start:
            views[-1] = names, set(gone)
        else:
            starts.append(s.start)
            views.append((names, set(gone)))
    every = {copy for view, _ in views for copy in view.values()}
    changes = sorted(
        {*starts, *(t for acting in exchanges for t in acting.change_slices)}
    )
    modes = []
    for t in (-1, *changes):
        view, absent = views[int(np.searchsorted(starts, t, side="right"))]
        world = X.copy()
        for name in absent | (every - set(view.values())):
            if world.frame(name).contact:
                world.set_contact(name, 0)
        for acting in exchanges:
            acting.variable.renamed(view, t in acting.slices).register(world)
        modes.append(Mode(world, dict(view), base_joints))
    joints = tuple(shared)
    return ModeSequence(
        C, named, X, modes, changes, joints, exchanges, tuple(attachments)
    )


def attachment_joint(
    C: Config, kind: str, parent: str, frame: str, name: str
) -> tuple[Joint | None, np.ndarray]:
    """The joint of an attachment, and the constant pose before it."""
    if kind not in MODE_JOINTS:
        raise ConfigError(unknown_name("mode", kind, MODE_JOINTS))
    origin, type = IDENTITY.copy(), MODE_JOINTS[kind]
    if type is None:
        return None, origin
    joint = Joint(type, name, q=neutral_value(type))
    if kind == "stableOn":
        (low, high), (bottom, _) = _extent(C, parent), _extent(C, frame)
        origin[2] = high[2] - bottom[2]
        limits = [[low[0], low[1], -2 * np.pi], [high[0], high[1], 2 * np.pi]]
        joint = replace(joint, limits=np.array(limits))
    return joint, origin


def _extent(C: Config, frame: str) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner of a frame's shapes, in its axes."""
    solid = [g for g in C.frame(frame).geometries if g.collision]
    if not solid:
        raise ConfigError(
            f"Frame {frame!r} has no shape, so that nothing can stand on it or it on"
            " anything; use mode 'stable', or give it a shape."
        )
    parts = [bounding_ellipsoids(g, frame) for g in solid]
    reach = [np.linalg.norm(axes, axis=-1) for _, axes in parts]
    low = [(core - r).min(0) for (core, _), r in zip(parts, reach, strict=True)]
    high = [(core + r).max(0) for (core, _), r in zip(parts, reach, strict=True)]
    return np.min(low, 0), np.max(high, 0)


def _own_joint(C: Config, frame: str) -> list[str]:
    """The frame's joint, if it is one of q."""
    joint = C.frame(frame).joint
    return [joint.name] if joint is not None and joint.name in C.joint_names else []
