"""Fingerprints of batches: which stored results are those of the same problems."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posewise.compilation.fingerprint import fingerprint
from posewise.solvers.memo import Memo

from ..problem.spec import initial_path, initial_paths
from .problem_batch import ProblemBatch
from .settings import SolveSettings

DIGEST_LENGTH = 16
"""Number of hexadecimal digits of a digest; fewer make collisions less improbable."""

_PROGRAMS: Memo[str] = Memo(64)
"""Lowered programs of structures, which take half a second to make."""


def batch_fingerprint(
    problems: ProblemBatch, settings: SolveSettings
) -> dict[str, str]:
    """Return digests of all inputs of a batch, the same in all processes.

    Args:
        problems: the batch.
        settings: of its solves.

    Returns:
        A digest of each kind of input, by name.
    """
    chain, leaves = problems.chain, jax.tree.leaves(problems.data(0))
    x = initial_paths(problems.specs[0], 0, 1)[0].astype(problems.dtype)
    kinds = tuple((np.shape(a), jnp.result_type(a)) for a in leaves)
    program = _PROGRAMS.get(
        (chain, problems.tree, kinds, x.dtype), lambda: _lowered(problems, leaves, x)
    )
    structure = (program, repr((chain.slices, chain.order, chain.shared)))
    paths = problems.initial
    if paths is None:
        paths = [initial_path(spec) for spec in problems.specs]
    states = [spec.config.q for spec in problems.specs]
    parts = {
        "structure": structure,
        "numbers": (problems.count, *map(np.asarray, problems.leaves)),
        "initial paths": (*states, *paths),
        "seed": (settings.seed,),
        "number of starts": (settings.starts,),
        "options": (repr({**vars(settings.options), "tolerance": settings.tolerance}),),
        "avoidance": tuple(spec.avoidance for spec in problems.specs),
    }
    return {name: fingerprint(value)[:DIGEST_LENGTH] for name, value in parts.items()}


def _lowered(problems: ProblemBatch, leaves: list[Any], x: np.ndarray) -> str:
    """Return the program of a problem's rows.

    It stands for the features, of which some are users' functions.
    """

    def evaluate(leaves: list[Any], x: jax.Array) -> Any:
        data = problems.tree.unflatten(leaves)
        return jax.tree.leaves(problems.chain.evaluate(data, x))

    return jax.jit(evaluate).lower(leaves, x).as_text()
