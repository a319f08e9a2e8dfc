"""Numbers that rostok fixes, and the units in which smooth forms measure margins."""

MIN_CONTACT_FORCE = 1e-3
"""A weaker force is no contact [N]."""
MAX_NET_FORCE = 100.0
"""An instant with a larger net force is left out as a fault of the simulation [N]."""
MIN_STEADY_STEPS = 10
"""A grasp is this many steady steps in a row."""
MAX_STEADY_SPEED = 0.01
"""Fastest steady object [m/s]."""
MIN_GRASPING_FINGERS = 2
"""Fewest bodies but the palm that hold a steady object."""
MAX_INITIAL_CONTACT_STEPS = 4
"""Steps within which a contact counts as initial."""
LENGTH_UNIT = 0.01
"""Unit of margins of distances [m]; speeds and forces have their own thresholds."""
