"""Many solves with one program, in lanes that are refilled as soon as one is done.

Each lane holds one solve; all lanes advance together for a few passes, then those that
are done give way to the next ones. So no solve waits for the slowest, memory is bounded
by the number of lanes, and one program is compiled whatever the size of the batch.
The first solve of each owner comes first, then the second ones, and so on.

On a mesh of devices each has its share of the lanes, and goes through rounds by itself.
"""

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Int

from posewise.compilation import compile_program
from posewise.compilation.packed_pytree import (
    MAX_SHARED_SIZE,
    Packed,
    fetch,
    pack,
    unpack,
)
from posewise.compilation.sharding import put_sharded, shard_lanes
from posewise.compilation.single_kernel import is_cpu_backend

from .augmented_lagrangian import Result, resume
from .chain_problem import ChainProblem
from .interruptible import (
    MIN_ROUND_SECONDS,
    NO_PROGRESS,
    Progress,
    ProgressCallback,
    empty_state,
    summarize_progress,
)
from .options import Options
from .state import SolverState
from .status import Status

ITERATIONS_PER_ROUND = 8
"""Between two refills."""
MAX_VARIABLES_PER_CALL = 2048
"""About so many variables are advanced at once on a CPU."""
SPECULATIVE_STARTS = 2
"""So many solves are begun for each that is enough: the rest may not be needed."""
IDLE_LANE = -1
"""In place of a solve: the lane has none."""
SUCCESS = Status.CONVERGED, Status.FEASIBLE


def solve_multistart(
    problem: ChainProblem,
    tree: Any,
    leaves: Sequence[Any],
    varied: Sequence[bool],
    owner: Int[np.ndarray, " n"],
    x: Float[np.ndarray, "n T nq"],
    mu: Float[np.ndarray, " n"],
    options: Options,
    watch: ProgressCallback = NO_PROGRESS,
    enough: int | None = None,
    like: int | None = None,
    mesh: Mesh | None = None,
) -> tuple[Result, Int[np.ndarray, " k"]]:
    """Solve from each initial path.

    Args:
        problem: the structure that all share.
        tree: the structure of the problem's data, as `jax.tree.flatten` gives it.
        leaves: its arrays; those that vary have a leading axis.
        varied: which do.
        owner: for each solve the row of the varied leaves.
        x: initial paths.
        mu: the penalty that each begins with.
        options: of the solver.
        watch: is told how far all have come.
        enough: of each owner's solves those after so many feasible ones are left out;
            None: none is.
        like: how many solves the program is for; others are compiled anew.
        mesh: of devices of this process, along one axis; None: only one takes part.

    Returns:
        Arrays with a leading axis k, and which solves these are, in their order.

    Raises:
        KeyboardInterrupt: for an interrupt before anything was done; later ones end
            the solves, with the status INTERRUPTED where they were not done.
    """
    n, size = len(x), x[0].size
    most = (
        1 << max(MAX_VARIABLES_PER_CALL // size, 1).bit_length() - 1
        if is_cpu_backend()
        else 4096
    )
    wanted = count = like or n
    if enough is not None and is_cpu_backend():
        wanted = min(count, SPECULATIVE_STARTS * enough * (int(owner.max()) + 1))
    devices = mesh.size if mesh else 1
    share = -(-wanted // devices)
    lanes = min(most, 1 << (share - 1).bit_length()) * devices
    several = is_cpu_backend() and not mesh
    workers = min(os.cpu_count() or 1, -(-n // lanes)) if several else 1
    turn = np.arange(n) - np.searchsorted(owner, owner)
    pending = deque(np.argsort(turn, kind="stable").tolist())
    last = np.full(owner.max() + 1, n)  # of each owner's solves that are needed
    found: list[list[int]] = [[] for _ in last]
    needed = lambda solves: solves <= last[owner[solves]]
    lock, stop = threading.Lock(), threading.Event()
    flags = tuple(varied)
    run = partial(_advance_lanes_compiled, problem, tree, flags, mesh)
    split = partial(put_sharded, mesh, True)
    leaves = [
        a if v else put_sharded(mesh, False, a)
        for a, v in zip(leaves, flags, strict=True)
    ]
    pick = lambda at: [
        split(a[at]) if v else a for a, v in zip(leaves, flags, strict=True)
    ]
    first = [a[owner[0]] if v else a for a, v in zip(leaves, flags, strict=True)]
    one = jax.tree.unflatten(tree, first)
    still = empty_state(problem, one, x[0], options)
    wide = lambda a: np.repeat(np.asarray(a)[None], lanes, 0)
    empty = split(jax.tree.map(wide, pack(still, np)))
    table = _ResultTable(still, x)

    def work(worker: int) -> Iterator[None]:
        holds = np.full(lanes, IDLE_LANE)
        state = empty
        while not stop.is_set():
            with lock:
                holds[~needed(holds)] = IDLE_LANE
                fresh = []
                for k in np.flatnonzero(holds == IDLE_LANE).tolist():
                    while holds[k] == IDLE_LANE and pending:
                        if needed(h := pending.popleft()):
                            holds[k] = h
                            fresh.append(k)
            busy = holds != IDLE_LANE
            if not busy.any():
                return
            # idle lanes repeat a solve of another lane, already done or not
            at = np.where(busy, holds, holds[busy][0])
            new = np.isin(np.arange(lanes), fresh)
            lanewise = map(split, (x[at], new, mu[at]))
            state, out = run(pick(owner[at]), state, *lanewise, options)
            out = fetch(out)
            over = np.flatnonzero(busy & (out.status != Status.INTERRUPTED))
            with lock:
                table.record(out, over, holds[over])
                good = holds[over][np.isin(out.status[over], SUCCESS)]
                for k in good.tolist() if enough else ():
                    found[owner[k]] = sorted([*found[owner[k]], k])[:enough]
                    if len(found[owner[k]]) == enough:
                        last[owner[k]] = found[owner[k]][-1]
                holds[over] = IDLE_LANE
                table.running[worker] = out, holds.copy()
            yield

    def look() -> Progress:
        with lock:
            table.record_running()
            left_out = ~needed(np.arange(n))
            finished = left_out | (table.result.status != Status.INTERRUPTED)
            return summarize_progress(table.result, int(finished.sum()), n)

    try:
        if workers == 1:
            for _ in work(0):
                watch(look)
        else:
            with ThreadPoolExecutor(workers) as pool:
                jobs = [pool.submit(deque, work(w), 0) for w in range(workers)]
                try:
                    while wait(jobs, MIN_ROUND_SECONDS).not_done:
                        if table.running:
                            watch(look)
                    for job in jobs:
                        job.result()
                finally:
                    stop.set()
    except KeyboardInterrupt:
        if not table.running:
            raise
        table.record_running()
    kept = np.flatnonzero(needed(np.arange(n)))
    return jax.tree.map(lambda a: a[kept], table.result), kept


class _ResultTable:
    """Where all solves have come to; interrupted, until they are done."""

    def __init__(self, like: SolverState, x: np.ndarray) -> None:
        n, dtype = len(x), x.dtype
        rows = n, *like.multipliers.shape
        self.result = Result(
            x.copy(),
            np.full(rows, np.inf, dtype),
            np.zeros(rows, dtype),
            np.full(n, np.inf, dtype),
            np.full(n, np.inf, dtype),
            np.zeros(n, int),
            np.full(n, int(Status.INTERRUPTED)),
        )
        self.running: dict[int, tuple[Result, np.ndarray]] = {}
        """For each worker the last round, and the solve in each lane."""

    def record(self, out: Result, lanes: np.ndarray, solves: np.ndarray) -> None:
        """Take over the lanes of a round as results of solves."""
        if len(lanes):
            pairs = zip(*map(jax.tree.leaves, (self.result, out)), strict=True)
            for all, some in pairs:
                all[solves] = some[lanes]

    def record_running(self) -> None:
        """Take over what is not done yet."""
        for out, holds in self.running.values():
            busy = np.flatnonzero(holds != IDLE_LANE)
            self.record(out, busy, holds[busy])


def _advance_lanes(
    problem: ChainProblem,
    tree: Any,
    varied: tuple[bool, ...],
    mesh: Mesh | None,
    leaves: Sequence[jax.Array],
    state: SolverState | Packed,
    x: jax.Array,
    fresh: jax.Array,
    mu: jax.Array,
    options: Options,
) -> tuple[SolverState | Packed, Result]:
    """One round of all lanes, or of those of one device."""

    def one(lane: Any) -> tuple[SolverState | Packed, Result]:
        own, state, x, fresh, mu = lane
        mine = iter(own)
        every = [next(mine) if v else a for a, v in zip(leaves, varied, strict=True)]
        data = pack(jax.tree.unflatten(tree, every), max_shared_size=MAX_SHARED_SIZE)
        numbers = pack(replace(options, mu=mu))
        state, out = resume(
            problem, data, x, state, fresh, numbers, ITERATIONS_PER_ROUND
        )
        return state, unpack(out)

    own = [a for a, v in zip(leaves, varied, strict=True) if v]
    # in one kernel a loop over lanes is faster than lanes that wait for each other
    every = jax.lax.map if is_cpu_backend() else lambda f, lanes: jax.vmap(f)(lanes)
    return every(one, (own, state, x, fresh, mu))


_advance_lanes_compiled = compile_program(
    _advance_lanes,
    num_static=4,
    is_large=lambda problem, *_: problem.is_large,
    transform=shard_lanes,
)
