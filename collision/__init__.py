"""Distances between shapes; the lowest floor, which knows no robots."""

from .grid import Grid as Grid
from .grid import grid_distance as grid_distance
