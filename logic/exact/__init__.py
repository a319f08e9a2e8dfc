"""Predicates of where things are, and of agents: exact, by rays and distances."""
