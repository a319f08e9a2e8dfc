"""Arrays of NPZ files that `posewise solve` wrote."""

import zipfile
from pathlib import Path

import numpy as np

from posewise.robots.errors import LoadError


def read_arrays(file: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an NPZ file by name.

    Raises:
        LoadError: for a file that cannot be read.
    """
    try:
        with np.load(file, allow_pickle=False) as data:
            return dict(data)
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise LoadError(f"{file} cannot be read as .npz: {error}.") from None
