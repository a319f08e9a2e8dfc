"""Extended states of objects beyond their pose: temperature, water, dirt, switches.

States are plain data (pytrees); `logic` has their rules and predicates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

import jax
import numpy as np

from ..errors import ConfigError, unknown_name
from ..validation import integer, is_bounded, number

AMBIENT_TEMPERATURE = 23.0
"""Temperature of the surroundings, at which objects start [°C]; a higher one heats all
objects more."""
WATER = "water"
"""The substance of the droplets that water sources release."""
DROPLETS_PER_SOURCE = 10
"""Number of droplets of a water source (count); more let it fill larger containers."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Particles:
    """Specks of dust or stain on an object; n counts removed ones too."""

    positions: Any = field(default_factory=lambda: np.zeros((0, 3)))
    """Positions in the object's frame (…, n, 3) [m]."""
    active: Any = field(default_factory=lambda: np.zeros(0, bool))
    """Whether each speck is still there (…, n)."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Stream:
    """The clock of a water source."""

    running: Any = False
    """True while water flows."""
    since: Any = np.inf
    """Steps counted since the last droplet."""
    left: Any = DROPLETS_PER_SOURCE
    """Number of droplets that the source can still release."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class ObjectState:
    """The extended states of an object; in a roll-out, time is the leading axis."""

    temperature: Any = AMBIENT_TEMPERATURE
    """Present temperature [°C]."""
    max_temperature: Any = -np.inf
    """Highest temperature so far [°C]; -inf before the first step."""
    absorbed: dict[str, Any] = field(default_factory=lambda: {WATER: 0})
    """Number of absorbed droplets by substance."""
    contained: dict[str, Any] = field(default_factory=lambda: {WATER: 0})
    """Number of droplets, or grains, in the object by substance."""
    covering: dict[str, Particles] = field(
        default_factory=lambda: {"dust": Particles(), "stain": Particles()}
    )
    """Particles on the object by substance."""
    supply: dict[str, Any] = field(default_factory=dict)
    """Truth by substance that the object is a source of it."""
    attached: dict[str, Any] = field(default_factory=dict)
    """Truth by name of another object that this one is joined to it."""
    toggled_on: Any = False
    """True while the object is switched on."""
    near_steps: Any = 0
    """Number of consecutive steps with a finger near the button."""
    sliced: Any = False
    """True once the object has been sliced."""
    broken: Any = False
    """True while the object is broken."""
    real: Any = True
    """False while the object does not exist, yet or any more."""
    stream: Stream = field(default_factory=Stream)

    def particles(self, substance: str) -> Particles:
        """Return the particles of a substance on the object, perhaps none."""
        return self.covering.get(substance, Particles())

    @property
    def wetness(self) -> Any:
        """Number of absorbed droplets of water."""
        return self.absorbed[WATER]

    @property
    def contents(self) -> Any:
        """Number of droplets of water in the object."""
        return self.contained[WATER]

    @property
    def dust(self) -> Particles:
        """Particles of dust on the object."""
        return self.covering["dust"]

    @property
    def stain(self) -> Particles:
        """Particles of stain on the object."""
        return self.covering["stain"]


SHORT_NAMES = {
    "wetness": ("absorbed", WATER),
    "contents": ("contained", WATER),
    "dust": ("covering", "dust"),
    "stain": ("covering", "stain"),
}
"""Properties that stand for one substance of a field, with both."""

StateValue: TypeAlias = float | Particles | Stream | Mapping[str, float | Particles]
"""Value of a field of an `ObjectState` at one instant; flags are bool."""


def parse_state(name: str, old: ObjectState, values: Mapping[str, Any]) -> ObjectState:
    """Return an object's state with some of its fields replaced.

    Of fields that are dictionaries, only the given entries are replaced.

    Raises:
        ConfigError: for unknown fields, with near matches, and values that do not fit.
    """
    known = [*(f.name for f in fields(ObjectState)), *SHORT_NAMES]
    checked: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise ConfigError(
                f"State of {name!r}: " + unknown_name("field", key, known)
            )
        if key in SHORT_NAMES:
            table, substance = SHORT_NAMES[key]
            entries = {substance: FIELD_CHECKS[table](f"{key} of {name!r}", value)}
        elif key in TABLES:
            table, entries = key, _entries(f"{key} of {name!r}", key, value)
        else:
            checked[key] = FIELD_CHECKS[key](f"{key} of {name!r}", value)
            continue
        checked[table] = {**checked.get(table, getattr(old, table)), **entries}
    return replace(old, **checked)


def _entries(label: str, table: str, value: Any) -> dict[str, Any]:
    """Return the checked entries of a field that is a dictionary."""
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise ConfigError(
            f"{label} is {value!r}, expected a dictionary, e.g. {TABLES[table]}."
        )
    check = FIELD_CHECKS[table]
    return {key: check(f"{key} in {label}", x) for key, x in value.items()}


def states_at(history: Mapping[str, ObjectState], step: int) -> dict[str, ObjectState]:
    """Return the states of all objects after one step of a roll-out.

    Args:
        history: states by object, whose fields have the steps as their leading axis.
        step: from 0; -1 is the last.
    """

    def pick(x: Any) -> Any:
        return x[step]

    return {name: jax.tree.map(pick, state) for name, state in history.items()}


def _count(label: str, value: Any) -> int:
    return integer(label, value, "an integer >= 0", lambda x: x >= 0)


def _number_or_inf(label: str, value: Any, infinite: float, expected: str) -> float:
    if np.ndim(value) == 0 and not isinstance(value, str) and value == infinite:
        return infinite
    return number(label, value, expected)


def _max_temperature(label: str, value: Any) -> float:
    return _number_or_inf(label, value, -np.inf, "a temperature (°C), or -inf")


def _flag(label: str, value: Any) -> bool:
    if np.shape(value) != () or np.asarray(value).dtype != bool:
        raise ConfigError(f"{label} is {value!r}, expected True or False.")
    return bool(value)


def _particles(label: str, value: Any) -> Particles:
    if not isinstance(value, Particles):
        raise ConfigError(
            f"{label} is {value!r}, expected Particles(positions, active)."
        )
    p, active = np.asarray(value.positions, float), np.asarray(value.active)
    fits = p.ndim == 2 and p.shape[1] == 3 and active.shape == p.shape[:1]
    if not fits or active.dtype != bool or not is_bounded(p):
        raise ConfigError(
            f"{label} has positions of shape {p.shape} and active of shape"
            f" {active.shape} ({active.dtype}), expected (n, 3) finite numbers and n"
            " truth values."
        )
    return Particles(p, active)


def _stream(label: str, value: Any) -> Stream:
    if not isinstance(value, Stream):
        raise ConfigError(
            f"{label} is {value!r}, expected Stream(running, since, left)."
        )
    return Stream(
        _flag(f"running of {label}", value.running),
        _number_or_inf(f"since of {label}", value.since, np.inf, "a number, or inf"),
        _count(f"left of {label}", value.left),
    )


FIELD_CHECKS = {
    "temperature": lambda label, x: number(label, x, "a temperature (°C)"),
    "max_temperature": _max_temperature,
    "absorbed": _count,
    "contained": _count,
    "covering": _particles,
    "supply": _flag,
    "attached": _flag,
    "toggled_on": _flag,
    "near_steps": _count,
    "sliced": _flag,
    "broken": _flag,
    "real": _flag,
    "stream": _stream,
}
"""Functions of a label for messages and a value, which return the checked value.

Of fields that are dictionaries, for one entry.
"""
TABLES = {
    "absorbed": '{"water": 3}',
    "contained": '{"flour": 3}',
    "covering": '{"mud": Particles(positions, active)}',
    "supply": '{"water": True}',
    "attached": '{"wall_nail": True}',
}
"""Fields that are dictionaries, each with an example."""
