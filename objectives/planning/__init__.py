"""Collision-free paths that go round things, as initial paths of solves."""
