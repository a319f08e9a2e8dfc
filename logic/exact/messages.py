"""Numbers and places in the sentences of predicates."""

from typing import Any

from posewise.robots.contact.gjk_numpy import Separation


def length(metres: Any) -> str:
    """The size of a length, for the eye: "3.2 cm"."""
    size = abs(float(metres))
    if size >= 1:
        return f"{size:.2f} m"
    if size >= 0.01:
        return f"{100 * size:.1f} cm"
    return f"{1000 * size:.2f} mm"


def relation(gap: Separation, a: str, b: str) -> str:
    """How far apart two things are: "mug is 3.2 cm above table"."""
    if gap.distance == 0:
        return f"{a} and {b} are 0 mm apart"
    up = gap.normal[2]
    word = "above" if up > 0.99 else "below" if up < -0.99 else "from"
    return f"{a} is {length(gap.distance)} {word} {b}"
