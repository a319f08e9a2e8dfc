"""Formulas of predicates, their plans on schedules, and their truth along paths."""
