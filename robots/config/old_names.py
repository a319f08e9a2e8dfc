"""Names of `Config` before its facets had them; they work for one more release."""

import warnings
from typing import TYPE_CHECKING, Any

from ..facets.editable_world import EditableWorld

NEW_NAMES = {
    "joint_types": "joints.types",
    "coordinate_names": "joints.coordinate_names",
    "periods": "joints.periods",
    "max_velocity": "joints.max_velocity",
    "max_acceleration": "joints.max_acceleration",
    "max_jerk": "joints.max_jerk",
    "quaternions": "joints.quaternions",
    "quaternions_at": "joints.quaternions_at",
    "coordinates": "joints.coordinates",
    "joint_value": "joints.value",
    "set_joint_type": "joints.set_type",
    "set_limits": "joints.set_limits",
    "select_joints": "joints.select",
    "named_states": "joints.named_states",
    "add_named_state": "joints.add_named_state",
    "set_named_state": "joints.set_named_state",
    "collision_pairs": "pairs.names",
    "collision_indices": "pairs.indices",
    "collision_places": "pairs.places",
    "reserve_collisions": "pairs.reserve",
    "ignored_collisions": "pairs.ignored",
    "ignore_default_collisions": "pairs.ignore_default",
    "read_srdf": "pairs.read_srdf",
    "write_srdf": "pairs.write_srdf",
    "own_links": "pairs.own_links",
    "solid_parts": "pairs.solid_parts",
    "regions": "annotations.regions",
    "add_region": "annotations.add_region",
    "rooms": "annotations.rooms",
    "states": "annotations.states",
    "set_state": "annotations.set_state",
    "cameras": "annotations.cameras",
    "add_camera": "annotations.add_camera",
    "agents": "annotations.agents",
    "add_agent": "annotations.add_agent",
    "mark_object": "annotations.mark_object",
}
"""New names by the old ones."""


class OldNames(EditableWorld):
    """A world that answers to its old names, each with a DeprecationWarning."""

    # Type checkers know the new names only.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in NEW_NAMES:
                message = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(message, name=name, obj=self)
            facet, attribute = _find(self, name)
            return getattr(facet, attribute)

        def __setattr__(self, name: str, value: Any) -> None:
            if name in NEW_NAMES:
                facet, attribute = _find(self, name)
                setattr(facet, attribute, value)
            else:
                super().__setattr__(name, value)


def _find(world: EditableWorld, old: str) -> tuple[Any, str]:
    """Return the facet that has an old name, and its name there, with a warning."""
    facet, attribute = NEW_NAMES[old].split(".")
    warnings.warn(
        f"Config.{old} is now Config.{facet}.{attribute}; the old name works for one"
        " more release.",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(world, facet), attribute
