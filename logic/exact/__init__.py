"""Exact verdicts on objects, places and agents: ray casts, distances, simulations.

Each function returns whether a statement is true of a world, and why, in NumPy. None
shares code with the relaxations, so that one can be tested against the other.
"""
