"""The scene of a problem file: models, frames and objects, added as they are listed.

Arguments are those of the methods of `Config`, under the same names.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, cast

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.typing import ModelName
from posewise.robots.validation import CONVERSION_ERRORS
from posewise.robots.world.object_states import ObjectState, Particles
from posewise.robots.world.rooms import Room, RoomMap

from .expressions import read_shape
from .yaml_entries import Entry, shorten

FRAME_ARGUMENTS = ("position", "quaternion", "color", "contact")
"""Arguments that objects have in common with frames."""
TEXT_ARGUMENTS = ("prefix", "parent", "joint", "mimic", "category", "base", "camera")
"""Arguments that are texts."""


def read_scene(scene: Entry) -> Config:
    """The world that a scene describes.

    Raises:
        ProblemError: with the line and key of what does not fit.
    """
    C = Config()
    for key, entry in scene.fields(SCENE_SECTIONS).items():
        with entry.locating_errors():
            SCENE_SECTIONS[key](C, entry)
    return C


def set_coordinates(C: Config, entry: Entry) -> None:
    """Set the state: a list of all coordinates, or values by joint."""
    with entry.locating_errors():
        if isinstance(entry.value, dict):
            _set_joints(C, entry)
        elif entry.value is not None:
            C.q = entry.to_python()


def _add_files(C: Config, section: Entry) -> None:
    known = ("file", *_argument_names(Config.add_file, "path"))
    for entry in section.items("names of files, or mappings with a key file"):
        given = _expand_shorthand(entry, "file", known)
        name = given.pop("file")
        path = name.path(name.text("the name of a model file"))
        with entry.locating_errors():
            C.add_file(path, **_read_arguments(given))


def _add_models(C: Config, section: Entry) -> None:
    known = ("model", *_argument_names(Config.load, "name"))
    for entry in section.items("names of models, or mappings with a key model"):
        given = _expand_shorthand(entry, "model", known)
        name = given.pop("model").text("the name of a model, e.g. panda")
        model = cast(ModelName, name)
        with entry.locating_errors():
            C.load(model, **_read_arguments(given))


def _named_section(
    method: Callable[..., Any], *more: str
) -> Callable[[Config, Entry], None]:
    """A section of arguments by name, for a method of the world."""
    known = (*_argument_names(method, "name"), *more)

    def add(C: Config, section: Entry) -> None:
        for name, entry in section.mapping("a mapping of names").items():
            given = _read_arguments(entry.fields(known))
            with entry.locating_errors():
                _call_method(entry, method, C, name, given)

    return add


def _call_method(
    entry: Entry, method: Callable[..., Any], C: Config, name: str, given: dict
) -> None:
    """The method, after a look at whether all it needs is given."""
    try:
        inspect.signature(method).bind(C, name, **given)
    except TypeError as error:
        entry.fail(f"{error}.")
    method(C, name, **given)


def _set_joints(C: Config, section: Entry) -> None:
    for name, entry in section.mapping("a mapping of joints to values").items():
        with entry.locating_errors():
            C.set_joint(name, entry.to_python())


def _lock_joints(C: Config, section: Entry) -> None:
    for entry in section.items("names of joints"):
        with entry.locating_errors():
            C.lock(entry.text("the name of a joint"))


def _add_regions(C: Config, section: Entry) -> None:
    known = _argument_names(Config.add_region)
    for entry in section.items("mappings with the keys object, name, kind, size, …"):
        given = _read_arguments(entry.fields(known))
        for key in ("object", "name"):
            if key not in given:
                entry.fail(
                    f"there is no key {key!r}; got {shorten(entry.to_python())}."
                )
        with entry.locating_errors():
            C.add_region(**given)


def _set_rooms(C: Config, section: Entry) -> None:
    given = section.fields(("size", "resolution", "floor", "rooms"))
    if "size" not in given:
        section.fail("there is no key 'size': cells of the map along x and y.")
    rooms = []
    listed = given["rooms"].mapping("a mapping of names") if "rooms" in given else {}
    for name, entry in listed.items():
        options = _read_arguments(entry.fields(("type", "cells", "floor")))
        with entry.locating_errors():
            rooms.append(Room(name, **options))
            RoomMap(rooms, given["size"].to_python())
    with section.locating_errors():
        C.rooms = RoomMap(
            rooms, **_read_arguments({k: given[k] for k in given if k != "rooms"})
        )


def _mark_objects(C: Config, section: Entry) -> None:
    for name, entry in section.mapping("a mapping of frames").items():
        given = _read_arguments(entry.fields(("category", "abilities")))
        with entry.locating_errors():
            C.mark_object(name, **given)


def _set_states(C: Config, section: Entry) -> None:
    known = [f.name for f in fields(ObjectState) if f.name != "stream"]
    for name, entry in section.mapping("a mapping of objects to states").items():
        given = _read_arguments(entry.fields(known))
        with entry.locating_errors():
            C.set_state(name, **given)


def _argument_names(method: Callable[..., Any], *without: str) -> list[str]:
    """Names of a method's arguments, without `self` and some others."""
    return [
        p.name
        for p in inspect.signature(method).parameters.values()
        if p.kind is not p.VAR_KEYWORD and p.name not in ("self", *without)
    ]


def _expand_shorthand(entry: Entry, key: str, known: Any) -> dict[str, Entry]:
    """`panda`, or `{model: panda, prefix: a_}`."""
    if isinstance(entry.value, str):
        return {key: entry}
    found = dict(entry.fields(known))
    if key not in found:
        entry.fail(f"there is no key {key!r}; got {shorten(entry.to_python())}.")
    return found


def _read_arguments(given: Mapping[str, Entry]) -> dict[str, Any]:
    """Arguments in Python's types, shapes made; null is as if it were not given."""
    there = {key: e for key, e in given.items() if e.value is not None}
    return {
        key: _ARGUMENT_READERS.get(key, Entry.to_python)(e) for key, e in there.items()
    }


def _read_parts(section: Entry) -> list[tuple[Any, Any]]:
    """Shapes, or mappings of a shape and its pose in the object's root frame."""
    made = []
    for entry in section.items("shapes, or mappings with the keys shape and pose"):
        given = _expand_shorthand(entry, "shape", ("shape", "pose"))
        pose = given["pose"].to_python() if "pose" in given else None
        made.append((read_shape(given["shape"]), pose))
    return made


def _read_particles(entry: Entry) -> Particles:
    """Specks by their places in the object's frame, all of them still there."""
    places = entry.items("places (x, y, z) in the object's frame")
    with entry.locating_errors():
        try:
            made = np.array([place.to_python() for place in places], float).reshape(
                -1, 3
            )
        except CONVERSION_ERRORS:
            raise ConfigError(
                f"got {shorten(entry.to_python())}, expected a list of [x, y, z]."
            ) from None
    return Particles(made, np.ones(len(made), bool))


_ARGUMENT_READERS: Mapping[str, Callable[[Entry], Any]] = {
    "shape": read_shape,
    "parts": _read_parts,
    "dust": _read_particles,
    "stain": _read_particles,
    **dict.fromkeys(TEXT_ARGUMENTS, lambda entry: entry.text("a name")),
}

SCENE_SECTIONS: Mapping[str, Callable[[Config, Entry], None]] = {
    "files": _add_files,
    "models": _add_models,
    "frames": _named_section(Config.add_frame),
    "objects": _named_section(Config.add_object, *FRAME_ARGUMENTS),
    "cameras": _named_section(Config.add_camera),
    "agents": _named_section(Config.add_agent),
    "mark": _mark_objects,
    "regions": _add_regions,
    "rooms": _set_rooms,
    "states": _set_states,
    "joints": _set_joints,
    "lock": _lock_joints,
}
"""What a scene is made of."""
