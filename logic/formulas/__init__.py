"""Formulas of predicates, their plans on schedules, and their truth along paths."""

from . import doubts as doubts
from . import placement_hints as placement_hints
