"""Sources of heat and cold of a world."""

from typing import Any, NamedTuple

from posewise.robots.config import Config

from .button_fingers import button_fingers

SOURCE_ABILITIES = ("heatSource", "coldSource")
"""Abilities of the objects that heat or cool."""


class ThermalSource(NamedTuple):
    """A source that heats or cools objects within its range, or inside of it."""

    owner: str
    """Name of the object."""
    parameters: dict[str, Any]
    """Parameters of the ability."""
    frame: str
    """Name of the frame from whose origin the range is measured."""

    @property
    def temperature(self) -> float:
        """Temperature of the source [°C]."""
        return float(self.parameters["temperature"])

    @property
    def rate(self) -> float:
        """Rate at which objects in range approach its temperature [1/s]."""
        return float(self.parameters["heating_rate"])


def find_thermal_sources(C: Config) -> list[ThermalSource]:
    """Return the sources of heat, then the sources of cold."""
    return [
        ThermalSource(owner.name, owner.abilities[kind], owner.link(kind))
        for kind in SOURCE_ABILITIES
        for owner in C.objects.values()
        if kind in owner.abilities
    ]


def can_be_active(C: Config, source: ThermalSource) -> bool:
    """Return whether a source is on, or could be switched on by a finger."""
    needs_on = source.parameters["requires_toggled_on"]
    return (
        not needs_on
        or bool(C.annotations.states[source.owner].toggled_on)
        or bool(button_fingers(C))
    )
