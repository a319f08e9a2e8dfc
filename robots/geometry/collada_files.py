"""COLLADA files (`.dae`), through trimesh and pycollada.

`<unit meter="…">` is applied, so that vertices are in metres. `<up_axis>` is not:
robot descriptions are written for RViz and MoveIt, which apply the unit and ignore the
axis (rviz issue 1045, geometric_shapes pull request 52).
"""

import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import trimesh
from trimesh.units import unit_conversion

from ..errors import ConfigError


def read_collada(path: Path) -> Any:
    """Return the scene of a COLLADA file, in metres.

    pycollada drops a geometry whose material or texture is broken. Such a file is read
    without materials: the shape counts more than its colours.

    Raises:
        ConfigError: For a unit that is no length.
        ImportError: Without pycollada; names the extra.
    """
    try:
        from collada.common import DaeError
    except ImportError as error:
        raise ImportError(
            f'{path}: reading .dae meshes needs pycollada: pip install "posewise'
            '[meshes]".'
        ) from error
    try:
        scene = trimesh.load(path, process=False, ignore_broken=False)
    except DaeError:
        plain = io.BytesIO(_without_materials(path))
        scene = trimesh.load(plain, file_type="dae", process=False)
    _check_unit(path)
    scale = unit_conversion(scene.units or "meters", "meters")
    # The comparison is false for NaN too.
    if not 0 < scale < float("inf"):
        raise ConfigError(
            f"{path}: a unit of {scale:g} m is no length; correct <unit meter>."
        )
    return scene.apply_scale(scale)


def _check_unit(path: Path) -> None:
    """Refuse a unit that is no number, which pycollada takes for a metre."""
    for _, element in ET.iterparse(path):
        if element.tag.rpartition("}")[2] == "unit":
            meters = element.get("meter", "1")
            try:
                float(meters)
            except ValueError as error:
                raise ConfigError(
                    f'{path}: <unit meter="{meters}"> is no number; correct it, with a'
                    " decimal point."
                ) from error
            return


def _without_materials(path: Path) -> bytes:
    tree = ET.parse(path)
    for element in tree.iter():
        for child in list(element):
            if child.tag.rpartition("}")[2] == "bind_material":
                element.remove(child)
    return ET.tostring(tree.getroot())
