"""Collision pairs of a world, and its distances and ray casts."""
