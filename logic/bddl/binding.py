"""Which things of a world the objects of a problem are."""

from collections.abc import Iterable, Mapping
from typing import Any

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name

from ..exact.rooms import InRoom, rooms_named
from .grammar import IN_ROOM
from .problem import Problem

AGENT = "agent.n.01"
FLOOR = "floor.n.01"


def bind_names(problem: Problem, C: Config, names: Any) -> dict[str, str]:
    """Names in the world by instance; see `bind`.

    Raises:
        ConfigError: for unknown names, two instances of one thing, and instances that
            nothing is found for; with near matches.
    """
    bound = _checked_names(problem, C, names)
    for instance in problem.instances:
        taken = instance in bound or instance in bound.values()
        if instance in C.objects and not taken:
            bound[instance] = instance
    missing = []
    for instance, category, room in _instances_in_rooms_first(problem):
        if instance in bound:
            continue
        free = [n for n in _candidates(C, category, room) if n not in bound.values()]
        if room is not None and C.rooms is not None:
            free = [n for n in free if InRoom(n, room).holds(C)]
        if free:
            bound[instance] = free[0]
        else:
            missing.append((instance, category, room))
    if missing:
        raise ConfigError(_missing_message(missing, C, bound.values()))
    return {instance: bound[instance] for instance in problem.instances}


def _checked_names(problem: Problem, C: Config, names: Any) -> dict[str, str]:
    """The names that the user gave, checked."""
    rooms = () if C.rooms is None else C.rooms.rooms
    known = [*C.objects, *C.frame_names, *(room.name for room in rooms)]
    bound: dict[str, str] = {}
    names = {} if names is None else names
    if not isinstance(names, Mapping):
        raise ConfigError(
            f"names is {names!r}, expected a dictionary, e.g."
            ' {"apple.n.01_1": "apple"}.'
        )
    for key, name in names.items():
        instance = str(key).lower()
        if instance not in problem.instances:
            what = unknown_name("object of the problem", key, problem.instances)
            raise ConfigError(f"names: {what}")
        if name not in known:
            what = unknown_name("object, frame or room", name, known)
            raise ConfigError(f"names of {instance!r}: {what}")
        taken = [i for i, n in bound.items() if n == name]
        if taken:
            raise ConfigError(
                f"names: {taken[0]!r} and {instance!r} are both {name!r}; a problem's"
                " objects are different things."
            )
        bound[instance] = name
    return bound


def _instances_in_rooms_first(problem: Problem) -> list[tuple[str, str, str | None]]:
    """Instances with category and room, those that must be in a room first."""
    room_of = {str(f[1]): str(f[2]) for f in problem.init if f[0] == IN_ROOM}
    found = [
        (instance, category, room_of.get(instance))
        for category, instances in problem.objects.items()
        for instance in instances
    ]
    return sorted(found, key=lambda entry: entry[2] is None)


def _candidates(C: Config, category: str, room: str | None) -> list[str]:
    """Things of a category, in the world's order."""
    found = [name for name, thing in C.objects.items() if thing.category == category]
    if category == AGENT:
        objects_or_frames = {*C.objects, *C.frame_names}
        found += [
            name if name in objects_or_frames else agent.base
            for name, agent in C.agents.items()
        ]
    if category == FLOOR and not found and room and C.rooms is not None:
        found = [room.name for room in rooms_named(C.rooms, room)]
    return found


def _missing_message(
    missing: list[tuple[str, str, str | None]], C: Config, taken: Iterable[str]
) -> str:
    """What to say of instances that nothing was found for."""
    taken = set(taken)
    known = sorted({thing.category for thing in C.objects.values() if thing.category})
    sentences = []
    for category in dict.fromkeys(category for _, category, _ in missing):
        instances = [i for i, c, _ in missing if c == category]
        rooms = sorted({room for _, c, room in missing if c == category and room})
        have = _candidates(C, category, None)
        where = f" in {' or '.join(rooms)}" if rooms and C.rooms is not None else ""
        if have:
            left = [name for name in have if name not in taken]
            why = (
                f"of {len(have)} {category} in the world {len(left)}"
                f" {'is' if len(left) == 1 else 'are'} left."
            )
        else:
            why = unknown_name("object of category", category, known)
        sentences.append(f"Nothing{where} for {', '.join(instances)}: {why}")
    example = missing[0][0]
    return (
        f"{' '.join(sentences)} Add objects with that category, or name them:"
        f" bind(problem, C, {{{example!r}: 'name'}})."
    )
