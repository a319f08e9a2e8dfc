"""Shapes that a frame can have; outer sizes [m] include the rounding.

Each convex shape is a core and a radius. All are centred at the origin of their frame,
with long axes along z.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError
from ..typing import MatrixLike, PoseLike, StrPath, VectorLike
from ..validation import MAX_NUMBER, float_array, integer, is_bounded, number

if TYPE_CHECKING:
    from trimesh import Trimesh  # slow to import

MeshMode: TypeAlias = Literal["decompose", "convex", "sdf"]
"""Collision model of a mesh: convex parts, its hull, or a signed distance grid."""


def _check_sizes(shape, **values) -> None:
    for name, value in values.items():
        label = f"{type(shape).__name__}: {name}"
        if isinstance(value, np.ndarray):
            if not is_bounded(value) or np.any(value < 0):
                raise ConfigError(
                    f"{label} is {value.tolist()}, expected finite numbers >= 0, at"
                    f" most {MAX_NUMBER:g} (metres)."
                )
        else:
            expected = f"one number >= 0, at most {MAX_NUMBER:g} (metres)"
            value = number(label, value, expected, lambda v: 0 <= v <= MAX_NUMBER)
            object.__setattr__(shape, name, value)


def _to_vector(shape, name: str, value, length: int) -> np.ndarray:
    array = float_array(f"{type(shape).__name__}: {name}", value, f"{length} numbers")
    if array.shape != (length,):
        raise ConfigError(
            f"{type(shape).__name__}: {name} has shape {array.shape}, expected"
            f" {length} numbers."
        )
    return array


def _require_one_vector(cls: type, args: tuple) -> None:
    """Raise a ConfigError if the numbers of a vector are given one by one."""
    if len(args) >= 3:
        name, numbers = cls.__name__, ", ".join(map(str, args[:3]))
        raise ConfigError(
            f"{name} got {len(args)} arguments; its three numbers are one argument:"
            f" {name}([{numbers}])."
        )


def _check_rounding(shape, smallest: float) -> None:
    if 2 * shape.rounding > smallest + 1e-9:
        raise ConfigError(
            f"{type(shape).__name__}: rounding {shape.rounding} exceeds half of the"
            f" smallest outer size {smallest}; outer sizes include the rounding."
        )


@dataclass(frozen=True, eq=False)
class Marker:
    """A coordinate cross to look at; geometrically a point.

    Args:
        size: Length of its axes [m].
    """

    size: float = 0.1

    def __post_init__(self):
        _check_sizes(self, size=self.size)


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball."""

    radius: float

    def __post_init__(self):
        _check_sizes(self, radius=self.radius)


@dataclass(frozen=True, eq=False)
class Capsule:
    """A capsule along z; `length` is the distance of the centres of its caps."""

    length: float
    radius: float

    def __post_init__(self):
        _check_sizes(self, length=self.length, radius=self.radius)


@dataclass(frozen=True, eq=False)
class Box:
    """A box of full outer `size` (x, y, z), its edges rounded by `rounding`."""

    size: Float[np.ndarray, "3"]
    rounding: float = 0.0

    if TYPE_CHECKING:  # the constructor converts its arguments

        def __init__(self, size: VectorLike, rounding: float = 0.0) -> None: ...

    else:

        def __new__(cls, *args, **options):
            _require_one_vector(cls, args)
            return object.__new__(cls)

    def __post_init__(self):
        object.__setattr__(self, "size", _to_vector(self, "size", self.size, 3))
        _check_sizes(self, size=self.size, rounding=self.rounding)
        _check_rounding(self, float(self.size.min()))


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder along z of full outer `length`, its rims rounded by `rounding`."""

    length: float
    radius: float
    rounding: float = 0.0

    def __post_init__(self):
        _check_sizes(
            self, length=self.length, radius=self.radius, rounding=self.rounding
        )
        _check_rounding(self, float(min(self.length, 2 * self.radius)))


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """An ellipsoid with the half axes `radii` (x, y, z)."""

    radii: Float[np.ndarray, "3"]

    if TYPE_CHECKING:

        def __init__(self, radii: VectorLike) -> None: ...

    else:

        def __new__(cls, *args, **options):
            _require_one_vector(cls, args)
            return object.__new__(cls)

    def __post_init__(self):
        object.__setattr__(self, "radii", _to_vector(self, "radii", self.radii, 3))
        _check_sizes(self, radii=self.radii)


@dataclass(frozen=True, eq=False)
class Convex:
    """The convex hull of `vertices` (n, 3), inflated by `rounding`."""

    vertices: Float[np.ndarray, "n 3"]
    rounding: float = 0.0

    if TYPE_CHECKING:

        def __init__(self, vertices: MatrixLike, rounding: float = 0.0) -> None: ...

    def __post_init__(self):
        object.__setattr__(
            self, "vertices", _to_points(self, "vertices", self.vertices)
        )
        _check_sizes(self, rounding=self.rounding)


@dataclass(frozen=True, eq=False)
class Plane:
    """The half-space z <= 0 of its frame."""


@dataclass(frozen=True, eq=False)
class PointCloud:
    """Points (n, 3), each a ball of `radius`."""

    points: Float[np.ndarray, "n 3"]
    radius: float = 0.0

    if TYPE_CHECKING:

        def __init__(self, points: MatrixLike, radius: float = 0.0) -> None: ...

    def __post_init__(self):
        object.__setattr__(self, "points", _to_points(self, "points", self.points))
        _check_sizes(self, radius=self.radius)


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh: a file (read when first needed) or a `trimesh.Trimesh`.

    For collisions `mode` counts: "decompose" makes convex parts (without coacd only if
    the mesh is convex), "convex" its hull, "sdf" a grid of signed distances (static
    scenes). Mesh files named in robot models are "convex", as in MuJoCo and rai.
    A hull, or a part, of more than `max_vertices` vertices is replaced by a tight
    enclosing one that has at most this number; None keeps all vertices, which makes
    collisions slow. What is drawn, and inertias, are of the triangles themselves.

    Raises:
        ConfigError: When the file is missing or cannot be read (on first use).
    """

    source: "StrPath | Trimesh"
    mode: MeshMode = "decompose"
    scale: Float[np.ndarray, "3"] = 1.0  # type: ignore[assignment]
    max_vertices: int | None = 32
    _cache: dict = field(default_factory=dict, repr=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            source: "StrPath | Trimesh",
            mode: MeshMode = "decompose",
            scale: float | VectorLike = 1.0,
            max_vertices: int | None = 32,
        ) -> None: ...

    def __post_init__(self):
        scale = float_array("Mesh: scale", self.scale, "one number or 3")
        if scale.shape not in ((), (1,), (3,)) or not is_bounded(scale):
            raise ConfigError(
                f"Mesh: scale is {scale.tolist()}, expected one finite number or 3, at"
                f" most {MAX_NUMBER:g} in size."
            )
        object.__setattr__(self, "scale", np.broadcast_to(scale, (3,)).copy())
        is_path = isinstance(self.source, str | os.PathLike)
        if not is_path and not hasattr(self.source, "vertices"):
            raise ConfigError(
                f"Mesh: source is {self.source!r}, expected a file or a"
                " trimesh.Trimesh."
            )
        if self.mode not in ("decompose", "convex", "sdf"):
            raise ConfigError(
                f"Mesh: mode is {self.mode!r}, expected 'decompose', 'convex' or 'sdf'."
            )
        if self.max_vertices is not None:
            count = integer(
                "Mesh: max_vertices",
                self.max_vertices,
                "an integer >= 8, or None for all vertices of the hull",
                lambda n: n >= 8,
            )
            object.__setattr__(self, "max_vertices", count)

    @property
    def mesh(self) -> "Trimesh":
        """The triangles, scaled, in the shape's frame."""
        if "mesh" not in self._cache:
            self._cache["mesh"] = self._load()
        return self._cache["mesh"]

    @property
    def is_convex(self) -> bool:
        """Whether the triangles are those of a convex body, without hollows."""
        if "is_convex" not in self._cache:
            self._cache["is_convex"] = bool(self.mesh.is_convex)
        return self._cache["is_convex"]

    def _load(self) -> "Trimesh":
        if isinstance(self.source, str | os.PathLike):
            from .mesh_files import read_mesh

            mesh = read_mesh(Path(self.source))
        else:
            mesh = self.source.copy()
        mesh.apply_scale(self.scale)
        return mesh


Shape = (
    Marker
    | Sphere
    | Capsule
    | Box
    | Cylinder
    | Ellipsoid
    | Convex
    | Plane
    | PointCloud
    | Mesh
)
Part: TypeAlias = Shape | tuple[Shape, PoseLike | None]
"""A shape at the origin of its frame, or with its pose (7,) in it (None: identity)."""


def _to_points(shape, name: str, value) -> np.ndarray:
    array = float_array(f"{type(shape).__name__}: {name}", value, "(n, 3) numbers")
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise ConfigError(
            f"{type(shape).__name__}: {name} has shape {array.shape}, expected (n, 3)"
            " with n >= 1."
        )
    if not is_bounded(array):
        raise ConfigError(
            f"{type(shape).__name__}: {name} has NaN or infinite entries, or some"
            f" larger than {MAX_NUMBER:g}."
        )
    return array
