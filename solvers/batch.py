"""Many solves with one program, in lanes that are refilled as soon as one is done.

Each lane holds one solve; all lanes advance together for a few passes, then those that
are done give way to the next ones. So no solve waits for the slowest, memory is bounded
by the number of lanes, and one program is compiled whatever the size of the batch.
The first solve of each owner comes first, then the second ones, and so on.
"""

import os
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .augmented_lagrangian import (
    ChainProblem,
    Options,
    Result,
    State,
    advance,
    result,
    start,
)
from .status import Status

PASSES = 8
"""Between two refills."""
VARIABLES = 2048
"""About so many variables are advanced at once on a CPU."""
FOUND = Status.CONVERGED, Status.FEASIBLE


def solve_many(
    problem: ChainProblem,
    tree: Any,
    leaves: Sequence[Any],
    varied: Sequence[bool],
    owner: Int[np.ndarray, " n"],
    x: Float[np.ndarray, "n T nq"],
    options: Options,
    one_is_enough: bool = False,
) -> tuple[Result, Int[np.ndarray, " k"]]:
    """Solve from each initial path.

    Args:
        problem: the structure that all share.
        tree: the structure of the problem's data, as `jax.tree.flatten` gives it.
        leaves: its arrays; those that vary have a leading axis.
        varied: which do.
        owner: for each solve the row of the varied leaves.
        x: initial paths.
        options: of the solver.
        one_is_enough: of each owner's solves those after its first feasible one are
            left out.

    Returns:
        Arrays with a leading axis k, and which solves these are, in their order.
    """
    n, size = len(x), x[0].size
    on_cpu = jax.default_backend() == "cpu"
    most = 1 << max(VARIABLES // size, 1).bit_length() - 1 if on_cpu else 4096
    lanes = min(most, 1 << (n - 1).bit_length())
    workers = min(os.cpu_count() or 1, -(-n // lanes)) if on_cpu else 1
    turn = np.arange(n) - np.searchsorted(owner, owner)
    pending = deque(np.argsort(turn, kind="stable").tolist())
    found: list[Result | None] = [None] * n
    last = np.full(owner.max() + 1, n)  # of each owner's solves that are needed
    lock = threading.Lock()
    flags = tuple(varied)
    run = partial(_lanes, problem, tree, flags)
    pick = lambda at: [a[at] if v else a for a, v in zip(leaves, flags, strict=True)]
    one = jax.tree.unflatten(tree, pick(owner[0]))
    shapes = _begin.eval_shape(problem, one, x[0], options)
    empty = jax.tree.map(lambda s: np.zeros((lanes, *s.shape), s.dtype), shapes)
    empty = empty._replace(done=np.ones(lanes, bool))

    def work() -> None:
        holds: list[int | None] = [None] * lanes
        state = empty
        while True:
            fresh = []
            with lock:
                needed = lambda h: h is not None and h <= last[owner[h]]
                holds = [h if needed(h) else None for h in holds]
                for k in range(lanes):
                    while holds[k] is None and pending:
                        if needed(h := pending.popleft()):
                            holds[k] = h
                            fresh.append(k)
            if all(h is None for h in holds):
                return
            # idle lanes repeat a solve of another lane, already done or not
            spare = next(h for h in holds if h is not None)
            at = np.array([spare if h is None else h for h in holds])
            new = np.isin(np.arange(lanes), fresh)
            state, out = run(pick(owner[at]), state, x[at], new, options)
            done = np.asarray(state.done) | (
                np.asarray(state.iterations) > options.max_iterations
            )
            if done.any():
                out = jax.tree.map(np.asarray, out)
            for k in np.flatnonzero(done).tolist():
                h = holds[k]
                if h is not None:
                    found[h] = jax.tree.map(lambda a, k=k: a[k], out)
                    holds[k] = None
                    if one_is_enough and out.status[k] in FOUND:
                        with lock:
                            last[owner[h]] = min(last[owner[h]], h)

    if workers == 1:
        work()
    else:
        with ThreadPoolExecutor(workers) as pool:
            for f in [pool.submit(work) for _ in range(workers)]:
                f.result()
    kept = np.flatnonzero(np.arange(n) <= last[owner])
    return jax.tree.map(lambda *a: np.stack(a), *(found[h] for h in kept)), kept


_begin = jax.jit(start, static_argnums=0)
"""Traced once for each structure of problem."""


@partial(jax.jit, static_argnums=(0, 1, 2))
def _lanes(
    problem: ChainProblem,
    tree: Any,
    varied: tuple[bool, ...],
    leaves: Sequence[jax.Array],
    state: State,
    x: jax.Array,
    fresh: jax.Array,
    options: Options,
) -> tuple[State, Result]:
    axes = [0 if v else None for v in varied]

    def one(leaves, state, x, fresh):
        data = jax.tree.unflatten(tree, leaves)
        begin = start(problem, data, x, options)
        state = jax.tree.map(lambda a, b: jnp.where(fresh, a, b), begin, state)
        state = advance(problem, data, state, options, PASSES)
        return state, result(state, options)

    return jax.vmap(one, (axes, 0, 0, 0))(leaves, state, x, fresh)
