"""The scene of a problem file: models, frames and objects in their order in the file.

Keys are the arguments of the methods of `Config` and its facets.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields as dataclass_fields
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from posewise.robots.annotations.object_states import (
    SHORT_NAMES,
    ObjectState,
    Particles,
)
from posewise.robots.annotations.rooms import Room, RoomMap
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.facets.annotations import WorldAnnotations
from posewise.robots.loaders.dispatch import Packages
from posewise.robots.typing import ModelName
from posewise.robots.validation import CONVERSION_ERRORS

from .expressions import read_shape
from .yaml_entries import Entry, read_names, shorten

FRAME_ARGUMENTS = ("position", "quaternion", "color", "contact")
"""Arguments of frames that objects accept too."""
TEXT_ARGUMENTS = ("prefix", "parent", "joint", "mimic", "category", "base", "camera")
"""Arguments whose values are names."""


def read_scene(scene: Entry, packages: Packages | None = None) -> Config:
    """Return the world that a scene describes.

    Args:
        scene: the section.
        packages: folders of ROS packages by name, beside those that the scene names.

    Raises:
        ProblemError: for invalid input, with line and key.
    """
    C = Config()
    readers = dict(SCENE_SECTIONS)
    readers["files"] = partial(_add_files, packages=packages)
    for key, entry in scene.fields(readers).items():
        with entry.locating_errors():
            readers[key](C, entry)
    return C


def set_coordinates(C: Config, entry: Entry) -> None:
    """Set the state from a list of all coordinates, or from values by joint."""
    with entry.locating_errors():
        if isinstance(entry.value, dict):
            _set_joints(C, entry)
        elif entry.value is not None:
            C.q = entry.to_python()


def _add_files(C: Config, section: Entry, packages: Packages | None = None) -> None:
    keys = ("file", "srdf", *_argument_names(Config.add_file, "path"))
    for entry in section.items("names of files, or mappings with a key file"):
        fields = _expand_shorthand(entry, "file", keys)
        name = fields.pop("file")
        path = _model_file(name, packages or {})
        srdf = fields.pop("srdf", None)
        with entry.locating_errors():
            options = _read_arguments(fields)
            options["packages"] = {**(packages or {}), **options.get("packages", {})}
            C.add_file(path, **options)
        if srdf is not None and srdf.value is not None:
            _read_srdf(C, srdf, options.get("prefix", ""), options["packages"])


def _read_srdf(C: Config, section: Entry, prefix: str, packages: Packages) -> None:
    """Read the SRDF of a model, given as a file or with values of xacro arguments."""
    fields = _expand_shorthand(section, "file", ("file", "xacro_args"))
    path = _model_file(fields.pop("file"), packages)
    with section.locating_errors():
        C.pairs.read_srdf(path, prefix, packages=packages, **_read_arguments(fields))


def _model_file(name: Entry, packages: Packages) -> Path:
    """Return the file of a model: beside the problem file, absolute, or in a package.

    Only packages that the command line names are known here.
    """
    text = name.text("the name of a model file")
    scheme = "package://"
    if text.startswith(scheme):
        package, _, inner = text.removeprefix(scheme).partition("/")
        if package not in packages:
            name.fail(
                f"{unknown_name('package', package, packages)} Name its folder on the"
                f" command line: --package {package}=FOLDER."
            )
        text = str((Path(packages[package]) / inner).absolute())
    path = Path(text)
    if not path.is_absolute():
        return name.path(text)
    if not path.is_file():
        name.fail(f"{text!r} is not a file; expected a model.")
    return path


def _add_models(C: Config, section: Entry) -> None:
    keys = ("model", *_argument_names(Config.load, "name"))
    for entry in section.items("names of models, or mappings with a key model"):
        fields = _expand_shorthand(entry, "model", keys)
        name = fields.pop("model").text("the name of a model, such as panda")
        with entry.locating_errors():
            C.load(cast(ModelName, name), **_read_arguments(fields))


def _annotations(C: Config) -> WorldAnnotations:
    return C.annotations


def _named_section(
    method: Callable[..., Any],
    *more: str,
    facet: Callable[[Config], Config | WorldAnnotations] = lambda C: C,
) -> Callable[[Config, Entry], None]:
    """Return the reader of a section that calls a method of the world for each name.

    Args:
        method: method whose arguments are the keys.
        more: further keys.
        facet: returns what has the method, from the world.
    """
    keys = (*_argument_names(method, "name"), *more)

    def add(C: Config, section: Entry) -> None:
        for name, entry in section.mapping("a mapping of names").items():
            arguments = _read_arguments(entry.fields(keys))
            with entry.locating_errors():
                _call_method(entry, method, facet(C), name, arguments)

    return add


def _call_method(
    entry: Entry,
    method: Callable[..., Any],
    owner: Config | WorldAnnotations,
    name: str,
    arguments: dict[str, Any],
) -> None:
    """Call a method after checking that all required arguments are there."""
    try:
        inspect.signature(method).bind(owner, name, **arguments)
    except TypeError as error:
        entry.fail(f"{error}.")
    method(owner, name, **arguments)


def _set_joints(C: Config, section: Entry) -> None:
    for name, entry in section.mapping("a mapping of joints to values").items():
        with entry.locating_errors():
            C.set_joint(name, entry.to_python())


def _fit_collisions(C: Config, section: Entry) -> None:
    fields = section.fields(_argument_names(Config.fit_collisions))
    arguments = _read_arguments(fields)
    if "links" in arguments:
        arguments["links"] = read_names(fields, "links")
    C.fit_collisions(**arguments)


def _lock_joints(C: Config, section: Entry) -> None:
    for entry in section.items("names of joints"):
        with entry.locating_errors():
            C.lock(entry.text("the name of a joint"))


def _ignore_collisions(C: Config, section: Entry) -> None:
    expected = "two names, [a, b], or a name and several, [a, [b, c]]"
    for entry in section.items("pairs of frames or objects, [a, b] or [a, [b, c]]"):
        sides = entry.items(f"two sides of pairs, {expected}")
        if len(sides) != 2:
            entry.fail(f"got {shorten(entry.to_python())}, expected {expected}.")
        named = {"a": sides[0], "b": sides[1]}
        with entry.locating_errors():
            C.ignore_collisions(read_names(named, "a"), read_names(named, "b"))


def _add_regions(C: Config, section: Entry) -> None:
    keys = _argument_names(WorldAnnotations.add_region)
    for entry in section.items("mappings with the keys object, name, kind, size, …"):
        arguments = _read_arguments(entry.fields(keys))
        for key in ("object", "name"):
            if key not in arguments:
                entry.fail(
                    f"there is no key {key!r}; got {shorten(entry.to_python())}."
                )
        with entry.locating_errors():
            C.annotations.add_region(**arguments)


def _set_rooms(C: Config, section: Entry) -> None:
    fields = section.fields(("size", "resolution", "floor", "rooms"))
    if "size" not in fields:
        section.fail("there is no key 'size'; give the cells of the map along x and y.")
    rooms: list[Room] = []
    entries = fields["rooms"].mapping("a mapping of names") if "rooms" in fields else {}
    for name, entry in entries.items():
        options = _read_arguments(entry.fields(("type", "cells", "floor")))
        with entry.locating_errors():
            rooms.append(Room(name, **options))
            # A map of the rooms so far raises here, where the line is known.
            RoomMap(rooms, fields["size"].to_python())
    options = _read_arguments({k: e for k, e in fields.items() if k != "rooms"})
    with section.locating_errors():
        C.annotations.rooms = RoomMap(rooms, **options)


def _mark_objects(C: Config, section: Entry) -> None:
    for name, entry in section.mapping("a mapping of frames").items():
        arguments = _read_arguments(entry.fields(("category", "abilities")))
        with entry.locating_errors():
            C.annotations.mark_object(name, **arguments)


def _set_states(C: Config, section: Entry) -> None:
    fields = [f.name for f in dataclass_fields(ObjectState) if f.name != "stream"]
    keys = [*fields, *SHORT_NAMES]
    for name, entry in section.mapping("a mapping of objects to states").items():
        arguments = _read_arguments(entry.fields(keys))
        with entry.locating_errors():
            C.annotations.set_state(name, **arguments)


def _argument_names(method: Callable[..., Any], *without: str) -> list[str]:
    """Return the names of a method's arguments, except `self` and some others."""
    return [
        p.name
        for p in inspect.signature(method).parameters.values()
        if p.kind is not p.VAR_KEYWORD and p.name not in ("self", *without)
    ]


def _expand_shorthand(entry: Entry, key: str, keys: Iterable[str]) -> dict[str, Entry]:
    """Return the entries of a mapping; a text stands for a mapping with one key."""
    if isinstance(entry.value, str):
        return {key: entry}
    fields = dict(entry.fields(keys))
    if key not in fields:
        entry.fail(f"there is no key {key!r}; got {shorten(entry.to_python())}.")
    return fields


def _read_arguments(fields: Mapping[str, Entry]) -> dict[str, Any]:
    """Return arguments as Python values; null is treated as a missing key."""
    return {
        key: _ARGUMENT_READERS.get(key, Entry.to_python)(entry)
        for key, entry in fields.items()
        if entry.value is not None
    }


def _read_parts(section: Entry) -> list[tuple[Any, Any]]:
    """Return shapes with their poses in the object's root frame, or None."""
    parts = []
    for entry in section.items("shapes, or mappings with the keys shape and pose"):
        fields = _expand_shorthand(entry, "shape", ("shape", "pose"))
        pose = fields["pose"].to_python() if "pose" in fields else None
        parts.append((read_shape(fields["shape"]), pose))
    return parts


def _read_packages(section: Entry) -> dict[str, Path]:
    """Return the folders of packages, which must lie beside the problem file."""
    folders = {}
    for name, entry in section.mapping("a mapping of packages to folders").items():
        folders[name] = entry.folder(entry.text("a folder"))
    return folders


def _read_particles(entry: Entry) -> Particles:
    """Return particles at positions in the object's frame, all of them active."""
    entries = entry.items("positions (x, y, z) in the object's frame")
    with entry.locating_errors():
        try:
            positions = np.array([e.to_python() for e in entries], float).reshape(-1, 3)
        except CONVERSION_ERRORS:
            raise ConfigError(
                f"got {shorten(entry.to_python())}, expected a list of [x, y, z]."
            ) from None
    return Particles(positions, np.ones(len(positions), bool))


def _read_covering(entry: Entry) -> dict[str, Particles]:
    """Return particles by substance."""
    substances = entry.mapping("a mapping of substances to positions")
    return {name: _read_particles(e) for name, e in substances.items()}


_ARGUMENT_READERS: Mapping[str, Callable[[Entry], Any]] = {
    "shape": read_shape,
    "parts": _read_parts,
    "packages": _read_packages,
    "dust": _read_particles,
    "stain": _read_particles,
    "covering": _read_covering,
    **dict.fromkeys(TEXT_ARGUMENTS, lambda entry: entry.text("a name")),
}

SCENE_SECTIONS: Mapping[str, Callable[[Config, Entry], None]] = {
    "files": _add_files,
    "models": _add_models,
    "frames": _named_section(Config.add_frame),
    "objects": _named_section(Config.add_object, *FRAME_ARGUMENTS),
    "cameras": _named_section(WorldAnnotations.add_camera, facet=_annotations),
    "agents": _named_section(WorldAnnotations.add_agent, facet=_annotations),
    "mark": _mark_objects,
    "regions": _add_regions,
    "rooms": _set_rooms,
    "states": _set_states,
    "ignore_collisions": _ignore_collisions,
    "joints": _set_joints,
    "lock": _lock_joints,
    "fit_collisions": _fit_collisions,
}
"""Function that reads each section of a scene."""
