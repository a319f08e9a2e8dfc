"""Solutions in the browser."""

from typing import TYPE_CHECKING

import numpy as np

from posewise.robots.visual.viewer import Animation, View

if TYPE_CHECKING:
    from ..solution import Solution


def view_solution(solution: "Solution", browser: bool = True) -> View:
    """Show the world along the path, with what is attached to what then.

    Raises:
        ImportError: without viser; names the extra.
    """
    worlds = [solution.at(t) for t in range(len(solution.path))]
    if len(worlds) == 1:
        return View(worlds[0], browser=browser)
    poses = np.stack([world.poses() for world in worlds])
    pauses = np.append(solution.tau[1:], solution.tau[-1])
    return View(worlds[0], Animation(worlds.__getitem__, poses, pauses), browser)
