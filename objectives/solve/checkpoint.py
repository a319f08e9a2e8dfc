"""Checkpoints of batches: folders with files of finished results."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from posewise.compilation.fingerprint import fingerprint
from posewise.robots.geometry.disk_cache import read_arrays, write_arrays

from ..problem.spec import initial_path, initial_paths
from ..terms.objective import ObjectiveError
from .batch_result import ARRAY_NAMES, BatchResult, from_arrays, to_arrays
from .problem_batch import ProblemBatch

DIGEST_LENGTH = 16
"""Hexadecimal digits of a digest; 16 digits make collisions improbable."""


def batch_fingerprint(
    problems: ProblemBatch, settings: Mapping[str, Any]
) -> dict[str, str]:
    """Return digests of all inputs of a batch, the same in all processes.

    Args:
        problems: the batch.
        settings: further texts and numbers that its results depend on, by name.

    Returns:
        A digest of each kind of input, by name.
    """
    chain, leaves = problems.chain, jax.tree.leaves(problems.data(0))
    x = initial_paths(problems.specs[0], 0, 1)[0].astype(problems.dtype)

    def evaluate(leaves: Any, x: jax.Array) -> Any:
        data = problems.tree.unflatten(leaves)
        return jax.tree.leaves(chain.evaluate(data, x))

    # The lowered program stands for the features, of which some are users' functions.
    program = jax.jit(evaluate).lower(leaves, x).as_text()
    structure = (program, repr((chain.slices, chain.order, chain.shared)))
    paths = problems.initial
    if paths is None:
        paths = [initial_path(spec) for spec in problems.specs]
    states = [spec.config.q for spec in problems.specs]
    parts = {
        "structure": structure,
        "numbers": (problems.count, *map(np.asarray, problems.leaves)),
        "initial paths": (*states, *paths),
        **{name: (repr(value),) for name, value in settings.items()},
    }
    return {name: fingerprint(value)[:DIGEST_LENGTH] for name, value in parts.items()}


@dataclass(frozen=True)
class Checkpoint:
    """Finished results of one batch of problems."""

    folder: Path

    def read(self) -> list[BatchResult]:
        """Return all stored results.

        Raises:
            ObjectiveError: for a file that cannot be read.
        """
        return [self._read(file) for file in sorted(self.folder.glob("solves-*.npz"))]

    def write(self, result: BatchResult) -> None:
        """Store results of problems that have none yet.

        Raises:
            OSError: if the file cannot be written.
        """
        name = f"solves-{result.problem.min():08d}.npz"
        write_arrays(self.folder / name, to_arrays(result))

    def _read(self, file: Path) -> BatchResult:
        arrays = read_arrays(file, ARRAY_NAMES)
        if arrays is None:
            raise ObjectiveError(
                f"{file} cannot be read; delete it, and its problems are solved again."
            )
        return from_arrays(arrays)


def open_checkpoint(folder: Path, digests: Mapping[str, str]) -> Checkpoint:
    """Return a new checkpoint, or one that was made for the same problems.

    Args:
        folder: its path.
        digests: of the batch; see `batch_fingerprint`.

    Raises:
        ObjectiveError: for a checkpoint of other problems, or a folder that cannot be
            written.
    """
    label = folder / "problem.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        made_for = None
        if label.exists():
            made_for = json.loads(label.read_text(encoding="utf-8"))
        if made_for is None and not any(folder.glob("solves-*.npz")):
            draft = folder / f"problem-{os.getpid()}.part"
            draft.write_text(json.dumps(dict(digests), indent=1), encoding="utf-8")
            draft.replace(label)
            made_for = dict(digests)
    except (OSError, ValueError) as error:
        raise ObjectiveError(
            f"checkpoint_dir {str(folder)!r} cannot be used ({error}); give a"
            " folder that can be written."
        ) from None
    if not isinstance(made_for, dict):
        made_for = {}
    other = [name for name in digests if made_for.get(name) != digests[name]]
    if other:
        raise ObjectiveError(
            f"checkpoint_dir {str(folder)!r} holds solutions of other problems: other"
            f" {', '.join(other)}. Give another folder, or delete this one."
        )
    return Checkpoint(folder)
