"""A problem of BDDL: objects by category, how things begin, and the goal."""

import warnings
from dataclasses import dataclass, field
from typing import Any

from posewise.robots.errors import LoadError, unknown_name

from .grammar import InstancesByCategory, atoms_in, check_condition, is_atom
from .reader import Form, Word, read_form

SECTIONS = ("problem", ":domain", ":objects", ":init", ":goal")


@dataclass(frozen=True)
class Problem:
    """An activity as BDDL defines it, not bound to a world yet."""

    name: str
    domain: str
    """E.g. "igibson" (BEHAVIOR-100) or "omnigibson" (BEHAVIOR-1K); of no effect."""
    objects: InstancesByCategory = field(hash=False)
    """Instances by category, `{"apple.n.01": ("apple.n.01_1", ...)}`."""
    init: tuple[Form, ...]
    """Literals: conditions of one predicate, or of not and one predicate."""
    goal: tuple[Form, ...]
    """Conditions; where the goal is an and, the parts of it."""

    @property
    def instances(self) -> tuple[str, ...]:
        """Names of all objects."""
        return tuple(i for instances in self.objects.values() for i in instances)

    @property
    def predicates(self) -> frozenset[str]:
        """Names of the predicates that it uses."""
        conditions = (*self.init, *self.goal)
        return frozenset(str(atom[0]) for c in conditions for atom in atoms_in(c))


def parse(text: str, source: str = "text") -> Problem:
    """The problem that a text defines.

    As in the package bddl, a second condition of :goal does not count and words between
    sections neither; of both it is warned.

    Args:
        text: (define (problem ...) (:domain ...) (:objects ...) (:init ...) (:goal
            ...)).
        source: what errors call the text.

    Raises:
        LoadError: with line and column, and near matches of unknown names.
    """
    form = read_form(text, source)
    if not form or form[0] != "define":
        raise LoadError(f"{form.location}: expected (define (problem ...) ...).")
    sections = _sections(form)
    objects = _objects(sections[":objects"])
    return Problem(
        _single(sections["problem"]),
        _single(sections[":domain"]),
        objects,
        tuple(_literal(x, objects) for x in sections[":init"][1:]),
        _heads(sections[":goal"], objects),
    )


def _sections(define: Form) -> dict[str, Form]:
    found: dict[str, Form] = {}
    for part in define[1:]:
        if isinstance(part, Word):
            warnings.warn(f"{part.location}: {part!r} is no section.", stacklevel=4)
            continue
        head = str(part[0]) if part else ""
        if head == ":requirements":
            continue
        if head not in SECTIONS:
            raise LoadError(
                f"{part.location}: {unknown_name('section', head, SECTIONS)}"
            )
        if head in found:
            raise LoadError(f"{part.location}: there are two sections {head}.")
        found[head] = part
    for head in SECTIONS:
        if head not in found:
            raise LoadError(f"{define.location}: there is no section ({head} ...).")
    return found


def _single(section: Form) -> str:
    if len(section) != 2 or not isinstance(section[1], Word):
        raise LoadError(f"{section.location}: {section} is not ({section[0]} NAME).")
    return str(section[1])


def _objects(section: Form) -> dict[str, tuple[str, ...]]:
    objects: dict[str, list[str]] = {}
    waiting: list[str] = []
    words = iter(section[1:])
    for word in words:
        if not isinstance(word, Word):
            raise LoadError(f"{word.location}: {word} in :objects, expected a name.")
        if word != "-":
            waiting.append(str(word))
            continue
        category = next(words, None)
        if not isinstance(category, Word) or category == "-":
            raise LoadError(f"{word.location}: no category follows the '-'.")
        objects.setdefault(str(category), []).extend(waiting)
        waiting = []
    if waiting:
        objects.setdefault("object", []).extend(waiting)
    made = {k: tuple(dict.fromkeys(found)) for k, found in objects.items()}
    everything = [i for instances in made.values() for i in instances]
    for instance in everything:
        if everything.count(instance) > 1:
            raise LoadError(f"{section.location}: {instance!r} is in two categories.")
    return made


def _literal(condition: Any, objects: InstancesByCategory) -> Form:
    form = check_condition(condition, objects)
    atom = form[1] if form[0] == "not" else form
    if not isinstance(atom, Form) or not is_atom(atom):
        raise LoadError(
            f"{form.location}: {form} in :init, expected (p ...) or (not ...)."
        )
    return form


def _heads(section: Form, objects: InstancesByCategory) -> tuple[Form, ...]:
    if len(section) < 2:
        raise LoadError(f"{section.location}: the goal is empty.")
    if len(section) > 2:
        rest = section[2].location
        warnings.warn(
            f"{rest}: this does not count, since :goal takes one condition; join them"
            " by (and ...).",
            stacklevel=4,
        )
    goal = check_condition(section[1], objects)
    if goal[0] != "and":
        return (goal,)
    return tuple(goal[1:])
