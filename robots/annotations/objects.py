"""Objects: subtrees of frames that predicates name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ..errors import ConfigError, unknown_name
from .regions import Region


@runtime_checkable
class HasRegions(Protocol):
    """The annotations that an object reads."""

    @property
    def regions(self) -> tuple[Region, ...]:
        """Cavities and supports of all objects."""


@runtime_checkable
class ObjectWorld(Protocol):
    """The part of a world that an object reads."""

    @property
    def annotations(self) -> HasRegions:
        """Annotations of all objects."""

    def subtree(self, root: str) -> tuple[str, ...]:
        """Return the names of all frames that move with one, its own first."""


@dataclass(frozen=True, eq=False)
class ObjectAnnotation:
    """Category and abilities of an object."""

    category: str | None = None
    abilities: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Parameters by ability."""


@dataclass(frozen=True)
class WorldObject:
    """A root frame with everything attached to it, a category and abilities.

    Objects of one world with the same name and annotation are equal.
    """

    world: ObjectWorld = field(repr=False)
    name: str
    """Name of the object and of its root frame."""
    category: str | None = None
    abilities: Mapping[str, dict[str, Any]] = field(default_factory=dict, hash=False)
    """Parameters by ability."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the object's frames: the root and everything below it."""
        return self.world.subtree(self.name)

    @property
    def cavities(self) -> tuple[Region, ...]:
        """Annotated cavities of the object."""
        regions = self.world.annotations.regions
        return tuple(r for r in regions if r.object == self.name and r.kind == "cavity")

    def ability(self, name: str) -> dict[str, Any]:
        """Return the parameters of an ability.

        Raises:
            ConfigError: when the object was not annotated with it.
        """
        if name not in self.abilities:
            raise ConfigError(
                f"Object {self.name!r} is not {name}; annotate it:"
                f" abilities={{{name!r}: {{}}}} (it has:"
                f" {', '.join(self.abilities) or 'none'})."
            )
        return self.abilities[name]

    def link(self, ability: str) -> str:
        """Return the frame of an ability: its `link`, or else the object's root.

        Raises:
            ConfigError: when the object has no such ability or part.
        """
        name = self.ability(ability)["link"]
        if name is None:
            return self.name
        if name not in self.parts:
            raise ConfigError(
                f"link of {ability} of {self.name!r}: "
                + unknown_name(f"part of {self.name!r}", name, self.parts)
            )
        return name
