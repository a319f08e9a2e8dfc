"""The picture of "Bring your robot": meshes, and the capsules that collide for them.

    python docs/fitted_robot.py robot.urdf docs/media/fitted_robot.png

Shows the robot three times in the viewer: with its meshes, with capsules of at most 1.5
times the volume of the hulls, and with one capsule a link. Needs the extras `viz` and
`meshes`, pillow, and `chromium` on the PATH.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops

import posewise as pw

SIZE = (2400, 1500)
BROWSER = (
    "chromium --headless=new --no-sandbox --use-gl=angle --use-angle=swiftshader"
    " --enable-unsafe-swiftshader --hide-scrollbars --virtual-time-budget=20000"
)
TOP = 180
"""Height of the page's own messages [pixel]."""
BORDER = 16
WIDTH = 1000
CAPSULE_COLOR = (0.95, 0.45, 0.15, 0.45)
MESH_COLOR = (0.80, 0.82, 0.86, 1.0)
SIDEWAYS = np.array([0.82, 0.57, 0.0])
"""To the right, for one who looks at the viewer's first picture."""


def add_robot(C: pw.Config, file: str, k: int) -> Sequence[str]:
    """Add the k-th copy in a bent posture; return its frames."""
    place = [*(0.75 * k * SIDEWAYS), 1, 0, 0, 0]
    before = C.nq
    frames = C.add_file(file, prefix=f"{k}/", pose=place)
    bent = C.q
    low, high = C.limits
    bent[before:] = np.clip(0.5, low[before:], high[before:])
    C.q = bent
    return frames


def show_what_collides(C: pw.Config, frames: Sequence[str]) -> None:
    """Draw the shapes that collide over the others."""
    for name in frames:
        C.replace_frame(
            name,
            geometries=tuple(
                replace(g, visual=True, color=CAPSULE_COLOR)
                if g.collision
                else replace(g, color=MESH_COLOR)
                for g in C.frame(name).geometries
            ),
        )


def picture(C: pw.Config) -> Image.Image:
    """Return what the viewer shows, without margins."""
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder) / "page.html", Path(folder) / "page.png"
        with C.view(browser=False) as view:
            view.hide("grid")
            view.save(page)
        words = [*BROWSER.split(), f"--window-size={SIZE[0]},{SIZE[1]}"]
        words += [f"--screenshot={shot}", f"--user-data-dir={folder}/browser"]
        subprocess.run([*words, page.as_uri()], check=True, capture_output=True)
        screenshot = Image.open(shot).convert("RGB").crop((0, TOP, *SIZE))
    white = Image.new("RGB", screenshot.size, "white")
    drawn = (
        ImageChops.difference(screenshot, white)
        .convert("L")
        .point(lambda d: 255 * (d > 9))
    )
    left, upper, right, lower = drawn.getbbox()
    around = (left - BORDER, upper - BORDER, right + BORDER, lower + BORDER)
    cropped = screenshot.crop(around)
    height = round(WIDTH * cropped.height / cropped.width)
    return cropped.resize((WIDTH, height), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    file, target = sys.argv[1:]
    C = pw.Config()
    for k, tolerance in enumerate((None, None, inf)):
        frames = add_robot(C, file, k)
        if k:
            links = [f for f in frames if C.frame(f).geometries]
            C.fit_collisions("capsules", tolerance=tolerance, links=links)
            show_what_collides(C, frames)
    picture(C).quantize(128).save(target, optimize=True)
