"""One live view for each world: a second `Config.view` updates the first page."""

from weakref import WeakKeyDictionary, ref

from ...typing import MatrixLike, VectorLike
from ..viewable_world import ViewableWorld
from .animation import path_animation
from .view import View

# A view refers to its world, so that a strong reference to it would keep the world
# alive forever. An open view is kept by the handler that closes it at exit.
_VIEWS: WeakKeyDictionary[ViewableWorld, ref[View]] = WeakKeyDictionary()


def open_view(
    config: ViewableWorld,
    path: MatrixLike | None,
    dt: float | VectorLike,
    browser: bool,
) -> View:
    """Show a world, or a path of it; `Config.view` says more."""
    if path is not None:
        animation = path_animation(config, path, dt)
        return View(animation.world(0), animation, browser)
    known = _VIEWS.get(config)
    view = None if known is None else known()
    if view is None or view.closed:
        view = View(config, browser=browser)
        _VIEWS[config] = ref(view)
    else:
        view.update()
    return view
