"""Objects that rest on a small part of another one, such as on a knob."""

from collections.abc import Iterator

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..exact.footing import measure_footing
from ..formulas.messages import format_predicate
from ..formulas.predicate import Predicate

MIN_FOOTING = 0.06
"""Fraction of what an object covers that is to be carried; with more, plates on a
glass are told."""


def rests_on_little(
    predicate: Predicate, C: Config, a: FrameName, b: FrameName
) -> Iterator[str]:
    """Yield a sentence if what carries an object is small beside what it covers.

    Args:
        predicate: it holds of both.
        C: the world.
        a: the object that rests.
        b: the object that carries it.
    """
    footing = measure_footing(C, a, b)
    if footing is not None and footing.share < MIN_FOOTING:
        by = f" by {footing.part!r}" if footing.part != b else ""
        carried, covered = (1e4 * x for x in (footing.carried, footing.covered))
        yield (
            f"{format_predicate(predicate)} holds, but {b!r} carries {a!r}{by} on"
            f" about {carried:.0f} of the {covered:.0f} cm² that it covers"
            f" ({100 * footing.share:.0f} %). Ask for a place with more room: annotate"
            f" a support of {b!r} (C.annotations.add_region), or keep all of {a!r}"
            " above a box (FS.standingAbove with a margin)."
        )
