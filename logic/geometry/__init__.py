"""Geometry of objects, rooms and cameras that exact checks and relaxations share.

Everything here is computed in NumPy without compiling a program.
"""
