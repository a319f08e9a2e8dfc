"""Hints for violated objectives: frames that nothing moves, and turned quaternions."""

from collections.abc import Iterator, Sequence

import numpy as np

from posewise.features.table import FS
from posewise.robots.config import Config

from ..chain.modes import original_name
from ..problem.spec import ProblemSpec, mode_sequence
from ..terms.objective import OT, Objective

ORIENTATIONS = frozenset(
    symbol.symbol
    for symbol in (
        FS.pose,
        FS.poseDiff,
        FS.poseRel,
        FS.quaternion,
        FS.quaternionDiff,
        FS.quaternionRel,
    )
)
COMPONENTS = {
    FS.pose.symbol: 6,
    FS.poseDiff.symbol: 6,
    FS.poseRel.symbol: 6,
    FS.position.symbol: 3,
    FS.positionDiff.symbol: 3,
    FS.positionRel.symbol: 3,
    FS.quaternion.symbol: 3,
    FS.quaternionDiff.symbol: 3,
    FS.quaternionRel.symbol: 3,
}
"""Number of independent components that a symbol of poses has."""
HALF_TURN_ABOUT_Z = np.array([0.0, 0.0, 0.0, 1.0])
"""As (w, x, y, z); as (x, y, z, w) it is no turn at all."""


def hints_on_violated(
    spec: ProblemSpec, violated: Sequence[Objective]
) -> Iterator[str]:
    """Yield sentences on what makes objectives fail, as far as their frames tell it.

    Args:
        spec: the problem.
        violated: its objectives that do not hold at a solution.
    """
    modes = mode_sequence(spec)
    for objective in violated:
        mode = modes.at(objective.slices[-1])
        frames = mode.on_active_frames(objective.feature).frames
        yield from _standing(mode.config, objective, frames)
        yield from _few_joints(mode.config, objective, frames)
        yield from _turned(mode.config, objective, frames)


def _standing(
    C: Config, objective: Objective, frames: tuple[str, ...]
) -> Iterator[str]:
    """Yield a sentence if no joint moves any frame of an objective."""
    is_of_joints = objective.feature.symbol.takes_joints
    if objective.feature.order or is_of_joints or not frames:
        return
    mask = C.tree.model.kinematics.dof_mask
    if mask[[C.index(name) for name in frames]].any():
        return
    names = " or ".join(dict.fromkeys(repr(original_name(name)) for name in frames))
    yield (
        f"{objective.name}: no joint moves {names}, so that nothing can change it. Give"
        ' one of its frames a joint (such as joint="free"), or unlock one.'
    )


def _few_joints(
    C: Config, objective: Objective, frames: tuple[str, ...]
) -> Iterator[str]:
    """Yield a sentence if a goal has more components than joints move its frames."""
    feature = objective.feature
    components = COMPONENTS.get(feature.symbol, 0)
    is_whole = feature.scale is None or feature.scale.ndim == 1 and feature.scale.all()
    if not components or objective.type is not OT.eq or feature.order or not is_whole:
        return
    mask = C.tree.model.kinematics.dof_mask[[C.index(name) for name in frames]]
    # Joints that move both frames do not change what is between them.
    count = int((mask.any(0) & ~mask.all(0) if len(mask) > 1 else mask[0]).sum())
    if 0 < count < components:
        joints = "one degree" if count == 1 else f"{count} degrees"
        yield (
            f"{objective.name}: it sets {components} components of a pose, but joints"
            f" move {' and '.join(map(repr, map(original_name, frames)))} with {joints}"
            " of freedom only, so that few targets can be met. Set fewer components, by"
            " zeros in scale, or by FS.position with FS.vectorZ in place of FS.pose."
        )


def _turned(C: Config, objective: Objective, frames: tuple[str, ...]) -> Iterator[str]:
    """Yield a sentence if a goal is turned just as (x, y, z, w) of no turn would be."""
    if objective.feature.symbol not in ORIENTATIONS:
        return
    turned = [n for n in frames if _is_half_turn(C.frames[C.index(n)].origin[3:])]
    target = objective.feature.target
    if target is not None and np.size(target) in (4, 7):
        turned += ["its target"] * _is_half_turn(np.ravel(target)[-4:])
    for name in turned:
        owner = name if name == "its target" else repr(original_name(name))
        yield (
            f"{objective.name}: {owner} is turned by half a turn about z. Quaternions"
            " are (w, x, y, z): no turn is [1, 0, 0, 0], not [0, 0, 0, 1]."
        )


def _is_half_turn(quaternion: np.ndarray) -> bool:
    return bool(np.array_equal(np.abs(quaternion), HALF_TURN_ABOUT_Z))
