"""The private folder of compiled programs: where it is, whom it trusts, its size.

Reading a program runs code. Files are read only from a folder, and only those files,
that belong to the user and that nobody else can write.
"""

import hashlib
import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

VARIABLE = "POSEWISE_CACHE"
"""Name of the environment variable: a folder, or 0 for none."""

MAX_SIZE = 1 << 30
"""Size above which the least recently used files are removed [bytes]."""

CHECKSUM_SIZE = 16
"""Size of what a file begins with, to notice that it has been damaged [bytes]; a larger
one overlooks damage more rarely."""

SUFFIXES = (".program", ".entry", ".unfinished")
"""Ends of the names of the files that may be removed."""


class _Chosen:
    """The folder, unless it has not been looked for."""

    is_known = False
    folder: Path | None = None
    why_none = ""


def set_cache_dir(folder: Path | None, why_none: str = "") -> None:
    """Keep the programs compiled from now on in a folder; None: keep none.

    Args:
        folder: the folder.
        why_none: the reason for None, a sentence.
    """
    _Chosen.folder, _Chosen.why_none, _Chosen.is_known = folder, why_none, True


def cache_dir() -> Path | None:
    """Return the folder of compiled programs; None: none is kept.

    Unless `set_cache_dir` has been called, it is the folder that POSEWISE_CACHE names,
    else `posewise/jax` in the user's cache folder.
    """
    if not _Chosen.is_known:
        _find_folder()
    return _Chosen.folder


def why_no_cache() -> str:
    """Return why no program is kept on disk; empty: programs are kept."""
    return "" if cache_dir() else _Chosen.why_none


def default_cache_dir() -> Path:
    """Return `posewise/jax` in the user's cache folder.

    Raises:
        OSError: if the user has no home.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(base or Path.home() / ".cache") / "posewise" / "jax"
    except RuntimeError as error:
        raise FileNotFoundError(str(error)) from error


def _find_folder() -> None:
    named = os.environ.get(VARIABLE, "")
    if named == "0":
        return set_cache_dir(None, f"the environment has {VARIABLE}=0.")
    try:
        return set_cache_dir(
            make_private(Path(named).expanduser() if named else default_cache_dir())
        )
    except (OSError, RuntimeError) as error:  # the latter for a user without a home
        logging.getLogger("posewise").info("No program is kept on disk: %s", error)
        return set_cache_dir(None, str(error))


def make_private(folder: Path) -> Path:
    """Make a folder, if it is absent, that only the user can access.

    Raises:
        OSError: if it cannot be made, or others own it or may write to it.
    """
    folder = folder.absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{str(folder)!r} is not a folder that can be written.")
    if not _is_private(folder.stat()):
        raise PermissionError(
            f"{str(folder)!r} belongs to another user, or others may write to it;"
            " expected a folder of your own (chmod go-w), because programs that are"
            " read from it run in your processes."
        )
    return folder


def _is_private(status: os.stat_result) -> bool:
    """Whether a file belongs to the user, and nobody else may write to it."""
    if not hasattr(os, "geteuid"):
        return True  # on Windows the user's folders have access lists instead
    others = stat.S_IWGRP | stat.S_IWOTH
    return status.st_uid == os.geteuid() and not status.st_mode & others


def read(file: Path) -> bytes | None:
    """Return the content of a file, which counts as used now.

    Returns:
        None if the file is not safe, or not as `write` left it.

    Raises:
        OSError: if it cannot be read.
    """
    with open(file, "rb") as opened:
        # of the opened file: it cannot be exchanged after it has been checked
        if not _is_private(os.fstat(opened.fileno())):
            return None
        content = opened.read()
    checksum, data = content[:CHECKSUM_SIZE], content[CHECKSUM_SIZE:]
    if checksum != _checksum(data):
        return None
    with suppress(OSError):
        os.utime(file)
    return data


def write(file: Path, data: bytes) -> None:
    """Write a file, and remove the least recently used ones above `MAX_SIZE`.

    Raises:
        OSError: if it cannot be written.
    """
    with tempfile.NamedTemporaryFile(
        dir=file.parent, suffix=".unfinished", delete=False
    ) as new:
        new.write(_checksum(data) + data)
    try:
        # renaming is atomic, so that other processes read whole files only
        os.replace(new.name, file)
    except OSError:
        with suppress(OSError):
            os.unlink(new.name)
        raise
    remove_oldest(file.parent)


def _checksum(data: bytes) -> bytes:
    # a program that was damaged in the middle may end the process that loads it
    return hashlib.blake2b(data, digest_size=CHECKSUM_SIZE).digest()


def remove_oldest(folder: Path) -> None:
    """Remove the least recently used files while all take more than `MAX_SIZE`."""
    files = sorted(files_by_use(folder))
    size = sum(size for _, size, _ in files)
    for _, freed, file in files:
        if size <= MAX_SIZE:
            return
        # another process may have removed it
        with suppress(OSError):
            file.unlink()
        size -= freed


def files_by_use(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield the last use [s], the size [bytes] and the path of each file."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIXES):
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    yield status.st_mtime, status.st_size, Path(entry.path)
