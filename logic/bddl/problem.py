"""A problem of BDDL: objects by category, the initial state, and the goal."""

import warnings
from dataclasses import dataclass, field

from posewise.robots.errors import LoadError, unknown_name

from .grammar import InstancesByCategory, atoms_in, check_condition, is_atom
from .reader import Expression, Form, Word, read_form

SECTIONS = ("problem", ":domain", ":objects", ":init", ":goal")
"""Names of the sections that a problem has."""


@dataclass(frozen=True)
class Problem:
    """An activity as BDDL defines it, not bound to a world."""

    name: str
    domain: str
    """E.g. "igibson" (BEHAVIOR-100) or "omnigibson" (BEHAVIOR-1K); without effect."""
    objects: InstancesByCategory = field(hash=False)
    """Instances by category, `{"apple.n.01": ("apple.n.01_1", ...)}`."""
    init: tuple[Form, ...]
    """Literals of the initial state: predicates of terms, or their negations."""
    goal: tuple[Form, ...]
    """Conditions of the goal; if the goal is an and, its parts."""

    @property
    def instances(self) -> tuple[str, ...]:
        """Names of all objects."""
        return tuple(i for instances in self.objects.values() for i in instances)

    @property
    def category_of(self) -> dict[str, str]:
        """Categories by instance."""
        return {i: category for category, all_ in self.objects.items() for i in all_}

    @property
    def predicates(self) -> frozenset[str]:
        """Names of the predicates in the initial state and the goal."""
        conditions = (*self.init, *self.goal)
        return frozenset(str(atom[0]) for c in conditions for atom in atoms_in(c))


def parse(text: str, source: str = "text") -> Problem:
    """Return the problem that a text defines.

    As in the package bddl, a second condition of :goal and words between sections have
    no effect; each raises a warning.

    Args:
        text: (define (problem ...) (:domain ...) (:objects ...) (:init ...) (:goal
            ...)).
        source: name of the text in error messages.

    Raises:
        LoadError: if the text is wrong; with line and column, and near matches of
            unknown names.
    """
    form = read_form(text, source)
    if not form or form[0] != "define":
        raise LoadError(f"{form.location}: expected (define (problem ...) ...).")
    sections = _sections(form)
    objects = _objects(sections[":objects"])
    return Problem(
        name=_single_name(sections["problem"]),
        domain=_single_name(sections[":domain"]),
        objects=objects,
        init=tuple(_literal(x, objects) for x in sections[":init"][1:]),
        goal=_goal_conditions(sections[":goal"], objects),
    )


def _sections(define: Form) -> dict[str, Form]:
    """Return the sections of a definition by name."""
    sections: dict[str, Form] = {}
    for part in define[1:]:
        if isinstance(part, Word):
            warnings.warn(f"{part.location}: {part!r} is no section.", stacklevel=4)
            continue
        head = str(part[0]) if part else ""
        if head == ":requirements":
            continue
        if head not in SECTIONS:
            message = unknown_name("section", head, SECTIONS)
            raise LoadError(f"{part.location}: {message}")
        if head in sections:
            raise LoadError(f"{part.location}: there are two sections {head}.")
        sections[head] = part
    for head in SECTIONS:
        if head not in sections:
            raise LoadError(f"{define.location}: there is no section ({head} ...).")
    return sections


def _single_name(section: Form) -> str:
    """Return the name that follows the name of a section."""
    if len(section) != 2 or not isinstance(section[1], Word):
        raise LoadError(f"{section.location}: {section} is not ({section[0]} NAME).")
    return str(section[1])


def _objects(section: Form) -> dict[str, tuple[str, ...]]:
    """Return the instances by category that the section :objects declares."""
    objects: dict[str, list[str]] = {}
    uncategorized: list[str] = []
    words = iter(section[1:])
    for word in words:
        if not isinstance(word, Word):
            raise LoadError(f"{word.location}: {word} in :objects, expected a name.")
        if word != "-":
            uncategorized.append(str(word))
            continue
        category = next(words, None)
        if not isinstance(category, Word) or category == "-":
            raise LoadError(f"{word.location}: no category follows the '-'.")
        objects.setdefault(str(category), []).extend(uncategorized)
        uncategorized = []
    if uncategorized:
        # As in PDDL, an object without a type has the type "object".
        objects.setdefault("object", []).extend(uncategorized)
    unique = {k: tuple(dict.fromkeys(names)) for k, names in objects.items()}
    instances = [i for names in unique.values() for i in names]
    for instance in instances:
        if instances.count(instance) > 1:
            raise LoadError(f"{section.location}: {instance!r} is in two categories.")
    return unique


def _literal(condition: Expression, objects: InstancesByCategory) -> Form:
    """Return a condition that is a predicate of terms, or its negation."""
    form = check_condition(condition, objects)
    atom = form[1] if form[0] == "not" else form
    if not isinstance(atom, Form) or not is_atom(atom):
        raise LoadError(
            f"{form.location}: {form} in :init, expected (p ...) or (not ...)."
        )
    return form


def _goal_conditions(section: Form, objects: InstancesByCategory) -> tuple[Form, ...]:
    """Return the conditions of the goal; the parts of an and."""
    if len(section) < 2:
        raise LoadError(f"{section.location}: the goal is empty.")
    if len(section) > 2:
        location = section[2].location
        warnings.warn(
            f"{location}: this does not count, since :goal takes one condition; join"
            " them by (and ...).",
            stacklevel=4,
        )
    goal = check_condition(section[1], objects)
    if goal[0] != "and":
        return (goal,)
    return tuple(goal[1:])
