"""The MuJoCo module, which an optional extra installs."""

from typing import Any


def import_mujoco(purpose: str) -> Any:
    """Return the module `mujoco`.

    Args:
        purpose: What needs MuJoCo, e.g. "Reading MJCF"; the message begins with it.

    Raises:
        ImportError: When MuJoCo is not installed; the message names the extra.
    """
    try:
        import mujoco
    except ImportError as error:
        raise ImportError(
            f'{purpose} needs MuJoCo; install it with `pip install "posewise[mujoco]"`.'
        ) from error
    return mujoco
