"""Steps of a motion: what a robot is to do, without how."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from posewise.robots.typing import FrameName

from ..errors import PredicateError
from ..formulas.predicate import And, Predicate
from .grasp import Grasp


@dataclass(frozen=True)
class Pick:
    """Grasp an object and lift it.

    Args:
        obj: an object, or a frame with a shape, that no other object stands on.
        hand: the link that carries the fingers; None: any hand that is free.
        grasp: how to hold it; None: one of `grasps`, the best that can be reached both
            here and where the object is put down.
    """

    obj: FrameName
    hand: FrameName | None = None
    grasp: Grasp | None = None


@dataclass(frozen=True)
class Place:
    """Put down an object that a hand holds, so that predicates hold, and let it go.

    Args:
        obj: the object.
        predicate: one, or several of which all are to hold, such as
            `OnTopOf("mug", "shelf")`.
    """

    obj: FrameName
    predicate: Predicate

    if TYPE_CHECKING:  # the constructor joins several predicates

        def __init__(
            self, obj: FrameName, predicate: Predicate | Sequence[Predicate]
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicate", joined("Place", self.predicate))


@dataclass(frozen=True)
class Hold:
    """Let a predicate hold on the whole path of the following steps.

    It ends at the next `Until`, or with the motion.

    Args:
        predicate: of one moment, such as `Upright("mug")`, and with rows for a solver.
    """

    predicate: Predicate


@dataclass(frozen=True)
class Until:
    """Move until a predicate holds; every `Hold` before it ends there.

    Args:
        predicate: of one moment; where it holds already, nothing moves.
    """

    predicate: Predicate


Step: TypeAlias = Pick | Place | Hold | Until
"""Any of the steps of a motion."""


def joined(step: str, predicate: object) -> Predicate:
    """Return one predicate, or the conjunction of several.

    Raises:
        PredicateError: for anything else.
    """
    if isinstance(predicate, Predicate):
        return predicate
    parts = list(predicate) if isinstance(predicate, Sequence) else []
    if not parts or not all(isinstance(part, Predicate) for part in parts):
        raise PredicateError(
            f"{step}: predicate is {predicate!r}, expected a predicate such as"
            " OnTopOf('mug', 'shelf'), or a list of predicates."
        )
    return And(*parts)
