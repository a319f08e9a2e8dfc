"""What objects are in beyond their pose: temperature, water, dirt, switches.

States are plain data, pytrees; how they change and what they mean is in `logic`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import jax
import numpy as np

from ..errors import ConfigError, unknown_name
from ..validation import integer, number

AMBIENT_TEMPERATURE = 23.0
"""Temperature at which objects start [°C]."""
DROPLETS_PER_SOURCE = 10
"""How many droplets a water source has."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Particles:
    """Specks of dust or stain on an object; n: all that ever were."""

    positions: Any = field(default_factory=lambda: np.zeros((0, 3)))
    """Where they are in the object's own frame (…, n, 3) [m]."""
    active: Any = field(default_factory=lambda: np.zeros(0, bool))
    """Which are still there (…, n)."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Stream:
    """The clock of a water source."""

    running: Any = False
    since: Any = np.inf
    """Steps counted since the last droplet."""
    left: Any = DROPLETS_PER_SOURCE
    """Droplets that it can still let go."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class ObjectState:
    """The extended states of an object; in a roll-out, time is the leading axis."""

    temperature: Any = AMBIENT_TEMPERATURE
    """[°C]."""
    max_temperature: Any = -np.inf
    """The highest one so far [°C]; -inf before the first step."""
    wetness: Any = 0
    """Droplets absorbed."""
    contents: Any = 0
    """Droplets in it."""
    dust: Particles = field(default_factory=Particles)
    stain: Particles = field(default_factory=Particles)
    toggled_on: Any = False
    near_steps: Any = 0
    """Steps in a row with a finger near the button."""
    sliced: Any = False
    stream: Stream = field(default_factory=Stream)


def parse_state(name: str, old: ObjectState, values: Mapping[str, Any]) -> ObjectState:
    """An object's state with some of its fields replaced.

    Raises:
        ConfigError: for unknown fields, with near matches, and values that do not fit.
    """
    known = [f.name for f in fields(ObjectState)]
    for key in values:
        if key not in known:
            raise ConfigError(
                f"State of {name!r}: " + unknown_name("field", key, known)
            )
    made: dict[str, Any] = {
        k: FIELD_CHECKS[k](f"{k} of {name!r}", v) for k, v in values.items()
    }
    return replace(old, **made)


def states_at(history: Mapping[str, ObjectState], step: int) -> dict[str, ObjectState]:
    """Return the states of all objects after one step of a roll-out.

    Args:
        history: states by object, whose fields have the steps as their leading axis.
        step: from 0; -1 is the last.
    """

    def pick(x: Any) -> Any:
        return x[step]

    return {name: jax.tree.map(pick, state) for name, state in history.items()}


def _count(what: str, value: Any) -> int:
    return integer(what, value, "an integer >= 0", lambda x: x >= 0)


def _number_or_inf(what: str, value: Any, infinite: float, expected: str) -> float:
    if np.ndim(value) == 0 and not isinstance(value, str) and value == infinite:
        return infinite
    return number(what, value, expected)


def _max_temperature(what: str, value: Any) -> float:
    return _number_or_inf(what, value, -np.inf, "a temperature (°C), or -inf")


def _flag(what: str, value: Any) -> bool:
    if np.shape(value) != () or np.asarray(value).dtype != bool:
        raise ConfigError(f"{what} is {value!r}, expected True or False.")
    return bool(value)


def _particles(what: str, value: Any) -> Particles:
    if not isinstance(value, Particles):
        raise ConfigError(
            f"{what} is {value!r}, expected Particles(positions, active)."
        )
    p, active = np.asarray(value.positions, float), np.asarray(value.active)
    fits = p.ndim == 2 and p.shape[1] == 3 and active.shape == p.shape[:1]
    if not fits or active.dtype != bool or not np.isfinite(p).all():
        raise ConfigError(
            f"{what} has positions of shape {p.shape} and active of shape"
            f" {active.shape} ({active.dtype}), expected (n, 3) finite numbers and n"
            " truth values."
        )
    return Particles(p, active)


def _stream(what: str, value: Any) -> Stream:
    if not isinstance(value, Stream):
        raise ConfigError(
            f"{what} is {value!r}, expected Stream(running, since, left)."
        )
    return Stream(
        _flag(f"running of {what}", value.running),
        _number_or_inf(f"since of {what}", value.since, np.inf, "a number, or inf"),
        _count(f"left of {what}", value.left),
    )


FIELD_CHECKS = {
    "temperature": lambda what, x: number(what, x, "a temperature (°C)"),
    "max_temperature": _max_temperature,
    "wetness": _count,
    "contents": _count,
    "dust": _particles,
    "stain": _particles,
    "toggled_on": _flag,
    "near_steps": _count,
    "sliced": _flag,
    "stream": _stream,
}
