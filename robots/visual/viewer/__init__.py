"""A world in the browser: live, draggable, played along a path, saved as a page."""

from .animation import Animation as Animation
from .animation import path_animation as path_animation
from .view import View as View
