"""Masses and inertias of frames: those given, and those of shapes."""
