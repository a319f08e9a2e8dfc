"""Abilities of objects (cookable, heatSource, …): their parameters and defaults.

Names and defaults are iGibson 2.0's. The levels at which its documentation calls an
object soaked, dusty or stained are parameters too, and so is the number of droplets
that a container holds.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import ConfigError, unknown_name
from ..validation import integer, number


class Parameter(NamedTuple):
    """A parameter of an ability."""

    default: Any
    check: Callable[[str, Any], Any]
    """Function of a label for messages and a value, which returns the checked value."""


def _celsius(label: str, value: Any) -> float:
    return number(label, value, "a temperature (°C)")


def _rate(label: str, value: Any) -> float:
    return number(label, value, "a number >= 0 (1/s)", lambda x: x >= 0)


def _length(label: str, value: Any) -> float:
    return number(label, value, "a number >= 0 (metres)", lambda x: x >= 0)


def _force(label: str, value: Any) -> float:
    return number(label, value, "a number >= 0 (newtons)", lambda x: x >= 0)


def _level(label: str, value: Any) -> float:
    return number(label, value, "a number from 0 to 1", lambda x: 0 <= x <= 1)


def _count(label: str, value: Any) -> int:
    return integer(label, value, "an integer >= 1", lambda x: x >= 1)


def _flag(label: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{label} is {value!r}, expected True or False.")
    return value


def _name(label: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{label} is {value!r}, expected the name of a frame.")
    return value


def _joints(label: str, value: Any) -> dict[str, int | None]:
    """Parse names of joints with the directions in which they open; None: not given."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list | tuple):
        value = dict.fromkeys(value)
    fits = isinstance(value, Mapping) and all(
        isinstance(k, str) and d in (1, -1, None) for k, d in value.items()
    )
    if not fits:
        raise ConfigError(
            f"{label} is {value!r}, expected a list of names of joints, or a dictionary"
            ' with the directions in which they open, e.g. {"door": -1}.'
        )
    return dict(value)


LINK_PARAMETER = Parameter(None, _name)
"""A frame of the object; None: the object's root."""
LEVEL_PARAMETER = Parameter(None, _level)
"""Threshold of a predicate, from 0 to 1; None: the predicate's default."""
CAPACITY_PARAMETER = Parameter(None, _count)
"""Number of droplets (count); None: as many as fill the object's cavities."""


def _source_parameters(temperature: float, rate: float) -> dict[str, Parameter]:
    return {
        "temperature": Parameter(temperature, _celsius),
        "heating_rate": Parameter(rate, _rate),
        "distance_threshold": Parameter(0.2, _length),
        "requires_toggled_on": Parameter(False, _flag),
        "requires_closed": Parameter(False, _flag),
        "requires_inside": Parameter(False, _flag),
        "link": LINK_PARAMETER,
    }


ABILITIES: dict[str, dict[str, Parameter]] = {
    "cookable": {"cook_temperature": Parameter(70.0, _celsius)},
    "burnable": {"burn_temperature": Parameter(200.0, _celsius)},
    "flammable": {"ignition_temperature": Parameter(250.0, _celsius)},
    "heatable": {"heat_temperature": Parameter(40.0, _celsius)},
    "freezable": {"freeze_temperature": Parameter(0.0, _celsius)},
    "soakable": {"w_soaked": Parameter(1, _count)},
    "dustyable": {"d_dusty": LEVEL_PARAMETER},
    "stainable": {"s_stained": LEVEL_PARAMETER},
    "toggleable": {"link": LINK_PARAMETER},
    "sliceable": {"slice_force": Parameter(10.0, _force)},
    "openable": {
        "joints": Parameter(None, _joints),
        "both_sides": Parameter(False, _flag),
    },
    "heatSource": _source_parameters(200.0, 0.04),
    # Values of iGibson's refrigerators, because its default for cold sources is that of
    # heat sources and would heat.
    "coldSource": _source_parameters(-18.0, 0.02),
    "waterSource": {"link": LINK_PARAMETER},
    "cleaningTool": {"link": LINK_PARAMETER},
    "slicer": {"link": LINK_PARAMETER},
    "mixingTool": {},
    "liquid": {},
    "fillable": {"capacity": CAPACITY_PARAMETER},
    "perishable": {},
    "breakable": {},
    "screwable": {},
    "timeSetable": {},
    "robot": {},
}
"""All abilities with their parameters, by name."""

REQUIRED_ABILITIES = {
    "requires_toggled_on": "toggleable",
    "requires_closed": "openable",
}
"""Ability that each requirement of a heat or cold source needs."""


def parse_abilities(
    name: str, abilities: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the abilities of an object with all their parameters.

    Args:
        name: of the object.
        abilities: for each ability the parameters that differ from their defaults.

    Raises:
        ConfigError: for unknown abilities and parameters, with near matches, and for
            values that do not fit.
    """
    if not isinstance(abilities, Mapping):
        raise ConfigError(
            f"abilities of {name!r} are {abilities!r}, expected a dictionary, e.g."
            ' {"cookable": {"cook_temperature": 58}, "soakable": {}}.'
        )
    parsed = {}
    for ability, values in abilities.items():
        if ability not in ABILITIES:
            raise ConfigError(
                f"Object {name!r}: " + unknown_name("ability", ability, ABILITIES)
            )
        parsed[ability] = _parse_parameters(
            f"{ability} of {name!r}", ABILITIES[ability], values
        )
    for ability, values in parsed.items():
        for flag, needed in REQUIRED_ABILITIES.items():
            if values.get(flag) and needed not in parsed:
                raise ConfigError(
                    f"{ability} of {name!r} {flag.replace('_', ' ', 1)}, but"
                    f" {name!r} is not {needed}; add {needed!r} to its abilities."
                )
    return parsed


def model_abilities(
    info: Mapping[str, Any], prefix: str, joints: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Return the abilities of a model's object, under the names of a world.

    Args:
        info: metadata of the model, see `models.model_info`.
        prefix: of the model's frames in the world.
        joints: names of the model's joints in the world by those in the model.
    """
    abilities = {name: dict(values) for name, values in info["abilities"].items()}
    if "openable_joints" in info:
        abilities["openable"]["joints"] = [joints[k] for k in info["openable_joints"]]
    for values in abilities.values():
        if values.get("link") is not None:
            values["link"] = prefix + values["link"]
    return abilities


def _parse_parameters(
    label: str, known: Mapping[str, Parameter], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Check the parameters of one ability, and fill in the defaults."""
    if not isinstance(values, Mapping):
        raise ConfigError(
            f"{label} is {values!r}, expected a dictionary of parameters ({{}} for the"
            f" defaults); there are: {', '.join(known) or 'none'}."
        )
    for name in values:
        if name not in known:
            raise ConfigError(f"{label}: " + unknown_name("parameter", name, known))
    return {
        name: parameter.default
        if values.get(name) is None
        else parameter.check(f"{name} of {label}", values[name])
        for name, parameter in known.items()
    }
