"""Objects: subtrees of frames that predicates speak of by name."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import ref

from .errors import ConfigError

if TYPE_CHECKING:
    from .config import Config


@dataclass(frozen=True, eq=False)
class WorldObject:
    """A root frame with everything attached to it, a category and abilities."""

    config: "ref[Config]" = field(repr=False)
    name: str
    """Also the name of the root frame."""
    category: str | None = None
    abilities: dict[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the object's frames: the root and all that hangs on it."""
        C = self.config()
        if C is None:
            raise ConfigError(f"The Config of object {self.name!r} is gone.")
        names = [self.name]
        for name in names:
            names += [n for n in C.children(name) if n not in names]
        return tuple(names)
