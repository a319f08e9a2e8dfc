"""Placement: poses of some objects that meet constraints, from many random starts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, Unpack, runtime_checkable

import numpy as np
from jaxtyping import Float

from posewise.features import FS, Feature
from posewise.robots.config import Config
from posewise.robots.errors import unknown_name
from posewise.robots.kinematics.transforms import quat_normalize
from posewise.robots.typing import FrameName, Frames
from posewise.robots.validation import float_array, number
from posewise.robots.visual.viewer import View

from .interval import SupportsObjectives
from .komo import KOMO
from .objective import OT, ObjectiveError
from .solution import Solution
from .solve.sampling import (
    PlacementHints,
    SamplingBox,
    default_region,
    sample_placements,
    with_ancestors,
)
from .typing import PlacementOptions

CANDIDATES_PER_START = 8
"""Random placements of which one becomes a start, if solves are long: with witnesses.

More candidates give better starts but take longer to rate.
"""
ImproveStarts: TypeAlias = Callable[
    [Config, Float[np.ndarray, "n nq"]], Float[np.ndarray, "n nq"]
]
"""Moves witnesses of starts to where a constraint is more likely to hold."""
PlacementConstraint: TypeAlias = SupportsObjectives | tuple[Feature, OT]
"""A predicate, a preset or a formula, or a feature with its type."""


@dataclass(frozen=True, eq=False)
class Placement:
    """Poses of the movable frames, and how well they meet the constraints."""

    poses: dict[str, Float[np.ndarray, "7"]]
    """World poses by name, a frame before those attached to it."""
    solution: Solution
    """Solution in the copied world, in which only movables and witnesses move."""
    witnesses: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    """Joint values at which statements about other configurations hold: by statement,
    e.g. "panda_hand_tcp to mug: ", and by the names of the joints."""

    @property
    def feasible(self) -> bool:
        """Whether every constraint is within the tolerance."""
        return self.solution.feasible

    @property
    def cost(self) -> float:
        """Sum of squares of all cost rows."""
        return self.solution.sos

    @property
    def message(self) -> str:
        """The status in a sentence, with the objectives in conflict."""
        return self.solution.message

    def report(self) -> str:
        """Return the poses, and a table of all objectives."""
        lines = [
            f"{name}: {' '.join(f'{x:.4g}' for x in pose)}"
            for name, pose in self.poses.items()
        ]
        return "\n".join([*lines, self.solution.report()])

    def view(self, browser: bool = True) -> View:
        """Show the world with the poses in the browser; see `Solution.view`.

        Raises:
            ImportError: without viser; names the extra.
        """
        return self.solution.view(browser)

    def apply(self, C: Config) -> None:
        """Set the poses in a world.

        Raises:
            ConfigError: for an unknown frame, or one on a joint that cannot reach its
                pose.
        """
        for name, pose in self.poses.items():
            C.set_pose(name, pose)


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
    max_solutions: int | None = None,
    **options: Unpack[PlacementOptions],
) -> list[Placement]:
    """Find poses of frames that meet constraints while all other frames stand still.

    In a copy of the world the movables are on free joints and all other joints are
    locked, so that an arm does not move. For constraints about other configurations,
    such as `logic.Reachable`, the solver finds `Placement.witnesses` too.

    One start is the present state: the first, or the last if predicates give hints
    (`start_region`, `admits_poses`). The others have random positions in the region,
    three of four of them within the hints. Three of eight starts put the movables on a
    stable face, two turn them from their present orientation about the vertical only,
    and the others have random orientations.

    Args:
        C: the world, which is not changed.
        constraints: a list of predicates, presets and formulas, and of pairs (Feature,
            OT).
        movable: names of frames, each with all that is attached to it.
        starts: number of starts; or poses (n, 7) of some of the movables to start from,
            {"mug": poses}: besides the present state n starts, random for the others.
        seed: of the random starts.
        tolerance: rows within it count as satisfied, in scaled units.
        region: lower and upper corner (2, 3) in the world [m], between which the
            movables' origins stay. Default: they may go anywhere, and start in the box
            around all frames and shapes except planes, enlarged on all sides by 10 cm
            and the sizes of the movables.
        collisions: whether the movables must not penetrate anything; see
            `Config.collision_pairs`.
        min_separation: solutions are distinct if a movable differs by more than this
            distance [m] or angle [rad].
        max_solutions: number of feasible starts after which the remaining starts are
            skipped; None: all starts are solved.
        **options: `progress`, see `KOMO.solve`; fields of `posewise.solvers.Options`.

    Returns:
        Distinct solutions: feasible ones by cost, then infeasible ones by violation,
        whose `message` names the violated objectives. Never empty.

    Raises:
        ConfigError: for unknown frames.
        ObjectiveError: for anything else that does not fit.
    """
    if not isinstance(C, Config):
        raise ObjectiveError(f"C is {type(C).__name__}, expected a Config.")
    distance, angle = _check_separation(min_separation)
    world, names = _free_movables(C, movable)
    witness_joints: dict[str, dict[str, str]] = {}
    improve_poses: list[ImproveStarts] = []
    improve_witnesses: list[ImproveStarts] = []
    for constraint in _check_constraints(constraints):
        if isinstance(constraint, AddsWitnesses):
            joints = constraint.add_witnesses(C, world)
            improve = improve_witnesses if joints else improve_poses
            improve.append(constraint.improve_starts)
            witness_joints |= joints
    if region is None:
        corners = default_region(world, names)
    else:
        corners = _check_region(region)
        limits = np.array([[-np.inf], [np.inf]]) * np.ones(7)
        limits[:, :3] = corners
        for name in names:
            world.set_limits(name, limits)
    hints = {name: _hints(world, name, constraints) for name in names}
    count, poses = _check_starts(names, starts)
    komo = KOMO(world)
    for constraint in constraints:
        if isinstance(constraint, tuple):
            feature, kind = constraint
            komo.add_objective(None, feature, type=kind)
        else:
            komo.add(constraint)
    if collisions:
        _avoid_collisions(komo, names)
    sampler = PlacementSampler(
        world, names, corners, hints, poses, improve_poses, improve_witnesses
    )
    komo.spec = replace(komo.spec, sampler=sampler)
    solutions = komo.solve_all(
        seed, count, tolerance=tolerance, max_solutions=max_solutions, **options
    )
    solutions.sort(key=Solution.rank)
    placements = [_make_placement(world, names, s, witness_joints) for s in solutions]
    return distinct_placements(placements, distance, angle)


@runtime_checkable
class AddsWitnesses(Protocol):
    """A constraint that is about other configurations than the one that is solved."""

    def add_witnesses(self, C: Config, world: Config) -> dict[str, dict[str, str]]:
        """Add joints of other configurations to `world`.

        Returns:
            Names of the real joints mapped to those of their copies, by statement.
        """
        ...

    def improve_starts(
        self, world: Config, q: Float[np.ndarray, "n nq"]
    ) -> Float[np.ndarray, "n nq"]:
        """Return starts at which the constraint is more likely to hold."""
        ...


@dataclass(frozen=True, eq=False)
class PlacementSampler:
    """Initial configurations of placements; a `PathSampler` for a single slice."""

    world: Config
    names: Sequence[str]
    """Names of the movables."""
    region: SamplingBox
    """Box in which positions are drawn."""
    hints: Mapping[str, PlacementHints]
    """Hints of constraints for each movable."""
    poses: Mapping[str, Float[np.ndarray, "n 7"]]
    """Poses to start from, of some of the movables."""
    improve_poses: Sequence[ImproveStarts]
    """Functions that move all candidates."""
    improve_witnesses: Sequence[ImproveStarts]
    """Functions that move the witnesses of starts only, because they take long."""

    def __call__(self, seed: int, count: int) -> Float[np.ndarray, "count 1 nq"]:
        """Return the present state, and random or given placements."""
        rng = np.random.default_rng(seed)
        selects = bool(self.improve_witnesses) and not self.poses
        candidates = count * CANDIDATES_PER_START if selects else count
        q = sample_placements(
            self.world, self.names, self.region, candidates, rng, self.hints
        )
        if self.poses:
            q[0] = self.world.q
        for name, poses in self.poses.items():
            q[1:, 0, self.world.coordinates([name])] = poses
        q = self._improve(q, self.improve_poses)
        return self._improve(self._best(q, count), self.improve_witnesses)

    def _improve(
        self, q: Float[np.ndarray, "n 1 nq"], functions: Sequence[ImproveStarts]
    ) -> Float[np.ndarray, "n 1 nq"]:
        for improve in functions:
            q = improve(self.world, q[:, 0])[:, None]
        return q

    def _best(
        self, q: Float[np.ndarray, "n 1 nq"], count: int
    ) -> Float[np.ndarray, "count 1 nq"]:
        """Return the candidates with most votes, and the present state last."""
        if len(q) == count:
            return q
        votes = np.zeros(len(q))
        for name, hint in self.hints.items():
            if hint.votes is not None:
                columns = self.world.coordinates([name])
                votes += np.asarray(hint.votes(q[:, 0, columns]))
        is_present = (q[:, 0] == self.world.q).all(-1)
        order = np.argsort(np.where(is_present, np.inf, -votes), kind="stable")
        return q[np.r_[order[: count - 1], order[-1:]]]


def _hints(world: Config, name: str, constraints: Sequence[Any]) -> PlacementHints:
    """Return the hints of constraints for the pose of a movable."""
    regions = [
        c.start_region(world, name) for c in constraints if hasattr(c, "start_region")
    ]
    voters = [c for c in constraints if hasattr(c, "admits_poses")]

    def votes(poses: Float[np.ndarray, "n 7"]) -> Any:
        return np.sum([c.admits_poses(world, name, poses) for c in voters], axis=0)

    boxes = [np.asarray(box) for box in regions if box is not None]
    return PlacementHints(boxes, votes if voters else None)


def _free_movables(C: Config, movable: Frames) -> tuple[Config, tuple[str, ...]]:
    """Return a copy in which only these frames move, and their names, parents first."""
    names = [movable] if isinstance(movable, str) else movable
    if not isinstance(names, list | tuple) or not names:
        raise ObjectiveError(
            f"movable is {movable!r}, expected a list of names of one or more frames."
        )
    world = C.copy()
    world.select_joints([])
    indices = {C.tree.own_index(name) for name in names}
    depth = {i: len(with_ancestors(C.frames, i)) for i in indices}
    ordered = [C.frames[i].name for i in sorted(indices, key=lambda i: (depth[i], i))]
    for name in ordered:
        world.detach(name)
    return world, tuple(ordered)


def _check_starts(
    names: Sequence[str], starts: int | Mapping[FrameName, Float[np.ndarray, "n 7"]]
) -> tuple[int, dict[str, Float[np.ndarray, "n 7"]]]:
    """Return the number of starts, and the checked poses to start from."""
    if not isinstance(starts, Mapping):
        return starts, {}
    checked: dict[str, np.ndarray] = {}
    for name, poses in starts.items():
        if name not in names:
            raise ObjectiveError(unknown_name("movable in starts", name, names))
        expected = "poses (n, 7), the same number for each movable"
        array = float_array(f"starts of {name!r}", poses, expected, ObjectiveError)
        is_valid = array.ndim == 2 and array.shape[-1] == 7 and np.isfinite(array).all()
        counts = {len(x) for x in checked.values()}
        if not is_valid or not array[:, 3:].any(-1).all() or counts - {len(array)}:
            raise ObjectiveError(
                f"starts of {name!r} have shape {array.shape}, expected {expected},"
                " finite, with quaternions that are not zero."
            )
        checked[name] = np.concatenate([array[:, :3], quat_normalize(array[:, 3:])], -1)
    count = max((len(x) for x in checked.values()), default=0)
    return count + 1, checked


def _check_constraints(constraints: Any) -> list[Any]:
    """Return constraints after checking their types."""
    if not isinstance(constraints, list):
        raise ObjectiveError(
            f"constraints is {constraints!r}, expected a list of predicates,"
            " presets or pairs (Feature, OT)."
        )
    for k, constraint in enumerate(constraints):
        is_pair = isinstance(constraint, tuple) and len(constraint) == 2
        if is_pair and isinstance(constraint[0], Feature):
            continue
        if not hasattr(constraint, "objectives"):
            raise ObjectiveError(
                f"constraints[{k}] is {constraint!r}, expected a predicate, a preset"
                " or a pair (Feature, OT)."
            )
    return constraints


def _avoid_collisions(komo: KOMO, names: Sequence[str]) -> None:
    """Forbid penetration of all pairs that include a part of a movable."""
    world = komo.config
    roots = {world.index(name) for name in names}
    moving = [
        frame.name
        for i, frame in enumerate(world.frames)
        if with_ancestors(world.frames, i) & roots
    ]
    involved = {name for pair in world.collision_pairs() for name in pair}
    if involved & set(moving):
        komo.add_objective(
            None, FS.collisionRows, moving, OT.ineq, name="no collisions"
        )


def _check_region(region: Any) -> SamplingBox:
    """Return the corners of a region after checking them."""
    corners = float_array("region", region, "(2, 3) numbers", ObjectiveError)
    is_valid = corners.shape == (2, 3) and np.isfinite(corners).all()
    if not is_valid or (corners[0] > corners[1]).any():
        raise ObjectiveError(
            f"region is {corners.tolist()}, expected the lower and the upper corner of"
            " a box in the world: (2, 3) finite numbers, none of the lower above the"
            " upper one."
        )
    return corners


def _make_placement(
    world: Config,
    names: Sequence[str],
    solution: Solution,
    witness_joints: Mapping[str, Mapping[str, str]],
) -> Placement:
    """Return a solution as a placement."""

    def joint_value(name: str) -> np.ndarray:
        return np.array(solution.q[world.coordinates([name])])

    poses = {}
    for name in names:
        pose = joint_value(name)
        poses[name] = np.concatenate([pose[:3], quat_normalize(pose[3:])])
    witnesses = {
        statement: {real: joint_value(copy) for real, copy in joints.items()}
        for statement, joints in witness_joints.items()
    }
    return Placement(poses, solution, witnesses)


def distinct_placements(
    placements: Sequence[Placement], distance: float, angle: float
) -> list[Placement]:
    """Return the placements that do not coincide with an earlier one, in order.

    Args:
        placements: the best first.
        distance: placements coincide if all positions differ by at most this [m],
        angle: and all orientations by at most this [rad].
    """
    distinct: list[Placement] = []
    for placement in placements:
        if not any(_coincide(placement, d, distance, angle) for d in distinct):
            distinct.append(placement)
    return distinct


def _coincide(a: Placement, b: Placement, distance: float, angle: float) -> bool:
    for name, pose in a.poses.items():
        other = b.poses[name]
        # q and -q are the same rotation, by twice the angle between the 4-vectors.
        cosine = min(abs(float(pose[3:] @ other[3:])), 1.0)
        if np.linalg.norm(pose[:3] - other[:3]) > distance:
            return False
        if 2 * np.arccos(cosine) > angle:
            return False
    return True


def _check_separation(
    min_separation: tuple[float, float],
) -> tuple[float, float]:
    """Return the checked distance [m] and angle [rad]."""
    try:
        distance, angle = min_separation
    except (TypeError, ValueError):
        raise ObjectiveError(
            f"min_separation is {min_separation!r}, expected two numbers:"
            " metres and radians."
        ) from None

    def check(unit: str, value: float) -> float:
        label = f"min_separation: {unit}"
        return number(label, value, "a number >= 0", lambda v: v >= 0, ObjectiveError)

    return check("metres", distance), check("radians", angle)
