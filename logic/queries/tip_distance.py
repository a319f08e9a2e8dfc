"""How far a tip is from a target, as rows for a solver."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from posewise.features import Feature
from posewise.features.safe_math import norm
from posewise.features.symbol import Symbol, unresolved
from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import IDENTITY, quat_to_matrix

from ..geometry.frame_groups import find_object
from ..margins import STRICT_MARGIN


def tip_distance_feature(
    C: Config,
    tip: str,
    target: Any,
    tolerance: float,
    turn: float | None,
    grasp: Any = None,
) -> Feature:
    """At most 0 only where a tip is nearer to a target than that, and so turned.

    One row: distance less tolerance [m]. With an angle another one: the chord of the
    angle between the orientations, less that of the angle [1].

    Args:
        C: the world.
        tip: a frame.
        target: a thing, or a position (3,) or pose (7,) in the world.
        tolerance: [m].
        turn: [rad], or None.
        grasp: the orientation in the world, instead of the target's.
    """
    goal, anchor = np.array(IDENTITY), "world"
    if isinstance(target, str):
        anchor = C.frames[find_object(C, target).frames[0]].name
    else:
        goal[: len(target)] = target
    axes = anchor
    if grasp is not None:
        goal[3:], axes = grasp, "world"
    arrays = {
        "place": goal[:3],
        "turned": quat_to_matrix(goal[3:] / np.linalg.norm(goal[3:])),
        "most": np.array(float(tolerance)),
    }
    if turn is not None:
        arrays["chord"] = np.array(2 * np.sin(min(turn, np.pi) / 2))
    symbol = _PLACE if turn is None else _POSE

    def resolve(C: Config, names: Sequence[str]) -> Any:
        return symbol, np.array([C.index(name) for name in names]), arrays

    made = Symbol(
        unresolved, "aimed", frames=(3, 3), takes_frame_stack=True, resolve=resolve
    )
    return Feature(made, (tip, anchor, axes))


def _distance(R: Any, p: Any, **arrays: Any) -> Any:
    goal = R[1] @ arrays["place"] + p[1]
    return (norm(p[0] - goal) - arrays["most"] + STRICT_MARGIN)[None]


def _distance_and_chord(R: Any, p: Any, **arrays: Any) -> Any:
    off = R[0] - R[2] @ arrays["turned"]
    chord = norm(off.reshape(-1)) / np.sqrt(2)  # 2 sin(angle / 2)
    angle = (chord - arrays["chord"] + STRICT_MARGIN)[None]
    return jnp.concatenate([_distance(R, p, **arrays), angle])


_PLACE = Symbol(
    _distance, "aimed", frames=(3, 3), dim=1, unit="m", takes_frame_stack=True
)
_POSE = Symbol(
    _distance_and_chord, "aimed", frames=(3, 3), dim=2, takes_frame_stack=True
)
