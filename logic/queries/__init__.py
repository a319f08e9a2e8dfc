"""Queries about a world as a robot asks them, after PyCRAM's world reasoning."""
