"""Objectives compiled to the chain problem that the solver takes."""
