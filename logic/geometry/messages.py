"""Numbers and positions in the explanations of predicates."""

from posewise.robots.contact.gjk_numpy import Separation


def length(metres: float) -> str:
    """Return the size of a length as text, such as "3.2 cm"."""
    size = abs(float(metres))
    if size >= 1:
        return f"{size:.2f} m"
    if size >= 0.01:
        return f"{100 * size:.1f} cm"
    return f"{1000 * size:.2f} mm"


def relation(separation: Separation, a: str, b: str) -> str:
    """Return the distance of two objects as text: "mug is 3.2 cm above table"."""
    if separation.distance == 0:
        return f"{a} and {b} are 0 mm apart"
    up = separation.normal[2]
    word = "above" if up > 0.99 else "below" if up < -0.99 else "from"
    return f"{a} is {length(separation.distance)} {word} {b}"
