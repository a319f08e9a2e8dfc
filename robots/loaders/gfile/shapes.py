"""Shapes of rai's graph files: a type, sizes, a mesh, a colour."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ConfigError, unknown_name
from ...geometry.mesh_files import read_convex_parts, read_mesh, read_points
from ...geometry.model_files import is_existing_file
from ...geometry.shapes import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Marker,
    Mesh,
    PointCloud,
    Shape,
    Sphere,
)
from ...world.frame import Geometry
from .nodes import Attributes, FileReference

SIZE_COUNTS: dict[str, int | None] = {
    "box": 3,
    "sphere": 1,
    "capsule": 2,
    "cylinder": 2,
    "ssBox": 4,
    "ssCylinder": 3,
    "ssCvx": 1,
    "ssBoxElip": 7,
    "quad": 2,
    "marker": None,
    "camera": None,
    "mesh": None,
    "pointCloud": None,
    "lines": None,
    "sdf": None,
    "tensor": None,
}
"""Number of entries of `size` for each shape type of rai (None: any)."""

SHAPE_KEYS = ("shape", "type", "mesh", "mesh_decomp", "mesh_points", "sdf")
"""Attributes of which a frame with a shape has at least one."""

_FILE_KEYS = ("mesh", "mesh_decomp", "mesh_points")


@dataclass
class ShapeDraft:
    """The shape of a frame, as its attributes declare it."""

    word: str
    size: np.ndarray
    geometries: tuple[Geometry, ...] = ()
    contact: int = 0
    missing: list[Path] = field(default_factory=list)
    """Mesh files that are missing."""

    def rai_attributes(self) -> dict[str, Any]:
        """Return rai's shape type and size, for the attributes of the frame."""
        return {"shape": self.word, "size": self.size.tolist()}


def read_shape(attributes: Attributes) -> ShapeDraft | None:
    """Return the shape of a frame; None without a shape.

    Raises:
        LoadError: For unknown types, wrong sizes and colours.
    """
    if not any(key in attributes for key in SHAPE_KEYS):
        return None
    draft = _read_draft(attributes)
    contact = attributes.number("contact", 0.0)
    if abs(contact) > 1e6:
        attributes.fail("contact", f"is {contact:g}, expected a small integer.")
    draft.contact = int(contact)
    color = _color(attributes)
    is_solid = draft.word not in ("marker", "camera")
    draft.geometries = tuple(
        replace(g, collision=is_solid and g.collision, color=color)
        for g in draft.geometries
    )
    return draft


def _read_draft(attributes: Attributes) -> ShapeDraft:
    word = attributes.word("shape") or attributes.word("type")
    key = "shape" if "shape" in attributes else "type"
    if word is not None and word not in SIZE_COUNTS:
        attributes.fail(key, unknown_name("rai shape", word, SIZE_COUNTS))
    if "mesh" in attributes or "mesh_decomp" in attributes:
        word = "mesh"
    if word is None:
        word = "pointCloud" if "mesh_points" in attributes else "sdf"
    size = attributes.numbers("size")
    size = np.zeros(0) if size is None else size
    count = SIZE_COUNTS[word]
    if count is not None and len(size) != count:
        attributes.fail(
            "size",
            f"has {len(size)} numbers {size.tolist()}, a {word} needs exactly {count}.",
        )
    draft = ShapeDraft(word, size)
    try:
        shapes = _make_shapes(attributes, draft)
    except ConfigError as error:
        key = "core" if "core" in attributes else "size"
        attributes.fail(key, str(error), error)
    draft.geometries = tuple(
        s if isinstance(s, Geometry) else Geometry(s) for s in shapes
    )
    return draft


def _make_shapes(
    attributes: Attributes, draft: ShapeDraft
) -> Sequence[Shape | Geometry]:
    size = draft.size
    match draft.word:
        case "box":
            return [Box(size)]
        case "sphere":
            return [Sphere(float(size[0]))]
        case "capsule":
            return [Capsule(float(size[0]), float(size[1]))]
        case "cylinder":
            return [Cylinder(float(size[0]), float(size[1]))]
        case "quad":
            return [Box(np.array([size[0], size[1], 0.0]))]
        case "marker" | "camera":
            return [Marker(float(size[0]) if len(size) else 0.1)]
        case "ssBox":
            return [_rounded_box(attributes, size)]
        case "ssCylinder":
            length, radius, rounding = (float(s) for s in size)
            radius, length = max(radius, rounding), max(length, 2 * rounding)
            draft.size = np.array([length, radius, rounding])
            return [Cylinder(length, radius, rounding)]
        case "ssBoxElip":
            return [_box_plus_ellipsoid(attributes, size)]
        case "ssCvx":
            return _convex_core(attributes, draft)
        case "mesh" | "pointCloud":
            return _from_files(attributes, draft)
        case _:
            return []


def _rounded_box(attributes: Attributes, size: np.ndarray) -> Box:
    rounding = float(size[3])
    if rounding < 1e-10:
        return Box(size[:3])
    if min(size[:3]) <= 2 * rounding + 1e-6:
        attributes.fail(
            "size",
            f"is {size.tolist()}: each of the three outer sizes of an ssBox must"
            f" exceed twice the rounding, here {2 * rounding:g}; make the rounding"
            " smaller.",
        )
    return Box(size[:3], rounding)


def _box_plus_ellipsoid(attributes: Attributes, size: np.ndarray) -> Convex:
    """Return a box swept by an ellipsoid, as the hull of points on its surface."""
    half, axes, rounding = size[:3] / 2, size[3:6], float(size[6])
    if np.any(half < 0) or np.any(axes < rounding):
        attributes.fail(
            "size",
            f"is {size.tolist()}: sizes must be >= 0 and the ellipsoid's half axes at"
            f" least the rounding {rounding:g}.",
        )
    azimuth, elevation = np.meshgrid(*[np.linspace(0, np.pi / 2, 6)] * 2)
    flat = np.cos(elevation)
    ball = [np.cos(azimuth) * flat, np.sin(azimuth) * flat, np.sin(elevation)]
    corner = half + (axes - rounding) * np.stack(ball, -1).reshape(-1, 3)
    signs = np.stack(np.meshgrid([1, -1], [1, -1], [1, -1]), -1).reshape(-1, 1, 3)
    return Convex(np.unique((signs * corner).reshape(-1, 3), axis=0), rounding)


def _convex_core(attributes: Attributes, draft: ShapeDraft) -> list[Shape]:
    attribute = attributes.get("core")
    rounding = float(draft.size[0])
    if attribute is not None and isinstance(attribute.value, FileReference):
        path = attribute.value.path
        if not _is_available(attribute.value):
            draft.missing.append(path)
            return []
        return [Convex(np.asarray(read_mesh(path).vertices), rounding)]
    points = attributes.numbers("core")
    if points is None or not len(points) or len(points) % 3:
        attributes.fail(
            "core",
            f"has {0 if points is None else len(points)} numbers; an ssCvx needs"
            " points of 3 numbers each, or a mesh <file>.",
        )
    return [Convex(points.reshape(-1, 3), rounding)]


def _from_files(attributes: Attributes, draft: ShapeDraft) -> list[Shape | Geometry]:
    """Return the mesh, its convex parts and points.

    Parts collide in place of the mesh; without parts its convex hull does, as in rai.
    """
    scale = attributes.number("meshscale", 1.0)
    references = {k: attributes.file(k) for k in _FILE_KEYS}
    files = {k: file for k, file in references.items() if file is not None}
    if not files:
        draft.word = "pointCloud"
    shapes: list[Shape | Geometry] = []
    try:
        for key, file in files.items():
            path = file.path
            if not _is_available(file):
                draft.missing.append(path)
            elif key == "mesh_points":
                shapes.append(PointCloud(read_points(path) * scale))
            elif key == "mesh_decomp":
                parts = [Convex(part * scale) for part in read_convex_parts(path)]
                is_visual = "mesh" not in files
                shapes += [Geometry(part, visual=is_visual) for part in parts]
            if key == "mesh" and not file.is_outside_model:
                parts_file = files.get("mesh_decomp")
                has_parts = parts_file is not None and _is_available(parts_file)
                hull = Mesh(path, mode="convex", scale=scale)
                shapes.append(Geometry(hull, collision=not has_parts))
    except ConfigError as error:
        attributes.fail(key, str(error), error)
    return shapes


def _is_available(file: FileReference) -> bool:
    return not file.is_outside_model and is_existing_file(file.path)


def _color(attributes: Attributes) -> tuple[float, ...] | None:
    numbers = attributes.numbers("color")
    if numbers is None:
        return None
    if not 1 <= len(numbers) <= 4:
        attributes.fail(
            "color",
            f"has {len(numbers)} numbers, expected 1 (grey), 2 (grey, alpha), 3 (RGB)"
            " or 4 (RGBA), each 0 to 1.",
        )
    values = [float(c) for c in numbers]
    if len(values) <= 2:
        values = [values[0]] * 3 + values[1:]
    return tuple(values + [1.0] * (4 - len(values)))
