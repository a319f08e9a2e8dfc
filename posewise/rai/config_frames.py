"""Frames of a configuration: they are added, found, removed and moved."""

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import posewise as pw
from posewise.robots.typing import MatrixLike, StrPath

from .enums import raiPath
from .frame import Frame
from .frame_state import place_frames
from .frame_text import parse_frame
from .writing import graph_text

RAI_PATH = "$RAI_PATH/"
"""Folder of rai's models, as files name it."""


class ConfigFrames:
    """Configuration with its frames."""

    def __init__(self) -> None:
        self.C = pw.Config()
        self.displaced: dict[str, np.ndarray] = {}
        """Origins of joints that frame states have displaced, by frame."""

    def addFile(self, filename: StrPath, namePrefix: str | None = None) -> Frame:
        """Add a `.g`, `.yml`, `.urdf` or MJCF file and return its first frame.

        Args:
            filename: path of the file; `$RAI_PATH/` at its start is `raiPath`.
            namePrefix: put before the names of its frames.
        """
        name = str(filename)
        file = raiPath(name[len(RAI_PATH) :]) if name.startswith(RAI_PATH) else name
        names = self.C.add_file(file, namePrefix or "", parent=None)
        return Frame(self.C, names[0])

    def addDict(self, dict: dict[str, Any]) -> None:
        """Add the frames of a dictionary, such as `asDict` returns, with their meshes.

        Args:
            dict: attributes of each frame, by `name(parent)`.
        """
        bare = {
            key: {k: v for k, v in entry.items() if k != "mesh"}
            for key, entry in dict.items()
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "frames.g"
            path.write_text(graph_text(bare), encoding="utf-8")
            self.C.add_file(path, parent=None)
        for key, entry in dict.items():
            if "mesh" in entry:
                name, file = key.split("(")[0].strip(), str(entry["mesh"]).strip("<>")
                frame = Frame(self.C, name).setMeshFile(file)
                if "color" in entry:
                    frame.setColor(entry["color"])

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

    def addConfigurationCopy(
        self, config: "ConfigFrames", prefix: str = "", tau: float = 1.0
    ) -> Frame:
        """Add all frames of another configuration in its state; return the first.

        Args:
            config: the other configuration.
            prefix: put before the names of its frames.
            tau: ignored, because configurations have no time.
        """
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
        self.displaced = {}

    def attach(self, parent: str, frame: str) -> None:
        """Attach what a frame is fixed to rigidly to another frame, where it is.

        That is all up to the first joint above the frame, which breaks. If the other
        frame is part of it, only the frame itself is attached.
        """
        top = frame
        while (above := self.C.frame(top)).joint is None and above.parent is not None:
            top = self.C.frames[above.parent].name
        if parent in self.C.subtree(top):
            top = frame
        self.C.attach(parent, top)
        self.C.joints.set_type(top, "rigid")

    def getFrame(self, frameName: str, warnIfNotExist: bool = True) -> Frame | None:
        """Return the frame of a name, or None with a warning if there is none.

        Without `warnIfNotExist` there is no warning.
        """
        try:
            self.C.index(frameName)
        except pw.ConfigError as error:
            if warnIfNotExist:
                warnings.warn(f"getFrame returns None: {error}", stacklevel=2)
            return None
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

    def getJoints(self) -> list[Frame]:
        """Return the frames whose joints make up the joint state."""
        return [Frame(self.C, self.C.frame_names[i]) for i in self.getJointIDs()]

    def getJointIDs(self) -> np.ndarray:
        """Return the indices of the frames whose joints make up the joint state."""
        indices = [
            i
            for i, f in enumerate(self.C.frames)
            if f.joint and f.joint.active and f.joint.dim and f.joint.mimic is None
        ]
        return np.array(indices, np.uint32)

    def getShapes(self, shared_only_once: bool = True) -> list[Frame]:
        """Return the frames that have shapes.

        Args:
            shared_only_once: ignored, because frames do not share shapes.
        """
        return [Frame(self.C, f.name) for f in self.C.frames if f.geometries]

    def setFrameState(self, X: MatrixLike, frames: Sequence[str] = ()) -> None:
        """Set the poses of all or of the named frames, with normalized quaternions.

        A joint takes the value that is nearest to its frame's pose. What it misses of
        that pose stays until joint states or poses are set next.

        Raises:
            ConfigError: for a wrong shape.
        """
        names = list(frames) or self.getFrameNames()
        poses = np.asarray(X, float)
        if poses.size != 7 * len(names):
            raise pw.ConfigError(
                f"X has shape {poses.shape}, expected ({len(names)}, 7): a pose for"
                " each frame."
            )
        self.restore_origins(self.C)
        pose_of = dict(zip(names, poses.reshape(-1, 7), strict=True))
        self.displaced = place_frames(self.C, pose_of)

    def restore_origins(self, world: pw.Config) -> None:
        """Undo in a copy of the world what poses of frames have displaced."""
        for name, origin in self.displaced.items():
            if name in world.frame_names:
                world.replace_frame(name, origin=origin)
