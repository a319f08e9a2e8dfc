"""Predicates, and the formulas that combine them."""
