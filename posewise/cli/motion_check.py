"""`posewise check FILE RESULT` of problems with the section `motion`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from posewise.logic.formulas.predicate import Predicate
from posewise.logic.motion import Hold, MoveUntil, Place, Push, Step
from posewise.logic.motion.robot import Robot, find_robot
from posewise.objectives import KOMO
from posewise.objectives.clearance.avoidance import TOUCH_DEPTH, CollisionAvoidance
from posewise.robots.config import Config
from posewise.robots.errors import first_few
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply

from .motion_section import read_motion
from .output import CommandResult, PredicateCheck, check_in_world
from .path_distances import PlayedFile
from .path_file import PathFile, read_path_file
from .problem_file import ProblemFile
from .rate_checks import check_rates
from .sample_checks import PathCheck, check_limits, check_speeds

STILL = 1e-5
"""Change of a pose between two rows up to which it rests [m, rad], as files round."""


@dataclass(frozen=True, slots=True)
class MotionTolerances:
    """Choices of checks of what hands move, varied in docs/evidence.md."""

    max_slip: float = 2e-3
    """Largest shift of an object against the hand that moves it [m]. What lies in a
    drawer follows it on a straight path, the hand on one with rounded corners; with
    more, objects that are dropped are taken for held."""
    reach: float = 2e-3
    """Distance up to which a hand touches what it moves [m]; with more, objects that
    move beside a hand are taken for held."""


MOTION_TOLERANCES = MotionTolerances()


class Stretch(NamedTuple):
    """Rows of a path between which no hand takes or leaves an object."""

    first: int
    last: int
    carried: tuple[tuple[str, str], ...]
    """Objects that move, each with the link of the hand that it moves with."""


def check_motion(problem: ProblemFile, file: Path) -> CommandResult:
    """Check a motion in a file: limits, collisions, what hands move, and the effects.

    Raises:
        ProblemError: for a problem file with mistakes.
        LoadError: for a path that does not fit the world.
    """
    name, steps = read_motion(problem)
    C = problem.world
    loaded = read_path_file(file, C)
    with problem.sections["motion"].locating_errors():
        robot = find_robot(C, name)
    checks = [check_limits(loaded, C), check_speeds(loaded, C, loaded.times)]
    checks += check_rates(loaded, C)
    effects: list[PredicateCheck] = []
    unknown = _objects_that_the_file_lacks(C, loaded, steps)
    if unknown:
        reason = (
            f"The file does not tell where {first_few(unknown)} is; the files of `solve"
            " --json`, `--npz` and `--trajectory` (.csv, .npz) do."
        )
        checks.append(PathCheck("objects, collisions and effects", None, (reason,)))
    else:
        attached, stretches = _check_attachments(C, robot, loaded)
        checks += [attached, _check_distances(C, robot, loaded, stretches)]
        effects = _check_effects(problem, loaded, steps)
    if any(isinstance(step, Hold | MoveUntil) for step in steps):
        reason = "What has to hold on the way is checked by the plan only."
        checks.append(PathCheck("hold and until", None, (reason,)))
    is_passed = all(check.passed is not False for check in checks)
    is_passed &= all(check.holds is not False for check in effects)
    left_out = [check.name for check in checks if check.passed is None]
    lines = [*map(str, checks), *map(str, effects)]
    if left_out:
        verdict = "All that was checked holds" if is_passed else "Not all holds"
        lines.append(f"{verdict}; not checked: {'; '.join(left_out)}.")
    data: dict[str, Any] = {
        "passed": is_passed,
        "checks": [vars(check) for check in checks],
        "predicates": [vars(check) for check in effects],
    }
    return CommandResult(is_passed, "\n".join(lines), data, {})


def _objects_that_the_file_lacks(
    C: Config, loaded: PathFile, steps: Sequence[Step]
) -> list[str]:
    """Return the objects of steps of which a file has no coordinate."""
    objects = (step.obj for step in steps if not isinstance(step, Hold | MoveUntil))
    absent = set(loaded.absent)
    owners = [C.frames[C.tree.joint_frame(n)].name for n in C.joint_names]
    lacking = []
    for obj in dict.fromkeys(objects):
        parts = C.subtree(obj)
        joints = [n for n, o in zip(C.joint_names, owners, strict=True) if o in parts]
        names = {C.joints.coordinate_names[k] for k in C.joints.coordinates(joints)}
        if names <= absent:
            lacking.append(obj)
    return lacking


def _check_attachments(
    C: Config, robot: Robot, loaded: PathFile
) -> tuple[PathCheck, list[Stretch]]:
    """Check that each object that moves does so with a hand that touches it.

    Returns:
        The check, and the parts of the path by what moves.
    """
    poses = _poses(C, loaded.path)
    loose = [n for n in C.objects if _is_free(C, n)]
    links = [hand.link for hand in robot.hands]
    holders = np.full((len(loaded.path) - 1, len(loose)), -1)
    lines: list[str] = []
    for k, obj in enumerate(loose):
        moves = ~_rests(poses[:, C.index(obj)])
        for h, link in enumerate(links):
            follows = _follows(moves, poses[:, C.index(obj)], poses[:, C.index(link)])
            holders[follows & (holders[:, k] < 0), k] = h
        alone = np.flatnonzero(moves & (holders[:, k] < 0))
        if len(alone):
            lines.append(
                f"{obj!r} moves between configurations {alone[0]} and {alone[0] + 1},"
                " but no hand moves with it."
            )
    stretches = list(_stretches(holders, loose, links))
    lines += _untouched(C, loaded, poses, stretches)
    return PathCheck("objects move with hands", not lines, tuple(lines)), stretches


def _stretches(
    holders: np.ndarray, loose: Sequence[str], links: Sequence[str]
) -> Iterator[Stretch]:
    """Yield the parts of a path in which the same objects move with the same hands."""
    first = 0
    for t in range(1, len(holders) + 1):
        if t < len(holders) and (holders[t] == holders[first]).all():
            continue
        pairs = enumerate(holders[first].tolist())
        carried = tuple((loose[k], links[h]) for k, h in pairs if h >= 0)
        yield Stretch(first, t, carried)
        first = t


def _untouched(
    C: Config,
    loaded: PathFile,
    poses: Float[np.ndarray, "n frames 7"],
    stretches: Sequence[Stretch],
) -> Iterator[str]:
    """Yield a sentence for each object that moves with a hand but nothing beside it.

    It may touch the hand, or what the hand moves, such as a drawer.
    """
    for stretch in stretches:
        if not stretch.carried:
            continue
        world = C.copy()
        world.q = loaded.path[stretch.first]
        pairs = [(a, b) for a, b, _ in world.collisions(MOTION_TOLERANCES.reach)]
        pairs += [(b, a) for a, b in pairs]
        rows = poses[stretch.first : stretch.last + 1]
        for obj, link in stretch.carried:
            parts, object_poses = set(C.subtree(obj)), rows[:, C.index(obj)]
            near = {C.index(b) for a, b in pairs if a in parts and b not in parts}
            slips = [_slip(object_poses, rows[:, i]) for i in near]
            if min(slips, default=np.inf) > MOTION_TOLERANCES.max_slip:
                yield (
                    f"{obj!r} moves with {link!r} from configuration {stretch.first}"
                    " on, but touches nothing that moves along."
                )


def _check_distances(
    C: Config, robot: Robot, loaded: PathFile, stretches: Sequence[Stretch]
) -> PathCheck:
    """Check that nothing overlaps on the whole path, straight between its rows."""
    avoidance = CollisionAvoidance(-TOUCH_DEPTH, -TOUCH_DEPTH)
    times = loaded.times
    if times is None:
        times = np.arange(len(loaded.path), dtype=float)
    lines: list[str] = []
    for first, last, carried in stretches:
        rows = slice(first, last + 1)
        world = C.copy()
        world.q = loaded.path[first]
        for obj, link in carried:
            world.attach(link, obj)
        frames = {n: C.frames[C.tree.joint_frame(n)].name for n in C.joint_names}
        moving = [n for n, frame in frames.items() if not _is_free(C, frame)]
        world.joints.select(moving)
        spec = replace(KOMO(world).spec, avoidance=avoidance)
        points = loaded.path[rows][:, C.joints.coordinates(moving)]
        steps = np.zeros(last - first, int)
        lines += PlayedFile(spec, points, times[rows], steps).missing()
    unique = tuple(dict.fromkeys(lines))
    return PathCheck("collisions on the whole path", not unique, unique)


def _check_effects(
    problem: ProblemFile, loaded: PathFile, steps: Sequence[Step]
) -> list[PredicateCheck]:
    """Check at the end where objects were put last, and the predicates of the file."""
    world = problem.world.copy()
    world.q = loaded.path[-1]
    last = {step.obj: step for step in steps if not isinstance(step, Hold | MoveUntil)}
    predicates: list[Predicate] = []
    for step in last.values():
        if isinstance(step, Place | Push):
            predicates.append(step.predicate)
    predicates += [timed.predicate for timed in problem.predicates]
    return [check_in_world(p, world, "At the end: ") for p in predicates]


def _poses(
    C: Config, path: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n frames 7"]:
    """Return the world poses of all frames at configurations."""
    positions = C.forward_pass(path).frames.p
    return np.concatenate([positions, C.joints.quaternions_at(path)], -1)


def _rests(poses: Float[np.ndarray, "n 7"]) -> Bool[np.ndarray, " steps"]:
    """Return whether a pose stays the same between each two rows."""
    shifts = np.abs(np.diff(poses[:, :3], axis=0)).max(1)
    return (shifts <= STILL) & (_angles(poses) <= STILL)


def _follows(
    moves: Bool[np.ndarray, " steps"],
    obj: Float[np.ndarray, "n 7"],
    hand: Float[np.ndarray, "n 7"],
) -> Bool[np.ndarray, " steps"]:
    """Return the steps in which an object moves with a hand.

    In each part of the path in which the object moves, these are all steps if the hand
    keeps it in place on the whole, and otherwise those in which it keeps it exactly.

    Args:
        moves: whether the object moves in each step.
        obj: its poses.
        hand: those of the hand.
    """
    follows = moves & _rests(pose_multiply(pose_inverse(hand), obj))
    ends = np.flatnonzero(np.diff(np.concatenate([[False], moves, [False]])))
    for first, last in ends.reshape(-1, 2).tolist():
        rows = slice(first, last + 1)
        if _slip(obj[rows], hand[rows]) <= MOTION_TOLERANCES.max_slip:
            follows[first:last] = True
    return follows


def _slip(moved: Float[np.ndarray, "n 7"], mover: Float[np.ndarray, "n 7"]) -> float:
    """Return the largest shift of a pose against another one since the first row."""
    places = pose_multiply(pose_inverse(mover), moved)[:, :3]
    return float(np.linalg.norm(places - places[0], axis=1).max())


def _angles(poses: Float[np.ndarray, "n 7"]) -> Float[np.ndarray, " steps"]:
    """Return the angle between each two orientations [rad]."""
    # Both signs of a quaternion are one orientation; |a - b| is half a small angle.
    a, b = poses[:-1, 3:], poses[1:, 3:]
    apart = np.minimum(
        np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1)
    )  # fmt: skip
    return 4 * np.arcsin(np.minimum(apart / 2, 1.0))


def _is_free(C: Config, name: str) -> bool:
    joint = C.frame(name).joint
    return joint is not None and joint.type == "free"
