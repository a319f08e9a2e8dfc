"""Which form, size and abilities each category of a problem gets."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Any

from .abilities import abilities_of
from .primitive_bodies import WALL_THICKNESS, Size, compartment_size
from .problem import Problem
from .requirements import Requirements, requirements_of
from .synset_sizes import BodyTemplate, body_of_synset

AREA_PER_FOOTPRINT = 2.5
"""How much more room than their footprints things have in, and on, others."""
COMPARTMENT_CLEARANCE = 0.04
"""How much larger compartments are than the largest thing that may be in them [m]."""
HOLLOW_TEMPLATES: tuple[BodyTemplate, ...] = ("crate", "cabinet", "rack")


@dataclass(frozen=True)
class ObjectSpec:
    """What things of a category are made as."""

    template: BodyTemplate
    size: Size
    num_levels: int
    """Compartments above each other."""
    has_flap: bool
    """Whether there is a door or a lid."""
    abilities: dict[str, dict[str, Any]]


def specs_by_category(problem: Problem) -> dict[str, ObjectSpec]:
    """An item for each category; large enough for what the problem may put there."""
    demands = requirements_of(problem)
    category = {i: c for c, found in problem.objects.items() for i in found}
    made: dict[str, ObjectSpec] = {}

    def make(wanted: str, above: tuple[str, ...]) -> ObjectSpec:
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
            made[wanted] = _object_spec(wanted, contents, toppings, n, demands)
        return made[wanted]

    for wanted in problem.objects:
        make(wanted, ())
    return made


def _object_spec(
    wanted: str,
    contents: list[ObjectSpec],
    toppings: list[ObjectSpec],
    n: int,
    demands: Requirements,
) -> ObjectSpec:
    form, size = body_of_synset(wanted)
    holds = wanted in demands.inside
    if holds and form not in HOLLOW_TEMPLATES:
        form = "crate"
    levels = 1
    if form in HOLLOW_TEMPLATES:
        size, levels = _container_size(form, size, [item.size for item in contents], n)
    size = _support_size(size, [item.size for item in toppings], n)
    abilities = abilities_of(wanted)
    for ability in demands.abilities.get(wanted, ()):
        abilities.setdefault(ability, {})
    asked = "openable" in demands.abilities.get(wanted, ())
    if asked and form not in (*HOLLOW_TEMPLATES, "leaf"):
        form = "crate"
    flap = form in ("cabinet", "leaf") or asked and form == "crate"
    return ObjectSpec(form, size, levels, flap, abilities)


def _container_size(
    form: BodyTemplate, size: Size, contents: list[Size], n: int
) -> tuple[Size, int]:
    """A size and a number of compartments with room for all."""
    highest = max((z for _, _, z in contents), default=0.0) + COMPARTMENT_CLEARANCE
    x, y, z = size
    levels = 1
    if form != "crate":
        levels = max(int(z // max(0.35, highest + WALL_THICKNESS)), 1)
    inner = compartment_size(form, size, levels)
    have = (size[0], size[1], 0.0) if inner is None else inner
    factor = _edge_scale((have[0], have[1]), contents, n * levels)
    z += max(highest - have[2], 0.0)
    return (x * factor, y * factor, z), levels


def _support_size(size: Size, toppings: list[Size], n: int) -> Size:
    """A size with room for what may be on top."""
    factor = _edge_scale(size[:2], toppings, n)
    return size[0] * factor, size[1] * factor, size[2]


def _edge_scale(have: tuple[float, float], things: Iterable[Size], n: int) -> float:
    """How much longer edges must be: for the largest thing, and for all on average."""
    footprints = [
        (max(x, y) + COMPARTMENT_CLEARANCE, min(x, y) + COMPARTMENT_CLEARANCE)
        for x, y, _ in things
    ]
    if not footprints:
        return 1.0
    long, short = max(have), min(have)
    area = sum(x * y for x, y in footprints)
    return max(
        1.0,
        max(x for x, _ in footprints) / long,
        max(y for _, y in footprints) / short,
        sqrt(AREA_PER_FOOTPRINT * area / (n * long * short)),
    )
