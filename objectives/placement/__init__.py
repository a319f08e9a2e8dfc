"""Placement: poses of objects that meet constraints."""

from .files import SavedPlacement as SavedPlacement
from .placement import Placement as Placement
from .placement import distinct_placements as distinct_placements
from .problem import solve_placement as solve_placement
