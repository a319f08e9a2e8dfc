"""The grammar of BDDL's conditions, and checks of conditions against it.

BDDL is defined by BEHAVIOR-100 (Srivastava et al., 2021) and the package `bddl`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from posewise.robots.errors import LoadError, unknown_name

from .reader import Expression, Form, Word

IN_ROOM = "inroom"
"""The predicate whose second term is a type of rooms, not an object."""
FLOOR = "floor.n.01"
"""Category of floors."""

InstancesByCategory: TypeAlias = Mapping[str, tuple[str, ...]]
"""Names of instances by category, `{"apple.n.01": ("apple.n.01_1", ...)}`."""


class QuantifiedCondition(NamedTuple):
    """The pieces of a quantified condition."""

    number: int | None
    """The number of forn and fornpairs."""
    variables: tuple[str, ...]
    categories: tuple[str, ...]
    body: Form


CONNECTIVES = {"and": None, "or": None, "not": 1, "imply": 2}
"""Number of conditions of each connective; None for any number."""
QUANTIFIERS = {
    "forall": (False, 1),
    "exists": (False, 1),
    "forn": (True, 1),
    "forpairs": (False, 2),
    "fornpairs": (True, 2),
}
"""For each quantifier: whether it has a number, and its number of variables."""


def check_condition(
    expression: Expression, objects: InstancesByCategory, variables: Sequence[str] = ()
) -> Form:
    """Return a condition that follows the grammar and uses known names only.

    Args:
        expression: found in place of a condition.
        objects: of the problem.
        variables: of the quantifiers around it.

    Raises:
        LoadError: if the condition is wrong; with line and column, and near matches of
            unknown names.
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
        expected, conditions = CONNECTIVES[head], expression[1:]
        if expected is not None and len(conditions) != expected:
            raise LoadError(
                f"{expression.location}: {head} has {len(conditions)} conditions,"
                f" expected {expected}."
            )
        for condition in conditions:
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
    """Return the pieces of a forall, exists, forn, forpairs or fornpairs.

    Raises:
        LoadError: if the form does not follow the grammar; with line and column.
    """
    has_number, num_variables = QUANTIFIERS[str(form[0])]
    pattern = f"({form[0]} {'(2) ' * has_number}"
    pattern += f"{'(?a - category) ' * num_variables}(...))"
    size = 2 + has_number + num_variables
    parts = [part for part in form[1:] if isinstance(part, Form)]
    headers = parts[has_number:-1]
    fits = len(form) == size and len(parts) == size - 1
    fits = fits and all(len(h) == 3 and h[1] == "-" for h in headers)
    fits = fits and all(isinstance(word, Word) for h in headers for word in h)
    number = str(parts[0][0]) if fits and has_number and len(parts[0]) == 1 else ""
    if not fits or has_number and not number.isdecimal():
        raise LoadError(f"{form.location}: {form[0]} is not of the form {pattern}.")
    return QuantifiedCondition(
        number=int(number) if has_number else None,
        variables=tuple(term_name(str(h[0])) for h in headers),
        categories=tuple(str(h[2]) for h in headers),
        body=parts[-1],
    )


def is_atom(form: Form) -> bool:
    """Return whether a condition is a predicate of terms."""
    return form[0] not in CONNECTIVES and form[0] not in QUANTIFIERS


def atoms_in(condition: Form) -> Iterator[Form]:
    """Yield the predicates of terms in a condition."""
    if is_atom(condition):
        yield condition
    elif condition[0] in QUANTIFIERS:
        yield from atoms_in(condition[-1])
    else:
        for part in condition[1:]:
            yield from atoms_in(part)


def term_name(term: str) -> str:
    """Return a term without its question mark.

    Variables and instances share their names in BDDL: activities write instances with
    and without the mark.
    """
    return term.strip("?")


def _check_atom(
    form: Form, objects: InstancesByCategory, variables: Sequence[str]
) -> None:
    """Raise a LoadError unless the terms of a predicate are known names."""
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
            message = unknown_name("object or variable", term_name(term), known)
            raise LoadError(f"{term.location}: {message}")
