"""A backend of the package bddl, so that its own evaluation runs on a world."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from posewise.robots.config import Config

from .predicates import PREDICATES, MakePredicate, apply_predicate, arity
from .solving import sample_condition

if TYPE_CHECKING:
    from bddl.backend_abc import BDDLBackend


@runtime_checkable
class Named(Protocol):
    """A value of bddl's scope: an object, a frame or a room."""

    @property
    def name(self) -> str:
        """Its name in the world."""


def backend(
    C: Config, predicates: Mapping[str, MakePredicate] = PREDICATES
) -> "BDDLBackend":
    """Return a `BDDLBackend` that evaluates our predicates in a world.

    bddl's scope has to hold values with names, as `Task.scope` returns: objects, frames
    or rooms. Conditions are evaluated in the present state of the world. Sampling a
    condition makes it true, or false, in the world: states are set, and objects of the
    world's own frame placed, as by `solve_init`.

    Args:
        C: the world.
        predicates: classes, or functions of names, by BDDL's predicates.

    Raises:
        ImportError: without bddl; names the extra.
    """
    try:
        from bddl.backend_abc import BDDLBackend
        from bddl.logic_base import BinaryAtomicFormula, UnaryAtomicFormula
    except ImportError as error:
        raise ImportError(
            'Evaluation by bddl needs it: pip install "posewise[bddl]".'
        ) from error

    class ConfigBackend(BDDLBackend):
        def get_predicate_class(self, predicate_name: str) -> type:
            """Return an atom class of bddl; a KeyError if the predicate is unknown."""
            if predicate_name not in predicates:
                known = ", ".join(sorted(predicates))
                raise KeyError(f"{predicate_name!r} is none of the predicates {known}")
            make = predicates[predicate_name]

            def evaluate(self: object, *terms: Named) -> bool:
                return apply_predicate(make, [term.name for term in terms]).holds(C)

            # bddl passes the wanted truth value after the terms.
            def sample(self: object, *terms_and_truth: Any) -> bool:
                *terms, truth = terms_and_truth
                predicate = apply_predicate(make, [term.name for term in terms])
                return sample_condition(C, predicate if truth else ~predicate)

            base = UnaryAtomicFormula if arity(make) == 1 else BinaryAtomicFormula
            members = dict(
                STATE_NAME=predicate_name, _evaluate=evaluate, _sample=sample
            )
            return type(predicate_name, (base,), members)

    return ConfigBackend()
