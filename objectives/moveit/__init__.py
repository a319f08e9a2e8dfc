"""Scenes and motion requests of MoveIt."""
