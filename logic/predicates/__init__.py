"""Predicates of objects, places and agents: an exact verdict joined to its relaxation.

The verdict of each predicate is in `logic.exact`, its rows in `logic.relaxed`.
"""

from . import doubts as doubts
from . import placement_hints as placement_hints
