"""Objects: subtrees of frames that predicates speak of by name."""

from collections.abc import Mapping
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


def object_abilities(
    info: Mapping[str, Any], joints: Mapping[str, str]
) -> dict[str, Any]:
    """Abilities of a model's object, with the joints that open it.

    Args:
        info: what is known of the model, see `models.model_info`.
        joints: what the model's joints are called in the world.
    """
    abilities = dict(info.get("abilities", {}))
    if "openable_joints" in info:
        named = [joints[name] for name in info["openable_joints"]]
        abilities["openable"] = {**abilities.get("openable", {}), "joints": named}
    return abilities
