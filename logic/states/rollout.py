"""Roll-outs of the extended states of all objects along a path, exactly.

The rules are those of iGibson 2.0 (Li et al., 2021). Objects move only as the path
says, so results of physics are inputs: forces on blades, and where droplets land.
"""

from collections.abc import Mapping
from typing import Literal, get_args

import jax
import numpy as np
from jaxtyping import Float

from posewise.robots.annotations.object_states import AMBIENT_TEMPERATURE, ObjectState
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.typing import Array, Frames, MatrixLike, VectorLike
from posewise.robots.validation import float_array, number, require_finite

from .thermal_range import HeatSemantics
from .thermal_rules import DEFAULT_DECAY_RATE, DEFAULT_STEP
from .world_step import STRAIGHT_DOWN, Droplets, Forces, StateSimulator

StateHistory = dict[str, ObjectState]
"""States by object; every field has the steps as its leading axis."""


def rollout(
    C: Config,
    path: MatrixLike,
    dt: float = DEFAULT_STEP,
    *,
    fingers: Frames = (),
    forces: float | Mapping[tuple[str, str], VectorLike] | None = None,
    droplets: Literal["straight down"] | Mapping[str, VectorLike] | None = None,
    ambient: float = AMBIENT_TEMPERATURE,
    decay: float = DEFAULT_DECAY_RATE,
    semantics: HeatSemantics = "posewise",
) -> StateHistory:
    """Return the states of every object after each step of a path.

    The Config is not changed. The roll-out begins with its states, and the first step
    is at the path's first configuration. The rules are those of iGibson 2.0, extended
    by droplets that fill containers; an object without an ability keeps the state that
    the ability would change. To go on from the last step: `C.annotations.states =
    logic.states_at(history, -1)`.

    Objects are inside as by `InsideOf` with iGibson's semantics, touch as by
    `InContactWith`; heat reaches their nearest point. Doors are open as by `Open` with
    our own semantics: where no joint is annotated all count, while iGibson would treat
    such an oven as always closed.

    Args:
        C: the world.
        path: configurations (T, nq), one for each step.
        dt: time between them [s].
        fingers: names of the frames that press buttons; without any, none is pressed.
        forces: contact forces of blades, for a world with slicers: normal forces of
            each pair, `{("knife", "apple"): (T,)}` [N], recorded, 0 without contact; or
            one number, the force of every contact of a blade.
        droplets: receivers of droplets, for a world with water sources: new droplets in
            each step, `{"sponge": (T,)}`, recorded; or "straight down": each falls
            without delay down from the spout onto the first shape below. Where that
            shape is of a fillable object, the droplet stays in it if it falls through a
            cavity of the object (`C.annotations.add_region`) while the z axis of the
            cavity's frame is at most 45 degrees from up, and there is room for it.
        ambient: temperature of the surroundings [°C].
        decay: rate toward it [1/s].
        semantics: which objects a source of heat or cold reaches: "posewise", those
            whose nearest point is in its range; "igibson", those whose centre of mass
            is.

    Raises:
        ConfigError: if an argument does not fit, or a droplet falls or a blade touches
            a sliceable object while droplets or forces are not given.
    """
    path = _checked_path(C, path)
    simulator = StateSimulator(
        C.copy(),
        dt=number("dt", dt, "a number > 0 (s)", lambda x: x > 0),
        fingers=_checked_fingers(C, fingers),
        forces=_checked_forces(C, forces, len(path)),
        droplets=_checked_droplets(C, droplets, len(path)),
        ambient=number("ambient", ambient, "a temperature (°C)"),
        decay=number("decay", decay, "a number >= 0 (1/s)", lambda x: x >= 0),
        semantics=_checked_semantics(semantics),
    )
    states, history = C.annotations.states, []
    for k, q in enumerate(path):
        simulator.C.q = q
        states = simulator.step(k, states)
        history.append(states)
    return {n: jax.tree.map(_stack, *(step[n] for step in history)) for n in states}


def _checked_semantics(semantics: HeatSemantics) -> HeatSemantics:
    known = get_args(HeatSemantics)
    if semantics not in known:
        raise ConfigError(unknown_name("semantics", semantics, known))
    return semantics


def _stack(*leaves: Array | float | bool) -> np.ndarray:
    return np.stack([np.asarray(x) for x in leaves])


def _checked_path(C: Config, path: MatrixLike) -> Float[np.ndarray, "T nq"]:
    path = float_array("path", path, f"(T, {C.nq}) numbers")
    if path.ndim != 2 or path.shape[1] != C.nq or not len(path):
        raise ConfigError(
            f"path has shape {path.shape}, expected (T, {C.nq}) with T >= 1: one"
            " configuration for each step."
        )
    if not np.isfinite(path).all():
        step = int(np.argmin(np.isfinite(path).all(-1)))
        raise ConfigError(f"path has a NaN or infinite entry at step {step}.")
    return path


def _checked_fingers(C: Config, fingers: Frames) -> tuple[str, ...]:
    names = [fingers] if isinstance(fingers, str) else list(fingers)
    return tuple(C.frame(name).name for name in names)


def _checked_forces(C: Config, forces: object, steps: int) -> Forces:
    if forces is None:
        return None
    if not isinstance(forces, Mapping):
        expected = "a number >= 0 (newtons), or {(slicer, object): (T,)}"
        return number("forces", forces, expected, lambda x: x >= 0)
    recorded = {}
    for pair, values in forces.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ConfigError(f"forces has {pair!r}, expected a pair (slicer, object).")
        C.object(pair[0]).ability("slicer")
        C.object(pair[1]).ability("sliceable")
        recorded[pair] = _checked_series(f"forces of {pair!r}", values, steps)
    return recorded


def _checked_droplets(C: Config, droplets: object, steps: int) -> Droplets:
    if droplets is None or isinstance(droplets, str) and droplets == STRAIGHT_DOWN:
        return droplets
    if not isinstance(droplets, Mapping):
        raise ConfigError(
            f"droplets is {droplets!r}, expected {STRAIGHT_DOWN!r} or"
            ' {"object": (T,)}.'
        )
    recorded = {}
    for name, values in droplets.items():
        receiver = C.object(name)
        if "fillable" not in receiver.abilities:
            # Raises a sentence unless the object absorbs droplets instead.
            receiver.ability("soakable")
        counts = _checked_series(f"droplets of {name!r}", values, steps)
        if (counts != np.round(counts)).any():
            raise ConfigError(f"droplets of {name!r} are not all whole numbers.")
        recorded[name] = counts
    return recorded


def _checked_series(
    what: str, values: object, steps: int
) -> Float[np.ndarray, " steps"]:
    array = float_array(what, values, f"({steps},) numbers")
    require_finite(what, array)
    if array.shape != (steps,) or (array < 0).any():
        raise ConfigError(
            f"{what} has shape {array.shape}, expected ({steps},) numbers >= 0:"
            " one for each step of the path."
        )
    return array
