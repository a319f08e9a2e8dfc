"""Placement: poses of some objects that meet constraints, from many random starts."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias, Unpack

import numpy as np
from jaxtyping import Float

from posewise.features import Feature
from posewise.features.collisions import PADDED_COLLISION_ROWS
from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning
from posewise.robots.typing import FrameName, Frames
from posewise.robots.validation import number
from posewise.solvers.deadline import time_limit

from ..checks.doubts import doubts_of, impediments
from ..checks.precision import coarse_coordinates
from ..checks.signs import doubtful_signs
from ..komo import KOMO
from ..problem.no_overlap import NO_OVERLAP
from ..problem.objective_builder import feature_label
from ..problem.spec import ProblemSpec
from ..solution.solution import Solution
from ..solve.alternatives import resolve_alternatives
from ..solve.settings import AUGMENTED_LAGRANGIAN, make_settings
from ..solve.stops import check_max_time
from ..terms.interval import SupportsObjectives
from ..terms.loose import loose_roots
from ..terms.objective import OT, ObjectiveError
from ..terms.typing import PlacementOptions
from .arguments import (
    check_constraints,
    check_count,
    check_region,
    check_separation,
    check_starts,
    check_world,
)
from .hints import (
    Witnesses,
    add_witnesses,
    admits_poses,
    holds_when_settled,
    improve_starts,
    start_region,
    suits_poses,
)
from .movables import free_movables, keep_inside
from .placement import Placement, distinct_placements, make_placement
from .room import lacks_of_room
from .sampler import ImproveStarts, PlacementSampler
from .sampling import PlacementHints, SamplingBox, default_region, with_ancestors
from .search import PlacementSearch
from .settling import (
    contents_of_objects,
    cycle_of_supports,
    supports_of_objects,
)
from .units import movables_in_millimetres

PlacementConstraint: TypeAlias = SupportsObjectives | tuple[Feature, OT]
"""A predicate, a preset or a formula, or a feature with its type."""


def solve_placement(
    C: Config,
    constraints: Sequence[PlacementConstraint],
    movable: Frames,
    *,
    starts: int | Mapping[FrameName, Float[np.ndarray, "n 7"]] = 64,
    seed: int = 0,
    tolerance: float = 1e-3,
    region: Float[np.ndarray, "2 3"] | Sequence[Sequence[float]] | None = None,
    collisions: bool = True,
    min_separation: tuple[float, float] = (0.01, 0.1),
    count: int | None = None,
    max_time: float | None = None,
    max_solutions: int | None = None,
    **options: Unpack[PlacementOptions],
) -> list[Placement]:
    """Find poses of frames that meet constraints while all other frames stand still.

    In a copy of the world the movables are on free joints and all other joints are
    locked, so that an arm does not move. For constraints about other configurations,
    such as `logic.Reachable`, the solver finds `Placement.witnesses` too.

    One start is the present state: the first, or the last if predicates give hints
    (see `posewise.objectives.placement.hints`). The others have random positions in the
    region, three of four of them within the hints. Three of eight starts put the
    movables on a stable face, two turn them from their present orientation about the
    vertical only, and the others have random orientations. Movables whose hints
    overlap, or depend on each other, are arranged without overlap in the first starts,
    eight at most. Where starts of several movables fail, these are inserted one by one,
    the most constrained first, and taken out again if they are in the way of another
    one; with a `count` this is done after two starts.

    Objects that predicates want on something are turned onto a face, and moved until
    what they carry and they stand above it, where constraints and costs let them.

    Args:
        C: the world, which is not changed.
        constraints: a list of predicates, presets and formulas, and of pairs (Feature,
            OT).
        movable: names of frames, each with all that is attached to it.
        starts: number of starts; or poses (n, 7) of some of the movables to start from,
            {"mug": poses}: besides the present state n starts, random for the others.
        seed: of the random starts.
        tolerance: rows within it count as satisfied, in scaled units: objects may
            overlap by 1 mm. For a gap add `(pw.Feature(FS.distance, [a, b],
            target=-gap), OT.ineq)`.
        region: lower and upper corner (2, 3) in the world [m], between which the
            movables' origins stay. Default: they may go anywhere, and start in the box
            around all frames and shapes except planes, enlarged on all sides by 10 cm
            and the sizes of the movables.
        collisions: whether the movables must not penetrate anything; see
            `Config.pairs.names`.
        min_separation: solutions are distinct if a movable differs by more than this
            distance [m] or angle [rad].
        count: number of distinct solutions that are wanted: the search ends when it
            has found them, or nothing more; None: all starts are solved.
        max_time: see `KOMO.solve`. It also counts while starts are arranged and
            improved, which ends with it.
        max_solutions: old name of `count`.
        **options: `progress` and `method`, see `KOMO.solve`; fields of
            `posewise.solvers.Options`.

    Returns:
        Distinct solutions: feasible ones by cost, then infeasible ones by violation,
        whose `message` names the violated objectives, and objects that found no place.
        Never empty.

    Raises:
        ConfigError: for unknown frames.
        ObjectiveError: for anything else that does not fit.
    """
    check_world(C)
    limit = time_limit(check_max_time(max_time))
    count = check_count(count, max_solutions)
    distance, angle = check_separation(min_separation)
    world, names = free_movables(C, movable)
    constraints = check_constraints(constraints)
    added = _add_witnesses(constraints, C, world)
    corners = default_region(world, names) if region is None else check_region(region)
    positive = ("a number > 0", lambda x: x > 0, ObjectiveError)
    tolerance = number("tolerance", tolerance, *positive)
    _warn_of_doubts(constraints, world, names, corners, tolerance)
    if region is not None:
        keep_inside(world, names, corners)
    start_count, poses = check_starts(names, starts)
    solid = names if collisions else ()
    supports = supports_of_objects(constraints, world, names)
    hints = partial(_hints, constraints)
    improve = added.improve_poses, added.improve_witnesses
    sampler = PlacementSampler(world, names, corners, hints, poses, *improve)
    spec = _constrain(world, constraints, solid, sampler)
    settings = make_settings(
        spec,
        tolerance,
        options.pop("progress", True),
        options,
        method=options.pop("method", AUGMENTED_LAGRANGIAN),
        seed=seed,
        starts=start_count,
    )
    place = partial(
        make_placement,
        world,
        names,
        witness_joints=added.witnesses,
        constraints=tuple(constraints),
        original=C.copy(),
        loose=tuple(name for name in names if name in loose_roots(C)),
    )

    def distinct(
        solutions: Sequence[Solution], lacks: Sequence[str]
    ) -> list[Placement]:
        ranked = sorted(solutions, key=Solution.rank)
        placements = [place(solution=s, lacks=tuple(lacks)) for s in ranked]
        return distinct_placements(placements, distance, angle)

    with limit:
        outcome = PlacementSearch(
            spec,
            settings,
            sampler,
            count,
            supports,
            contents_of_objects(constraints, world, supports),
            lambda feasible: len(distinct(feasible, ())),
            _easier_spec(world, constraints, solid, supports, sampler),
        ).run()
    if any(s.feasible for s in outcome.solutions):
        return distinct(outcome.solutions, ())
    lacks = _lacks(world, constraints, solid)
    return distinct(outcome.solutions, lacks or tuple(filter(None, [outcome.failure])))


def _lacks(
    world: Config,
    constraints: Sequence[PlacementConstraint],
    solid: Sequence[FrameName],
) -> tuple[str, ...]:
    """Return what is known to hardly let constraints hold.

    Args:
        world: in which the movables are on free joints.
        constraints: on them.
        solid: movables that may not overlap anything.
    """
    # What overlaps needs no room, but cannot be in a hollow that is filled.
    room = lacks_of_room(world, constraints, solid) if solid else ()
    cycle = cycle_of_supports(supports_of_objects(constraints, world, solid))
    return (*impediments(constraints, world), *cycle, *room)


class _AddedWitnesses(NamedTuple):
    """Witnesses that constraints add to a world, and improvements of its starts."""

    witnesses: Witnesses
    improve_poses: list[ImproveStarts]
    improve_witnesses: list[ImproveStarts]


def _add_witnesses(
    constraints: Sequence[PlacementConstraint], C: Config, world: Config
) -> _AddedWitnesses:
    """Add the witnesses of constraints to the world in which movables are placed."""
    added = _AddedWitnesses({}, [], [])
    for constraint in constraints:
        joints = add_witnesses(constraint, C, world)
        improved = added.improve_witnesses if joints else added.improve_poses
        improved.append(partial(improve_starts, constraint))
        added.witnesses.update(joints)
    return added


def _warn_of_doubts(
    constraints: Sequence[PlacementConstraint],
    world: Config,
    names: Sequence[FrameName],
    corners: SamplingBox,
    tolerance: float,
) -> None:
    """Warn the caller of `solve_placement` of what is likely a mistake."""
    bounds = [
        (feature_label(c[0]), *c)
        for c in constraints
        if isinstance(c, tuple) and c[1] is OT.ineq
    ]
    doubts = (
        *(doubt for c in constraints for doubt in doubts_of(c, world)),
        *movables_in_millimetres(world, names),
        *doubtful_signs(bounds),
        *coarse_coordinates(world, tolerance, others={"the region": corners}),
    )
    for doubt in doubts:
        warnings.warn(doubt, ProblemWarning, stacklevel=3)


def _constrain(
    world: Config,
    constraints: Sequence[PlacementConstraint],
    solid: Sequence[FrameName],
    sampler: PlacementSampler,
) -> ProblemSpec:
    """Return the problem of one configuration that meets constraints.

    Args:
        world: in which the movables are on free joints.
        constraints: on them.
        solid: movables that may not overlap anything.
        sampler: of starts.
    """
    komo = KOMO(world)
    for constraint in constraints:
        if isinstance(constraint, tuple):
            feature, kind = constraint
            komo.add_objective(None, feature, type=kind)
        else:
            komo.add(constraint, collisions=False)
    if solid:
        _avoid_collisions(komo, solid)
    return replace(resolve_alternatives(komo.spec)[0], sampler=sampler)


def _hints(constraints: Sequence[Any], world: Config, name: str) -> PlacementHints:
    """Return the hints of constraints for the pose of a movable."""
    regions = [start_region(c, world, name) for c in constraints]

    def admitting(poses: Float[np.ndarray, "n 7"]) -> Any:
        return np.sum([admits_poses(c, world, name, poses) for c in constraints], 0)

    def suiting(poses: Float[np.ndarray, "n 7"]) -> Any:
        return np.mean([suits_poses(c, world, name, poses) for c in constraints], 0)

    boxes = [np.asarray(box) for box in regions if box is not None]
    return PlacementHints(boxes, *((admitting, suiting) if constraints else ()))


def _easier_spec(
    world: Config,
    constraints: Sequence[PlacementConstraint],
    solid: Sequence[FrameName],
    supports: Mapping[FrameName, FrameName],
    sampler: PlacementSampler,
) -> ProblemSpec | None:
    """Return the problem without what settled objects likely meet; see `_constrain`.

    It is None if there is no such constraint, or no object on another one.
    """
    others = [c for c in constraints if not holds_when_settled(c)]
    if len(supports) < 2 or len(others) == len(constraints):
        return None
    return _constrain(world, others, solid, sampler)


def _avoid_collisions(komo: KOMO, names: Sequence[str]) -> None:
    """Forbid penetration of all pairs that include a part of a movable."""
    world = komo.config
    roots = {world.index(name) for name in names}
    moving = [
        frame.name
        for i, frame in enumerate(world.frames)
        if with_ancestors(world.frames, i) & roots
    ]
    involved = {name for pair in world.pairs.names() for name in pair}
    if involved & set(moving):
        komo.add_objective(
            None,
            Feature(PADDED_COLLISION_ROWS, moving),
            type=OT.ineq,
            name=NO_OVERLAP,
        )
