"""Objects that do not stay where a solved problem put them when it is simulated."""

from collections.abc import Iterable, Iterator, Sequence

from posewise.objectives.checks.floating import floating_doubts
from posewise.robots.config import Config
from posewise.robots.simulation.motion import SimulatedTrajectory, SimulationError
from posewise.robots.simulation.twin import Twin
from posewise.robots.typing import FrameName

from ..formulas.messages import format_predicate
from ..formulas.predicate import Predicate
from ..predicates.containment import InsideOf
from ..predicates.floors import OnFloor
from ..predicates.footing import rests_on_little
from ..predicates.intrusion import sticks_out
from ..predicates.stable import Stable
from ..predicates.support import OnTopOf

SUPPORTS = (InsideOf, OnFloor, OnTopOf)
"""Predicates of an object, their first one, and what carries it."""


def rest_doubts(
    C: Config, loose: Iterable[FrameName], literals: Sequence[Predicate]
) -> tuple[str, ...]:
    """Return a sentence for each loose object that does not stay, or hardly does.

    Hardly: what carries it is small beside it, such as a knob, or it sticks out of its
    container. The world is simulated once for all of them, as `Stable` does; without
    MuJoCo just objects in the air are told.

    Args:
        C: the world.
        loose: objects on free joints.
        literals: conditions that hold in the world.
    """
    names = [name for name in loose if _exists(C, name)]
    if not names:
        return ()
    hardly = [
        doubt
        for literal in literals
        if isinstance(literal, InsideOf | OnTopOf)
        if literal.a in names and literal.holds(C)
        for doubt in _hardly_rests(literal, C)
    ]
    try:
        motion = Twin(_without_unreal(C)).simulate(Stable(names[0]).duration)
    except ImportError:
        return (*hardly, *floating_doubts(C, names))
    except SimulationError:
        thrown = "Objects overlap, so that a simulation throws them out."
        return (*hardly, thrown)
    return (*hardly, *_falling(motion, names, literals))


def _hardly_rests(literal: InsideOf | OnTopOf, C: Config) -> Iterator[str]:
    doubt = sticks_out if isinstance(literal, InsideOf) else rests_on_little
    yield from doubt(literal, C, literal.a, literal.b)


def _falling(
    motion: SimulatedTrajectory,
    names: Sequence[FrameName],
    literals: Sequence[Predicate],
) -> Iterator[str]:
    for name in names:
        verdict = Stable(name).verdict_of(motion)
        if verdict.truth:
            continue
        about = [
            format_predicate(literal)
            for literal in literals
            if isinstance(literal, SUPPORTS) and literal.a == name
        ]
        holds = f"{about[0]} holds, but " if about else ""
        yield f"{holds}{name!r} does not stay where it is: {verdict.reason()}"


def _exists(C: Config, name: FrameName) -> bool:
    return bool(C.annotations.states[name].real)


def _without_unreal(C: Config) -> Config:
    """Return a copy in which nothing touches what does not exist."""
    world = C.copy()
    for name, obj in C.objects.items():
        if not _exists(C, name):
            for part in obj.parts:
                world.set_contact(part, 0)
    return world
