"""Headless Chromium, controlled by its DevTools protocol."""

import base64
import io
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import numpy as np
from websockets.sync.client import connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SIZE = (1000, 750)
FLAGS = (
    "--headless=new --no-sandbox --disable-dev-shm-usage --ignore-gpu-blocklist"
    " --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader"
    " --hide-scrollbars --no-first-run --remote-debugging-port=0"
)
PATIENCE = 60.0
"""Time to wait until an expected state is visible [s]."""


class Browser:
    """A page with screenshots and a mouse."""

    def __init__(self, address: str, folder: Path) -> None:
        command = [CHROMIUM, *FLAGS.split(), f"--user-data-dir={folder}"]
        command += [f"--window-size={SIZE[0]},{SIZE[1]}", address]
        quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._process = subprocess.Popen(command, **quiet)
        self._numbers = itertools.count(1)
        port = wait_for(lambda: _port(folder / "DevToolsActivePort"))
        page = wait_for(lambda: _page(port))
        self._socket = connect(page, max_size=None)
        size = dict(width=SIZE[0], height=SIZE[1], deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def call(self, method: str, **params) -> dict:
        number = next(self._numbers)
        text = json.dumps(dict(id=number, method=method, params=params))
        self._socket.send(text)
        while True:
            answer = json.loads(self._socket.recv(timeout=PATIENCE))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def picture(self) -> np.ndarray:
        """Return a screenshot (height, width, 3), RGB from 0 to 255."""
        from matplotlib.image import imread

        data = self.call("Page.captureScreenshot", format="png")["data"]
        return 255 * imread(io.BytesIO(base64.b64decode(data)))[..., :3]

    def mouse(self, kind: str, pixel: np.ndarray) -> None:
        options = dict(button="left", buttons=0 if kind == "mouseReleased" else 1)
        if kind != "mouseMoved":
            options["clickCount"] = 1
        x, y = map(float, pixel)
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **options)

    def drag(self, start: np.ndarray, end: np.ndarray, steps: int = 8) -> None:
        """Press at a pixel, move to another one, release.

        Pauses let the page find out which object is under the mouse.
        """
        for point in (start - 3, start):
            self.call(
                "Input.dispatchMouseEvent", type="mouseMoved", x=point[0], y=point[1]
            )
            time.sleep(0.7)
        self.mouse("mousePressed", start)
        for share in np.linspace(0, 1, steps + 1)[1:]:
            time.sleep(0.2)
            self.mouse("mouseMoved", start + share * (end - start))
        time.sleep(0.5)
        self.mouse("mouseReleased", end)

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait()

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def wait_for(find):
    """Return the result of a function as soon as it is neither None nor false."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        result = find()
        if result is not None and not (np.ndim(result) == 0 and not result):
            return result
        time.sleep(0.2)
    raise AssertionError(f"not there after {PATIENCE:.0f} s")


def spot(picture: np.ndarray, color: int) -> np.ndarray | None:
    """Return the mean (x, y) of the mostly red, green or blue (0, 1, 2) pixels."""
    others = np.delete(picture, color, -1).max(-1)
    pixels = np.argwhere(
        (picture[..., color] > 90) & (others < 0.45 * picture[..., color])
    )
    return pixels.mean(0)[::-1] if len(pixels) > 60 else None


def pixel(server, point) -> np.ndarray:
    """Return the pixel of a point of the world on a new page, by a pinhole model."""
    camera = server.initial_camera
    ahead = np.asarray(camera.look_at) - np.asarray(camera.position)
    ahead = ahead / np.linalg.norm(ahead)
    right = np.cross(ahead, [0, 0, 1.0])
    right /= np.linalg.norm(right)
    offset = np.asarray(point, float) - np.asarray(camera.position)
    scale = SIZE[1] / 2 / np.tan(camera.fov / 2)
    plane = np.array([offset @ right, -offset @ np.cross(right, ahead)])
    return np.array(SIZE) / 2 + scale * plane / (offset @ ahead)


def _port(file: Path) -> str | None:
    lines = file.read_text().splitlines() if file.is_file() else []
    return lines[0] if lines else None


def _page(port: str) -> str | None:
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10).read()
    pages = [p for p in json.loads(text) if p["type"] == "page"]
    return pages[0]["webSocketDebuggerUrl"] if pages else None
