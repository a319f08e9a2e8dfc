"""Initial paths of solves that go round what is in the way."""

from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.kinematics.manifold import difference
from posewise.solvers.deadline import TimeLimitReached

from ..problem.spec import (
    ProblemSpec,
    initial_paths,
    mode_sequence,
    required_distances,
    whole_path,
)
from ..terms.objective import OT
from .detours import with_detours
from .free_space import free_space_with
from .rrt_connect import MAX_ROUNDS

MIN_DIFFERENCE = 1e-6
"""Difference of two coordinates below which they are one [rad, m]: rounding. Larger
ones keep bases in place that have to move a little."""


FIRST_ROUNDS = 300
"""Rounds of a search before anything was solved (count), up to a second. With more,
goals that cannot be reached are told later; with fewer, more solves are in vain."""


def free_start(
    spec: ProblemSpec, x: Float[np.ndarray, "T nq"], seed: int
) -> Float[np.ndarray, "T nq"] | None:
    """Return an initial path with detours where one collides that is only straight.

    One that is not says on which side to pass, and is kept; one that stays in place
    leads nowhere. None: see `planned_path`.

    Args:
        spec: the problem.
        x: its initial path.
        seed: of the detours.
    """
    if not spec.needs_certificate or is_on_equations(spec) or not _is_straight(spec, x):
        return None
    try:
        return planned_path(spec, x, seed, FIRST_ROUNDS)
    except TimeLimitReached:
        return None  # the solve ends with the path that it has


def compile_search(spec: ProblemSpec) -> None:
    """Check one motion of each mode, by the program that searches for detours."""
    q = whole_path(spec, np.array(initial_paths(spec, 0, 1)[0]))[:1]
    K = mode_sequence(spec).world.tree.model.unnamed_kinematics
    movable = movable_coordinates(spec, q)
    for part in required_distances(spec):
        space = free_space_with(K, part, part.required.min(0), q, movable)
        space.reachable(q, q)


def _is_straight(spec: ProblemSpec, x: Float[np.ndarray, "T nq"]) -> bool:
    """Return whether a path moves in equal steps from each passed point to the next."""
    points = whole_path(spec, x)
    tree = mode_sequence(spec).world.kinematics().tree
    steps = difference(tree, points[:-1], points[1:])
    passed = passed_points(spec)[1:-1]
    bends = np.abs(np.diff(steps, axis=0)).max(1, initial=0.0)
    moves = np.abs(steps).max(initial=0.0) > MIN_DIFFERENCE
    return bool(moves and (bends[~passed] <= MIN_DIFFERENCE).all())


def planned_path(
    spec: ProblemSpec,
    x: Float[np.ndarray, "T nq"],
    seed: int,
    max_rounds: int = MAX_ROUNDS,
) -> Float[np.ndarray, "T nq"] | None:
    """Return a path of the solved world with detours where it collides.

    None: it does not collide, or no detour was found. None is looked for where the
    start is as far outside of its limits as degrees are from radians.

    Args:
        spec: a problem that avoids collisions between slices.
        x: a path whose slices with waypoints are kept.
        seed: of the detours.
        max_rounds: of the search for each of them.
    """
    if starts_far_outside(spec):
        return None
    modes = mode_sequence(spec)
    K = modes.world.tree.model.unnamed_kinematics
    path = with_detours(
        K,
        required_distances(spec),
        whole_path(spec, x),
        passed_points(spec),
        partial(movable_coordinates, spec),
        np.random.default_rng(seed),
        max_rounds,
    )
    return None if path is None else path[1:]


def starts_far_outside(spec: ProblemSpec) -> bool:
    """Return whether the start is as far outside of its limits as their range is wide.

    So is one in degrees. All paths from there lead through what is outside, too.
    """
    low, high = spec.config.limits
    excess = np.maximum(low - spec.config.q, spec.config.q - high)
    return bool((excess > high - low).any())


def is_on_equations(spec: ProblemSpec) -> bool:
    """Return whether equations hold on the way, as those of a closed chain do."""
    return any(
        o.type is OT.eq and o.feature.order == 0 and len(o.slices) > 1
        for o in spec.objectives
    )


def passed_points(spec: ProblemSpec) -> Bool[np.ndarray, " points"]:
    """Return which of the start and the slices are places to pass.

    Equations single out some. What a chosen alternative asks for a while, such as to be
    near a stove, begins and ends in others, so that detours do not leave it.
    """
    passed = np.zeros(spec.T + 1, bool)
    passed[[0, -1]] = True
    chosen_ids = {id(o) for chosen in spec.room for o in chosen}
    for o in spec.objectives:
        is_posed = o.type is not OT.sos and o.feature.order == 0
        if is_posed and id(o) in chosen_ids and len(o.slices) < spec.T:
            passed[[o.slices[0] + 1, o.slices[-1] + 1]] = True
        # Equations over many slices describe a motion, and no place to pass.
        if o.type is OT.eq and o.feature.order == 0 and len(o.slices) == 1:
            passed[o.slices[0] + 1] = True
    return passed


def movable_coordinates(
    spec: ProblemSpec, ends: Float[np.ndarray, "points nq"]
) -> Int[np.ndarray, " n"]:
    """Return the coordinates that move on detours: those of single joints.

    Slides without limits, such as those of a mobile base, move if the ends differ in
    them, or in joints that they carry or are carried by. Free bodies, ball joints, and
    what all slices share, stay.

    Args:
        spec: the problem.
        ends: configurations of the solved world, the first and last ones of detours.
    """
    modes = mode_sequence(spec)
    tree, limits = modes.world.kinematics().tree, modes.world.limits
    coordinates = np.asarray(tree.column_coordinate)[np.asarray(tree.dof_columns)]
    dofs = np.flatnonzero(coordinates >= 0)
    of_dofs = coordinates[dofs]
    # Two dofs are on one chain if some node is moved by both.
    moved = tree.node_dof_mask[:, dofs].astype(int)
    differs = np.ptp(ends[:, of_dofs], 0) > MIN_DIFFERENCE
    moves = tree.is_angle | np.isfinite(limits).all(0)
    moves[of_dofs] |= (moved.T @ moved)[:, differs].any(1)
    moves &= limits[0] < limits[1]
    moves[modes.shared_coordinates] = False
    moves[turned_coordinates(spec)] = False
    return np.flatnonzero(moves)


def turned_coordinates(spec: ProblemSpec) -> Int[np.ndarray, " n"]:
    """Return the coordinates of joints with quaternions, such as free bodies."""
    world = mode_sequence(spec).world
    turned = world.kinematics().tree.indices.quaternion_coordinates.reshape(-1)
    joints = (world.joints.coordinates([name]) for name in world.joint_names)
    columns = [c for c in joints if np.isin(c, turned).any()]
    return np.concatenate([np.zeros(0, int), *columns])
