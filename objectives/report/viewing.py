"""Paths in the browser."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.visual.viewer import Animation, View


def view_worlds(
    worlds: Sequence[Config], tau: Float[np.ndarray, " T"], browser: bool = True
) -> View:
    """Show the worlds of a path, with a play bar if there are several.

    Args:
        worlds: the world in each slice.
        tau: duration of the step into each slice [s].
        browser: whether to open the page.

    Raises:
        ImportError: without viser; names the extra.
    """
    if len(worlds) == 1:
        return View(worlds[0], browser=browser)
    return View(worlds[0], animate_worlds(worlds, tau), browser)


def animate_worlds(worlds: Sequence[Config], tau: Float[np.ndarray, " T"]) -> Animation:
    """Return the animation of the worlds of a path; see `view_worlds`."""
    poses = np.stack([world.poses() for world in worlds])
    pauses = np.append(tau[1:], tau[-1])
    return Animation(worlds.__getitem__, poses, pauses)
