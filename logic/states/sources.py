"""Sources of heat and cold, buttons and fingers of a world: who acts on whom."""

from typing import Any, NamedTuple

from posewise.robots.config import Config

from ..exact.grasps import fingers

SOURCES = ("heatSource", "coldSource")


class Source(NamedTuple):
    """What warms or cools things near it, or in it."""

    owner: str
    parameters: dict[str, Any]
    """Of the ability."""
    point: str
    """The frame that it works from."""

    @property
    def temperature(self) -> float:
        """[°C]."""
        return self.parameters["temperature"]

    @property
    def rate(self) -> float:
        """How fast what it reaches nears its temperature [1/s]."""
        return self.parameters["heating_rate"]


def sources_of(C: Config) -> list[Source]:
    """Sources of heat, then those of cold."""
    return [
        Source(owner.name, owner.abilities[kind], owner.link(kind))
        for kind in SOURCES
        for owner in C.objects.values()
        if kind in owner.abilities
    ]


def pressing(C: Config) -> tuple[str, ...]:
    """Frames that press buttons: the fingers of all agents' hands."""
    every = (pair for agent in C.agents.values() for pair in agent.hands.items())
    found = (f.name for hand, named in every for f in fingers(C, hand, named))
    return tuple(dict.fromkeys(found))


def may_work(C: Config, source: Source) -> bool:
    """Whether a source could ever be on: it is, or there are fingers to switch it."""
    needs = source.parameters["requires_toggled_on"]
    return not needs or bool(C.states[source.owner].toggled_on) or bool(pressing(C))
