"""Reference data and the worlds of its cases."""

import json
from pathlib import Path

import numpy as np
import pytest

import posewise as pw

SHARED = Path(__file__).parents[2].parent / "shared"


def reference(name: str) -> dict:
    """Return a JSON file of reference data; skip the test if it is missing."""
    path = SHARED / "oracle" / name
    if not path.is_file():
        pytest.skip(f"reference data {name} is not beside this checkout")
    return json.loads(path.read_text())


def komo_scenes() -> dict:
    """Return the names in the module of the reference problems' scenes."""
    path = SHARED / "oracle" / "komo" / "scenes.py"
    if not path.is_file():
        pytest.skip("reference problems are not beside this checkout")
    names: dict = {}
    exec(path.read_text(), names)
    return names


def world(scene: dict) -> pw.Config:
    """Return the Config of a scene in the format of the reference data."""
    C = pw.Config()
    for f in scene["frames"]:
        options = {}
        joint = f.get("joint")
        if joint is not None:
            options = dict(joint=joint["type"], limits=joint["limits"])
            if joint["axis"] is not None:
                options["axis"] = joint["axis"]
        else:
            options["pose"] = f["rel"]
        shape = f.get("shape")
        if shape is not None:
            options["shape"] = _shape(shape)
            options["contact"] = shape["contact"]
        parent = f["parent"] or "world"
        C.add_frame(f["name"], parent, mass=f.get("mass"), **options)
    return C


def _shape(s: dict):
    size = s["size"]
    match s["type"]:
        case "sphere":
            return pw.Sphere(size[0])
        case "capsule":
            return pw.Capsule(*size)
        case "box":
            return pw.Box(size)
        case "ssBox":
            return pw.Box(size[:3], rounding=size[3])
        case "cylinder":
            return pw.Cylinder(*size)
        case "ssCylinder":
            return pw.Cylinder(*size)
        case "ssCvx" | "mesh":
            return pw.Convex(np.array(s["verts"]), *(size or [])[:1])
        case _:
            return pw.Marker(size[0])
