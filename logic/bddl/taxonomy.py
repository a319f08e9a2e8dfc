"""The data of the package bddl, read without importing it."""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any


@cache
def read_data(name: str) -> Any:
    """Return the content of a JSON file of bddl 3's generated data.

    Args:
        name: path of the file in that folder.

    Returns:
        None without the package, or without the file.
    """
    spec = find_spec("bddl")
    path = Path(spec.origin or "").parent / "generated_data" / name if spec else Path()
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def properties_of(synset: str) -> dict[str, dict[str, Any]]:
    """Return parameters by property that bddl knows of a synset; none without bddl."""
    known: dict[str, dict[str, Any]] = (
        read_data("propagated_annots_params.json") or {}
    ).get(synset, {})
    return known


def is_known(synset: str) -> bool:
    """Return whether bddl knows a synset; it knows none where it is not installed."""
    return bool(properties_of(synset))


def is_substance(synset: str) -> bool:
    """Return whether bddl knows a synset as a substance."""
    return "substance" in properties_of(synset)


def substance_name(synset: str) -> str:
    """Return the name of a substance, `water` of water.n.06."""
    return synset.partition(".")[0]
