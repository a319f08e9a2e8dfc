"""`Config` with rai's names."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import posewise as pw
from posewise.robots.kinematics.builder import topological_order

from .frame import Frame, parse_frame


def make_feature(
    world: pw.Config, symbol: Any, frames: Any, scale: Any, target: Any, order: Any
) -> pw.Feature:
    """A feature by rai's conventions.

    Empty scale and target, order -1: the defaults. Frames of accumulatedCollisions:
    all that were added between the named ones; "ALL" or none: all.
    """
    if symbol is pw.FS.accumulatedCollisions:
        frames = [frames] if isinstance(frames, str) else list(frames)
        at = [] if frames == ["ALL"] else [world.index(f) for f in frames]
        frames = world.frame_names[min(at) : max(at) + 1] if at else []
    return symbol.on(
        frames,
        scale=scale if np.size(scale) else None,
        target=target if np.size(target) else None,
        order=None if order < 0 else order,
    )


class Feature:
    """What `Config.feature` returns."""

    def __init__(self, feature: pw.Feature) -> None:
        self.feature = feature

    def eval(self, C: "Config") -> tuple[np.ndarray, np.ndarray]:
        """Value (D,) and Jacobian (D, n) at the state of a configuration."""
        return self.feature.eval(C.C)


class Config:
    """A configuration; `C.C` is the posewise world behind it."""

    def __init__(self) -> None:
        self.C = pw.Config()

    def __repr__(self) -> str:
        return repr(self.C)

    # -- building ----------------------------------------------------------------

    def addFile(self, filename: Any, namePrefix: str | None = None) -> Frame:
        """Add a `.g`, `.yml`, `.urdf` or MJCF file; returns its first frame."""
        return Frame(self, self.C.add_file(filename, prefix=namePrefix or "")[0])

    def addFrame(self, name: str, parent: str = "", args: str = "") -> Frame:
        """Add a frame.

        Args:
            name: not in use yet (rai would return the present frame of that name).
            parent: the frame it hangs on; "": none.
            args: its attributes in rai's graph language, e.g.
                `"shape: sphere, size: [.1], Q: [0, 0, .1]"`.
        """
        if args:
            self.C.add_model(
                parse_frame(name, args), parent=parent or "world", source=name
            )
        else:
            self.C.add_frame(name, parent or "world")
        return Frame(self, name)

    def addConfigurationCopy(self, config: "Config", prefix: str = "") -> Frame:
        """Add all frames of another configuration, in its state."""
        names = self.C.add_model(config.C.model(), prefix, source="the configuration")
        return Frame(self, names[0])

    def delFrame(self, frame: Frame | str) -> None:
        """Remove a frame; those attached to it stay where they are, without parent."""
        name = frame if isinstance(frame, str) else frame.name
        for child in self.C.children(name):
            self.C.detach(child, joint=None)
        self.C.remove(name)

    def clear(self) -> None:
        """Remove all frames."""
        self.C = pw.Config()

    def attach(self, parent: str, frame: str) -> None:
        """Fix a frame to another one at its present pose."""
        self.C.attach(parent, frame)

    # -- frames ------------------------------------------------------------------

    def getFrame(self, frameName: str, warnIfNotExist: bool = True) -> Frame | None:
        """The frame of that name.

        Raises:
            ConfigError: when there is none; without `warnIfNotExist` it is None.
        """
        if not warnIfNotExist and frameName not in self.C.frame_names:
            return None
        self.C.index(frameName)
        return Frame(self, frameName)

    def frame(self, frameID: Any) -> Frame:
        """The frame at an index."""
        return Frame(self, self.C.frame_names[frameID])

    def getFrames(self) -> list[Frame]:
        """All frames."""
        return [Frame(self, name) for name in self.C.frame_names]

    def getFrameNames(self) -> list[str]:
        """Names of all frames."""
        return list(self.C.frame_names)

    def getFrameDimension(self) -> int:
        """Number of frames."""
        return len(self.C.frames)

    def getRoots(self) -> list[Frame]:
        """The frames without parent."""
        return [Frame(self, f.name) for f in self.C.frames if f.parent is None]

    def getFrameState(self) -> np.ndarray:
        """Poses (frames, 7)."""
        return self.C.poses()

    def setFrameState(self, X: Any, frames: Any = ()) -> None:
        """Set the poses of all or of the named frames; joints take their values.

        Raises:
            ConfigError: for poses that a joint cannot reach.
        """
        names = list(frames) or self.getFrameNames()
        X = np.asarray(X, float)
        if X.size != 7 * len(names):
            raise pw.ConfigError(
                f"X has shape {X.shape}, expected ({len(names)}, 7): a pose for each"
                " frame."
            )
        poses = dict(zip(names, X.reshape(-1, 7), strict=True))
        for i in topological_order(self.C.frames):
            name = self.C.frames[i].name
            if name in poses and not np.allclose(
                self.C.pose(name), poses[name], rtol=0, atol=1e-12
            ):
                self.C.set_pose(name, poses[name])

    # -- joints ------------------------------------------------------------------

    def getJointNames(self) -> list[str]:
        """A name for each entry of the joint state; `name:i` in joints of several."""
        return list(self.C.coordinate_names)

    def getJointDimension(self) -> int:
        """Number of degrees of freedom."""
        return self.C.nq

    def getJointState(self) -> np.ndarray:
        """Joint state (n,)."""
        return self.C.q

    def setJointState(self, q: Any, joints: Any = ()) -> None:
        """Set the joint state, or that of the named joints one after the other."""
        if not joints:
            self.C.q = q
            return
        at, full = self.C.coordinates(joints), self.C.q
        if np.size(q) != at.size:
            raise pw.ConfigError(
                f"q has {np.size(q)} numbers, the joints {list(joints)} have {at.size}."
            )
        full[at] = np.ravel(q)
        self.C.q = full

    def getJointLimits(self) -> np.ndarray:
        """Limits (2, n), lower row first; [0, -1] where there are none."""
        limits = self.C.limits
        free = ~np.isfinite(limits).all(0)
        return np.where(free, [[0.0], [-1.0]], limits)

    def selectJoints(self, jointNames: Any, notThose: bool = False) -> None:
        """Make exactly these joints (or all others) the degrees of freedom."""
        self._select_joints(jointNames, notThose)

    def selectJointsByTag(self, tags: Iterable[str]) -> None:
        """Make the joints whose frame has one of the attributes the moving ones."""
        tags = set(tags)
        self._select_joints(
            f.name for f in self.C.frames if f.joint and tags & {*f.attributes}
        )

    def selectJointsBySubtree(self, root: Frame | str) -> None:
        """Make the joints in the subtree of a frame the moving ones."""
        names = [root if isinstance(root, str) else root.name]
        for name in names:
            names += self.C.children(name)
        self._select_joints(n for n in names if self.C.frame(n).joint)

    def _select_joints(self, names: Iterable[str], others: bool = False) -> None:
        chosen = list(names)
        if others:
            self.C.select_joints(chosen)
            chosen = [f.name for f in self.C.frames if f.joint and not f.joint.active]
        self.C.select_joints(chosen)

    # -- features ----------------------------------------------------------------

    def feature(
        self,
        featureSymbol: Any,
        frames: Any = (),
        scale: Any = (),
        target: Any = (),
        order: Any = -1,
    ) -> Feature:
        """A feature on frames, to be evaluated by its `eval(C)`."""
        made = make_feature(self.C, featureSymbol, frames, scale, target, order)
        made.check(self.C)
        return Feature(made)

    def eval(
        self,
        featureSymbol: Any,
        frames: Any = (),
        scale: Any = (),
        target: Any = (),
        order: Any = -1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Value (D,) and Jacobian (D, n) of a feature at the present state."""
        return self.feature(featureSymbol, frames, scale, target, order).eval(self)

    def getCollidablePairs(self) -> list[str]:
        """Names of the frames that can collide: two for each pair, one after the other.

        Unlike rai's, without pairs that no active joint moves against each other.
        """
        return [name for pair in self.C.collision_pairs() for name in pair]

    def computeCollisions(self) -> None:
        """Do nothing: collisions are always those of the present state."""

    def getCollisions(self, belowMargin: Any = 0.0) -> list[tuple[str, str, float]]:
        """Pairs of frames nearer than a margin, with their signed distance."""
        return self.C.collisions(belowMargin)

    def coll_totalViolation(self) -> float:
        """Sum of all penetrations [m]."""
        return float(sum(-d for _, _, d in self.C.collisions()))

    # -- output ------------------------------------------------------------------

    def view(
        self, pause: bool = False, message: str | None = None, offscreen: bool = False
    ) -> None:
        """Do nothing: no window is opened, so that scripts run without a display."""

    def view_close(self) -> None:
        """Do nothing, as `view`."""

    def writeURDF(self) -> str:
        """The configuration as the text of a URDF file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "world.urdf"
            self.C.write_urdf(path)
            return path.read_text()
