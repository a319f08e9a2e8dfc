"""Our own robots and objects, by name: URDF files of primitive shapes in `data/`."""

import copy
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .errors import LoadError, unknown_name
from .loaders.urdf.reader import read_urdf
from .typing import ModelName
from .world.frame import Frame, Model

DATA_DIR = Path(__file__).parent / "data"


def model_names() -> tuple[str, ...]:
    """Return the names that `read_model` knows, robots first.

    >>> model_names()[:2]
    ('panda', 'ur5e')
    """
    return tuple(_index())


def model_info(name: ModelName) -> dict[str, Any]:
    """Return the metadata of a model.

    Args:
        name: One of `model_names()`.

    Returns:
        `file`, `kind` ("robot" or "object"), `description`; `home`, joint values by
        joint name; for objects `category` and `abilities`, and for some of them
        `openable_joints`, `links` (names of links by role) and `regions` (arguments of
        `Config.annotations.add_region`).

    Raises:
        LoadError: for an unknown name, with near matches.
    """
    index = _index()
    if name not in index:
        raise LoadError(unknown_name("model", name, index))
    # A copy, so that callers cannot change the cached index.
    return copy.deepcopy(index[name])


def read_model(name: ModelName) -> Model:
    """Return one of our own models, its joints at home.

    Raises:
        LoadError: for an unknown name, with near matches.
    """
    info = model_info(name)
    home = {name: float(value) for name, value in info.get("home", {}).items()}
    model = read_urdf(DATA_DIR / info["file"])
    frames = tuple(_at_home(frame, home) for frame in model.frames)
    return replace(model, frames=frames)


def _at_home(frame: Frame, home: dict[str, float]) -> Frame:
    """Return the frame with its joint's value at definition taken from `home`."""
    joint = frame.joint
    if joint is None or joint.name not in home:
        return frame
    q = np.full(joint.dim, home[joint.name])
    return replace(frame, joint=replace(joint, q=q))


@cache
def _index() -> dict[str, dict[str, Any]]:
    return json.loads((DATA_DIR / "index.json").read_text(encoding="utf-8"))
