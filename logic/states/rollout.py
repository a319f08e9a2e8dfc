"""Extended states of all objects along a path, by iGibson 2.0's rules, exactly.

Nothing moves but by the path, so what needs physics is given: forces on blades, and
where droplets go.
"""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.validation import float_array, number
from posewise.robots.world.object_states import AMBIENT_TEMPERATURE, ObjectState

from .thermal_rules import DEFAULT_DECAY, DEFAULT_STEP
from .world_step import STRAIGHT_DOWN, StateSimulator

StateHistory = dict[str, ObjectState]
"""States by object; every field has the steps as its leading axis."""


def rollout(
    C: Config,
    path: Any,
    dt: Any = DEFAULT_STEP,
    *,
    fingers: Any = (),
    forces: Any = None,
    droplets: Any = None,
    ambient: Any = AMBIENT_TEMPERATURE,
    decay: Any = DEFAULT_DECAY,
) -> StateHistory:
    """States of every object after each step of a path; the Config is not changed.

    It begins with the states of the Config, at the path's first configuration one step
    later. The rules are those of iGibson 2.0, but for what droplets fill, which it does
    not know; objects without an ability keep what it
    would change. To go on from the last step: `C.states =
    logic.states_at(history, -1)`.

    Things are inside as by `InsideOf` of iGibson's semantics, touch as by
    `InContactWith`, and are where the centre of mass of their root frame is. Doors are
    open as by `Open` of our own semantics: where no joint is annotated all count, while
    for iGibson such an oven is always closed.

    Args:
        C: the world.
        path: configurations (T, nq), one for each step.
        dt: time between them [s].
        fingers: names of the frames that press buttons; without any, none is pressed.
        forces: how hard blades press, for a world with slicers: normal forces of each
            pair, `{("knife", "apple"): (T,)}` [N], recorded, 0 without contact; or one
            number: whatever a blade touches counts as pressed so hard.
        droplets: who catches droplets, for a world with water sources: new ones at each
            step, `{"sponge": (T,)}`, recorded; or "straight down": each falls without
            delay down from the spout into the first shape below. Where that is a
            fillable object's, the droplet stays in it if on its way it goes through a
            cavity of the object (`C.add_region`) while the z axis of the cavity's frame
            is at most 45 degrees from up, and there is room for it.
        ambient: temperature of the surroundings [°C].
        decay: rate toward it [1/s].

    Raises:
        ConfigError: for arguments that do not fit, and where a droplet falls or a blade
            touches a sliceable object while it is not said what comes of it.
    """
    path = _path(C, path)
    dt = number("dt", dt, "a number > 0 (s)", lambda x: x > 0)
    world = StateSimulator(
        C.copy(),
        dt,
        tuple(_fingers(C, fingers)),
        _forces(C, forces, len(path)),
        _droplets(C, droplets, len(path)),
        number("ambient", ambient, "a temperature (°C)"),
        number("decay", decay, "a number >= 0 (1/s)", lambda x: x >= 0),
    )
    states, found = C.states, []
    for k, q in enumerate(path):
        world.C.q = q
        states = world.step(k, states)
        found.append(states)
    return {n: jax.tree.map(_stack, *(s[n] for s in found)) for n in states}


def _stack(*leaves: Any) -> np.ndarray:
    return np.stack([np.asarray(x) for x in leaves])


def _path(C: Config, path: Any) -> np.ndarray:
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


def _fingers(C: Config, fingers: Any) -> list[str]:
    names = [fingers] if isinstance(fingers, str) else list(fingers)
    return [C.frame(name).name for name in names]


def _forces(C: Config, forces: Any, steps: int) -> Any:
    if forces is None:
        return None
    if not isinstance(forces, Mapping):
        expected = "a number >= 0 (newtons), or {(slicer, object): (T,)}"
        return number("forces", forces, expected, lambda x: x >= 0)
    made = {}
    for pair, values in forces.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ConfigError(f"forces has {pair!r}, expected a pair (slicer, object).")
        C.object(pair[0]).ability("slicer")
        C.object(pair[1]).ability("sliceable")
        made[pair] = _series(f"forces of {pair!r}", values, steps)
    return made


def _droplets(C: Config, droplets: Any, steps: int) -> Any:
    if droplets is None or isinstance(droplets, str) and droplets == STRAIGHT_DOWN:
        return droplets
    if not isinstance(droplets, Mapping):
        raise ConfigError(
            f"droplets is {droplets!r}, expected {STRAIGHT_DOWN!r} or"
            ' {"object": (T,)}.'
        )
    made = {}
    for name, values in droplets.items():
        catcher = C.object(name)
        if "fillable" not in catcher.abilities:
            catcher.ability("soakable")
        counts = _series(f"droplets of {name!r}", values, steps)
        if (counts != np.round(counts)).any():
            raise ConfigError(f"droplets of {name!r} are not all whole numbers.")
        made[name] = counts
    return made


def _series(what: str, values: Any, steps: int) -> np.ndarray:
    array = float_array(what, values, f"({steps},) numbers")
    if array.shape != (steps,) or not np.isfinite(array).all() or (array < 0).any():
        raise ConfigError(
            f"{what} has shape {array.shape}, expected ({steps},) finite numbers >= 0:"
            " one for each step of the path."
        )
    return array
