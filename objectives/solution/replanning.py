"""Paths in the browser that are solved again while targets are dragged."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from posewise.robots.config import Config
from posewise.robots.typing import FrameName
from posewise.robots.visual.viewable_world import ViewableWorld
from posewise.robots.visual.viewer import View

from ..report.viewing import animate_worlds, view_worlds

if TYPE_CHECKING:
    from .solution import Solution

CLEARANCE_RANGE = 0.1
"""Distance up to which the least clearance is told [m]; a larger one takes longer."""


def view_replanning(
    solution: "Solution",
    solve: Callable[[], "Solution"],
    world: Config,
    frames: Sequence[FrameName],
    browser: bool,
) -> View:
    """Show a path, and solve again while frames are dragged; see `KOMO.view`.

    Args:
        solution: the first path.
        solve: solves the problem in the present state of its world.
        world: the world of the problem.
        frames: names of the frames.
        browser: whether to open the page.

    Raises:
        ImportError: without viser; names the extra.
        ConfigError: for a frame that cannot be dragged.
    """
    worlds = _worlds(solution)
    view = view_worlds(worlds, solution.tau, browser)
    # The drags of each frame run in another thread.
    lock = Lock()

    def react_to(frame: FrameName) -> Callable[[ViewableWorld], None]:
        def react(shown: ViewableWorld) -> None:
            with lock:
                world.set_pose(frame, shown.pose(frame))
                again = solve()
                if view.closed:
                    return
                if len(again.x) > 1:
                    view.play(animate_worlds(_worlds(again), again.tau))
                else:
                    shown.q = again.world_at(-1).q
                view.write(verdict(again))

        return react

    view.write(verdict(solution))
    for frame in frames:
        view.on_move(frame, react_to(frame))
    return view


def verdict(solution: "Solution") -> str:
    """Return a solution's status and solve time, and if its path is certified.

    The text is Markdown. A path of a problem without `KOMO.avoid_collisions` is
    certified by bounds on the distances along it.
    """
    text = f"**{solution.status.name}** in {1e3 * solution.seconds:.0f} ms."
    if len(solution.x) > 1:
        text += f" {_certificate(solution)}"
    return text if solution.feasible else f"{text} {solution.message}"


def _certificate(solution: "Solution") -> str:
    """Return whether the path of a solution is certified to be free of collisions."""
    clearance = solution.clearance(CLEARANCE_RANGE)
    if clearance.lower_bound > 0:
        distance = f"at least {1e3 * clearance.lower_bound:.1f} mm"
        return f"Certified to be free of collisions: bodies are {distance} apart."
    if solution.keeps_distances:
        return "Certified to be free of collisions, except of pairs that may touch."
    a, b = clearance.pairs[0].frames
    return (
        f"**Not certified** to be free of collisions: {a!r} and {b!r} come within"
        f" {1e3 * clearance.distance:.1f} mm."
    )


def _worlds(solution: "Solution") -> list[Config]:
    return [solution.world_at(t) for t in range(len(solution.x))]
