"""Abilities of synsets: those that the package bddl knows, else a small table."""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from posewise.robots.world.abilities import ABILITIES, REQUIRED_ABILITIES

DEFAULT_ABILITIES: dict[str, dict[str, dict[str, Any]]] = {
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
"""Besides what a problem itself asks for."""


def abilities_of(synset: str) -> dict[str, dict[str, Any]]:
    """Abilities with the parameters that differ from our defaults.

    From the taxonomy of bddl 3, where it is installed and knows the synset; numbers
    there are our parameters' too.
    """
    known = _taxonomy().get(synset)
    found = dict(DEFAULT_ABILITIES.get(synset, {}))
    for ability, values in (known or {}).items():
        if ability in ABILITIES:
            found[ability] = _parameters(ability, values)
    for values in list(found.values()):
        for flag, needed in REQUIRED_ABILITIES.items():
            if values.get(flag):
                found.setdefault(needed, {})
    return found


def _parameters(ability: str, given: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, parameter in ABILITIES[ability].items():
        if name in given:
            flag = isinstance(parameter.default, bool)
            made[name] = bool(given[name]) if flag else given[name]
    return made


@cache
def _taxonomy() -> dict[str, dict[str, dict[str, Any]]]:
    """Properties by synset, read from the package without importing it."""
    spec = find_spec("bddl")
    folder = Path(spec.origin or "").parent / "generated_data" if spec else Path()
    path = folder / "propagated_annots_params.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}
