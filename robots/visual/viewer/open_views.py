"""One live view for each world: a second `Config.view` updates the first page."""

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from .animation import path_animation
from .view import View

if TYPE_CHECKING:
    from ...config import Config

# A view refers to its world, so that a strong reference to it would keep the world
# alive forever. An open view is kept by the handler that closes it at exit.
_VIEWS: "WeakKeyDictionary[Config, ref[View]]" = WeakKeyDictionary()


def open_view(config: "Config", path: Any, dt: Any, browser: bool) -> View:
    """Show a world, or a path of it; see `Config.view`."""
    if path is not None:
        clip = path_animation(config, path, dt)
        return View(clip.world(0), clip, browser)
    known = _VIEWS.get(config)
    view = None if known is None else known()
    if view is None or view.closed:
        view = View(config, browser=browser)
        _VIEWS[config] = ref(view)
    else:
        view.update()
    return view
