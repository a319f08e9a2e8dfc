"""The value that every constraint preset returns."""

from collections.abc import Callable
from dataclasses import dataclass

from posewise.robots.config import Config

from ..terms.interval import ObjectiveSpecs, SliceInterval


@dataclass(frozen=True, repr=False)
class Preset:
    """A named set of objectives; `KOMO.add` and `solve_placement` accept it.

    Presets with equal arguments are equal, and can be pickled.
    """

    name: str
    """Name of the preset, which begins the names of its objectives."""
    rows: Callable[..., ObjectiveSpecs]
    """Yields features with their types and slices, for a world, an interval, and the
    arguments as keywords; a function of a module."""
    arguments: tuple[tuple[str, object], ...]
    """Names and values of the arguments with which the preset was made."""

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """Yield the features of the preset, their types and their slices.

        Raises:
            ConfigError: for unknown frames, or shapes that do not fit.
            ObjectiveError: for times that are no interval where one is needed.
        """
        return self.rows(C, interval, **dict(self.arguments))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.arguments)
        return f"{self.name}({shown})"


def make_preset(
    name: str, rows: Callable[..., ObjectiveSpecs], **arguments: object
) -> Preset:
    """Return the preset of a function of rows and its arguments."""
    return Preset(name, rows, tuple(arguments.items()))
