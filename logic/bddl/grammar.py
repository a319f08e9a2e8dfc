"""The grammar of BDDL's conditions, and what of it a text may get wrong."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from posewise.robots.errors import LoadError, unknown_name

from .reader import Expression, Form, Word

IN_ROOM = "inroom"
"""The predicate whose second term is a room and no object."""

InstancesByCategory = Mapping[str, tuple[str, ...]]
"""Instances by category."""


class QuantifiedCondition(NamedTuple):
    """The pieces of a quantified condition."""

    number: int | None
    """Of forn and fornpairs."""
    variables: tuple[str, ...]
    categories: tuple[str, ...]
    body: Form


CONNECTIVES = {"and": None, "or": None, "not": 1, "imply": 2}
"""How many conditions each takes; None: any number."""
QUANTIFIERS = {
    "forall": (False, 1),
    "exists": (False, 1),
    "forn": (True, 1),
    "forpairs": (False, 2),
    "fornpairs": (True, 2),
}
"""Whether each takes a number, and how many variables."""


def check_condition(
    expression: Expression, objects: InstancesByCategory, variables: Sequence[str] = ()
) -> Form:
    """A condition that follows the grammar, on names that are known.

    Args:
        expression: what stands in place of a condition.
        objects: of the problem.
        variables: of the quantifiers around it.

    Raises:
        LoadError: with line and column, and near matches of unknown names.
    """
    if not isinstance(expression, Form) or not expression:
        raise LoadError(
            f"{expression.location}: {str(expression)!r} is no condition; expected e.g."
            " (ontop mug.n.04_1 table.n.02_1)."
        )
    head = expression[0]
    if not isinstance(head, Word):
        raise LoadError(
            f"{expression.location}: a condition begins with {head}, expected a"
            f" predicate or one of {', '.join([*CONNECTIVES, *QUANTIFIERS])}."
        )
    if head in CONNECTIVES:
        expected, given = CONNECTIVES[head], expression[1:]
        if expected is not None and len(given) != expected:
            raise LoadError(
                f"{expression.location}: {head} has {len(given)} conditions, expected"
                f" {expected}."
            )
        for condition in given:
            check_condition(condition, objects, variables)
    elif head in QUANTIFIERS:
        parts = parse_quantifier(expression)
        for category in parts.categories:
            if category not in objects:
                message = unknown_name("category", category, objects)
                raise LoadError(f"{expression.location}: {message}")
        check_condition(parts.body, objects, [*variables, *parts.variables])
    else:
        _check_atom(expression, objects, variables)
    return expression


def parse_quantifier(form: Form) -> QuantifiedCondition:
    """The pieces of forall, exists, forn, forpairs or fornpairs.

    Raises:
        LoadError: with line and column, for what does not follow the grammar.
    """
    counts, variables = QUANTIFIERS[str(form[0])]
    pattern = f"({form[0]} {'(2) ' * counts}{'(?a - category) ' * variables}(...))"
    size = 2 + counts + variables
    parts = [part for part in form[1:] if isinstance(part, Form)]
    headers = parts[counts:-1]
    fits = len(form) == size and len(parts) == size - 1
    fits = fits and all(len(h) == 3 and h[1] == "-" for h in headers)
    fits = fits and all(isinstance(word, Word) for h in headers for word in h)
    number = str(parts[0][0]) if fits and counts and len(parts[0]) == 1 else ""
    if not fits or counts and not number.isdecimal():
        raise LoadError(f"{form.location}: {form[0]} is not of the form {pattern}.")
    return QuantifiedCondition(
        int(number) if counts else None,
        tuple(term_name(str(h[0])) for h in headers),
        tuple(str(h[2]) for h in headers),
        parts[-1],
    )


def is_atom(form: Form) -> bool:
    """Whether it is a predicate of terms."""
    return form[0] not in CONNECTIVES and form[0] not in QUANTIFIERS


def atoms_in(condition: Form) -> Iterator[Form]:
    """The predicates of terms that a condition is made of."""
    if is_atom(condition):
        yield condition
    elif condition[0] in QUANTIFIERS:
        yield from atoms_in(condition[-1])
    else:
        for part in condition[1:]:
            yield from atoms_in(part)


def term_name(term: str) -> str:
    """A term without its question mark: variables and instances share their names."""
    return term.strip("?")


def _check_atom(
    form: Form, objects: InstancesByCategory, variables: Sequence[str]
) -> None:
    known = [*variables, *(i for instances in objects.values() for i in instances)]
    for k, term in enumerate(form[1:]):
        if not isinstance(term, Word):
            raise LoadError(
                f"{term.location}: {form[0]} has the term {term}, expected a name or a"
                " variable."
            )
        if form[0] == IN_ROOM and k == 1:
            continue
        if term_name(term) not in known:
            what = unknown_name("object or variable", term_name(term), known)
            raise LoadError(f"{term.location}: {what}")
