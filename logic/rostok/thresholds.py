"""Thresholds that rostok fixes, and the length unit of smooth margins."""

MIN_CONTACT_FORCE = 1e-3
"""Smallest reaction that counts as a contact [N]; a larger value ignores more
touches."""
MAX_NET_FORCE = 100.0
"""Largest plausible net force on the object [N].

`ForceCriterion` skips instants above it because rostok takes them for simulation
faults.
"""
MIN_STEADY_STEPS = 10
"""Number of consecutive steady steps that make a grasp; shorter runs of them do not."""
MAX_STEADY_SPEED = 0.01
"""Largest speed of an object that counts as steady [m/s]; faster ones are not grasped.
"""
MIN_GRASPING_FINGERS = 2
"""Smallest number of bodies, without the palm, that hold a steady object; fewer of them
do not."""
MAX_INITIAL_CONTACT_STEPS = 4
"""Number of first steps in which a contact counts as initial; beyond them a contact is
no failure."""
LENGTH_UNIT = 0.01
"""Unit of smooth distance margins [m]; with a larger one they are smoother at the same
temperature. Margins of speeds and forces are relative to their own thresholds instead.
"""
