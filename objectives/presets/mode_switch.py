"""The statement of a mode switch: from when on it holds, and that nothing jumps."""

from typing import Any

import numpy as np

from posewise.features import FS, Feature
from posewise.features.typing import Order

from ..chain.modes import ModeSwitch
from ..objective import OT, Objective, ObjectiveError, select_slices
from ..path_problem import PathProblem


def make_mode_switch(
    problem: PathProblem, times: Any, mode: str, frames: Any, scale: Any
) -> tuple[ModeSwitch, list[Objective]]:
    """A switch of a problem, and objectives that what it attaches does not jump.

    See `KOMO.add_mode_switch` for the arguments.

    Raises:
        ConfigError: for unknown frames.
        ObjectiveError: with k_order 0, or when no slice is selected.
    """
    if problem.k_order < 1:
        raise ObjectiveError(
            "A mode switch constrains velocities; make the KOMO with k_order >= 1."
        )
    names = list(frames) if not isinstance(frames, str) else [frames]
    if len(names) != 2:
        raise ObjectiveError(
            f"frames are {names}, expected two: [parent, what is attached to it]."
        )
    parent, frame = names
    label = f"mode {mode} [{parent}, {frame}]"
    slices = select_slices(times, problem.slices_per_phase, problem.T, label)
    problem.world.index(parent), problem.world.index(frame)
    carrier = [s.parent for s in problem.switches if s.frame == frame]
    into = (FS.poseRel, [frame, carrier[-1]]) if carrier else (FS.pose, [frame])
    ends = [(slices[0], *into)]
    if len(slices) > 1 and np.size(times) == 2:
        ends.append((slices[-1], FS.poseRel, [frame, parent]))
    still: list[Objective] = []

    def hold(t: int, symbol: Any, of: list[str], order: Order) -> None:
        feature = Feature(symbol, of, order=order, scale=scale)
        name = f"{label} no {'jump' if order == 1 else 'jolt'}"
        still.append(Objective(name, feature, OT.eq, (t,)))

    for t, symbol, of in ends:
        hold(t, symbol, of, 1)
        if problem.k_order == 2 and t + 1 < problem.T:
            hold(t + 1, FS.linangVel, [frame], 2)
    return ModeSwitch(slices[0], mode, parent, frame), still
