"""Doubts of scenes: supports smaller than what is on them, and unknown synsets.

Scenes are made so that a problem can be solved, and so also for a problem that says
something else than was meant.
"""

import difflib
from collections.abc import Iterator, Mapping

from posewise.robots.errors import first_few

from .object_specs import ObjectSpec
from .problem import Problem
from .requirements import ground_atoms, substances_of
from .synset_sizes import BODY_BY_WORD, body_of_synset, has_known_size, synset_word
from .taxonomy import is_known

MIN_LOAD_EDGE = 0.35
"""Longest horizontal edge from which a load is doubtful [m]: smaller objects, such
as ice cubes, are too large in the table of sizes."""
MIN_EDGE_RATIO = 2.5
"""Ratio of a horizontal edge of a load to that of its support from which the two count
as swapped."""


def scene_doubts(problem: Problem, specs: Mapping[str, ObjectSpec]) -> Iterator[str]:
    """Yield sentences on what a problem very likely does not mean as it is.

    Args:
        problem: of which a scene is made.
        specs: bodies in the scene, by category.
    """
    substances = substances_of(problem)
    objects = {
        category: spec
        for category, spec in specs.items()
        if not set(problem.objects[category]) <= set(substances)
    }
    yield from _unknown_synsets(objects)
    yield from _swapped_terms(problem, specs)


def _unknown_synsets(specs: Mapping[str, ObjectSpec]) -> Iterator[str]:
    """Yield a sentence on the synsets of which neither size nor sense are known."""
    unknown = []
    for synset, spec in specs.items():
        if has_known_size(synset) or is_known(synset):
            continue
        near = difflib.get_close_matches(synset_word(synset), BODY_BY_WORD, n=3)
        words = " or ".join(map(repr, near))
        meant = f" (did you mean {words}?)" if near else ""
        unknown.append(f"{synset}, now a {spec.template} of {_edges(spec)}{meant}")
    if unknown:
        yield (
            f"Synsets of unknown objects: {first_few(unknown, '; ')}. Correct them, or"
            " make the world yourself and give it to logic.bddl.bind."
        )


def _swapped_terms(problem: Problem, specs: Mapping[str, ObjectSpec]) -> Iterator[str]:
    """Yield a sentence for each relation whose support grew to carry its load."""
    category_of = problem.category_of
    reported = set()
    for condition in (*problem.init, *problem.goal):
        for predicate, *terms in ground_atoms(condition, problem, {}):
            if predicate not in ("ontop", "inside"):
                continue
            load, support = (category_of[term] for term in terms)
            key = predicate, load, support
            if (
                key in reported
                or support not in specs
                or not _is_swapped(load, support)
            ):
                continue
            reported.add(key)
            a, b = terms
            place = "on" if predicate == "ontop" else "inside"
            x, y, _ = body_of_synset(support).size
            yield (
                f"({predicate} {a} {b}): {synset_word(load)} is far larger than"
                f" {synset_word(support)}, which was made {_edges(specs[support])}"
                f" large for it, not {x:g} × {y:g} m wide. The first term is {place}"
                f" the second: ({predicate} {b} {a}) is the other order."
            )


def _is_swapped(load: str, support: str) -> bool:
    """Return whether the typical load is far larger than its typical support."""
    if not has_known_size(load) or not has_known_size(support):
        return False
    edges, room = (sorted(body_of_synset(s).size[:2]) for s in (load, support))
    ratio = max(edge / free for edge, free in zip(edges, room, strict=True))
    return edges[1] >= MIN_LOAD_EDGE and ratio >= MIN_EDGE_RATIO


def _edges(spec: ObjectSpec) -> str:
    return " × ".join(f"{edge:.2g}" for edge in spec.size) + " m"
