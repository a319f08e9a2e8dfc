"""What all formulas have in common: parts, and a truth of one moment or of a path."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.validation import integer
from posewise.robots.world.object_states import ObjectState

from ..errors import PredicateError
from ..planning.schedule import Plans, Schedule
from ..planning.trajectory import StateTrajectory, state_trajectory
from ..relaxed.constraint_terms import ConstraintTerm
from ..states.state_predicate import StatePredicate
from .messages import format_predicate
from .predicate import Predicate, Witnesses

MAX_COMBINATIONS = 64
"""So many ways to choose n of m are tried as alternatives."""


class Formula(Predicate):
    """A predicate made of others; of one moment, or of a path where they are."""

    parts: tuple[Predicate, ...]
    """The predicates it is made of."""

    @abstractmethod
    def holds_on(self, trajectory: StateTrajectory) -> bool:
        """Its truth along a path; see `holds_along`."""

    @abstractmethod
    def explain_on(self, trajectory: StateTrajectory) -> str:
        """The sentence of `explain_along`."""

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """The rows of its parts; see `Predicate`."""
        return term_of(self.ground(C).nnf(not truth), C)

    def add_witnesses(self, C: Config, world: Config) -> Witnesses:
        """See `Predicate`: those of its parts."""
        found: Witnesses = {}
        for leaf in leaves(self.ground(C)):
            found |= leaf.add_witnesses(C, world)
        return found

    def improve_starts(
        self, C: Config, q: Float[np.ndarray, "n nq"]
    ) -> Float[np.ndarray, "n nq"]:
        """See `Predicate`: by one part after the other."""
        for leaf in leaves(self.ground(C)):
            q = leaf.improve_starts(C, q)
        return q

    @property
    def is_momentary(self) -> bool:  # type: ignore[override]
        """See `Predicate`."""
        return all(part.is_momentary for part in self.parts)

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """See `Predicate`."""
        return plans_of(self.ground(C).nnf(not truth), C, when)

    def normal_plans(self, C: Config, when: Schedule) -> Plans:
        """`plans`, when it is in negation normal form and not momentary.

        Raises:
            PredicateError: where there are none.
        """
        return [when.rows(self, C)]

    def rows(self, C: Config) -> ConstraintTerm:
        """Its rows, when it is in negation normal form.

        Raises:
            PredicateError: where there are none.
        """
        raise PredicateError(
            f"{format_predicate(self)} has no rows for a solver: it speaks of a path,"
            f" never holds, or has more than {MAX_COMBINATIONS} ways to; it can only be"
            " checked."
        )

    def holds_along(
        self,
        C: Config,
        path: Any,
        times: Any,
        states: Mapping[str, ObjectState] | None = None,
    ) -> bool:
        """Whether a formula of Always, Eventually, Until, Sequence is true of a path.

        It is true or false of the slices alone: nothing is said of what is between.

        Args:
            C: the world; it is not changed.
            path: configurations (T, nq).
            times: one for each (T,), in the units of the formula's own: those of KOMO
                count in phases, `numpy.arange(1, T + 1) / slices_per_phase`.
            states: extended states along the path, by `rollout(C, path)`.

        Raises:
            PredicateError: for predicates of one moment, that are not within Always or
                the like, those of extended states without `states`, and times that
                select no slice.
            ConfigError: as the predicates raise.
        """
        formula, on = self._along(C, path, times, states)
        return formula.holds_on(on)

    def explain_along(
        self,
        C: Config,
        path: Any,
        times: Any,
        states: Mapping[str, ObjectState] | None = None,
    ) -> str:
        """What makes it true or false of a path, and when; see `holds_along`."""
        formula, on = self._along(C, path, times, states)
        return formula.explain_on(on)

    def _along(
        self, C: Config, path: Any, times: Any, states: Any
    ) -> tuple["Formula", StateTrajectory]:
        formula = _path_formula(self.ground(C))
        for leaf in leaves(formula):
            if isinstance(leaf, StatePredicate) and states is None:
                raise PredicateError(
                    f"{format_predicate(leaf)} depends on how states develop; give"
                    " states=logic.rollout(C, path)."
                )
        return formula, state_trajectory(C, path, times, states)


def term_of(part: Predicate, C: Config) -> ConstraintTerm:
    """Of a formula in negation normal form, or of a predicate."""
    return part.rows(C) if isinstance(part, Formula) else part.relaxed(C)


def plans_of(part: Predicate, C: Config, when: Schedule) -> Plans:
    """Of a formula in negation normal form, or of a predicate."""
    if part.is_momentary:
        return [when.rows(part, C)]
    if isinstance(part, Formula):
        return part.normal_plans(C, when)
    return part.plans(C, when)


def leaves(predicate: Predicate) -> Iterator[Predicate]:
    """The predicates that a quantifier-free formula is made of in the end, in order."""
    if not isinstance(predicate, Formula):
        yield predicate
        return
    for part in predicate.parts:
        yield from leaves(part)


def _path_formula(part: Predicate) -> Formula:
    """The formula itself, when all of it speaks of paths."""
    if not isinstance(part, Formula):
        raise PredicateError(
            f"{format_predicate(part)} speaks of one moment, not of a path; put it"
            " into Always, Eventually, Until or Sequence."
        )
    if isinstance(part, Connective):
        for inner in part.parts:
            _path_formula(inner)
    return part


class Connective(Formula):
    """A formula whose truth is a function of the truths of its parts."""

    @abstractmethod
    def decide(self, truths: Iterator[bool]) -> bool:
        """Its truth, from those of its parts in order; asks for no more than needed."""

    @abstractmethod
    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        """The sentence of `explain`, from the truths and reasons of its parts."""

    def holds(self, C: Config) -> bool:
        """See `Predicate`."""
        return self.decide(p.holds(C) for p in self.parts)

    def explain(self, C: Config) -> str:
        """See `Predicate`."""
        return self.reason(lambda p: p.holds(C), lambda p: p.explain(C))

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        """See `Formula`."""
        return self.decide(_path_formula(p).holds_on(trajectory) for p in self.parts)

    def explain_on(self, trajectory: StateTrajectory) -> str:
        """See `Formula`."""
        return self.reason(
            lambda p: _path_formula(p).holds_on(trajectory),
            lambda p: _path_formula(p).explain_on(trajectory),
        )


def set_parts(formula: Formula, *parts: Any) -> None:
    """Give a formula its parts, as it is made.

    Raises:
        PredicateError: for what is no predicate.
    """
    for part in parts:
        if not isinstance(part, Predicate):
            raise PredicateError(
                f"{type(formula).__name__}: {part!r} is no predicate; expected e.g."
                " logic.OnTopOf('mug', 'table')."
            )
    object.__setattr__(formula, "parts", parts)


def natural_number(what: str, n: Any) -> int:
    """A whole number >= 0.

    Raises:
        PredicateError: with what was got.
    """
    return integer(what, n, "a whole number >= 0", lambda x: x >= 0, PredicateError)
