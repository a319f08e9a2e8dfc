"""The pairs that violate an objective on collisions, by name.

The features are sums or rows without names, so that the pairs are measured again in
the world of the worst slice.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from posewise.features.table import FS
from posewise.robots.config import Config
from posewise.robots.errors import first_few

from ..objective_report import ObjectiveReport

MAX_PAIRS = 3
"""Number of pairs that are named for each objective; more make reports longer."""
COLLISION_SYMBOLS = (FS.accumulatedCollisions, FS.collisionRows)


def is_about_collisions(report: ObjectiveReport) -> bool:
    """Whether an objective demands that pairs of a world do not collide."""
    names = [symbol.name for symbol in COLLISION_SYMBOLS]
    feature = report.objective.feature
    return feature.symbol.name in names and feature.order == 0


def colliding_pairs(
    reports: Iterable[ObjectiveReport], world_at: Callable[[int], Config]
) -> Iterator[str]:
    """Yield a sentence for each objective on collisions: its pairs in its worst slice.

    Args:
        reports: violated objectives.
        world_at: the world in a slice.
    """
    for report in filter(is_about_collisions, reports):
        feature = report.objective.feature
        options: dict[str, Any] = {**feature.symbol.options, **feature.options}
        margin, own = options["margin"], options["self_margin"]
        hits = world_at(report.worst_slice).collisions(margin, own)
        if feature.frames:
            hits = [hit for hit in hits if {*hit[:2]} & {*feature.frames}]
        if hits:
            pairs = [f"{a!r} and {b!r} ({1e3 * d:.1f} mm)" for a, b, d in hits]
            yield (
                f"{report.objective.name}: nearest in slice {report.worst_slice}:"
                f" {first_few(pairs, ', ', MAX_PAIRS)}; negative: they overlap."
            )
