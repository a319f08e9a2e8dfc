"""ROS messages from YAML or JSON, with a record of what is not read.

Vectors are mappings with the keys x, y, z (and w), as ROS writes them, or lists of
numbers in that order.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.errors import LoadError
from posewise.robots.validation import CONVERSION_ERRORS, MAX_NUMBER, is_bounded

PLANNER_SETTINGS = frozenset(
    "header stamp seq name is_diff weight planner_id pipeline_id num_planning_attempts"
    " allowed_planning_time workspace_parameters max_velocity_scaling_factor"
    " max_acceleration_scaling_factor robot_model_name reference_trajectories"
    " cartesian_speed_limited_link max_cartesian_speed detach_posture group_name"
    " object_colors".split()
)
"""Keys whose values change no scene and no goal."""


@dataclass(eq=False)
class Message:
    """A message, its place in a file, and which of its keys were read."""

    fields: Mapping[Any, Any]
    file: Path
    key: str = ""
    read: set[str] = field(default_factory=set)
    inside: "dict[str, Message]" = field(default_factory=dict)

    def fail(self, key: str, expected: str) -> LoadError:
        """Return an error about the value of a key."""
        value = repr(self.fields.get(key))
        shown = value if len(value) <= 60 else f"{value[:57]}..."
        place = f"{self.key}.{key}" if self.key else key
        return LoadError(f"{self.file}: {place} is {shown}, expected {expected}.")

    def value(self, key: str, default: Any = None) -> Any:
        """Return the value of a key as it is."""
        self.read.add(key)
        value = self.fields.get(key, default)
        return default if value is None else value

    def text(self, key: str) -> str:
        """Return a text; an empty one if there is none."""
        value = self.value(key, "")
        if isinstance(value, dict | list):
            raise self.fail(key, "a text")
        return str(value)

    def number(self, key: str, default: float = 0.0) -> float:
        """Return a number."""
        numbers = self.numbers(key, [default]).reshape(-1)
        if len(numbers) != 1:
            raise self.fail(key, "a number")
        return float(numbers[0])

    def numbers(self, key: str, default: Any = ()) -> Float[np.ndarray, "*shape"]:
        """Return numbers as an array."""
        try:
            numbers = np.asarray(self.value(key, default), float)
        except CONVERSION_ERRORS:
            raise self.fail(key, "numbers") from None
        if not np.isfinite(numbers).all():
            raise self.fail(key, "finite numbers")
        return numbers

    def names(self, key: str) -> list[str]:
        """Return a list of texts."""
        value = self.value(key, [])
        if not isinstance(value, list):
            raise self.fail(key, "a list of names")
        return [str(name) for name in value]

    def message(self, key: str) -> "Message":
        """Return the message under a key; an empty one if there is none."""
        value = self.value(key, {})
        if not isinstance(value, dict):
            raise self.fail(key, "a mapping")
        return self._inside(value, key)

    def messages(self, key: str) -> "list[Message]":
        """Return the messages in a list."""
        value = self.value(key, [])
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            raise self.fail(key, "a list of mappings")
        return [self._inside(v, f"{key}[{k}]") for k, v in enumerate(value)]

    def _inside(self, value: Mapping[Any, Any], key: str) -> "Message":
        place = f"{self.key}.{key}" if self.key else key
        # The same message each time, so that it knows all that was read of it.
        return self.inside.setdefault(key, Message(value, self.file, place))

    def vector(self, key: str, letters: str = "xyz") -> Float[np.ndarray, " n"]:
        """Return a vector; zeros if there is none."""
        value = self.value(key, [0.0] * len(letters))
        if isinstance(value, dict):
            value = [value.get(letter, 0.0) for letter in letters]
        expected = f"{len(letters)} numbers up to {MAX_NUMBER:g}: {', '.join(letters)}"
        try:
            vector = np.asarray(value, float)
        except CONVERSION_ERRORS:
            raise self.fail(key, expected) from None
        if vector.shape != (len(letters),) or not is_bounded(vector):
            raise self.fail(key, expected)
        return vector

    def pose(
        self, position: str = "position", orientation: str = "orientation"
    ) -> Float[np.ndarray, "7"]:
        """Return a pose (x, y, z, qw, qx, qy, qz) of a message that is one.

        ROS writes quaternions as x, y, z, w; zeros are an orientation that is not set.
        """
        x, y, z, w = self.vector(orientation, "xyzw")
        quaternion = np.array([w, x, y, z])
        norm = float(np.linalg.norm(quaternion))
        quaternion = quaternion / norm if norm else np.array([1.0, 0, 0, 0])
        return np.concatenate([self.vector(position), quaternion])

    def unread(self) -> Iterator[str]:
        """Yield the keys with values that were not read."""
        for key, value in self.fields.items():
            if key not in self.read and key not in PLANNER_SETTINGS and _counts(value):
                yield f"{self.key}.{key}" if self.key else key
        for inner in self.inside.values():
            yield from inner.unread()


def _counts(value: Any) -> bool:
    """Return whether a value is more than the default of its type."""
    if isinstance(value, dict):
        return any(_counts(v) for k, v in value.items() if k not in PLANNER_SETTINGS)
    if isinstance(value, list):
        return any(map(_counts, value))
    return bool(value)
