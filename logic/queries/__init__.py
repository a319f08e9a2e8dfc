"""Queries about a world as a robot asks them, after PyCRAM's world reasoning.

PyCRAM: https://github.com/cram2/pycram, module `world_reasoning`. Queries that deviate
from its rules take `legacy=True` for PyCRAM's own.
"""

from . import placement_hints as placement_hints
