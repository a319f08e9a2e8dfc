"""Safety margins by which relaxations stay on the safe side of exact checks [m]."""

STRICT_MARGIN = 1e-6
"""Margin that turns a strict inequality into one with <= [m]; a larger one rejects more
that barely holds."""
RAY_CLEARANCE = 1e-4
"""Least distance of a ray from parts that it misses, and of its origin from parts that
it hits [m]. A larger clearance makes rows more robust and less complete."""
CAVITY_MARGIN = 1e-5
"""Margin between the faces of a cavity and a centre of mass inside [m]; a larger one
counts less of the cavity as inside."""
SUPPORT_EDGE_MARGIN = 1e-4
"""Margin between the edges of a support and a centre of mass above it [m]."""
SUPPORT_SURFACE_TOLERANCE = 1e-5
"""Largest distance of an annotated support from the object's surface [m]; supports that
are farther away are errors."""
