"""Classes of capacity, so that programs do not depend on how many things there are."""

GROWTH = 4
"""Ratio of one class of capacity to the one below. Larger values compile fewer programs
and compute more unused entries."""


def capacity_class(count: int, least: int) -> int:
    """Return the smallest class of capacity that holds a number of things.

    Args:
        count: the number.
        least: smallest class; the others are its multiples by powers of `GROWTH`.

    >>> [capacity_class(n, 4) for n in (0, 4, 5, 17)]
    [4, 4, 16, 64]
    """
    capacity = least
    while capacity < count:
        capacity *= GROWTH
    return capacity
