"""A backend of the package bddl, so that its own evaluation runs on a world."""

from collections.abc import Callable, Mapping
from typing import Any

from posewise.robots.config import Config

from ..formulas.predicate import Predicate
from .predicates import PREDICATES, apply_predicate, arity
from .solving import sample_condition as sample_in


def backend(
    C: Config, predicates: Mapping[str, Callable[..., Predicate]] = PREDICATES
) -> Any:
    """A `bddl.backend_abc.BDDLBackend` that asks our predicates of a world.

    bddl's scope is to hold things with names, as `Task.scope` gives them: objects,
    frames or rooms. Conditions are true or false of the world as it is when they are
    evaluated. Sampling one makes it true, or false, in the world: states are set, and
    objects of the world's own frame placed, as by `solve_init`.

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
            """An atom of bddl; a KeyError where there is no such predicate."""
            if predicate_name not in predicates:
                known = ", ".join(sorted(predicates))
                raise KeyError(f"{predicate_name!r} is none of the predicates {known}")
            made = predicates[predicate_name]

            def evaluate(self: Any, *things: Any) -> bool:
                return apply_predicate(made, [thing.name for thing in things]).holds(C)

            def sample(self: Any, *things_and_state: Any) -> bool:
                *things, wanted = things_and_state
                asked = apply_predicate(made, [thing.name for thing in things])
                return sample_in(C, asked if wanted else ~asked)

            base = UnaryAtomicFormula if arity(made) == 1 else BinaryAtomicFormula
            members = dict(
                STATE_NAME=predicate_name, _evaluate=evaluate, _sample=sample
            )
            return type(predicate_name, (base,), members)

    return ConfigBackend()
