"""Collision-free paths round obstacles, as initial paths of solves."""
