"""Placement: poses of objects that meet constraints."""

from .placement import Placement as Placement
from .placement import distinct_placements as distinct_placements
from .problem import solve_placement as solve_placement
