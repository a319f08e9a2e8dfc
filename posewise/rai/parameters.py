"""rai's global parameters, seeds and texts of the package."""

import importlib.metadata
import random
from typing import Any

import numpy as np

_PARAMETERS: dict[str, Any] = {}


def params_add(params: dict[str, Any]) -> None:
    """Add parameters.

    With `noInteractivity` no view opens; `physx/motorKp` and `physx/motorKd` drive the
    joints of simulations. Others have no effect.
    """
    _PARAMETERS.update(params)


def params_get() -> dict[str, Any]:
    """Return the parameters that were added."""
    return dict(_PARAMETERS)


def params_clear() -> None:
    """Remove all parameters."""
    _PARAMETERS.clear()


def params_print() -> None:
    """Print the parameters that were added."""
    for name, value in _PARAMETERS.items():
        print(f"{name}: {value}")


def rnd_seed(s: int) -> None:
    """Seed NumPy's and Python's global random numbers, which random states use."""
    np.random.seed(s)
    random.seed(s)


def rnd_seed_random() -> None:
    """Seed them differently in each process."""
    np.random.seed()
    random.seed()


def version() -> str:
    """Return the version of posewise."""
    return importlib.metadata.version("posewise")
