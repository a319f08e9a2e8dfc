"""How paths make tools and blades touch things, or keep them apart."""

from functools import partial

from posewise.objectives.interval import Slices
from posewise.robots.config import Config

from ...errors import PredicateError
from ...exact.contact import TOLERANCE
from ...exact.solids import Solid, branch, thing
from ...planning.schedule import Made, Plan, Plans, When, any_of
from ...relaxed.constraint_terms import Rows
from ...relaxed.distances import STRICT, apart, within
from ...relaxed.object_features import Pair
from ..dirt import dirty


def sliced_plans(C: Config, when: When, name: str, value: bool) -> Plans:
    """A blade touches the object on some slice before; or none does on any.

    Raises:
        PredicateError: where there is no blade, or it is sliced already and shall not
            be.
    """
    sliced = bool(C.states[name].sliced)
    if sliced and not value:
        raise PredicateError(
            f"{name!r} is sliced, which cannot be undone; begin with a world where it"
            " is whole."
        )
    blades = tools(C, "slicer", name)
    if sliced or not value:
        return [_untouched(C, when, blades, name)] if not sliced else [Plan()]
    if not blades:
        raise PredicateError(
            f"Nothing can slice {name!r}: give an object with shapes the ability"
            " slicer."
        )
    slices = [k for k in when.within if k <= when.held[0]][::-1]
    cut = partial(_touching, C, when, name)
    return any_of([partial(cut, blade, k) for k in slices for blade in blades])


def dirty_plans(C: Config, when: When, name: str, kind: str, share: float) -> Plans:
    """No cleaning tool touches an object that is dirty.

    Raises:
        PredicateError: where it is clean: nothing makes it dirty.
    """
    if not dirty(getattr(C.states[name], kind).active, share):
        raise PredicateError(
            f"{name!r} has not that much {kind}, and nothing along a path brings some;"
            " set it before, e.g. by logic.Dusty(...).set(C)."
        )
    return [_untouched(C, when, tools(C, "cleaningTool", name), name)]


def tools(C: Config, ability: str, name: str) -> list[tuple[str, Solid]]:
    """Owners and working parts of tools, those of other objects than one."""
    owners = [o for o in C.objects.values() if ability in o.abilities]
    found = [(o.name, branch(C, o.link(ability))) for o in owners if o.name != name]
    return [(owner, part) for owner, part in found if part.solid_frames]


def touching(C: Config, when: When, part: Solid, name: str, slices: Slices) -> Made:
    """A part touches an object on slices."""
    error = 0.5 * TOLERANCE
    pair = Pair(C, part, thing(C, name), False)
    row = lambda: Rows(pair.feature(within(TOLERANCE, error)), 100.0, error)
    return when.on(slices).made(("touch", part.name, name), C, row)


def _touching(
    C: Config, when: When, name: str, blade: tuple[str, Solid], k: int
) -> Plans:
    owner, part = blade
    title = f"{owner} touches {name} at t = {when.time(k):g}"
    return [Plan(title, touching(C, when, part, name, (k,)))]


def _untouched(
    C: Config, when: When, parts: list[tuple[str, Solid]], name: str
) -> Plan:
    """No part touches an object on any slice until the last one."""
    until, rows = when.on(tuple(range(when.held[-1] + 1))), Plan().objectives
    for _, part in parts:
        pair = Pair(C, part, thing(C, name), False)
        row = lambda pair=pair: Rows(pair.feature(apart(TOLERANCE + STRICT)))
        rows += until.made(("apart", part.name, name), C, row)
    return Plan("", rows)
