"""Numbers that rostok fixes, and the units in which smooth forms measure margins."""

WEAKEST = 1e-3
"""A weaker force is no contact [N]."""
STRONGEST = 100.0
"""An instant with a larger net force is left out as a fault of the simulation [N]."""
STEADY_STEPS = 10
"""A grasp is this many steady steps in a row."""
STEADY_SPEED = 0.01
"""Fastest steady object [m/s]."""
STEADY_FINGERS = 2
"""Fewest bodies but the palm that hold a steady object."""
INITIAL_STEPS = 4
"""Steps within which a contact counts as initial."""
LENGTH = 0.01
"""Unit of margins of distances [m]; speeds and forces have their own thresholds."""
