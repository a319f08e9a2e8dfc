"""Files, texts and views of a configuration."""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from posewise.robots.typing import StrPath

from .config_joints import ConfigJoints
from .frame import Frame
from .spline import BSpline
from .viewer import ConfigurationViewer
from .writing import graph_text, world_dict, yaml_text

WATCH_SECONDS = 0.3
"""Time between looks at a watched file [s]; a longer one shows changes later."""


class ConfigOutput(ConfigJoints):
    """Configuration that is shown and written."""

    def __init__(self) -> None:
        super().__init__()
        self._viewer: ConfigurationViewer | None = None

    # -- views -------------------------------------------------------------------

    def viewer(self) -> ConfigurationViewer:
        """Return the viewer of the configuration."""
        if self._viewer is None:
            self._viewer = ConfigurationViewer(self)
        return self._viewer

    get_viewer = viewer

    def set_viewer(self, viewer: ConfigurationViewer) -> None:
        """Show the configuration in the viewer of another one."""
        self._viewer = viewer

    def view(
        self, pause: bool = False, message: str | None = None, offscreen: bool = False
    ) -> int:
        """Show the present state in the browser, and return 0.

        Nothing happens without a screen or without viser.

        Args:
            pause: ignored, because pages in the browser have no keys.
            message: printed if there is a page.
            offscreen: whether to show nothing.
        """
        self.viewer().config = self
        return self.viewer().view(pause, message, offscreen)

    def view_close(self) -> None:
        """Close the page."""
        if self._viewer is not None:
            self._viewer.close()

    def view_recopyMeshes(self) -> None:
        """Do nothing, because views always show the present shapes."""

    def animate(self) -> None:
        """Play a motion in which each joint swings through its range in turn."""
        low, high = self._ranges()
        q, path = self.C.q, []
        for i in range(self.C.nq):
            for phase in np.linspace(0, 2 * np.pi, 20):
                swing = q.copy()
                reach = (high if np.sin(phase) > 0 else low)[i] - q[i]
                swing[i] += abs(np.sin(phase)) * reach
                path.append(swing)
        self.viewer().play(self.C, np.reshape(path, (-1, self.C.nq)))

    def animateSpline(self, T: int = 3) -> None:
        """Play a random spline of `T` control points within the ranges of the joints.

        The joint state stays.
        """
        low, high = self._ranges()
        points = np.random.uniform(low, high, (T, self.C.nq))
        spline = BSpline().set(2, points, np.arange(T, dtype=float))
        path = spline.eval(np.linspace(0, T - 1, 20 * T))
        self.viewer().play(self.C, path)

    def watchFile(self, filename: StrPath) -> None:
        """Load a file, show it, and load and show it again whenever it changes.

        An interrupt ends the watch. Without a screen the file is loaded once.
        """
        loaded = -1.0
        try:
            while True:
                changed = Path(filename).stat().st_mtime
                if changed != loaded:
                    self.clear()
                    self.addFile(filename)
                    self.view()
                    loaded = changed
                if not self.viewer().is_open:
                    return
                time.sleep(WATCH_SECONDS)
        except KeyboardInterrupt:
            return

    # -- texts and files ---------------------------------------------------------

    def asDict(self) -> dict[str, dict[str, Any]]:
        """Return what defines each frame, by `name(parent)`; `addDict` takes it."""
        frames = {f.name: Frame(self.C, f.name).asDict() for f in self.C.frames}
        return world_dict(self.C, frames)

    def write(self) -> str:
        """Return the text of a `.g` file, which `addFile` reads."""
        return graph_text(self.asDict())

    def asYaml(self, serial: bool = False) -> str:
        """Return the text of a `.yml` file, on one line if `serial`."""
        return yaml_text(self.asDict(), serial)

    def report(self) -> str:
        """Return the numbers of frames, degrees of freedom and shapes."""
        shapes = sum(bool(f.geometries) for f in self.C.frames)
        locked = sum(f.joint is not None and not f.joint.active for f in self.C.frames)
        return (
            f"Configuration: q.N={self.C.nq} #frames={len(self.C.frames)}"
            f" #dofs={len(self.C.joint_names)} #qInactive.N={locked} #shapes={shapes}\n"
        )

    def writeURDF(self) -> str:
        """Return the configuration as the text of a URDF file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "world.urdf"
            self.C.write_urdf(path)
            return path.read_text(encoding="utf-8")

    def writeMesh(self, filename: StrPath) -> None:
        """Write all shapes that are seen as one mesh, in the format of the suffix."""
        self.C.write_mesh(filename)
