"""Objects: subtrees of frames that predicates speak of by name."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from .regions import Region
    from .state import WorldState
else:
    Region = WorldState = Any


@dataclass(frozen=True, eq=False)
class WorldObject:
    """A root frame with everything attached to it, a category and abilities."""

    config: "WorldState" = field(repr=False)
    name: str
    """Also the name of the root frame."""
    category: str | None = None
    abilities: dict[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the object's frames: the root and all that hangs on it."""
        names = [self.name]
        for name in names:
            names += [n for n in self.config.children(name) if n not in names]
        return tuple(names)

    @property
    def cavities(self) -> tuple[Region, ...]:
        """Its annotated cavities."""
        regions = self.config.regions
        return tuple(r for r in regions if r.object == self.name and r.kind == "cavity")

    def ability(self, name: str) -> dict[str, Any]:
        """Parameters of an ability.

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
        """The frame that an ability speaks of: its `link`, or the object's own.

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
