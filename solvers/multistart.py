"""Many solves with one program, in lanes that are refilled as soon as one is done.

Each lane holds one solve. All lanes advance together by a few iterations, after which
solves that have ended make room for the next ones. So no solve waits for the slowest
one, memory is bounded by the number of lanes, and one program is compiled for batches
of any size. The first start of each problem comes first, then the second starts, and so
on.

On a mesh of devices each device has its share of the lanes and loops by itself.
"""

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Int

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
"""Number of iterations between two refills of lanes. More of them cost fewer calls, but
let solves that have ended idle longer."""
MAX_VARIABLES_PER_CALL = 2048
"""Approximate number of variables in all lanes of a call on a CPU."""
MAX_ACCELERATOR_LANES = 4096
"""Largest number of lanes on each device that is no CPU."""
SPECULATIVE_STARTS = 2
"""Number of starts that run at once for each solution that is asked for. Higher values
find it sooner, but more of them turn out not to be needed."""
IDLE_LANE = -1
"""Takes the place of a start in a lane that holds none."""
SUCCESS = Status.CONVERGED, Status.FEASIBLE


@dataclass(frozen=True)
class BatchInputs:
    """Starts to solve from: initial paths of problems of one structure."""

    problem: ChainProblem
    """The structure."""
    data_structure: Any
    """Structure of the problems' data, as `jax.tree.flatten` returns it."""
    leaves: Sequence[Any]
    """Arrays of the data; those that vary have a leading axis of problems."""
    is_varied: Sequence[bool]
    """For each leaf, whether it varies."""
    problem_index: Int[np.ndarray, " n"]
    """The problem of each start, ascending: its row in the leaves that vary."""
    initial_paths: Float[np.ndarray, "n T nq"]
    penalties: Float[np.ndarray, " n"]
    """Initial penalty of each start."""

    def first_data(self) -> Any:
        """Return the data of the first start's problem."""
        row = self.problem_index[0]
        pairs = zip(self.leaves, self.is_varied, strict=True)
        leaves = [a[row] if varies else a for a, varies in pairs]
        return jax.tree.unflatten(self.data_structure, leaves)


def solve_multistart(
    inputs: BatchInputs,
    options: Options,
    *,
    on_progress: ProgressCallback = NO_PROGRESS,
    max_solutions: int | None = None,
    program_size: int | None = None,
    mesh: Mesh | None = None,
) -> tuple[Result, Int[np.ndarray, " k"]]:
    """Solve from each initial path.

    Args:
        inputs: problems and starts.
        options: of the solver.
        on_progress: called after each round.
        max_solutions: number of feasible starts of a problem after which its later
            starts are left out; None: all are solved.
        program_size: number of starts that the program is made for, if it is also to
            serve batches of another size; another size compiles another program.
        mesh: devices of this process, along one axis; None: the default device only.

    Returns:
        Arrays with a leading axis k, and the indices of these starts, ascending.

    Raises:
        KeyboardInterrupt: for an interrupt before any round has ended; a later one ends
            the solves, and those not done have the status INTERRUPTED.
    """
    x, problem_index = inputs.initial_paths, inputs.problem_index
    lane_count = _count_lanes(inputs, max_solutions, program_size or len(x), mesh)
    several_workers = is_cpu_backend() and not mesh
    workers = min(os.cpu_count() or 1, -(-len(x) // lane_count))
    workers = workers if several_workers else 1
    lock, stop = threading.Lock(), threading.Event()
    queue = _StartQueue(problem_index, max_solutions)
    idle = empty_state(inputs.problem, inputs.first_data(), x[0], options)
    table = _ResultTable(idle, x)
    advance = _LaneProgram(inputs, options, mesh)
    idle_lanes = advance.repeat(pack(idle, np), lane_count)

    def work(worker: int) -> Iterator[None]:
        starts = np.full(lane_count, IDLE_LANE)
        state = idle_lanes
        while not stop.is_set():
            with lock:
                refilled = queue.refill(starts)
            is_busy = starts != IDLE_LANE
            if not is_busy.any():
                return
            # Idle lanes repeat the start of another lane, since a program has no lanes
            # to leave out.
            solved = np.where(is_busy, starts, starts[is_busy][0])
            state, out = advance(state, solved, refilled)
            ended = np.flatnonzero(is_busy & (out.status != Status.INTERRUPTED))
            with lock:
                table.record(out, ended, starts[ended])
                is_success = np.isin(out.status[ended], SUCCESS)
                queue.count_solutions(starts[ended][is_success].tolist())
                starts[ended] = IDLE_LANE
                table.running[worker] = out, starts.copy()
            yield

    def get_progress() -> Progress:
        with lock:
            table.record_running()
            is_done = ~queue.is_needed(np.arange(len(x)))
            is_done = is_done | (table.result.status != Status.INTERRUPTED)
            return summarize_progress(table.result, int(is_done.sum()), len(x))

    try:
        if workers == 1:
            for _ in work(0):
                on_progress(get_progress)
        else:
            with ThreadPoolExecutor(workers) as pool:
                # A deque of length 0 exhausts an iterator.
                jobs = [pool.submit(deque, work(w), 0) for w in range(workers)]
                try:
                    while wait(jobs, MIN_ROUND_SECONDS).not_done:
                        if table.running:
                            on_progress(get_progress)
                    for job in jobs:
                        job.result()
                finally:
                    stop.set()
    except KeyboardInterrupt:
        if not table.running:
            raise
        table.record_running()
    needed = np.flatnonzero(queue.is_needed(np.arange(len(x))))
    return jax.tree.map(lambda a: a[needed], table.result), needed


def _count_lanes(
    inputs: BatchInputs,
    max_solutions: int | None,
    program_size: int,
    mesh: Mesh | None,
) -> int:
    """Return a number of lanes, a power of two times the number of devices."""
    size = inputs.initial_paths[0].size
    if is_cpu_backend():
        fitting = max(MAX_VARIABLES_PER_CALL // size, 1)
        max_lanes = 1 << fitting.bit_length() - 1
    else:
        max_lanes = MAX_ACCELERATOR_LANES
    wanted = program_size
    if max_solutions is not None and is_cpu_backend():
        problems = int(inputs.problem_index.max()) + 1
        wanted = min(wanted, SPECULATIVE_STARTS * max_solutions * problems)
    devices = mesh.size if mesh else 1
    # Powers of two, so that batches of similar size share a program.
    per_device = -(-wanted // devices)
    return min(max_lanes, 1 << (per_device - 1).bit_length()) * devices


class _StartQueue:
    """Order of the starts, and which of them are still needed."""

    def __init__(
        self, problem_index: Int[np.ndarray, " n"], max_solutions: int | None
    ) -> None:
        n = len(problem_index)
        self.problem_index = problem_index
        self.max_solutions = max_solutions
        # Position of each start among those of its problem, which are neighbours.
        rank = np.arange(n) - np.searchsorted(problem_index, problem_index)
        self.pending = deque(np.argsort(rank, kind="stable").tolist())
        self.last_needed = np.full(problem_index.max() + 1, n)
        """For each problem the last start that is needed."""
        self.solutions: list[list[int]] = [[] for _ in self.last_needed]
        """For each problem its first starts that have ended feasible."""

    def is_needed(self, starts: Any) -> Any:
        """Return which starts are needed still; index or array (n,) to bool."""
        return starts <= self.last_needed[self.problem_index[starts]]

    def refill(self, starts: Int[np.ndarray, " lanes"]) -> list[int]:
        """Put the next starts into lanes that are idle or hold one not needed.

        Args:
            starts: the start in each lane; changed in place.

        Returns:
            The lanes that hold another start now.
        """
        # A lane whose problem has enough solutions by now gives up its start.
        starts[~self.is_needed(starts)] = IDLE_LANE
        refilled = []
        for lane in np.flatnonzero(starts == IDLE_LANE).tolist():
            while starts[lane] == IDLE_LANE and self.pending:
                start = self.pending.popleft()
                if self.is_needed(start):
                    starts[lane] = start
                    refilled.append(lane)
        return refilled

    def count_solutions(self, starts: Sequence[int]) -> None:
        """Note starts that ended feasible; later ones may not be needed then."""
        if not self.max_solutions:
            return
        for start in starts:
            problem = self.problem_index[start]
            first = sorted([*self.solutions[problem], start])[: self.max_solutions]
            self.solutions[problem] = first
            if len(first) == self.max_solutions:
                self.last_needed[problem] = first[-1]


class _LaneProgram:
    """The compiled program that advances all lanes, with arrays on its devices."""

    def __init__(
        self, inputs: BatchInputs, options: Options, mesh: Mesh | None
    ) -> None:
        self.inputs, self.options, self.mesh = inputs, options, mesh
        self.is_varied = tuple(inputs.is_varied)
        pairs = zip(inputs.leaves, self.is_varied, strict=True)
        self.leaves = [a if v else put_sharded(mesh, False, a) for a, v in pairs]

    def repeat(self, state: Any, lane_count: int) -> Any:
        """Return a packed state for each lane, on the devices."""
        return self._shard(
            jax.tree.map(lambda a: np.repeat(np.asarray(a)[None], lane_count, 0), state)
        )

    def __call__(
        self, state: Any, starts: Int[np.ndarray, " lanes"], refilled: Sequence[int]
    ) -> tuple[Any, Result]:
        """Advance all lanes by one round.

        Args:
            state: packed states of all lanes.
            starts: the start in each lane.
            refilled: lanes that begin from their initial path.
        """
        inputs = self.inputs
        is_fresh: Bool[np.ndarray, " lanes"] = np.isin(np.arange(len(starts)), refilled)
        rows = inputs.problem_index[starts]
        pairs = zip(self.leaves, self.is_varied, strict=True)
        state, out = _advance_lanes_compiled(
            inputs.problem,
            inputs.data_structure,
            self.is_varied,
            self.mesh,
            [self._shard(a[rows]) if v else a for a, v in pairs],
            state,
            self._shard(inputs.initial_paths[starts]),
            self._shard(is_fresh),
            self._shard(inputs.penalties[starts]),
            self.options,
        )
        return state, fetch(out)

    def _shard(self, tree: Any) -> Any:
        return put_sharded(self.mesh, True, tree)


class _ResultTable:
    """Results of all starts, INTERRUPTED until they are done."""

    def __init__(
        self, state: SolverState, initial_paths: Float[np.ndarray, "n T nq"]
    ) -> None:
        n, dtype = len(initial_paths), initial_paths.dtype
        rows = n, *state.multipliers.shape
        self.result = Result(
            initial_paths.copy(),
            np.full(rows, np.inf, dtype),
            np.zeros(rows, dtype),
            np.full(n, np.inf, dtype),
            np.full(n, np.inf, dtype),
            np.zeros(n, int),
            np.full(n, int(Status.INTERRUPTED)),
        )
        self.running: dict[int, tuple[Result, np.ndarray]] = {}
        """For each worker its last round, and the start in each lane."""

    def record(self, out: Result, lanes: np.ndarray, starts: np.ndarray) -> None:
        """Copy the results of lanes to those of their starts."""
        if len(lanes):
            pairs = zip(*map(jax.tree.leaves, (self.result, out)), strict=True)
            for all_starts, all_lanes in pairs:
                all_starts[starts] = all_lanes[lanes]

    def record_running(self) -> None:
        """Copy the results of starts that are not done yet."""
        for out, starts in self.running.values():
            busy = np.flatnonzero(starts != IDLE_LANE)
            self.record(out, busy, starts[busy])


def _advance_lanes(
    problem: ChainProblem,
    data_structure: Any,
    is_varied: tuple[bool, ...],
    mesh: Mesh | None,
    leaves: Sequence[jax.Array],
    state: SolverState | Packed,
    x: jax.Array,
    is_fresh: jax.Array,
    mu: jax.Array,
    options: Options,
) -> tuple[SolverState | Packed, Result]:
    """Advance all lanes, or those of one device, by one round."""

    def advance_lane(lane: Any) -> tuple[SolverState | Packed, Result]:
        varied, state, x, is_fresh, mu = lane
        rest = iter(varied)
        pairs = zip(leaves, is_varied, strict=True)
        data = pack(
            jax.tree.unflatten(
                data_structure, [next(rest) if v else a for a, v in pairs]
            ),
            max_shared_size=MAX_SHARED_SIZE,
        )
        packed_options = pack(replace(options, mu=mu))
        state, out = resume(
            problem, data, x, state, is_fresh, packed_options, ITERATIONS_PER_ROUND
        )
        return state, unpack(out)

    def vmap(fn: Any, lanes: Any) -> Any:
        return jax.vmap(fn)(lanes)

    varied = [a for a, v in zip(leaves, is_varied, strict=True) if v]
    # A CPU's single kernel runs lanes one after the other: in a vmapped loop each lane
    # would take as many iterations as the slowest one.
    map_lanes = jax.lax.map if is_cpu_backend() else vmap
    return map_lanes(advance_lane, (varied, state, x, is_fresh, mu))


_advance_lanes_compiled = compile_program(
    _advance_lanes,
    num_static=4,
    is_large=lambda problem, *_: problem.is_large,
    transform=shard_lanes,
)
