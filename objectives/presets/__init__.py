"""Constraint presets: grasps, motions, contacts, mode switches and whole problems."""
