"""Collision pairs of a world, its distances, ray casts and bounding boxes."""
