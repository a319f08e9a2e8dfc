"""Distance of a tip from a target, as rows for a solver."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from posewise.features import Feature
from posewise.features.safe_math import norm
from posewise.features.symbol import Arrays, Resolved
from posewise.features.symbol_kinds import StackSymbol
from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import IDENTITY, quat_to_matrix
from posewise.robots.typing import FrameName, VectorLike

from ..geometry.frame_groups import find_object
from ..margins import STRICT_MARGIN
from ..relaxed.world_feature import world_feature
from .query_arguments import Target


def tip_distance_feature(
    C: Config,
    tip: FrameName,
    target: Target,
    tolerance: float,
    turn: float | None,
    grasp: VectorLike | None = None,
) -> Feature:
    """Return rows at most 0 only where a tip is near a target, with its orientation.

    The first row is the distance minus the tolerance [m]. With an angle, the second is
    the chord of the angle between the orientations minus the chord of `turn` [1].

    Args:
        C: the world.
        tip: a frame.
        target: an object, or a position (3,) or pose (7,) in the world.
        tolerance: limit of the distance [m].
        turn: limit of the angle [rad]; None: any orientation.
        grasp: orientation in the world (w, x, y, z), instead of the target's.
    """
    goal, anchor = np.array(IDENTITY), "world"
    if isinstance(target, str):
        anchor = C.frames[find_object(C, target).frames[0]].name
    else:
        goal[: len(target)] = target
    axes = anchor
    if grasp is not None:
        goal[3:], axes = grasp, "world"
    arrays: Arrays = {
        "place": goal[:3],
        "turned": quat_to_matrix(goal[3:] / np.linalg.norm(goal[3:])),
        "most": np.array(float(tolerance)),
    }
    if turn is not None:
        arrays["chord"] = np.array(2 * np.sin(min(turn, np.pi) / 2))
    symbol = _POSITION if turn is None else _POSE

    def resolve(C: Config, names: Sequence[str]) -> Resolved:
        return Resolved(symbol, np.array([C.index(name) for name in names]), arrays)

    return world_feature((tip, anchor, axes), resolve, "aimed", frames=(3, 3))


def _distance(R: Any, p: Any, **arrays: Any) -> Any:
    goal = R[1] @ arrays["place"] + p[1]
    return (norm(p[0] - goal) - arrays["most"] + STRICT_MARGIN)[None]


def _distance_and_chord(R: Any, p: Any, **arrays: Any) -> Any:
    # ‖R_A - R_B‖_F = 2 √2 sin(angle / 2), whose derivative is bounded, unlike that of
    # the angle.
    offset = R[0] - R[2] @ arrays["turned"]
    chord = norm(offset.reshape(-1)) / np.sqrt(2)
    angle = (chord - arrays["chord"] + STRICT_MARGIN)[None]
    return jnp.concatenate([_distance(R, p, **arrays), angle])


_POSITION = StackSymbol(_distance, "aimed", frames=(3, 3), dim=1, unit="m")
_POSE = StackSymbol(_distance_and_chord, "aimed", frames=(3, 3), dim=2)
