"""Results of long computations, kept in a private folder of the user's."""

import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


def memoize_to_disk(
    kind: str, inputs: Sequence[Any], names: Sequence[str], build: Callable[[], Arrays]
) -> Arrays:
    """What `build` returns; read from disk where it was built before.

    Where the folder cannot be written nothing is kept; a broken file is built again.

    Args:
        kind: a word for the file's name; change it when `build` changes its answers.
        inputs: arrays and numbers that the result depends on.
        names: keys of the arrays that `build` returns.
        build: makes the arrays.
    """
    path = cache_folder() / f"{kind}-{array_digest(inputs)}.npz"
    found = read_arrays(path, names)
    if found is None:
        found = build()
        with suppress(OSError):
            write_arrays(path, found)
    return found


def cache_folder() -> Path:
    """Where files are kept: below `XDG_CACHE_HOME`, else `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base or Path.home() / ".cache") / "posewise" / "meshes"


def array_digest(inputs: Iterable[Any]) -> str:
    """The same word for the same arrays, numbers and texts, in every process."""
    hashed = hashlib.sha256()
    for value in inputs:
        array = np.ascontiguousarray(value)
        hashed.update(f"{array.dtype.str}{array.shape}".encode())
        hashed.update(array.tobytes())
    return hashed.hexdigest()[:40]


def read_arrays(path: Path, names: Sequence[str]) -> Arrays | None:
    """These arrays of a file; None where it cannot be read, or has others."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in names}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write beside the final place, then move: nobody reads half a file.

    Raises:
        OSError: where it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
