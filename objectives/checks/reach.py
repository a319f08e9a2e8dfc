"""Position targets that are farther away than a chain of joints can reach.

The reach is the sum of the lengths between the joints and of the ranges of sliding
joints: by the triangle inequality no configuration leads farther.
"""

from collections.abc import Iterator

import numpy as np

from posewise.features.table import FS
from posewise.robots.config import Config
from posewise.robots.kinematics.joint_types import joint_type
from posewise.robots.kinematics.transforms import pose_multiply
from posewise.robots.world.frame import Joint
from posewise.robots.world.mimic_joints import resolve_mimics

from ..chain.modes import original_name
from ..problem.spec import ProblemSpec, mode_sequence
from ..terms.objective import OT, Objective
from .units import METRES

ABSOLUTE = FS.position.symbol, FS.pose.symbol
DIFFERENCES = FS.positionDiff.symbol, FS.poseDiff.symbol
RELATIVE = FS.positionRel.symbol, FS.poseRel.symbol
REACH_TOLERANCE = 1e-6
"""Excess over the reach that is no finding [m]; more ignores larger ones."""

MIN_MILLIMETRE_RATIO = 20.0
"""Ratio of a distance to the reach from which a target may be in millimetres; a smaller
one takes targets for such that are merely far away."""


def targets_out_of_reach(spec: ProblemSpec) -> Iterator[str]:
    """Yield a sentence for each position target farther away than the chain reaches."""
    for objective in spec.objectives:
        if not _sets_position(objective):
            continue
        mode = mode_sequence(spec).at(objective.slices[-1])
        C = mode.config
        frames = mode.on_active_frames(objective.feature).frames
        goal = _goal(C, objective, frames)
        if goal is None:
            continue
        frame, place = goal
        base, reach = chain_reach(C, frame)
        distance = float(np.linalg.norm(place - base))
        if distance > reach + REACH_TOLERANCE:
            yield (
                f"{objective.name}: its target {np.round(place, 4).tolist()} is"
                f" {distance:.3f} m from the base of the joints that move"
                f" {original_name(frame)!r}, farther than they reach ({reach:.3f}"
                f" m, all links stretched out).{unit_hint(distance, reach)}"
            )


def unit_hint(distance: float, reach: float) -> str:
    """Return a hint at millimetres if a distance is within reach once divided."""
    is_likely = MIN_MILLIMETRE_RATIO * reach < distance < 1000 * reach
    return f" {METRES}" if is_likely else ""


def _sets_position(objective: Objective) -> bool:
    """Return whether an objective sets all three coordinates of a position."""
    feature = objective.feature
    known = (*ABSOLUTE, *DIFFERENCES, *RELATIVE)
    if objective.type is not OT.eq or feature.order or feature.symbol not in known:
        return False
    scale = feature.scale
    if scale is None or scale.shape == (1,):
        return scale is None or bool(scale.all())
    columns = scale[:, :3] if scale.ndim == 2 else np.diag(scale)[:, :3]
    return bool(np.linalg.matrix_rank(columns) == 3) and _is_separate(scale)


def _is_separate(scale: np.ndarray) -> bool:
    """Return whether no row of a scale mixes positions with other components."""
    if scale.ndim == 1:
        return True
    mixed = scale[:, :3].any(1) & scale[:, 3:].any(1)
    return not bool(mixed.any())


def _goal(
    C: Config, objective: Objective, frames: tuple[str, ...]
) -> tuple[str, np.ndarray] | None:
    """Return a frame and the place in the world where it must be; None: unknown."""
    feature = objective.feature
    shift = np.zeros(3) if feature.target is None else feature.target[:3]
    shift = np.broadcast_to(shift, 3) if shift.size == 1 else shift
    if feature.symbol in ABSOLUTE:
        return (frames[0], shift) if _moves(C, frames[0]) else None
    moved, fixed = frames[:2]
    if feature.symbol in DIFFERENCES and not _moves(C, moved):
        moved, fixed, shift = fixed, moved, -shift
    if not _moves(C, moved) or _moves(C, fixed):
        return None
    X = C.pose(fixed)
    if feature.symbol in RELATIVE:
        return moved, pose_multiply(X, np.array([*shift, 1, 0, 0, 0]))[:3]
    return moved, X[:3] + shift


def _moves(C: Config, frame: str) -> bool:
    return bool(C.tree.model.kinematics.dof_mask[C.index(frame)].any())


def chain_reach(C: Config, frame: str) -> tuple[np.ndarray, float]:
    """Return the base of the joints that move a frame, and how far they reach [m].

    Args:
        C: the world.
        frame: the name of a frame that joints move.
    """
    upwards = [C.index(frame)]
    while (parent := C.frames[upwards[-1]].parent) is not None:
        upwards.append(parent)
    points, slides = [], 0.0
    for i in reversed(upwards):
        joint, parent = C.frames[i].joint, C.frames[i].parent
        if joint is None or joint.dim == 0:
            continue
        origin = np.asarray(C.frames[i].origin, float)
        above = origin if parent is None else pose_multiply(C.pose(parent), origin)
        points += [above[:3], C.pose(i)[:3]]
        slides += _slide_range(C, i, joint)
    points.append(C.pose(frame)[:3])
    # From behind a joint to before the next one, the way is rigid.
    links = np.array(points[2::2]) - np.array(points[1::2])
    return points[0], slides + float(np.linalg.norm(links, axis=1).sum())


def _slide_range(C: Config, i: int, joint: Joint) -> float:
    """Return the farthest that the joint of a frame shifts it from its origin [m]."""
    relation = resolve_mimics(C.frames)[i]
    slides = [[k for k, _ in n.translations] for n in joint_type(joint.type).nodes]
    if not any(slides):
        return 0.0
    # The joint itself leads if it follows none.
    leader = C.frames[relation.source].joint or joint
    if leader.name in C.joint_names:
        ends = C.limits[:, C.joints.coordinates([leader.name])]
    else:
        ends = np.array([C.joints.value(leader.name)])
    # An unlimited joint at multiplier 0 stays at its offset.
    shifts = relation.multiplier * ends if relation.multiplier else 0.0
    farthest = np.abs(relation.scale * (shifts + relation.offset))
    farthest = np.broadcast_to(farthest, (len(ends), joint.dim)).max(0)
    return float(sum(np.linalg.norm(farthest[part]) for part in slides))
