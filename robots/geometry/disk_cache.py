"""Results of long computations, cached in a private folder of the user."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
CHECKSUM = "checksum"
"""Name of the digest of the other arrays in a file, to notice damage."""


def memoize_to_disk(
    kind: str, inputs: Sequence[Any], names: Sequence[str], build: Callable[[], Arrays]
) -> Arrays:
    """Return the arrays of `build`, read from disk if they were built before.

    If the folder cannot be written, nothing is cached; a broken file is built again.

    Args:
        kind: First word of the file name; change it when `build` changes its result.
        inputs: Arrays and numbers that the result depends on.
        names: Names of the arrays that `build` returns.
        build: Function that computes the arrays.
    """
    folder = cache_folder()
    if folder is None:
        return build()
    path = folder / f"{kind}-{array_digest(inputs)}.npz"
    arrays = read_arrays(path, [*names, CHECKSUM])
    if arrays is not None:
        checksum = arrays.pop(CHECKSUM)
        if np.array_equal(checksum, _checksum(arrays)):
            return arrays
    arrays = build()
    with suppress(OSError):
        write_arrays(path, {**arrays, CHECKSUM: _checksum(arrays)})
    return arrays


def _checksum(arrays: Arrays) -> np.ndarray:
    return np.array(array_digest(arrays[name] for name in sorted(arrays)))


def cache_folder() -> Path | None:
    """Return the folder of the cache: in `XDG_CACHE_HOME`, else in `~/.cache`.

    None: the user has no home.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(base or Path.home() / ".cache") / "posewise" / "meshes"
    except RuntimeError:
        return None


def array_digest(inputs: Iterable[Any]) -> str:
    """Return a hash of arrays, numbers and texts that is the same in every process."""
    hashed = hashlib.sha256()
    for value in inputs:
        array = np.ascontiguousarray(value)
        hashed.update(f"{array.dtype.str}{array.shape}".encode())
        hashed.update(array.tobytes())
    return hashed.hexdigest()[:40]


def read_arrays(path: Path, names: Sequence[str]) -> Arrays | None:
    """Return named arrays of a file; None if it cannot be read, or lacks one."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in names}
    except Exception:
        # numpy, zipfile and zlib raise errors of a dozen classes for damaged files
        return None


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write arrays to a file.

    Raises:
        OSError: When the file cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Write beside the file, then move: no process ever reads half a file.
    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
