"""Rows that keep loose objects from overlapping anything, unless others do already."""

from dataclasses import replace

from posewise.features import Feature
from posewise.features.table import FS

from ..terms.loose import loose_frames
from ..terms.objective import OT, Objective
from .objective_builder import make_objective
from .spec import ProblemSpec

NO_OVERLAP = "no collisions"
"""Name of the objective, also in placements."""


def with_objects_apart(spec: ProblemSpec) -> ProblemSpec:
    """Return the problem with rows that keep loose objects apart from all else.

    They are about pairs that can collide, in all slices. A problem that keeps all pairs
    apart stays the same, as one without loose objects.
    """
    C = spec.world
    if any(keeps_all_apart(o) or _is_default(o) for o in spec.objectives):
        return spec
    loose = loose_frames(C)
    moving = [name for name in C.frame_names if name in loose]
    if loose.isdisjoint(name for pair in C.pairs.names() for name in pair):
        return spec
    feature = Feature(FS.accumulatedCollisions, moving)
    apart = make_objective(spec, None, feature, (), OT.ineq, name=NO_OVERLAP)
    return replace(spec, objectives=(*spec.objectives, apart))


def without_default(spec: ProblemSpec) -> ProblemSpec:
    """Return the problem without these rows, which others replace."""
    objectives = tuple(o for o in spec.objectives if not _is_default(o))
    return replace(spec, objectives=objectives)


def keeps_all_apart(objective: Objective) -> bool:
    """Return whether an objective keeps all pairs apart in all slices."""
    names = FS.accumulatedCollisions.symbol.name, FS.collisionRows.symbol.name
    is_of_all = not objective.feature.frames and objective.feature.order == 0
    is_demanded = objective.type is not OT.sos
    return is_of_all and is_demanded and objective.feature.symbol.name in names


def _is_default(objective: Objective) -> bool:
    return objective.name == NO_OVERLAP
