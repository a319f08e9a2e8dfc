"""The query after objects that stay where they are; `Stable` is the predicate."""

from typing import TypedDict, Unpack

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..predicates.stable import Stable


class StableOptions(TypedDict, total=False):
    """Options of `Stable`."""

    shift: float
    turn: float
    speed: float
    settle: float
    seconds: float
    legacy: bool


def stable(C: Config, a: FrameName, **options: Unpack[StableOptions]) -> bool:
    """Return whether a stays where it is; see `Stable`, which has the same options."""
    return Stable(a, **options).holds(C)
