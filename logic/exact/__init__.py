"""Predicates of places and agents with exact checks, by ray casting and distances.

The relaxation of each predicate is in the module of the same name in `logic.relaxed`.
"""
