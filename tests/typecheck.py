"""Runtime checks of annotations; an int is accepted where a float is (PEP 484)."""

from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

VALIDATES_ITSELF = frozenset(
    """
    posewise.objectives.presets.grasping
    posewise.objectives.presets.helpers
    posewise.objectives.presets.motion
    """.split()
)
"""Modules whose functions check user input and answer with a sentence.

beartype is not applied there: it would raise before the sentence does.
"""

_beartype = beartype(conf=BeartypeConf(is_pep484_tower=True))


def check(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Check the annotations of a function, unless its module validates itself."""
    return fn if fn.__module__ in VALIDATES_ITSELF else _beartype(fn)
