"""Steps of a motion: what a robot is to do, without how."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from posewise.robots.typing import FrameName

from ..errors import PredicateError
from ..formulas.connectives import And
from ..formulas.predicate import Predicate
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
class Push:
    """Push an object straight over what it stands on, until predicates hold.

    The fingers are closed and behind the object, which moves with them: the push is
    slow, and the object does not turn.

    Args:
        obj: an object on a free joint.
        predicate: one, or several of which all are to hold.
        hand: link of the hand; None: any that is free.
    """

    obj: FrameName
    predicate: Predicate
    hand: FrameName | None = None

    if TYPE_CHECKING:  # the constructor joins several predicates

        def __init__(
            self,
            obj: FrameName,
            predicate: Predicate | Sequence[Predicate],
            hand: FrameName | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicate", joined("Push", self.predicate))


@dataclass(frozen=True)
class OpenJoint:
    """Open a door or a drawer, holding it while its joint moves.

    What lies in it moves with it.

    Args:
        obj: an object that `logic.Open` knows how to open.
        joint: that opens; None: any of those that open it.
        hand: link of the hand; None: any that is free.
    """

    obj: FrameName
    joint: str | None = None
    hand: FrameName | None = None


@dataclass(frozen=True)
class CloseJoint:
    """Close a door or a drawer; see `OpenJoint`."""

    obj: FrameName
    joint: str | None = None
    hand: FrameName | None = None


@dataclass(frozen=True)
class Handover:
    """Hand an object over from one hand to another.

    Args:
        obj: an object that a hand holds.
        hand: link of the hand that takes it; None: any that is free.
    """

    obj: FrameName
    hand: FrameName | None = None


@dataclass(frozen=True)
class Hold:
    """Let a predicate hold on the whole path of the following steps.

    It ends at the next `MoveUntil`, or with the motion.

    Args:
        predicate: of one moment, such as `Upright("mug")`, and with rows for a solver.
    """

    predicate: Predicate


@dataclass(frozen=True)
class MoveUntil:
    """Move until a predicate holds; every `Hold` before it ends there.

    Args:
        predicate: of one moment; where it holds already, nothing moves.
    """

    predicate: Predicate


Step: TypeAlias = (
    Pick | Place | Push | OpenJoint | CloseJoint | Handover | Hold | MoveUntil
)
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
