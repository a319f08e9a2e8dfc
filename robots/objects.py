"""Objects: subtrees of frames that predicates speak of by name."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import Config
else:
    Config = Any


@dataclass(frozen=True, eq=False)
class WorldObject:
    """A root frame with everything attached to it, a category and abilities."""

    config: "Config" = field(repr=False)
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
