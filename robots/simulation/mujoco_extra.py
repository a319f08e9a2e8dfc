"""MuJoCo, which is installed with an extra."""

from typing import Any


def import_mujoco(what: str) -> Any:
    """The module `mujoco`.

    Args:
        what: it is needed for, e.g. "Reading MJCF".

    Raises:
        ImportError: when it is not installed; names the extra.
    """
    try:
        import mujoco
    except ImportError as error:
        raise ImportError(
            f'{what} needs MuJoCo; install it with `pip install "posewise[mujoco]"`.'
        ) from error
    return mujoco
