"""Folders of finished chunks, which several processes and hosts may fill at once.

A chunk is a range of problems, and its file has the range in its name. A file is whole
or absent, is never changed, and belongs to who was first: what is stored can be seen
from the names, and no process has to ask another one.
"""

import hashlib
import json
import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from posewise.robots.typing import StrPath
from posewise.robots.validation import integer

from ..terms.objective import ObjectiveError
from .pickling import from_pickle, to_pickle

CHECKSUM_SIZE = 32
"""Size of what a file begins with, to notice damage [bytes]: that of a SHA-256; a
smaller one overlooks damage more often."""
NAME_LENGTH = 16
"""Number of hexadecimal digits in the name of a file of work; fewer make collisions
less improbable."""


@dataclass(frozen=True)
class ChunkFolder:
    """Finished chunks of a number of problems."""

    path: Path

    def ranges(self) -> list[range]:
        """Return the problems of each stored chunk, ascending."""
        stems = [file.stem for file in self.path.glob("chunk-*-*.pickle")]
        return sorted(
            (range(*map(int, stem.split("-")[1:])) for stem in stems),
            key=lambda chunk: (chunk.start, chunk.stop),
        )

    def is_stored(self, count: int) -> Bool[np.ndarray, " count"]:
        """Return whether each of some problems has a stored result."""
        is_stored = np.zeros(count, bool)
        for chunk in self.ranges():
            is_stored[chunk.start : chunk.stop] = True
        return is_stored

    def missing(self, problems: range, size: int) -> list[range]:
        """Return chunks of at most `size` of some problems that no file has yet.

        Their bounds depend on nothing but the two arguments, so that all clients of the
        folder deal in the same chunks. All are about as long, so that one compiled
        program solves them. Each client begins at another one, at random, and goes
        round: clients that start together share the chunks.
        """
        is_stored = self.is_stored(problems.stop)
        chunks = [
            part[run.start : run.stop]
            for part in parts_of(problems, max(-(-len(problems) // size), 1))
            for run in true_runs(~is_stored[part.start : part.stop])
        ]
        first = secrets.randbelow(len(chunks)) if chunks else 0
        return chunks[first:] + chunks[:first]

    def has(self, chunk: range) -> bool:
        """Return whether a chunk is stored."""
        return self._file(chunk).exists()

    def write(self, chunk: range, results: object) -> None:
        """Store the results of a chunk, unless another process was first.

        Raises:
            ObjectiveError: if the file cannot be written.
        """
        data = to_pickle(results, "The results of the chunk")
        self._write_first(self._file(chunk), hashlib.sha256(data).digest() + data)

    def read(self) -> list[tuple[range, Any]]:
        """Return all stored chunks, each with its results.

        Raises:
            ObjectiveError: for a file that cannot be read.
        """
        return [(chunk, self._results(self._file(chunk))) for chunk in self.ranges()]

    def write_work(self, work: object) -> str:
        """Store what workers need to solve chunks; return its name, a digest of it.

        Args:
            work: a function of a chunk, a range.

        Raises:
            ObjectiveError: if it cannot be pickled or written.
        """
        data = to_pickle(work, "The problem")
        name = hashlib.sha256(data).hexdigest()[:NAME_LENGTH]
        self._write_first(self._work_file(name), data)
        return name

    def read_work(self, name: str) -> Any:
        """Return what `write_work` has stored.

        Raises:
            ObjectiveError: for a file that is damaged, or is not there.
        """
        file = self._work_file(name)
        try:
            data = file.read_bytes()
        except OSError as error:
            raise ObjectiveError(
                f"A worker cannot read {file} ({error}); give a checkpoint_dir that all"
                " hosts share."
            ) from None
        if hashlib.sha256(data).hexdigest()[:NAME_LENGTH] != name:
            raise ObjectiveError(f"{file} is damaged; delete it, and call again.")
        return from_pickle(data)

    def _file(self, chunk: range) -> Path:
        return self.path / f"chunk-{chunk.start:08d}-{chunk.stop:08d}.pickle"

    def _work_file(self, name: str) -> Path:
        return self.path / f"work-{name}.pickle"

    def _results(self, file: Path) -> Any:
        data = file.read_bytes()
        checksum, data = data[:CHECKSUM_SIZE], data[CHECKSUM_SIZE:]
        if hashlib.sha256(data).digest() != checksum:
            raise ObjectiveError(
                f"{file} cannot be read; delete it, and its problems are solved again."
            )
        return from_pickle(data)

    def _write_first(self, file: Path, data: bytes) -> None:
        try:
            write_first(file, data)
        except OSError as error:
            stored = sum(map(len, self.ranges()))
            raise ObjectiveError(
                f"checkpoint_dir {str(self.path)!r} cannot be written ({error}). The"
                f" {stored} results in it are kept; make room or choose who may write"
                " there, and the same call goes on."
            ) from None


def make_folder_path(checkpoint_dir: StrPath | None) -> Path | None:
    """Return the path of a folder; None: none is wanted.

    Raises:
        ObjectiveError: for anything but a path, and for an empty text, which likely
            is a variable that is not set.
    """
    if checkpoint_dir is None:
        return None
    if not isinstance(checkpoint_dir, str | os.PathLike) or checkpoint_dir == "":
        raise ObjectiveError(
            f"checkpoint_dir is {checkpoint_dir!r}, expected a folder's path."
        )
    return Path(checkpoint_dir)


def make_chunk_size(chunk_size: int) -> int:
    """Return a checked number of problems in a chunk.

    Raises:
        ObjectiveError: for anything but an integer of at least 1.
    """
    return integer(
        "chunk_size", chunk_size, "at least 1", lambda n: n >= 1, ObjectiveError
    )


def make_share(share: tuple[int, int] | None, folder: Path | None) -> tuple[int, int]:
    """Return a checked share (k, n), the k-th of n; None: all problems, (1, 1).

    Raises:
        ObjectiveError: for anything else, or without a folder for its results.
    """
    if share is None:
        return 1, 1
    expected = "(k, n), the k-th of n shares, with 1 <= k <= n"
    is_pair = isinstance(share, tuple | list) and len(share) == 2
    # Python counts True as 1.
    if not is_pair or any(isinstance(i, bool | np.bool_) for i in share):
        raise ObjectiveError(f"share is {share!r}, expected {expected}.")
    k, n = (integer("share", i, expected, error=ObjectiveError) for i in share)
    if not 1 <= k <= n:
        raise ObjectiveError(f"share is {share!r}, expected {expected}.")
    if folder is None:
        raise ObjectiveError(
            "share is given without checkpoint_dir; give a folder that all processes"
            " see, for the solutions of all shares."
        )
    return k, n


def open_folder(path: Path, digests: Mapping[str, str]) -> ChunkFolder:
    """Return a new folder of chunks, or one that was made for the same problems.

    Args:
        path: the folder.
        digests: of all that the results depend on, by name.

    Raises:
        ObjectiveError: for a folder of other problems, or one that cannot be written.
    """
    label = path / "problem.json"
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not label.exists() and not any(path.glob("chunk-*.pickle")):
            write_first(label, json.dumps(dict(digests), indent=1).encode())
        text = label.read_text(encoding="utf-8") if label.exists() else "{}"
        made_for = json.loads(text)
    except (OSError, ValueError) as error:
        raise ObjectiveError(
            f"checkpoint_dir {str(path)!r} cannot be used ({error}); give a"
            " folder that can be written."
        ) from None
    if not isinstance(made_for, dict):
        made_for = {}
    other = [name for name in digests if made_for.get(name) != digests[name]]
    if other:
        raise ObjectiveError(
            f"checkpoint_dir {str(path)!r} holds solutions of other problems: other"
            f" {', '.join(other)}. Give another folder, or delete this one."
        )
    return ChunkFolder(path)


def write_first(file: Path, data: bytes) -> None:
    """Write a file that is whole or absent, unless it is there already.

    Raises:
        OSError: if it cannot be written.
    """
    # Written beside the file, then linked: a link never replaces what is there.
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".part")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        try:
            os.link(draft, file)
        except FileExistsError:
            return
        except OSError:
            # File systems without links; two files of one name have equal results.
            draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def parts_of(problems: range, count: int) -> list[range]:
    """Return consecutive parts of a range, all about as long."""
    return [part_of(problems, k, count) for k in range(1, count + 1)]


def part_of(problems: range, k: int, count: int) -> range:
    """Return the k-th of `parts_of`, counted from 1; there may be billions."""
    start, stop = ((i * len(problems)) // count for i in (k - 1, k))
    return problems[start:stop]


def true_runs(mask: Bool[np.ndarray, " n"]) -> list[range]:
    """Return the ranges of consecutive indices at which a mask is true."""
    steps = np.diff(np.concatenate([[False], mask, [False]]).astype(int))
    starts, stops = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    return [
        range(*bounds) for bounds in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
