"""URDF and SRDF: reading and writing."""
