"""Predicates of objects, places and agents: an exact check joined to its relaxation.

The rows of each predicate are in the module of the same name in `logic.relaxed`.
"""
