"""Constraints whose numbers are those of a world that has changed since."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posewise.robots.errors import PosewiseError

from ..problem.builder import resolve_constraint
from ..problem.spec import ProblemSpec
from ..terms.interval import ResolvedAlternative
from ..terms.objective import Objective


def outdated_constraints(spec: ProblemSpec) -> Iterator[str]:
    """Yield a sentence for each constraint that would have other objectives now.

    Presets read sizes of shapes when they are added; frames that moved matter to none.
    """
    for added in spec.constraints:
        if added.structure_key == spec.config.structure_key:
            continue
        try:
            now = resolve_constraint(spec, added.constraint, added.times)
            reason = ""
        except PosewiseError as error:
            now, reason = (), f": {error}"
        if not _are_same(added.alternatives, now):
            name = getattr(added.constraint, "name", type(added.constraint).__name__)
            yield (
                f"{name} was added when the world had other shapes or frames, and keeps"
                " the numbers of then; make a new KOMO for those of now"
                f"{reason or '.'}"
            )


def _are_same(
    old: tuple[ResolvedAlternative, ...], new: tuple[ResolvedAlternative, ...]
) -> bool:
    pairs = [[o for a in every for o in a.objectives] for every in (old, new)]
    return len(pairs[0]) == len(pairs[1]) and all(map(_is_same, *pairs))


def _is_same(a: Objective, b: Objective) -> bool:
    f, g = a.feature, b.feature
    words = [
        (h.symbol.name, h.frames, h.order, h.options, o.type, o.slices)
        for o, h in ((a, f), (b, g))
    ]
    numbers: Any = zip((f.scale, f.target), (g.scale, g.target), strict=True)
    return words[0] == words[1] and all(np.array_equal(x, y) for x, y in numbers)
