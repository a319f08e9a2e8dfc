"""Numbers of constraints that were added to a problem, such as those of predicates.

A predicate is a value with numbers, such as the `nearness` of `logic.NextTo`. It may be
a part of a formula, and may have been added several times: its number is one number.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Real
from typing import Any, TypeAlias

from ..problem.builder import resolve_constraint
from ..problem.spec import ProblemCache, ProblemSpec
from ..terms.interval import ResolvedAlternative
from ..terms.objective import Objective, ObjectiveError

Place: TypeAlias = tuple[str | int, ...]
"""Attributes and indices that lead from a constraint to a part of it."""


@dataclass(frozen=True)
class StatedConstraint:
    """A constraint of a problem of which a part is looked for."""

    index: int
    """Index among the constraints of the problem."""
    places: list[Place]
    """Places of the part in it."""
    objectives: list[int | None]
    """For each objective of its alternatives the index in the problem; None: another
    alternative was chosen."""


class ConstraintNumber:
    """A number of a predicate, in all constraints of a problem that have it."""

    def __init__(self, spec: ProblemSpec, name: str, part: Any) -> None:
        """Look the predicate up in a problem.

        Args:
            spec: the problem.
            name: of the number, a field of the predicate.
            part: the predicate, as `KOMO.add` was given it, or a part of a formula.

        Raises:
            ObjectiveError: for a part without this number, or of no constraint.
        """
        kind = type(part).__name__
        known = [f for f in _fields(part) if _is_number(getattr(part, f))]
        if name not in known:
            others = "nor any other"
            if known:
                others = f"expected one of: {', '.join(known)}"
            raise ObjectiveError(
                f"The quantity is ({name!r}, {kind}), but this {kind} has no number"
                f" {name!r}, {others}."
            )
        self.name, self.part = name, part
        self.label = f"{name} of {kind}"
        self.stated = [
            StatedConstraint(k, places, _objective_indices(spec, added.alternatives))
            for k, added in enumerate(spec.constraints)
            if (places := list(_places(added.constraint, part)))
        ]
        if not self.stated:
            raise ObjectiveError(
                f"The quantity is ({name!r}, {part!r}), expected a predicate of this"
                " problem: what add() was given, or a part of it."
            )
        self._refuse_shared(spec)

    def _refuse_shared(self, spec: ProblemSpec) -> None:
        """Raise if another constraint states an objective too, with its own number."""
        its_rows = {i for stated in self.stated for i in stated.objectives} - {None}
        indices = {stated.index for stated in self.stated}
        for k, added in enumerate(spec.constraints):
            others = _objective_indices(spec, added.alternatives)
            if k not in indices and its_rows.intersection(others):
                raise ObjectiveError(
                    f"The quantity is ({self.name!r}, {self.part!r}), whose rows"
                    f" {added.constraint!r} states, too; expected a predicate that"
                    " alone states its rows."
                )

    @property
    def present(self) -> float:
        """The value that it has in the problem."""
        return float(getattr(self.part, self.name))

    def check(self, value: float) -> None:
        """Raise the predicate's own error for a value that it cannot have."""
        replace(self.part, **{self.name: value})

    def changed(self, spec: ProblemSpec, value: float) -> ProblemSpec:
        """Return the problem in which it has another value.

        Raises:
            ObjectiveError: if that has other objectives.
        """
        objectives, constraints = list(spec.objectives), list(spec.constraints)
        for stated in self.stated:
            added = constraints[stated.index]
            constraint = added.constraint
            for place in stated.places:
                constraint = _with_number(constraint, place, self.name, value)
            alternatives = resolve_constraint(spec, constraint, added.times)
            new = [o for a in alternatives for o in a.objectives]
            if len(new) != len(stated.objectives):
                raise ObjectiveError(
                    f"The number of objectives depends on the {self.label}, which"
                    " therefore cannot vary."
                )
            for i, objective in zip(stated.objectives, new, strict=True):
                if i is not None:
                    old = objectives[i]
                    objectives[i] = replace(objective, source=old.source or old)
            constraints[stated.index] = replace(
                added, constraint=constraint, alternatives=alternatives
            )
        return replace(
            spec,
            objectives=tuple(objectives),
            constraints=tuple(constraints),
            cache=ProblemCache(modes=spec.cache.modes),
        )


def constraint_of(spec: ProblemSpec, objective: Objective, name: str) -> Any:
    """Return the constraint that an objective comes from; None: none has the number."""
    known = objective.source or objective
    for added in spec.constraints:
        every = [o for a in added.alternatives for o in a.objectives]
        if known in every and _is_number(getattr(added.constraint, name, None)):
            return added.constraint
    return None


def _objective_indices(
    spec: ProblemSpec, alternatives: tuple[ResolvedAlternative, ...]
) -> list[int | None]:
    """Return where objectives of alternatives are in a problem.

    What several constraints state is there once.
    """
    places: dict[object, int] = {}
    for i, o in enumerate(spec.objectives):
        places[o.source or o] = places[o.feature, o.type, o.slices] = i
    return [
        places.get(o, places.get((o.feature, o.type, o.slices)))
        for alternative in alternatives
        for o in alternative.objectives
    ]


def _places(whole: object, part: object) -> Iterator[Place]:
    """Yield the places of a part in a constraint."""
    if type(whole) is type(part) and whole == part:
        yield ()
        return
    inner: Any = ()
    if type(whole) is tuple:
        inner = enumerate(whole)
    elif is_dataclass(whole):
        inner = vars(whole).items()
    for key, value in inner:
        for place in _places(value, part):
            yield (key, *place)


def _with_number(whole: Any, place: Place, name: str, value: float) -> Any:
    """Return a constraint with another number of a part of it."""
    if not place:
        return replace(whole, **{name: value})
    key, below = place[0], place[1:]
    if isinstance(key, int):
        new = _with_number(whole[key], below, name, value)
        return (*whole[:key], new, *whole[key + 1 :])
    # A copy, because formulas have no constructor of their fields.
    other = copy(whole)
    inner = _with_number(getattr(whole, key), below, name, value)
    object.__setattr__(other, key, inner)
    return other


def _fields(part: Any) -> list[str]:
    return [f.name for f in fields(part)] if is_dataclass(part) else []


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
