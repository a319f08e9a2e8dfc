"""Specifications of the objects of a problem: body, size and abilities by category."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from .abilities import Abilities, abilities_of
from .primitive_bodies import WALL_THICKNESS, Size, compartment_size
from .problem import Problem
from .requirements import Requirements, requirements_of
from .synset_sizes import BodyTemplate, body_of_synset

AREA_PER_FOOTPRINT = 2.5
"""Ratio of the free area on a support to the area of the footprints; a larger one packs
looser."""
COMPARTMENT_CLEARANCE = 0.04
"""Length by which a compartment exceeds its largest content [m]; with a larger one
contents fit in more easily, and furniture grows."""
MIN_CRATE_EDGE = 0.06
"""Least horizontal edge of a crate [m]; larger makes larger bottles and jars."""
MIN_LEVEL_HEIGHT = 0.35
"""Least height of a compartment of a cabinet or rack [m]; larger makes fewer."""
HOLLOW_TEMPLATES: tuple[BodyTemplate, ...] = ("crate", "cabinet", "rack")
"""Templates with compartments."""


@dataclass(frozen=True)
class ObjectSpec:
    """The body and the abilities of all objects of a category."""

    template: BodyTemplate
    size: Size
    num_levels: int
    """Number of compartments above each other."""
    has_flap: bool
    """Whether there is a door or a lid."""
    abilities: Abilities


def specs_by_category(problem: Problem) -> dict[str, ObjectSpec]:
    """Return a specification for each category of a problem.

    Bodies are large enough for all objects that the problem may put on or in them.
    """
    requirements = requirements_of(problem)
    category_of = problem.category_of
    specs: dict[str, ObjectSpec] = {}

    def specify(category: str, outer: tuple[str, ...]) -> ObjectSpec:
        """Return the specification of a category, after those of its contents.

        Args:
            category: to specify.
            outer: categories in or on which it is, which end a circle of containers.
        """
        if category not in specs:
            contents, loads = (
                [
                    specify(category_of[i], (*outer, category)).size
                    for i in sorted(table.get(category, ()))
                    if category_of[i] not in (*outer, category)
                ]
                for table in (requirements.inside, requirements.on)
            )
            n = max(len(problem.objects[category]), 1)
            specs[category] = _object_spec(category, contents, loads, n, requirements)
        return specs[category]

    for category in problem.objects:
        specify(category, ())
    return specs


def _object_spec(
    category: str,
    contents: Sequence[Size],
    loads: Sequence[Size],
    n: int,
    requirements: Requirements,
) -> ObjectSpec:
    """Return the specification of a category.

    Args:
        category: to specify.
        contents: sizes of all objects that may be inside [m].
        loads: sizes of all objects that may be on top [m].
        n: number of objects of the category, which share these.
        requirements: of the problem.
    """
    template, size = body_of_synset(category)
    needed = requirements.abilities.get(category, frozenset())
    is_container = category in requirements.inside or "fillable" in needed
    if is_container and template not in HOLLOW_TEMPLATES:
        template = "crate"
        size = (max(size[0], MIN_CRATE_EDGE), max(size[1], MIN_CRATE_EDGE), size[2])
    levels = 1
    if template in HOLLOW_TEMPLATES:
        size, levels = _container_size(template, size, contents, n)
    size = _support_size(size, loads, n)
    abilities = abilities_of(category)
    for ability in needed:
        abilities.setdefault(ability, {})
    opens = "openable" in needed
    if opens and template not in (*HOLLOW_TEMPLATES, "leaf"):
        template = "crate"
    has_flap = template in ("cabinet", "leaf") or opens and template == "crate"
    return ObjectSpec(template, size, levels, has_flap, abilities)


def _container_size(
    template: BodyTemplate, size: Size, contents: Sequence[Size], n: int
) -> tuple[Size, int]:
    """Return a size and a number of compartments with room for all contents."""
    highest = max((z for _, _, z in contents), default=0.0) + COMPARTMENT_CLEARANCE
    x, y, z = size
    levels = 1
    if template != "crate":
        level_height = max(MIN_LEVEL_HEIGHT, highest + WALL_THICKNESS)
        levels = max(int(z // level_height), 1)
    inner = compartment_size(template, size, levels) or (x, y, 0.0)
    scale = _edge_scale((inner[0], inner[1]), contents, n * levels)
    z += max(highest - inner[2], 0.0)
    return (x * scale, y * scale, z), levels


def _support_size(size: Size, loads: Sequence[Size], n: int) -> Size:
    """Return a size with room for all objects that may be on top."""
    scale = _edge_scale(size[:2], loads, n)
    return size[0] * scale, size[1] * scale, size[2]


def _edge_scale(edges: tuple[float, float], loads: Sequence[Size], n: int) -> float:
    """Return a factor for the edges of an area, at least 1.

    The largest footprint fits on each area, and all of them on average.

    Args:
        edges: of the area [m].
        loads: sizes of the objects on it [m].
        n: number of such areas.
    """
    clearance = COMPARTMENT_CLEARANCE
    footprints = [(max(x, y) + clearance, min(x, y) + clearance) for x, y, _ in loads]
    if not footprints:
        return 1.0
    long, short = max(edges), min(edges)
    area = sum(x * y for x, y in footprints)
    return max(
        1.0,
        max(x for x, _ in footprints) / long,
        max(y for _, y in footprints) / short,
        sqrt(AREA_PER_FOOTPRINT * area / (n * long * short)),
    )
