"""Arrays in NPZ files, whose contents are not trusted."""

from pathlib import Path

import numpy as np

from .errors import LoadError


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name; it may contain no Python objects.

    Raises:
        LoadError: for a file that cannot be read, or is no NPZ file.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as data:
            return dict(data)
    except OSError as error:
        reason = error.strerror or str(error)
    # numpy, zipfile, zlib and the parser of headers raise errors of a dozen classes.
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
    raise LoadError(f"{path} cannot be read as .npz: {reason.rstrip('.')}.")
