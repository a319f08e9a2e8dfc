"""`Config` with rai's names."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

import posewise as pw
from posewise.features.typing import Order, ScaleLike, TargetLike
from posewise.robots.typing import Frames, MatrixLike, StrPath, VectorLike
from posewise.robots.world.kinematics_builder import topological_order

from .frame import Frame, parse_frame


def make_feature(
    world: pw.Config,
    symbol: pw.FS,
    frames: Frames,
    scale: ScaleLike,
    target: TargetLike,
    order: Order | Literal[-1],
) -> pw.Feature:
    """Return a feature by rai's conventions.

    Args:
        world: world of the frames.
        symbol: feature symbol.
        frames: names of frames. For accumulatedCollisions: "ALL", no names for all
            frames, or names that select all frames added between them.
        scale: scale, or nothing for the default.
        target: target, or nothing for the default.
        order: order, or -1 for the default.
    """
    if symbol is pw.FS.accumulatedCollisions:
        names = [frames] if isinstance(frames, str) else list(frames)
        indices = [] if names == ["ALL"] else [world.index(name) for name in names]
        frames = ()
        if indices:
            frames = world.frame_names[min(indices) : max(indices) + 1]
    return symbol.on(
        frames,
        scale=scale if np.size(scale) else None,
        target=target if np.size(target) else None,
        order=None if order == -1 else order,
    )


class Feature:
    """Feature on frames, returned by `Config.feature`."""

    def __init__(self, feature: pw.Feature) -> None:
        self.feature = feature

    def eval(self, C: "Config") -> tuple[np.ndarray, np.ndarray]:
        """Return value (D,) and Jacobian (D, n) at the state of a configuration."""
        return self.feature.eval(C.C)


class Config:
    """Configuration; `C.C` is its posewise world."""

    def __init__(self) -> None:
        self.C = pw.Config()

    def __repr__(self) -> str:
        return repr(self.C)

    # -- building ----------------------------------------------------------------

    def addFile(self, filename: StrPath, namePrefix: str | None = None) -> Frame:
        """Add a `.g`, `.yml`, `.urdf` or MJCF file and return its first frame."""
        names = self.C.add_file(filename, namePrefix or "", parent=None)
        return Frame(self.C, names[0])

    def addFrame(self, name: str, parent: str = "", args: str = "") -> Frame:
        """Add a frame.

        Args:
            name: name not in use yet; rai would return the existing frame.
            parent: parent frame, or "" for none.
            args: attributes in rai's graph language, such as
                `"shape: sphere, size: [.1], Q: [0, 0, .1]"`.
        """
        if args:
            self.C.add_model(
                parse_frame(name, args), parent=parent or None, source=name
            )
        else:
            self.C.add_frame(name, parent or None)
        return Frame(self.C, name)

    def addConfigurationCopy(self, config: "Config", prefix: str = "") -> Frame:
        """Add all frames of another configuration in its state; return the first."""
        names = self.C.add_model(
            config.C.model(), prefix, None, source="the configuration"
        )
        return Frame(self.C, names[0])

    def delFrame(self, frame: Frame | str) -> None:
        """Remove a frame; its children keep their poses and become roots."""
        name = frame if isinstance(frame, str) else frame.name
        for child in self.C.children(name):
            self.C.detach(child, joint=None)
        self.C.remove(name)

    def clear(self) -> None:
        """Remove all frames."""
        self.C = pw.Config()

    def attach(self, parent: str, frame: str) -> None:
        """Attach a frame rigidly to another frame at its present pose."""
        self.C.attach(parent, frame)

    # -- frames ------------------------------------------------------------------

    def getFrame(self, frameName: str, warnIfNotExist: bool = True) -> Frame | None:
        """Return the frame of a name.

        Without `warnIfNotExist` the result is None if there is no such frame.

        Raises:
            ConfigError: for an unknown name.
        """
        if not warnIfNotExist and frameName not in self.C.frame_names:
            return None
        self.C.index(frameName)
        return Frame(self.C, frameName)

    def frame(self, frameID: int) -> Frame:
        """Return the frame at an index."""
        return Frame(self.C, self.C.frame_names[frameID])

    def getFrames(self) -> list[Frame]:
        """Return all frames."""
        return [Frame(self.C, name) for name in self.C.frame_names]

    def getFrameNames(self) -> list[str]:
        """Return the names of all frames."""
        return list(self.C.frame_names)

    def getFrameDimension(self) -> int:
        """Return the number of frames."""
        return len(self.C.frames)

    def getRoots(self) -> list[Frame]:
        """Return the frames without parent."""
        return [Frame(self.C, f.name) for f in self.C.frames if f.parent is None]

    def getFrameState(self) -> np.ndarray:
        """Return the poses (frames, 7)."""
        return self.C.poses()

    def setFrameState(self, X: MatrixLike, frames: Sequence[str] = ()) -> None:
        """Set the poses of all or of the named frames through their joints.

        Raises:
            ConfigError: for a wrong shape, or poses that a joint cannot reach.
        """
        names = list(frames) or self.getFrameNames()
        poses = np.asarray(X, float)
        if poses.size != 7 * len(names):
            raise pw.ConfigError(
                f"X has shape {poses.shape}, expected ({len(names)}, 7): a pose for"
                " each frame."
            )
        pose_of = dict(zip(names, poses.reshape(-1, 7), strict=True))
        # Parents first, because setting a pose moves the subtree along.
        for i in topological_order(self.C.frames):
            name = self.C.frames[i].name
            if name in pose_of and not np.allclose(
                self.C.pose(name), pose_of[name], rtol=0, atol=1e-12
            ):
                self.C.set_pose(name, pose_of[name])

    # -- joints ------------------------------------------------------------------

    def getJointNames(self) -> list[str]:
        """Return a name for each entry of the joint state; `name:i` if a joint has
        more."""
        return list(self.C.joints.coordinate_names)

    def getJointDimension(self) -> int:
        """Return the number of degrees of freedom."""
        return self.C.nq

    def getJointState(self) -> np.ndarray:
        """Return the joint state (n,)."""
        return self.C.q

    def setJointState(self, q: VectorLike, joints: Sequence[str] = ()) -> None:
        """Set the joint state, or the concatenated states of the named joints.

        Raises:
            ConfigError: for a wrong number of values.
        """
        if not joints:
            self.C.q = q
            return
        indices, full = self.C.joints.coordinates(joints), self.C.q
        if np.size(q) != indices.size:
            raise pw.ConfigError(
                f"q has {np.size(q)} numbers, but the joints {list(joints)} have"
                f" {indices.size}."
            )
        full[indices] = np.ravel(q)
        self.C.q = full

    def getJointLimits(self) -> np.ndarray:
        """Return the limits (2, n), lower row first; [0, -1] without limits."""
        limits = self.C.limits
        is_unlimited = ~np.isfinite(limits).all(0)
        return np.where(is_unlimited, [[0.0], [-1.0]], limits)

    def selectJoints(self, jointNames: Sequence[str], notThose: bool = False) -> None:
        """Make only the named joints (or all others) degrees of freedom."""
        self._select_joints(jointNames, notThose)

    def selectJointsByTag(self, tags: Iterable[str]) -> None:
        """Make only joints whose frame has one of the attributes degrees of freedom."""
        tags = set(tags)
        self._select_joints(
            f.name for f in self.C.frames if f.joint and tags & {*f.attributes}
        )

    def selectJointsBySubtree(self, root: Frame | str) -> None:
        """Make only the joints in the subtree of a frame degrees of freedom."""
        names = [root if isinstance(root, str) else root.name]
        for name in names:
            names += self.C.children(name)
        self._select_joints(n for n in names if self.C.frame(n).joint)

    def _select_joints(self, names: Iterable[str], others: bool = False) -> None:
        selected = list(names)
        if others:
            self.C.joints.select(selected)
            selected = [f.name for f in self.C.frames if f.joint and not f.joint.active]
        self.C.joints.select(selected)

    # -- features ----------------------------------------------------------------

    def feature(
        self,
        featureSymbol: pw.FS,
        frames: Frames = (),
        scale: ScaleLike = (),
        target: TargetLike = (),
        order: Order | Literal[-1] = -1,
    ) -> Feature:
        """Return a feature on frames; its `eval(C)` evaluates it."""
        feature = make_feature(self.C, featureSymbol, frames, scale, target, order)
        feature.check(self.C)
        return Feature(feature)

    def eval(
        self,
        featureSymbol: pw.FS,
        frames: Frames = (),
        scale: ScaleLike = (),
        target: TargetLike = (),
        order: Order | Literal[-1] = -1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return value (D,) and Jacobian (D, n) of a feature at the present state."""
        return self.feature(featureSymbol, frames, scale, target, order).eval(self)

    def getCollidablePairs(self) -> list[str]:
        """Return the names of the frames of all collision pairs, two for each pair.

        Unlike in rai, pairs that no active joint can move against each other are left
        out.
        """
        return [name for pair in self.C.pairs.names() for name in pair]

    def computeCollisions(self) -> None:
        """Do nothing, because collisions always are those of the present state."""

    def getCollisions(self, belowMargin: float = 0.0) -> list[tuple[str, str, float]]:
        """Return pairs of frames nearer than a margin [m], and their signed
        distances."""
        return self.C.collisions(belowMargin)

    def coll_totalViolation(self) -> float:
        """Return the sum of all penetration depths [m]."""
        return float(sum(-d for _, _, d in self.C.collisions()))

    # -- output ------------------------------------------------------------------

    def view(
        self, pause: bool = False, message: str | None = None, offscreen: bool = False
    ) -> None:
        """Do nothing, so that scripts run without a display."""

    def view_close(self) -> None:
        """Do nothing, because `view` opens no window."""

    def writeURDF(self) -> str:
        """Return the configuration as the text of a URDF file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "world.urdf"
            self.C.write_urdf(path)
            return path.read_text(encoding="utf-8")
