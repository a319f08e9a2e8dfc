"""Rows of sight: objects that a camera sees, and objects that it does not see."""
