"""The choice of a reader: by a file's suffix, and for XML by its root element."""

import os
from collections.abc import Mapping
from pathlib import Path

from ..errors import LoadError
from ..geometry.model_files import READABLE_SUFFIXES, is_existing_file
from ..world.frame import Model
from .package_folders import checked_packages
from .urdf.xacro_text import XacroArgs, expand_xacro, is_xacro
from .xmltree import XmlElement, parse_xml, read_bytes, read_xml

XML_SUFFIXES = (".urdf", ".xml", ".mjcf", ".xacro", ".sdf", ".world")
RAI_SUFFIXES = (".g", ".yml", ".yaml")
USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
Packages = Mapping[str, str | os.PathLike[str]]
"""Folders of packages by name."""

OTHER_ROOTS = {
    "COLLADA": "this is a mesh; give it to a frame as shape=Mesh(file).",
    "mujocoinclude": "this is a part of an MJCF; give the file that includes it.",
    "package": "this describes a package; give a file in its folder.",
}
"""Advice for other XML, by the root element."""


def read_file(
    path: Path, packages: Packages | None = None, xacro_args: XacroArgs | None = None
) -> tuple[Model, bool]:
    """Return the model in a file, and whether its format allows duplicate frame names.

    Args:
        path: The file.
        packages: Folders of packages, for URDF and xacro.
        xacro_args: Values of arguments; given, the file is expanded as xacro whatever
            its suffix.

    Raises:
        LoadError: For an unknown kind of file, a missing one, or a broken one.
        ImportError: When a package that the format needs is not installed.
    """
    folders = checked_packages(packages)
    if not is_existing_file(path):
        raise LoadError(f"No file {str(path)!r}; give the path of a model file.")
    suffix = path.suffix.lower()
    if is_xacro(path, xacro_args):
        text = read_bytes(path).decode("utf-8", errors="replace")
        return _read_xacro(text, path, str(path), folders, xacro_args), False
    others = (*RAI_SUFFIXES, *USD_SUFFIXES, *READABLE_SUFFIXES)
    if suffix in XML_SUFFIXES or suffix not in others and _looks_like_xml(path):
        return _read_xml_file(path, folders), False
    if suffix in RAI_SUFFIXES:
        from .gfile.reader import read_gfile

        return read_gfile(path), True
    if suffix in USD_SUFFIXES:
        from .usd.reader import read_usd

        return read_usd(path), False
    raise LoadError(
        f"{path}: files of kind {suffix or '(no suffix)'!r} are not known;"
        " expected .urdf, .xacro, .xml (MJCF), .sdf, .usd, .g or .yml."
    )


def read_text(
    text: str,
    folder: Path | None = None,
    packages: Packages | None = None,
    xacro_args: XacroArgs | None = None,
) -> Model:
    """Return the model in the text of a URDF or MJCF; see `read_file`.

    Args:
        text: XML; its root element tells the format.
        folder: Where relative names of files begin; None: nowhere.
        packages: See `read_file`.
        xacro_args: Given, the text is expanded as xacro.
    """
    folders = checked_packages(packages)
    if xacro_args is not None:
        place = Path.cwd() if folder is None else folder
        return _read_xacro(text, place / "text.xacro", "text", folders, xacro_args)
    return _read_root(parse_xml(text, "text"), text, folder, folders)


def _read_xacro(
    text: str,
    file: Path,
    label: str,
    packages: Mapping[str, Path],
    args: XacroArgs | None,
) -> Model:
    expanded, known_packages = expand_xacro(text, file.resolve(), packages, args)
    root = parse_xml(expanded, f"{label} (expanded)")
    return _read_root(root, expanded, file.resolve().parent, known_packages)


def _read_xml_file(path: Path, packages: Mapping[str, Path]) -> Model:
    root = read_xml(path)
    if root.tag == "mujoco" and path.suffix.lower() == ".xml":
        from .mjcf.reader import read_mjcf

        return read_mjcf(path)
    # MuJoCo takes the format of a file from its suffix, that of a text from its root.
    text = read_bytes(path).decode("utf-8", errors="replace")
    return _read_root(root, text, path.resolve().parent, packages)


def _read_root(
    root: XmlElement, text: str, folder: Path | None, packages: Mapping[str, Path]
) -> Model:
    if root.tag == "robot":
        from .urdf.reader import read_robot

        return read_robot(root, folder, packages)
    if root.tag == "mujoco":
        from .mjcf.reader import read_mjcf_text

        return read_mjcf_text(text, folder, Path(root.file).name)
    if root.tag == "sdf":
        from .sdf.reader import read_sdf_root

        return read_sdf_root(root, folder, packages)
    advice = OTHER_ROOTS.get(root.tag, "check which file this is.")
    raise root.error(
        f"expected the root <robot> (URDF), <mujoco> (MJCF) or <sdf>: {advice}"
    )


def _looks_like_xml(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(256).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
