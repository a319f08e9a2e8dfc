"""Predicates, and the formulas that connect them."""
