"""Reader of MJCF, MuJoCo's own format, through MuJoCo's compiler.

Frames are the bodies, in MuJoCo's order. In MuJoCo a body can have several joints, each
about an anchor away from the body's origin; here every joint has a separate frame
`<body>/<joint>`, and the body's frame comes last, so that its pose equals MuJoCo's
`xpos`, `xquat` at every `qpos`. Joint coordinates are those of `qpos`: a joint's `ref`
is its value in the pose that the file describes, and becomes `Joint.q`.

Sites and cameras become frames fixed to their body. The world body becomes a frame
`world` if geoms, sites or cameras are fixed to it. `mjcf.contacts` determines the
bodies that can collide.
"""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import LoadError
from ...geometry.model_files import is_existing_file
from ...mujoco_extra import import_mujoco
from ...validation import MAX_NUMBER, is_bounded
from ...world.frame import Model
from ..xmltree import parse_xml
from .compiled_model import MjcfReader
from .files import check_includes, foreign_assets, refuse_includes

MAGNITUDES = (
    *("body_pos", "body_quat", "body_ipos", "body_mass", "body_inertia", "jnt_pos"),
    *("jnt_axis", "qpos0", "geom_quat"),
    *("geom_pos", "geom_size", "mesh_vert", "site_pos", "cam_pos", "key_qpos"),
    *("wrap_prm", "eq_data"),
)
"""Arrays of a compiled model whose numbers go into the frames."""
NO_FOLDER = Path("/no-folder-given")
"""Folder of a text without one: there is none, so that no file is found in it."""


def read_mjcf(path: str | os.PathLike) -> Model:
    """Read an MJCF file (or a URDF, with MuJoCo's reader).

    The key "home", or else the first one, is the state and the home; all keys are named
    states. Linear equality constraints of two joints or of fixed tendons become mimic
    joints. If meshes are missing, all are left out, with one `UserWarning`. One more
    names all else that is left out: constraints that close loops, ranges of ball
    joints, shapes such as height fields.

    Raises:
        LoadError: When the file is missing or MuJoCo refuses it.
        ImportError: When MuJoCo is not installed.
    """
    mujoco = import_mujoco("Reading MJCF")
    file = Path(path)
    if not is_existing_file(file):
        raise LoadError(f"{file}: there is no such file; check the path.")
    check_includes(file)
    try:
        spec = mujoco.MjSpec.from_file(str(file))
    except ValueError as error:
        raise LoadError(
            f"{file}: MuJoCo cannot read it: {_one_line(error)}; mend it there."
        ) from error
    return _read_spec(mujoco, spec, file, str(file))


def read_mjcf_text(text: str, folder: Path | None, name: str = "text") -> Model:
    """Read the text of an MJCF; see `read_mjcf`.

    Args:
        text: Without `<include>`.
        folder: Where names of files begin; None: nowhere, so that none is found.
        name: Of the text in messages.

    Raises:
        LoadError: When MuJoCo refuses the text, or it includes files.
        ImportError: When MuJoCo is not installed.
    """
    mujoco = import_mujoco("Reading MJCF")
    refuse_includes(parse_xml(text, name))
    place = NO_FOLDER if folder is None else folder.resolve()
    try:
        spec = mujoco.MjSpec.from_string(text)
    except ValueError as error:
        raise LoadError(
            f"{name}: MuJoCo cannot read it: {_one_line(error)}; mend it there."
        ) from error
    spec.modelfiledir = str(place)
    return _read_spec(mujoco, spec, place / name, name)


def _read_spec(mujoco: Any, spec: Any, file: Path, label: str) -> Model:
    compiled, massless, missing = _compile(mujoco, spec, file, label)
    _check_magnitudes(compiled, label)
    return MjcfReader(mujoco, compiled, label, massless, missing).read()


def _compile(
    mujoco: Any, spec: Any, file: Path, label: str
) -> tuple[Any, frozenset[int], dict[int, tuple[str, ...]]]:
    """Return the compiled model, and the bodies that differ from the file.

    These are the bodies whose mass is a placeholder, and by body the meshes for
    collision that are left out.

    If MuJoCo refuses the model, mostly because files are missing, or if meshes lie
    outside the model's folders, the model is compiled without meshes and with unit
    masses.
    """
    spec.compiler.fusestatic = 0
    spec.compiler.discardvisual = 0
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(spec.textures):
        spec.delete(texture)
    try:
        if foreign := foreign_assets(spec, file):
            raise ValueError(f"{foreign[0]!r} lies outside of the model's folders")
        return spec.compile(), frozenset(), {}
    except ValueError as error:
        first = _one_line(error)
    kinds = mujoco.mjtGeom
    meshes: list[tuple[Any, str]] = []
    for geom in list(spec.geoms):
        if geom.type in (kinds.mjGEOM_MESH, kinds.mjGEOM_SDF, kinds.mjGEOM_HFIELD):
            if geom.contype or geom.conaffinity:
                meshes.append((geom.parent, geom.meshname or geom.hfieldname))
            spec.delete(geom)
    for part in [*spec.skins, *spec.meshes, *spec.hfields]:
        spec.delete(part)
    massless = []
    for body in spec.bodies[1:]:
        if not body.explicitinertial:
            massless.append(body)
            body.explicitinertial = True
            body.mass, body.inertia, body.ipos = 1.0, np.ones(3), np.zeros(3)
    try:
        compiled = spec.compile()
    except ValueError as error:
        raise LoadError(
            f"{label}: MuJoCo cannot compile it: {_one_line(error)}; mend it there."
        ) from error
    warnings.warn(
        f"{label}: MuJoCo cannot compile it ({first}); read without its meshes and"
        " without the masses that would follow from shapes. The kinematics is kept.",
        UserWarning,
        stacklevel=3,
    )
    missing: dict[int, tuple[str, ...]] = {}
    for body, name in meshes:
        missing[body.id] = (*missing.get(body.id, ()), name)
    return compiled, frozenset(body.id for body in massless), missing


def _check_magnitudes(model: Any, label: str) -> None:
    """Raise a `LoadError` for a number of a compiled model beyond `MAX_NUMBER`."""
    for name in MAGNITUDES:
        values = np.asarray(getattr(model, name))
        if not is_bounded(values):
            raise LoadError(
                f"{label}: MuJoCo's {name} has {np.abs(values).max():g}, expected at"
                f" most {MAX_NUMBER:g} in size; mend what it follows from."
            )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).removeprefix("Error: ")
