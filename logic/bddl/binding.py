"""Binding of a problem's objects to the objects of a world."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name

from ..geometry.rooms import rooms_named
from ..predicates.rooms import InRoom
from .grammar import FLOOR, IN_ROOM
from .problem import Problem
from .requirements import substances_of

AGENT = "agent.n.01"
"""Category of the instances that agents of a world stand for."""


class _Instance(NamedTuple):
    """An instance of a problem, and its requirements."""

    name: str
    category: str
    room: str | None
    """Type of the room that :init puts it into, if any."""


def bind_names(
    problem: Problem, C: Config, names: Mapping[str, str] | None
) -> dict[str, str]:
    """Return names in the world by instance, as of `bind`.

    Args:
        problem: its instances are bound.
        C: the world.
        names: objects, frames or rooms by instance, given by the user.

    Raises:
        ConfigError: if a name is unknown, two instances are bound to one object, or an
            instance has no matching object; with near matches.
    """
    bound = _checked_names(problem, C, names)
    for name, substance in substances_of(problem).items():
        bound.setdefault(name, substance)
    for name in problem.instances:
        is_bound = name in bound or name in bound.values()
        if name in C.objects and not is_bound:
            bound[name] = name
    missing = []
    for instance in _instances_in_rooms_first(problem):
        if instance.name in bound:
            continue
        candidates = _candidates(C, instance.category, instance.room)
        free = [n for n in candidates if n not in bound.values()]
        if instance.room is not None and C.annotations.rooms is not None:
            free = [n for n in free if InRoom(n, instance.room).holds(C)]
        if free:
            bound[instance.name] = free[0]
        else:
            missing.append(instance)
    if missing:
        raise ConfigError(_missing_message(missing, C, bound.values()))
    return {name: bound[name] for name in problem.instances}


def _checked_names(
    problem: Problem, C: Config, names: Mapping[str, str] | None
) -> dict[str, str]:
    """Return the names that the user gave, by instance in lower case."""
    rooms = () if C.annotations.rooms is None else C.annotations.rooms.rooms
    known = [*C.objects, *C.frame_names, *(room.name for room in rooms)]
    bound: dict[str, str] = {}
    substances = substances_of(problem)
    names = {} if names is None else names
    if not isinstance(names, Mapping):
        raise ConfigError(
            f"names is {names!r}, expected a dictionary, e.g."
            ' {"apple.n.01_1": "apple"}.'
        )
    for key, name in names.items():
        instance = str(key).lower()
        if instance not in problem.instances:
            message = unknown_name("object of the problem", key, problem.instances)
            raise ConfigError(f"names: {message}")
        if name not in known and instance not in substances:
            message = unknown_name("object, frame or room", name, known)
            raise ConfigError(f"names of {instance!r}: {message}")
        namesakes = [i for i, n in bound.items() if n == name]
        if namesakes and instance not in substances:
            raise ConfigError(
                f"names: {namesakes[0]!r} and {instance!r} are both {name!r}; bind each"
                " instance to an object that no other instance is bound to."
            )
        bound[instance] = name
    return bound


def _instances_in_rooms_first(problem: Problem) -> list[_Instance]:
    """Return the instances, with those that must be in a room first.

    They have fewer candidates, which must not be taken by other instances.
    """
    room_of = {str(f[1]): str(f[2]) for f in problem.init if f[0] == IN_ROOM}
    instances = [
        _Instance(name, category, room_of.get(name))
        for category, names in problem.objects.items()
        for name in names
    ]
    return sorted(instances, key=lambda instance: instance.room is None)


def _candidates(C: Config, category: str, room: str | None) -> list[str]:
    """Return the names in the world that fit a category, in the world's order.

    Args:
        C: the world.
        category: of the instance.
        room: type of the room that a floor may belong to.
    """
    names = [name for name, obj in C.objects.items() if obj.category == category]
    if category == AGENT:
        objects_or_frames = {*C.objects, *C.frame_names}
        names += [
            name if name in objects_or_frames else agent.base
            for name, agent in C.annotations.agents.items()
        ]
    if category == FLOOR and not names and room and C.annotations.rooms is not None:
        names = [room.name for room in rooms_named(C.annotations.rooms, room)]
    return names


def _missing_message(missing: list[_Instance], C: Config, bound: Iterable[str]) -> str:
    """Return the error message about instances without a matching object."""
    bound = set(bound)
    known = sorted({obj.category for obj in C.objects.values() if obj.category})
    sentences = []
    for category in dict.fromkeys(instance.category for instance in missing):
        same = [instance for instance in missing if instance.category == category]
        rooms = sorted({instance.room for instance in same if instance.room})
        candidates = _candidates(C, category, None)
        where = (
            f" in {' or '.join(rooms)}"
            if rooms and C.annotations.rooms is not None
            else ""
        )
        if candidates:
            unbound = [name for name in candidates if name not in bound]
            why = (
                f"of {len(candidates)} {category} in the world {len(unbound)}"
                f" {'is' if len(unbound) == 1 else 'are'} left."
            )
        else:
            why = unknown_name("object of category", category, known)
        names = ", ".join(instance.name for instance in same)
        sentences.append(f"No object{where} for {names}: {why}")
    example = missing[0].name
    return (
        f"{' '.join(sentences)} Add objects with that category, or name them:"
        f" bind(problem, C, {{{example!r}: 'name'}})."
    )
