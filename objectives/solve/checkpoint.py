"""A folder with finished solves of a batch, in files of some problems each."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from posewise.robots.geometry.disk_cache import array_digest, read_arrays, write_arrays

from ..objective import ObjectiveError
from .batch_result import ARRAY_NAMES, BatchResult, from_arrays, to_arrays
from .problem_batch import ProblemBatch

DIGEST_LENGTH = 16
"""Digits of a digest that are enough to tell problems apart."""


def batch_fingerprint(
    problems: ProblemBatch, given: Mapping[str, Any]
) -> dict[str, str]:
    """What solves of a batch depend on, as digests; the same in all processes.

    Args:
        problems: all.
        given: more that they depend on, by name: texts and numbers.
    """
    chain, leaves = problems.chain, jax.tree.leaves(problems.data(0))
    x = problems.komos[0].starts(0, 1)[0].astype(problems.dtype)
    of = lambda a, x: jax.tree.leaves(chain.evaluate(problems.tree.unflatten(a), x))
    program = jax.jit(of).lower(leaves, x).as_text()
    structure = (program, repr((chain.slices, chain.order, chain.shared)))
    paths = [k.initial for k in problems.komos]
    states = [k.config.q for k in problems.komos]
    parts = {
        "structure": structure,
        "numbers": (problems.count, *map(np.asarray, problems.leaves)),
        "initial paths": (*states, *paths),
        **{name: (repr(value),) for name, value in given.items()},
    }
    return {name: array_digest(value)[:DIGEST_LENGTH] for name, value in parts.items()}


@dataclass(frozen=True)
class Checkpoint:
    """Finished solves of one batch of problems."""

    folder: Path

    def read(self) -> list[BatchResult]:
        """All that is there.

        Raises:
            ObjectiveError: for a file that cannot be read.
        """
        return [self._read(file) for file in sorted(self.folder.glob("solves-*.npz"))]

    def write(self, solves: BatchResult) -> None:
        """Add solves of problems that are not there yet.

        Raises:
            OSError: where it cannot be written.
        """
        name = f"solves-{solves.problem.min():08d}.npz"
        write_arrays(self.folder / name, to_arrays(solves))

    def _read(self, file: Path) -> BatchResult:
        arrays = read_arrays(file, ARRAY_NAMES)
        if arrays is None:
            raise ObjectiveError(
                f"{file} cannot be read; delete it, and its problems are solved again."
            )
        return from_arrays(arrays)


def open_checkpoint(folder: Path, identity: Mapping[str, str]) -> Checkpoint:
    """A new store, or one that was made for the same problems.

    Raises:
        ObjectiveError: for a store of other problems, and where there can be none.
    """
    label = folder / "problem.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        made_for = json.loads(label.read_text()) if label.exists() else None
        if made_for is None and not any(folder.glob("solves-*.npz")):
            draft = folder / f"problem-{os.getpid()}.part"
            draft.write_text(json.dumps(dict(identity), indent=1))
            draft.replace(label)
            made_for = dict(identity)
    except (OSError, ValueError) as error:
        raise ObjectiveError(
            f"checkpoint_dir {str(folder)!r} cannot be used ({error}); give a"
            " folder that can be written."
        ) from None
    if not isinstance(made_for, dict):
        made_for = {}
    other = [name for name in identity if made_for.get(name) != identity[name]]
    if other:
        raise ObjectiveError(
            f"checkpoint_dir {str(folder)!r} holds solutions of other problems: other"
            f" {', '.join(other)}. Give another folder, or delete this one."
        )
    return Checkpoint(folder)
