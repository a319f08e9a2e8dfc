"""Geometry of objects that the exact checks and the relaxations share."""
