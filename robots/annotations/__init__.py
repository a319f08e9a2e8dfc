"""Annotations of a world: objects, regions, rooms, cameras, agents and states."""
