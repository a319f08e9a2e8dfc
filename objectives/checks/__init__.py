"""Checks of a problem that need no solve: of starts, goals, and reach."""
