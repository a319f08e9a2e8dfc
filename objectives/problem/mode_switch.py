"""Mode switches: the attachment itself, and continuity constraints at the switch."""

import warnings
from collections.abc import Sequence

import numpy as np

from posewise.features import FS, Feature
from posewise.robots.config import Config
from posewise.robots.contact.hands import subtree_indices
from posewise.robots.errors import ProblemWarning

from ..chain.modes import ModeSwitch
from ..terms.objective import OT, Objective, ObjectiveError, select_slices
from ..terms.typing import Times
from .spec import ProblemSpec


def make_mode_switch(
    spec: ProblemSpec, times: Times, mode: str, frames: Sequence[str], scale: float
) -> tuple[ModeSwitch, tuple[Objective, ...]]:
    """Return a switch of a problem, and objectives that keep its frame from jumping.

    See `KOMO.add_mode_switch` for the arguments.

    Raises:
        ConfigError: for unknown frames.
        ObjectiveError: with k_order 0, or when no slice is selected.
    """
    if spec.k_order < 1:
        raise ObjectiveError(
            "A mode switch constrains velocities; make the KOMO with k_order >= 1."
        )
    names = list(frames) if not isinstance(frames, str) else [frames]
    if len(names) != 2:
        raise ObjectiveError(
            f"frames are {names}, expected two: [parent, frame that is attached]."
        )
    parent, frame = names
    label = f"mode {mode} [{parent}, {frame}]"
    slices = select_slices(times, spec.slices_per_phase, spec.T, label)
    spec.world.index(parent), spec.world.index(frame)
    _warn_if_swapped(spec.world, parent, frame)
    # Into the switch the frame is at rest relative to what carried it before.
    carriers = [s.parent for s in spec.switches if s.frame == frame]
    if carriers:
        rests = [(slices[0], FS.poseRel, [frame, carriers[-1]])]
    else:
        rests = [(slices[0], FS.pose, [frame])]
    if len(slices) > 1 and times is not None and np.size(times) == 2:
        rests.append((slices[-1], FS.poseRel, [frame, parent]))
    objectives = []
    for t, symbol, measured in rests:
        at_rest = Feature(symbol, measured, order=1, scale=scale)
        objectives.append(Objective(f"{label} no jump", at_rest, OT.eq, (t,)))
        if spec.k_order >= 2 and t + 1 < spec.T:
            steady = Feature(FS.linangVel, [frame], order=2, scale=scale)
            objectives.append(
                Objective(f"{label} no acceleration", steady, OT.eq, (t + 1,))
            )
    return ModeSwitch(slices[0], mode, parent, frame), tuple(objectives)


def _warn_if_swapped(C: Config, parent: str, frame: str) -> None:
    """Warn if nothing with a shape is attached to something that has one."""

    def has_shape(name: str) -> bool:
        if (root := C.index(name)) == len(C.frames):
            return False  # the world, which is no frame
        below = subtree_indices(C.tree, root)
        return any(C.frames[i].geometries for i in below)

    if has_shape(parent) and not has_shape(frame):
        warnings.warn(
            f"frames are [{parent!r}, {frame!r}]: {frame!r}, which has no shape, is"
            f" attached to {parent!r}. The first frame carries, the second is carried:"
            " swap them.",
            ProblemWarning,
            stacklevel=4,
        )
