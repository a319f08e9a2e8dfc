"""Goals that are known before solving: joint targets and poses, and what they hit."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from posewise.features.table import FS
from posewise.robots.config import Config
from posewise.robots.errors import first_few
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply

from ..chain.courses import set_course_state
from ..chain.modes import Mode
from ..clearance.certificate import millimetres
from ..problem.spec import ProblemSpec, mode_sequence
from ..terms.objective import OT, Objective
from .demands import ClearanceDemand, clearance_demands
from .limits import outside_of_limits
from .situation import Situation, in_words, never_move


def goals_outside_of_limits(spec: ProblemSpec) -> Iterator[str]:
    """Yield a sentence for each joint target outside of the limits."""
    for objective in filter(is_joint_goal, spec.objectives):
        C, q, known = joint_goal(spec, (objective,), objective.slices[-1])
        if description := outside_of_limits(C, q, known):
            yield (
                f"{objective.name}: its target is outside of the limits: {description}"
                " It cannot be met; give a target within C.limits."
            )


def goals_in_collision(spec: ProblemSpec, tolerance: float) -> Iterator[str]:
    """Yield a sentence for each goal whose known distances are below a margin."""
    demands = [*clearance_demands(spec, tolerance)]
    if not demands:
        return
    goals = [*filter(is_joint_goal, spec.objectives)]
    for t in dict.fromkeys(o.slices[-1] for o in goals):
        goals_of_slice = tuple(o for o in goals if o.slices[-1] == t)
        active = [demand for demand in demands if t in demand.objective.slices]
        if not active:
            continue
        C, q, known = joint_goal(spec, goals_of_slice, t)
        situation = Situation.of(C, q, np.flatnonzero(known))
        names = ", ".join(o.name for o in goals_of_slice)
        mode = mode_sequence(spec).at(t)
        yield from _goal_sentence(names, t, situation, mode, active)
    for objective in filter(_is_pose_goal, spec.objectives):
        t = objective.slices[-1]
        active = [demand for demand in demands if t in demand.objective.slices]
        mode = mode_sequence(spec).at(t)
        placed = _placed_link(mode, objective) if active else None
        if placed is not None:
            yield from _goal_sentence(objective.name, t, placed, mode, active)


def _goal_sentence(
    name: str, t: int, situation: Situation, mode: Mode, demands: list[ClearanceDemand]
) -> Iterator[str]:
    for demand in demands:
        feature = mode.on_active_frames(demand.objective.feature)
        pairs, required = demand.pairs(mode.config, feature)
        moving = ~never_move(mode.config, pairs)
        pairs, required = pairs[moving], required[moving]
        near = situation.near(pairs, demand.accepted(required))
        if near:
            widest = max(required[k] for k, _ in near)
            texts = [millimetres(d, widest) for _, d in near]
            near_pairs = [
                (tuple(pairs[k].tolist()), f"{text} mm")
                for (k, _), (text, _) in zip(near, texts, strict=True)
            ]
            yield (
                f"{name}: its target in slice {t} violates"
                f" {demand.objective.name!r}, which demands {texts[0][1]} mm:"
                f" {first_few(in_words(situation.world, near_pairs))}; negative: they"
                " overlap. Choose another target, or a smaller margin."
            )


def is_joint_goal(objective: Objective) -> bool:
    """Return whether an objective sets joint coordinates to values."""
    feature = objective.feature
    is_goal = objective.type is OT.eq and feature.order == 0
    is_vector = feature.scale is None or feature.scale.ndim == 1
    is_joint = feature.symbol is FS.qItself.symbol
    return is_goal and is_vector and is_joint and feature.target is not None


def joint_goal(
    spec: ProblemSpec, objectives: tuple[Objective, ...], t: int
) -> tuple[Config, Float[np.ndarray, " nq"], np.ndarray]:
    """Return the world of a slice, its state with targets, and which of it they set."""
    modes = mode_sequence(spec)
    mode = modes.at(t)
    q = np.array(modes.from_base(spec.config.q))
    known = np.zeros(len(q), bool)
    set_course_state(modes.world, spec.courses, q, t)
    known[modes.course_coordinates] = True
    for objective in objectives:
        bound = mode.bind(objective.feature)
        chosen = bound.scale != 0
        q[bound.coordinates[chosen]] = bound.target[chosen]
        known[bound.coordinates[chosen]] = True
    for first in mode.config.joints.quaternions:
        part = slice(first, first + 4)
        known[part] = known[part].all() and q[part].any()
    return mode.config, q, known


def _is_pose_goal(objective: Objective) -> bool:
    """Return whether an objective sets the pose of a frame in the world."""
    feature = objective.feature
    if objective.type is not OT.eq or feature.order or feature.target is None:
        return False
    is_full = feature.scale is None or (feature.scale.ndim == 1 and feature.scale.all())
    return feature.symbol is FS.pose.symbol and bool(is_full)


def _placed_link(mode: Mode, objective: Objective) -> Situation | None:
    """Return the world with the link of a frame at its target; None: it cannot move.

    All joints but the one that the link is put on are unknown, so that only distances
    between the link and what stands in the world are known.
    """
    C = mode.config
    frame = mode.on_active_frames(objective.feature).frames[0]
    root = C.index(frame)
    while (joint := C.frames[root].joint) is None or joint.dim == 0:
        parent = C.frames[root].parent
        if parent is None:
            return None
        root = parent
    in_link = pose_multiply(pose_inverse(C.pose(root)), C.pose(frame))
    target = np.array(objective.feature.target, float)
    placed, name = C.copy(), C.frames[root].name
    placed.detach(name)
    placed.set_pose(name, pose_multiply(target, pose_inverse(in_link)))
    return Situation.of(placed, placed.q, placed.joints.coordinates([name]))
