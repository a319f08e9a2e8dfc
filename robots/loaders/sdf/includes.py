"""Models that a world of SDF includes from other files.

A model is a folder with a `model.config`, which names its SDF file, or a file. It must
lie in the package of the world, in `packages`, or where `model://` looks for it.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from ...geometry.model_files import is_existing_file
from ..package_folders import package_folders, package_root
from ..xmltree import XmlElement, read_xml
from .poses import child_text

MODEL_URI = re.compile(r"(?:model|package)://([\w+-][\w.+ -]*)/?(.*)")
CONFIG_FILE, DEFAULT_FILE = "model.config", "model.sdf"


def included_model(
    include: XmlElement, folder: Path | None, packages: Mapping[str, Path]
) -> tuple[XmlElement, Path]:
    """Return the model that an `<include>` names, and the folder of its file.

    Name, pose and `static` of the include replace those of the model.

    Raises:
        LoadError: For a file that is not found, or has not one model.
    """
    uri = child_text(include, "uri")
    file = next(_files(uri, folder, packages), None)
    if file is None:
        raise include.error(
            f"{uri!r} is not found; pass packages={{name: folder}} to say where a model"
            " is."
        )
    models = read_xml(file).findall("model")
    if len(models) != 1:
        raise include.error(f"{uri!r} has {len(models)} models, expected one.")
    model = models[0]
    if name := child_text(include, "name"):
        model.set("name", name)
    if placement_frame := include.get("placement_frame"):
        model.set("placement_frame", placement_frame)
    for tag in ("pose", "static"):
        replacement = include.find(tag)
        if replacement is not None:
            for old in model.findall(tag):
                ET.Element.remove(model, old)
            model.append(replacement)
    return model, file.parent


def _files(
    uri: str, folder: Path | None, packages: Mapping[str, Path]
) -> Iterator[Path]:
    """Yield the SDF files that a name may stand for, the likeliest first."""
    match = MODEL_URI.fullmatch(uri)
    places: list[tuple[Path, Path]] = []
    if match:
        name, inner = match.groups()
        if name in packages:
            places += [(packages[name], packages[name] / inner)]
        else:
            places += [(f, f / inner) for f in package_folders(name, folder)]
    elif folder is not None and uri and "://" not in uri:
        roots = [package_root(folder), *packages.values()]
        places += [(root, folder / uri) for root in roots]
    for root, place in places:
        if _is_inside(place, root):
            file = _file_of(place)
            if is_existing_file(file) and _is_inside(file, root):
                yield file.resolve()


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def _file_of(place: Path) -> Path:
    """Return the SDF file of a folder of a model; a file is itself."""
    if not place.is_dir():
        return place
    config = place / CONFIG_FILE
    if is_existing_file(config):
        # The last one is of the newest version.
        files = [(e.text or "").strip() for e in read_xml(config).findall("sdf")]
        if files and files[-1]:
            return place / files[-1]
    return place / DEFAULT_FILE
