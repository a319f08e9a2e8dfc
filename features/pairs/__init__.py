"""Distances of pairs of frames: their tables, near pairs, sums, nearest bodies."""
