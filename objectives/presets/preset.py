"""The value that every constraint preset returns."""

from collections.abc import Callable
from dataclasses import dataclass, field

from posewise.robots.config import Config

from ..interval import ObjectiveSpecs, SliceInterval

ObjectiveBuilder = Callable[[Config, SliceInterval], ObjectiveSpecs]
"""Yields features with their types and slices, for a world and an interval."""


@dataclass(frozen=True)
class Preset:
    """A named set of objectives; `KOMO.add` and `solve_placement` accept it."""

    name: str
    """Name of the preset, which begins the names of its objectives."""
    build: ObjectiveBuilder = field(repr=False)

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """Yield the features of the preset, their types and their slices.

        Raises:
            ConfigError: for unknown frames, or shapes that do not fit.
            ObjectiveError: for times that are no interval where one is needed.
        """
        return self.build(C, interval)
