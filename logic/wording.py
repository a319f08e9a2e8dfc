"""Numbers and places in the sentences of predicates."""

from typing import Any

from ..robots.gaps import Gap


def length(metres: Any) -> str:
    """The size of a length, for the eye: "3.2 cm"."""
    size = abs(float(metres))
    if size >= 1:
        return f"{size:.2f} m"
    if size >= 0.01:
        return f"{100 * size:.1f} cm"
    return f"{1000 * size:.2f} mm"


def relation(gap: Gap, a: str, b: str) -> str:
    """How far apart two things are: "mug is 3.2 cm above table"."""
    up, distance = gap.normal[2], gap.distance
    if distance < 0:
        return f"{a} reaches {length(distance)} into {b}"
    word = "above" if up > 0.99 else "below" if up < -0.99 else "from"
    return f"{a} is {length(distance)} {word} {b}"
