"""The face."""
