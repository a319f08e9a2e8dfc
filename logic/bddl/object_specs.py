"""Which form, size and abilities each category of a problem gets."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

from .abilities import abilities_of
from .primitive_bodies import WALL, Size, inner_size
from .requirements import Demands, demands_of
from .synset_sizes import Form, look

if TYPE_CHECKING:
    from .problem import Problem
else:
    Problem = object

ROOMY = 2.5
"""How much more room than their footprints things have in, and on, others."""
SPARE = 0.04
"""How much larger compartments are than the largest thing that may be in them [m]."""
HOLLOW: tuple[Form, ...] = ("crate", "cabinet", "rack")


@dataclass(frozen=True)
class Item:
    """What things of a category are made as."""

    form: Form
    size: Size
    levels: int
    """Compartments above each other."""
    flap: bool
    """Whether there is a door or a lid."""
    abilities: dict[str, dict[str, Any]]


def stock(problem: Problem) -> dict[str, Item]:
    """An item for each category; large enough for what the problem may put there."""
    demands = demands_of(problem)
    category = {i: c for c, found in problem.objects.items() for i in found}
    made: dict[str, Item] = {}

    def make(wanted: str, above: tuple[str, ...]) -> Item:
        if wanted not in made:
            contents, toppings = (
                [
                    make(category[i], (*above, wanted))
                    for i in sorted(table.get(wanted, ()))
                    if category[i] not in (*above, wanted)
                ]
                for table in (demands.inside, demands.on)
            )
            n = max(len(problem.objects[wanted]), 1)
            made[wanted] = _item(wanted, contents, toppings, n, demands)
        return made[wanted]

    for wanted in problem.objects:
        make(wanted, ())
    return made


def _item(
    wanted: str, contents: list[Item], toppings: list[Item], n: int, demands: Demands
) -> Item:
    form, size = look(wanted)
    holds = wanted in demands.inside
    if holds and form not in HOLLOW:
        form = "crate"
    levels = 1
    if form in HOLLOW:
        size, levels = _hollow(form, size, [item.size for item in contents], n)
    size = _topped(size, [item.size for item in toppings], n)
    abilities = abilities_of(wanted)
    for ability in demands.abilities.get(wanted, ()):
        abilities.setdefault(ability, {})
    asked = "openable" in demands.abilities.get(wanted, ())
    if asked and form not in (*HOLLOW, "leaf"):
        form = "crate"
    flap = form in ("cabinet", "leaf") or asked and form == "crate"
    return Item(form, size, levels, flap, abilities)


def _hollow(form: Form, size: Size, contents: list[Size], n: int) -> tuple[Size, int]:
    """A size and a number of compartments with room for all."""
    highest = max((z for _, _, z in contents), default=0.0) + SPARE
    x, y, z = size
    levels = 1
    if form != "crate":
        levels = max(int(z // max(0.35, highest + WALL)), 1)
    inner = inner_size(form, size, levels)
    have = (size[0], size[1], 0.0) if inner is None else inner
    factor = _factor((have[0], have[1]), contents, n * levels)
    z += max(highest - have[2], 0.0)
    return (x * factor, y * factor, z), levels


def _topped(size: Size, toppings: list[Size], n: int) -> Size:
    """A size with room for what may be on top."""
    factor = _factor(size[:2], toppings, n)
    return size[0] * factor, size[1] * factor, size[2]


def _factor(have: tuple[float, float], things: Iterable[Size], n: int) -> float:
    """How much longer edges must be: for the largest thing, and for all on average."""
    footprints = [(max(x, y) + SPARE, min(x, y) + SPARE) for x, y, _ in things]
    if not footprints:
        return 1.0
    long, short = max(have), min(have)
    area = sum(x * y for x, y in footprints)
    return max(
        1.0,
        max(x for x, _ in footprints) / long,
        max(y for _, y in footprints) / short,
        sqrt(ROOMY * area / (n * long * short)),
    )
