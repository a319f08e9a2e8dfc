"""Formulas: predicates composed of other predicates, about a moment or about a path."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping

from posewise.robots.annotations.object_states import ObjectState
from posewise.robots.config import Config
from posewise.robots.typing import MatrixLike, VectorLike

from ..errors import PredicateError
from ..relaxed.constraint_terms import ConstraintTerm
from .messages import format_predicate
from .predicate import Predicate
from .schedule import Plans, Schedule
from .trajectory import StateTrajectory, state_trajectory

MAX_COMBINATIONS = 64
"""Number of choices of n parts out of m up to which they become alternatives; formulas
with more have no relaxation."""


class Formula(Predicate):
    """A predicate composed of other predicates, about one moment or about a path."""

    parts: tuple[Predicate, ...]
    """The predicates that it is composed of."""

    @abstractmethod
    def holds_on(self, trajectory: StateTrajectory) -> bool:
        """Return its truth along a path; see `holds_along`."""

    @abstractmethod
    def explain_on(self, trajectory: StateTrajectory) -> str:
        """Return the sentence of `explain_along`."""

    @property
    def is_momentary(self) -> bool:  # type: ignore[override]
        return all(part.is_momentary for part in self.parts)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        return self.ground(C).nnf(not truth).term(C)

    def term(self, C: Config) -> ConstraintTerm:
        raise PredicateError(
            f"{format_predicate(self)} has no rows for a solver, because it is about a"
            f" path, never holds, or has more than {MAX_COMBINATIONS} alternatives: it"
            " can only be checked, by holds or holds_along."
        )

    def plans(self, C: Config, schedule: Schedule, truth: bool = True) -> Plans:
        return self.ground(C).nnf(not truth).normal_form_plans(C, schedule)

    def normal_form_plans(self, C: Config, schedule: Schedule) -> Plans:
        if self.is_momentary:
            return [self._momentary_plan(C, schedule)]
        return self.path_plans(C, schedule)

    def path_plans(self, C: Config, schedule: Schedule) -> Plans:
        """Return plans of a formula that is in normal form and not momentary.

        Raises:
            PredicateError: when there is none.
        """
        return [self._momentary_plan(C, schedule)]

    def holds_along(
        self,
        C: Config,
        path: MatrixLike,
        times: VectorLike,
        states: Mapping[str, ObjectState] | None = None,
    ) -> bool:
        """Return whether Always, Eventually, Until or Sequence formulas hold on a path.

        Only the slices decide; motion between slices is not checked.

        Args:
            C: the world, which is not changed.
            path: configurations (T, nq).
            times: one for each slice (T,), in the unit of the formula's times: those of
                KOMO count in phases, `numpy.arange(1, T + 1) / slices_per_phase`.
            states: extended states along the path, from `rollout(C, path)`.

        Raises:
            PredicateError: for momentary predicates outside Always, Eventually, Until
                and Sequence; predicates of extended states without `states`; and times
                that select no slice.
            ConfigError: as the predicates raise.
        """
        formula, trajectory = self._along(C, path, times, states)
        return formula.holds_on(trajectory)

    def explain_along(
        self,
        C: Config,
        path: MatrixLike,
        times: VectorLike,
        states: Mapping[str, ObjectState] | None = None,
    ) -> str:
        """Return why it is true or false of a path, and when; see `holds_along`."""
        formula, trajectory = self._along(C, path, times, states)
        return formula.explain_on(trajectory)

    def _along(
        self,
        C: Config,
        path: MatrixLike,
        times: VectorLike,
        states: Mapping[str, ObjectState] | None,
    ) -> tuple["Formula", StateTrajectory]:
        formula = path_formula(self.ground(C))
        for leaf in leaves(formula):
            if leaf.needs_history and states is None:
                raise PredicateError(
                    f"{format_predicate(leaf)} depends on how states develop; give"
                    " states=logic.rollout(C, path)."
                )
        return formula, state_trajectory(C, path, times, states)


class Connective(Formula):
    """A formula whose truth is a function of the truths of its parts."""

    @abstractmethod
    def decide(self, truths: Iterator[bool]) -> bool:
        """Return its truth from those of its parts, taking no more than needed."""

    @abstractmethod
    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        """Return the sentence of `explain` from the truths and reasons of its parts."""

    def holds(self, C: Config) -> bool:
        return self.decide(p.holds(C) for p in self.parts)

    def explain(self, C: Config) -> str:
        return self.reason(lambda p: p.holds(C), lambda p: p.explain(C))

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        return self.decide(path_formula(p).holds_on(trajectory) for p in self.parts)

    def explain_on(self, trajectory: StateTrajectory) -> str:
        return self.reason(
            lambda p: path_formula(p).holds_on(trajectory),
            lambda p: path_formula(p).explain_on(trajectory),
        )


def set_parts(formula: Formula, *parts: Predicate) -> None:
    """Set the parts of a frozen formula while it is being constructed.

    Raises:
        PredicateError: when a part is not a predicate.
    """
    for part in parts:
        if not isinstance(part, Predicate):
            raise PredicateError(
                f"{type(formula).__name__}: {part!r} is no predicate; expected e.g."
                " logic.OnTopOf('mug', 'table')."
            )
    object.__setattr__(formula, "parts", parts)


def leaves(predicate: Predicate) -> Iterator[Predicate]:
    """Yield the predicates at the leaves of a quantifier-free formula, in order."""
    if not isinstance(predicate, Formula):
        yield predicate
        return
    for part in predicate.parts:
        yield from leaves(part)


def path_formula(part: Predicate) -> Formula:
    """Return a formula after checking that all of it is about a path."""
    if not isinstance(part, Formula):
        raise PredicateError(
            f"{format_predicate(part)} is about one moment, not about a path; put it"
            " into Always, Eventually, Until or Sequence."
        )
    if isinstance(part, Connective):
        for inner in part.parts:
            path_formula(inner)
    return part
