"""Facets of a world: its joints, the pairs that may collide, its annotations."""
