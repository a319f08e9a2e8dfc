"""Placement: poses of some objects that meet constraints, from many random starts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.features import FS, Feature
from posewise.robots.config import Config
from posewise.robots.errors import unknown_name
from posewise.robots.kinematics.transforms import quat_normalize
from posewise.robots.validation import float_array, number
from posewise.robots.visual.viewer import View

from .komo import KOMO
from .objective import OT, ObjectiveError
from .solution import Solution
from .solve.sampling import (
    PlacementHints,
    Region,
    default_region,
    sample_placements,
    with_ancestors,
)


@dataclass(frozen=True, eq=False)
class Placement:
    """Poses of the movable frames, and how well they meet the constraints."""

    poses: dict[str, Float[np.ndarray, "7"]]
    """World poses by name, a frame before those attached to it."""
    solution: Solution
    """Of the copied world, in which only the movables and witnesses move."""
    witnesses: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    """Joint values at which statements about other configurations are true: by what
    is claimed, e.g. "panda_hand_tcp to mug: ", and by the names of the joints."""

    @property
    def feasible(self) -> bool:
        """Every constraint is within the tolerance."""
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
        """The poses, and a table of all objectives."""
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
            ConfigError: where a frame is unknown, or on a joint that cannot reach it.
        """
        for name, pose in self.poses.items():
            C.set_pose(name, pose)


def solve_placement(
    C: Any,
    constraints: Any,
    movable: Any,
    *,
    starts: Any = 64,
    seed: Any = 0,
    tolerance: Any = 1e-3,
    region: Any = None,
    collisions: bool = True,
    min_separation: Any = (0.01, 0.1),
    max_solutions: Any = None,
    **options: Any,
) -> list[Placement]:
    """Find poses of frames that meet constraints while all else stands still.

    On a copy of the world the movables hang on free joints and all other joints are
    locked: an arm stays where it is. Where statements are about how it could be, such
    as `logic.Reachable`, the solver finds `Placement.witnesses` too. One start is the
    present state: the first, or the last where predicates say where solutions may be
    (`region_of`, `admits`). The others have random positions in the region, three of
    four of them where predicates say so. Three of eight lay the movables on a face on
    which they would stay, two turn them from their present orientation about the
    vertical only, the rest in all directions.

    Args:
        C: the world; it stays as it is.
        constraints: a list of predicates, presets or other statements, and of pairs
            (Feature, OT).
        movable: names of frames, each with all that is attached to it.
        starts: how many; or where from, poses (n, 7) of some of the movables, {"mug":
            poses}: besides the present state n starts, random for the others.
        seed: of the random starts.
        tolerance: rows within this count as satisfied, in scaled units.
        region: lower and upper corner (2, 3) in the world [m], between which the
            movables' origins stay. Default: they may go anywhere, and start in the box
            around all frames and shapes (planes apart), with 10 cm and the sizes of the
            movables more on all sides.
        collisions: whether the movables must not penetrate anything; see
            `Config.collision_pairs`.
        min_separation: solutions with all movables nearer than this [m, rad] are one.
        max_solutions: number of feasible starts after which the remaining starts are
            skipped; None: all starts are solved.
        **options: `progress`, see `KOMO.solve`; fields of `posewise.solvers.Options`.

    Returns:
        Distinct solutions: the feasible ones by cost, then the others, which say in
        `message` what is violated, by violation. Never empty.

    Raises:
        ConfigError: for unknown frames.
        ObjectiveError: for anything else that does not fit.
    """
    if not isinstance(C, Config):
        raise ObjectiveError(f"C is {type(C).__name__}, expected a Config.")
    min_separation = _check_separation(min_separation)
    world, names = _free_movables(C, movable)
    added: dict[str, dict[str, str]] = {}
    lower: list[ImproveStarts] = []
    reach: list[ImproveStarts] = []
    for statement in _check_constraints(constraints):
        if hasattr(statement, "add_witnesses"):
            more = statement.add_witnesses(C, world)
            (reach if more else lower).append(statement.improve_starts)
            added |= more
    if region is None:
        corners = default_region(world, names)
    else:
        corners = _region(region)
        limits = np.array([[-np.inf], [np.inf]]) * np.ones(7)
        limits[:, :3] = corners
        for name in names:
            world.set_limits(name, limits)
    found_at = {name: _hints(world, name, constraints) for name in names}
    starts, given = _check_starts(names, starts)
    komo = _Placing(world, names, corners, found_at, given, lower, reach)
    for statement in constraints:
        if isinstance(statement, tuple):
            feature, kind = statement
            komo.add_objective(None, feature, type=kind)
        else:
            komo.add(statement)
    if collisions:
        _avoid_collisions(komo, names)
    chosen = dict(tolerance=tolerance, max_solutions=max_solutions, **options)
    solutions = komo.solve_all(seed, starts, **chosen)
    solutions.sort(key=Solution.rank)
    found = [_make_placement(world, names, s, added) for s in solutions]
    return distinct_placements(found, *min_separation)


CANDIDATES_PER_START = 8
"""Of so many random placements one is a start, where solves are long: with witnesses.
"""
ImproveStarts = Callable[[Config, Float[np.ndarray, "n nq"]], Float[np.ndarray, "n nq"]]
"""Starts, witnesses moved to where a statement is likelier to be true."""


class _Placing(KOMO):
    """A problem of one slice whose random starts are placements in a region."""

    def __init__(
        self,
        world: Config,
        names: Sequence[str],
        corners: Region,
        hints: Mapping[str, PlacementHints],
        given: Mapping[str, np.ndarray],
        lower: Sequence[ImproveStarts],
        reach: Sequence[ImproveStarts],
    ) -> None:
        super().__init__(world)
        self.names, self.corners, self.hints = names, corners, hints
        self.given, self.lower, self.reach = given, lower, reach

    def starts(self, seed: int, count: int) -> Float[np.ndarray, "count 1 nq"]:
        """The present state and random placements; where poses are given, those."""
        rng = np.random.default_rng(seed)
        room = count * CANDIDATES_PER_START if self.reach and not self.given else count
        q = sample_placements(
            self.config, self.names, self.corners, room, rng, self.hints
        )
        if self.given:
            q[0] = self.config.q
        for name, poses in self.given.items():
            q[1:, 0, self.config.coordinates([name])] = poses
        q = _moved(self.config, q, self.lower)
        return _moved(self.config, self._best(q, count), self.reach)

    def _best(
        self, q: Float[np.ndarray, "room 1 nq"], count: int
    ) -> Float[np.ndarray, "count 1 nq"]:
        """Those that most statements have nothing against; the present state last."""
        if len(q) == count:
            return q
        votes = np.zeros(len(q))
        for name, hint in self.hints.items():
            if hint.votes is not None:
                at = self.config.coordinates([name])
                votes += np.asarray(hint.votes(q[:, 0, at]))
        present = (q[:, 0] == self.config.q).all(-1)
        order = np.argsort(np.where(present, np.inf, -votes), kind="stable")
        return q[np.r_[order[: count - 1], order[-1:]]]


def _moved(
    world: Config, q: Float[np.ndarray, "n 1 nq"], improve: Sequence[ImproveStarts]
) -> Float[np.ndarray, "n 1 nq"]:
    for one in improve:
        q = one(world, q[:, 0])[:, None]
    return q


def _hints(world: Config, name: str, constraints: Sequence[Any]) -> PlacementHints:
    """What statements say of where a movable may be found."""
    asked = [
        s.start_region(world, name) for s in constraints if hasattr(s, "start_region")
    ]
    voters = [s for s in constraints if hasattr(s, "admits_poses")]

    def votes(poses: Float[np.ndarray, "n 7"]) -> Any:
        return np.sum([s.admits_poses(world, name, poses) for s in voters], axis=0)

    boxes = [np.asarray(box) for box in asked if box is not None]
    return PlacementHints(boxes, votes if voters else None)


def _free_movables(C: Config, movable: Any) -> tuple[Config, tuple[str, ...]]:
    """A copy in which just these frames move, and their names, parents first."""
    names = [movable] if isinstance(movable, str) else movable
    if not isinstance(names, list | tuple) or not names:
        raise ObjectiveError(
            f"movable is {movable!r}, expected a list of names of one or more frames."
        )
    world = C.copy()
    world.select_joints([])
    chosen = tuple(
        C.frames[i].name for i in sorted({C.tree.own_index(n) for n in names})
    )
    ordered = sorted(
        chosen, key=lambda name: len(with_ancestors(C.frames, C.index(name)))
    )
    for name in ordered:
        world.detach(name)
    return world, tuple(ordered)


def _check_starts(
    names: Sequence[str], starts: Any
) -> tuple[Any, dict[str, Float[np.ndarray, "n 7"]]]:
    """How many starts, and the poses to start from that were given."""
    if not isinstance(starts, Mapping):
        return starts, {}
    given: dict[str, np.ndarray] = {}
    for name, poses in starts.items():
        if name not in names:
            raise ObjectiveError(unknown_name("movable in starts", name, names))
        expected = "poses (n, 7), the same number for each movable"
        array = float_array(f"starts of {name!r}", poses, expected, ObjectiveError)
        good = array.ndim == 2 and array.shape[-1] == 7 and np.isfinite(array).all()
        others = {len(x) for x in given.values()}
        if not good or not array[:, 3:].any(-1).all() or others - {len(array)}:
            raise ObjectiveError(
                f"starts of {name!r} have shape {array.shape}, expected {expected},"
                " finite, with quaternions that are not zero."
            )
        given[name] = np.concatenate([array[:, :3], quat_normalize(array[:, 3:])], -1)
    count = max((len(x) for x in given.values()), default=0)
    return count + 1, given


def _check_constraints(constraints: Any) -> list[Any]:
    """The statements and pairs, checked to be such."""
    if not isinstance(constraints, list):
        raise ObjectiveError(
            f"constraints is {constraints!r}, expected a list of predicates,"
            " presets or pairs (Feature, OT)."
        )
    for k, statement in enumerate(constraints):
        pair = isinstance(statement, tuple) and len(statement) == 2
        if pair and isinstance(statement[0], Feature):
            continue
        if not hasattr(statement, "objectives"):
            raise ObjectiveError(
                f"constraints[{k}] is {statement!r}, expected a predicate, a preset"
                " or a pair (Feature, OT)."
            )
    return constraints


def _avoid_collisions(komo: KOMO, names: Sequence[str]) -> None:
    """No penetration of any pair that can collide with a part of a movable."""
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


def _region(region: Any) -> Region:
    corners = float_array("region", region, "(2, 3) numbers", ObjectiveError)
    fits = corners.shape == (2, 3) and np.isfinite(corners).all()
    if not fits or (corners[0] > corners[1]).any():
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
    added: Mapping[str, Mapping[str, str]],
) -> Placement:
    value = lambda joint: np.array(solution.q[world.coordinates([joint])])
    poses = {name: value(name) for name in names}
    poses = {
        k: np.concatenate([p[:3], quat_normalize(p[3:])]) for k, p in poses.items()
    }
    return Placement(
        poses,
        solution,
        {
            k: {j: value(own) for j, own in joints.items()}
            for k, joints in added.items()
        },
    )


def distinct_placements(
    found: Sequence[Placement], near: float, turn: float
) -> list[Placement]:
    """The first of each group that coincide, in order."""
    kept: list[Placement] = []
    for one in found:
        if not any(_coincide(one, other, near, turn) for other in kept):
            kept.append(one)
    return kept


def _coincide(one: Placement, other: Placement, near: float, turn: float) -> bool:
    for name, a in one.poses.items():
        b = other.poses[name]
        cosine = min(abs(float(a[3:] @ b[3:])), 1.0)
        if np.linalg.norm(a[:3] - b[:3]) > near or 2 * np.arccos(cosine) > turn:
            return False
    return True


def _check_separation(min_separation: Any) -> tuple[float, float]:
    try:
        near, turn = min_separation
    except (TypeError, ValueError):
        raise ObjectiveError(
            f"min_separation is {min_separation!r}, expected two numbers:"
            " metres and radians."
        ) from None
    check = lambda name, x: number(
        f"min_separation: {name}", x, "a number >= 0", lambda v: v >= 0, ObjectiveError
    )
    return check("metres", near), check("radians", turn)
