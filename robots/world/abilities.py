"""Abilities of objects (cookable, heatSource, …): their parameters and defaults.

Names and defaults are iGibson 2.0's; the levels at which the seed of its documentation
calls an object soaked, dusty or stained are parameters too, and how many droplets a
container holds.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import ConfigError, unknown_name
from ..validation import integer, number


class Parameter(NamedTuple):
    """What an ability is annotated with."""

    default: Any
    check: Callable[[str, Any], Any]
    """Of what is spoken of, and the value given; returns the value to be kept."""


def _celsius(what: str, value: Any) -> float:
    return number(what, value, "a temperature (°C)")


def _rate(what: str, value: Any) -> float:
    return number(what, value, "a number >= 0 (1/s)", lambda x: x >= 0)


def _length(what: str, value: Any) -> float:
    return number(what, value, "a number >= 0 (metres)", lambda x: x >= 0)


def _force(what: str, value: Any) -> float:
    return number(what, value, "a number >= 0 (newtons)", lambda x: x >= 0)


def _level(what: str, value: Any) -> float:
    return number(what, value, "a number from 0 to 1", lambda x: 0 <= x <= 1)


def _count(what: str, value: Any) -> int:
    return integer(what, value, "an integer >= 1", lambda x: x >= 1)


def _flag(what: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{what} is {value!r}, expected True or False.")
    return value


def _name(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{what} is {value!r}, expected the name of a frame.")
    return value


def _joints(what: str, value: Any) -> dict[str, int]:
    """Names of joints with the directions in which they open."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list | tuple):
        value = dict.fromkeys(value, 1)
    fits = isinstance(value, Mapping) and all(
        isinstance(k, str) and d in (1, -1) for k, d in value.items()
    )
    if not fits:
        raise ConfigError(
            f"{what} is {value!r}, expected a list of names of joints, or a dictionary"
            ' with the directions in which they open, e.g. {"door": -1}.'
        )
    return dict(value)


LINK_PARAMETER = Parameter(None, _name)
"""A frame of the object; None: the object's own frame."""
LEVEL_PARAMETER = Parameter(None, _level)
"""None: the predicate's own threshold."""
CAPACITY_PARAMETER = Parameter(None, _count)
"""Droplets; None: as many as have the volume of the object's cavities."""


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
    # of iGibson's refrigerators: the default it shares with heat sources would heat
    "coldSource": _source_parameters(-18.0, 0.02),
    "waterSource": {"link": LINK_PARAMETER},
    "cleaningTool": {"link": LINK_PARAMETER},
    "slicer": {"link": LINK_PARAMETER},
    "liquid": {},
    "fillable": {"capacity": CAPACITY_PARAMETER},
    "perishable": {},
    "breakable": {},
    "screwable": {},
    "timeSetable": {},
    "robot": {},
}
"""Parameters by name, of all abilities there are."""

REQUIRED_ABILITIES = {
    "requires_toggled_on": "toggleable",
    "requires_closed": "openable",
}
"""Abilities that a source's requirements speak of."""


def parse_abilities(frame: str, given: Any) -> dict[str, dict[str, Any]]:
    """Abilities of an object with all their parameters.

    Args:
        frame: name of the object.
        given: for each ability the parameters that differ from their defaults.

    Raises:
        ConfigError: for unknown abilities and parameters, with near matches, and for
            values that do not fit.
    """
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"abilities of {frame!r} are {given!r}, expected a dictionary, e.g."
            ' {"cookable": {"cook_temperature": 58}, "soakable": {}}.'
        )
    made = {}
    for ability, values in given.items():
        if ability not in ABILITIES:
            raise ConfigError(
                f"Object {frame!r}: " + unknown_name("ability", ability, ABILITIES)
            )
        made[ability] = _parse_parameters(
            f"{ability} of {frame!r}", ABILITIES[ability], values
        )
    for ability, values in made.items():
        for flag, needed in REQUIRED_ABILITIES.items():
            if values.get(flag) and needed not in made:
                raise ConfigError(
                    f"{ability} of {frame!r} {flag.replace('_', ' ', 1)}, but"
                    f" {frame!r} is not {needed}; add {needed!r} to its abilities."
                )
    return made


def model_abilities(
    info: Mapping[str, Any], prefix: str, joints: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Abilities of a model's object in a world, with the joints that open it.

    Args:
        info: what is known of the model, see `models.model_info`.
        prefix: of the model's frames in the world.
        joints: what the model's joints are called in the world.
    """
    abilities = {name: dict(values) for name, values in info["abilities"].items()}
    if "openable_joints" in info:
        abilities["openable"]["joints"] = [joints[k] for k in info["openable_joints"]]
    for values in abilities.values():
        if values.get("link") is not None:
            values["link"] = prefix + values["link"]
    return abilities


def _parse_parameters(
    what: str, known: Mapping[str, Parameter], given: Any
) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"{what} is {given!r}, expected a dictionary of parameters ({{}} for the"
            f" defaults); there are: {', '.join(known) or 'none'}."
        )
    for name in given:
        if name not in known:
            raise ConfigError(f"{what}: " + unknown_name("parameter", name, known))
    return {
        name: p.default
        if given.get(name) is None
        else p.check(f"{name} of {what}", given[name])
        for name, p in known.items()
    }
