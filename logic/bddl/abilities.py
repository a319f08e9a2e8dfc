"""Abilities of synsets: those that the package bddl knows, or else a small table."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from posewise.robots.annotations.abilities import ABILITIES, REQUIRED_ABILITIES

from .taxonomy import properties_of

Abilities: TypeAlias = dict[str, dict[str, Any]]
"""Parameters by ability."""

DEFAULT_ABILITIES: dict[str, Abilities] = {
    "microwave.n.02": {"heatSource": {"requires_inside": True}},
    "oven.n.01": {"heatSource": {"requires_inside": True}},
    "stove.n.01": {"heatSource": {}},
    "electric_refrigerator.n.01": {"coldSource": {"requires_inside": True}},
    "sink.n.01": {"waterSource": {}},
    "rag.n.01": {"cleaningTool": {}, "soakable": {}},
    "scrub_brush.n.01": {"cleaningTool": {}, "soakable": {}},
    "carving_knife.n.01": {"slicer": {}},
    "knife.n.01": {"slicer": {}},
}
"""Abilities by synset without bddl, besides those that a problem itself needs."""

OWN_NAMES = {"particleRemover": "cleaningTool"}
"""Our names of bddl's abilities that have other ones."""


def abilities_of(synset: str) -> Abilities:
    """Return abilities with the parameters that differ from our defaults.

    They are from the taxonomy of bddl 3, if it is installed and knows the synset; its
    parameters have our names and units.
    """
    abilities = dict(DEFAULT_ABILITIES.get(synset, {}))
    for ability, values in properties_of(synset).items():
        ability = OWN_NAMES.get(ability, ability)
        if ability in ABILITIES:
            abilities[ability] = _parameters(ability, values)
    for values in list(abilities.values()):
        for flag, needed in REQUIRED_ABILITIES.items():
            if values.get(flag):
                abilities.setdefault(needed, {})
    return abilities


def _parameters(ability: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are parameters of an ability here."""
    parameters: dict[str, Any] = {}
    for name, parameter in ABILITIES[ability].items():
        if name in values:
            # The taxonomy writes truth values as 0 and 1.
            is_flag = isinstance(parameter.default, bool)
            parameters[name] = bool(values[name]) if is_flag else values[name]
    return parameters
