"""Sources of heat and cold, buttons and fingers of a world: who acts on whom."""

from typing import Any, NamedTuple

from posewise.robots.config import Config

from .button_fingers import button_fingers

SOURCE_ABILITIES = ("heatSource", "coldSource")


class ThermalSource(NamedTuple):
    """What warms or cools things near it, or in it."""

    owner: str
    parameters: dict[str, Any]
    """Of the ability."""
    frame: str
    """The frame that it works from."""

    @property
    def temperature(self) -> float:
        """[°C]."""
        return self.parameters["temperature"]

    @property
    def rate(self) -> float:
        """How fast what it reaches nears its temperature [1/s]."""
        return self.parameters["heating_rate"]


def find_thermal_sources(C: Config) -> list[ThermalSource]:
    """Sources of heat, then those of cold."""
    return [
        ThermalSource(owner.name, owner.abilities[kind], owner.link(kind))
        for kind in SOURCE_ABILITIES
        for owner in C.objects.values()
        if kind in owner.abilities
    ]


def can_be_active(C: Config, source: ThermalSource) -> bool:
    """Whether a source could ever be on: it is, or there are fingers to switch it."""
    needs = source.parameters["requires_toggled_on"]
    return (
        not needs or bool(C.states[source.owner].toggled_on) or bool(button_fingers(C))
    )
