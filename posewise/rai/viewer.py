"""`ConfigurationViewer` with rai's names: a page in the browser, and images."""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np

import posewise as pw
from posewise.robots.typing import PoseLike, StrPath

from .cameras import PinholeCamera, default_camera, frame_camera, rai_depth
from .coverage import Absent
from .features import HasWorld
from .frame import Frame
from .parameters import params_get

WINDOW = (600, 500)
"""Width and height of a viewer's images [pixels]; larger ones take longer."""


def has_screen() -> bool:
    """Return whether a page in the browser can be seen, and viser is installed.

    rai's parameter `noInteractivity` forbids it.
    """
    if params_get().get("noInteractivity") or not importlib.util.find_spec("viser"):
        return False
    names = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, names))


class ConfigurationViewer(Absent):
    """View of a configuration; it has a page where there is a screen."""

    def __init__(self, config: HasWorld) -> None:
        self.config = config
        self._page: object | None = None
        self._size = WINDOW
        self._camera: Frame | None = None
        self._pose: np.ndarray | None = None
        self._num_saved = 0

    @property
    def is_open(self) -> bool:
        """Whether there is a page."""
        return self._page is not None

    # -- the page ----------------------------------------------------------------

    def view(
        self, pause: bool = False, text: str | None = None, offscreen: bool = False
    ) -> int:
        """Show the present state; the key that was pressed is always 0."""
        if has_screen() and not offscreen:
            self._page = self.config.C.view()
            if text:
                print(text)
        return 0

    def play(self, C: pw.Config, path: np.ndarray) -> None:
        """Play a path (T, n) of a world."""
        if has_screen() and len(path):
            self._page = C.view(path)

    def close(self) -> None:
        """Close the page."""
        if self._page is not None:
            self._page.close()  # type: ignore[attr-defined]
        self._page = None

    def raiseWindow(self) -> None:
        """Do nothing, because pages cannot be raised."""

    def setWindow(self, title: str, width: int, height: int) -> None:
        """Set the size of images [pixels]; the title is ignored."""
        self._size = (width, height)

    def visualsOnly(self, _visualsOnly: bool = True) -> None:
        """Do nothing, because images have no text."""

    def setupEventHandler(self, blockDefaultHandler: bool) -> None:
        """Do nothing, because pages have no keys."""

    def getEvents(self) -> list[str]:
        """Return no events, because pages have no keys."""
        return []

    # -- images ------------------------------------------------------------------

    def setCamera(self, camFrame: Frame | None) -> None:
        """Look from a frame that has a camera's attributes; None: the default."""
        self._camera, self._pose = camFrame, None

    def setCameraPose(self, pose_7d: PoseLike) -> None:
        """Look from a world pose (7,): z forward, y down."""
        self._camera, self._pose = None, np.ravel(np.asarray(pose_7d, float))

    def getCamera_pose(self) -> np.ndarray:
        """Return the world pose (7,) of the camera: z forward, y down."""
        return self._present_camera().pose.copy()

    def getCamera_fxycxy(self) -> np.ndarray:
        """Return focal lengths and the middle of the image [pixels]."""
        return self._present_camera().fxycxy

    def getCamera_focalLength(self) -> np.ndarray:
        """Return focal lengths and the middle, relative to the image's height."""
        return np.array([self._present_camera().focal_length] * 2 + [0.0, 0.0])

    def getRgb(self, nonThreaded: bool = True) -> np.ndarray:
        """Return what the camera sees (h, w, 3), 0 to 255."""
        return self._present_camera().image(self.config.C).rgb

    def getDepth(self, nonThreaded: bool = True) -> np.ndarray:
        """Return depths (h, w) [m], -1 for nothing."""
        return rai_depth(self._present_camera().image(self.config.C))

    def savePng(self, saveVideoPath: StrPath = "z.vid/", count: int = -1) -> None:
        """Save what the camera sees as `0000.png`, `0001.png`, … of a folder.

        Args:
            saveVideoPath: the folder, with a slash, or what names begin with.
            count: number of the picture, or -1 for the next one.
        """
        from matplotlib.image import imsave

        number = self._num_saved if count < 0 else count
        self._num_saved = number + 1
        path = Path(f"{saveVideoPath}{number:04d}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        imsave(path, self.getRgb())

    def _present_camera(self) -> PinholeCamera:
        if self._camera is not None:
            return frame_camera(Frame(self.config.C, self._camera.name))
        camera = default_camera(*self._size)
        if self._pose is None:
            return camera
        return PinholeCamera(
            self._pose, camera.focal_length, *self._size, camera.near, camera.far
        )
