"""A world in the browser: live, draggable, played along a path, saved as a page."""

from .clip import Clip as Clip
from .clip import path_clip as path_clip
from .view import View as View
