"""Fewer convex parts that cover the same: none inside another, no slivers."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from .hulls import hull_planes, hull_vertices, volume_and_centroid

Vertices: TypeAlias = Float[np.ndarray, "_ 3"]

SLIVER_VOLUME = 1e-3
"""Volume below which a part counts as a sliver, as a fraction of the hull of all
parts."""
MAX_MERGE_GROWTH = 0.02
"""Volume that merging a sliver may add, as a fraction of the hull of all parts. More
leaves fewer slivers."""
MAX_PARTS = 32
"""Largest number of parts of a mesh (count); of more, small ones are merged."""
CONTAINMENT_TOLERANCE = 1e-9
"""Distance beyond a part, as a fraction of the size, that counts as inside of it."""


def merge_parts(parts: Sequence[Vertices]) -> list[Vertices]:
    """Return convex parts without those inside another, and with slivers merged.

    A sliver, such as a screw, becomes one with the part for which their hull adds least
    volume, if that is little. Beyond `MAX_PARTS` the smallest parts do so however much
    it adds.

    Args:
        parts: Points of each part, of which the hull counts.
    """
    corners = [hull_vertices(part) for part in parts]
    whole = np.concatenate(corners)
    size = float(np.ptp(whole, axis=0).max())
    total = volume_and_centroid(whole)[0]
    merged = _without_contained(corners, CONTAINMENT_TOLERANCE * size)
    k = 0
    while k < len(merged) and len(merged) > 1:
        # The smallest part is first.
        is_sliver = _volume(merged[k]) < SLIVER_VOLUME * total
        if not is_sliver and len(merged) <= MAX_PARTS:
            break
        others = merged[:k] + merged[k + 1 :]
        unions = [hull_vertices(np.concatenate([merged[k], other])) for other in others]
        growth = [
            _volume(union) - _volume(other) - _volume(merged[k])
            for union, other in zip(unions, others, strict=True)
        ]
        best = int(np.argmin(growth))
        if growth[best] > MAX_MERGE_GROWTH * total and len(merged) <= MAX_PARTS:
            k += 1
            continue
        others[best] = unions[best]
        merged = _without_contained(others, CONTAINMENT_TOLERANCE * size)
        k = 0
    return merged


def is_sliver(part: Vertices, whole: Vertices) -> bool:
    """Whether the hull of a part has little of the volume of the hull of all points."""
    return _volume(part) < SLIVER_VOLUME * _volume(whole)


def _volume(points: Vertices) -> float:
    return volume_and_centroid(points)[0]


def _without_contained(parts: Sequence[Vertices], margin: float) -> list[Vertices]:
    """Return the parts that are not inside a larger one, the smallest first."""
    largest_first = sorted(parts, key=_volume, reverse=True)
    uncontained: list[Vertices] = []
    planes: list[np.ndarray] = []
    for part in largest_first:
        inside = (
            len(p) and (part @ p[:, :3].T <= p[:, 3] + margin).all() for p in planes
        )
        if not any(inside):
            uncontained.append(part)
            planes.append(hull_planes(part))
    return uncontained[::-1]
