"""A world in the browser: live, draggable, played along a path, saved as a page."""

from .animation import Clip as Clip
from .animation import path_clip as path_clip
from .view import View as View
