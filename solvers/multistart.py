"""Many solves with one program, in lanes that are refilled as soon as one is done.

Each lane holds one solve. All lanes advance together by a few iterations, after which
solves that have ended make room for the next ones. So no solve waits for the slowest
one, memory is bounded by the number of lanes, and one program is compiled for batches
of any size. The first start of each problem comes first, then the second starts, and so
on.

On a mesh of devices each device has its share of the lanes and loops by itself.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Int

from posewise.compilation import compile_program
from posewise.compilation.backend import is_cpu_backend
from posewise.compilation.packed_pytree import (
    MAX_SHARED_SIZE,
    Packed,
    fetch,
    pack,
    unpack,
)
from posewise.compilation.sharding import put_sharded, shard_lanes
from posewise.compilation.threads import count_cores

from .augmented_lagrangian import Result, resume
from .chain_problem import ChainProblem
from .deadline import check_deadline
from .interruptible import (
    MAX_PROBLEMS,
    MIN_ROUND_SECONDS,
    NO_PROGRESS,
    Progress,
    ProgressCallback,
    empty_state,
    summarize_progress,
)
from .lane_schedule import IDLE_INDEX, LaneSchedule, StartQueue
from .memo import Memo
from .options import Number, Options
from .state import SolverState
from .status import Status
from .workers import run_workers

ITERATIONS_PER_ROUND = 8
"""Number of iterations between two refills of lanes. More of them cost fewer calls, but
let solves that have ended idle longer."""
MAX_VARIABLES_PER_CALL = 2048
"""Approximate number of variables in all lanes of a call on a CPU. More cost fewer
calls, but each takes longer."""
MAX_ACCELERATOR_LANES = 4096
"""Largest number of lanes on each device that is no CPU. More need more memory."""
SPECULATIVE_STARTS = 2
"""Number of starts that run at once for each solution that is asked for. Higher values
find it sooner, but more of them turn out not to be needed."""
_IDLE_STATES: Memo[SolverState | Packed] = Memo(MAX_PROBLEMS)


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
        KeyboardInterrupt: for an interrupt before any round has ended; a later one, or
            a deadline, ends the solves, and those not done are INTERRUPTED.
    """
    n = len(inputs.initial_paths)
    lane_count = _count_lanes(inputs, max_solutions, program_size or n, mesh)
    has_threads = is_cpu_backend() and not mesh
    workers = min(count_cores(), -(-n // lane_count)) if has_threads else 1
    program = _LaneProgram(inputs, options, mesh)
    queue = StartQueue(inputs.problem_index, max_solutions)
    results = _unsolved_results(inputs, unpack(program.idle_state))
    schedule = LaneSchedule(queue, results, workers, lane_count)

    def get_progress() -> Progress:
        results, is_done = schedule.read()
        return summarize_progress(results, int(is_done.sum()), n)

    def report() -> None:
        if schedule.has_begun:
            on_progress(get_progress)
            check_deadline()

    # Lanes of a CPU run one after the other, so that none of them waits for a long
    # one; but a start must not go on for long once it turns out not to be needed.
    lengthens = is_cpu_backend() and max_solutions is None
    try:
        rounds = [_run_rounds(program, schedule, w, lengthens) for w in range(workers)]
        run_workers(rounds, report, MIN_ROUND_SECONDS)
    except KeyboardInterrupt:
        if not schedule.has_begun:
            raise
    return schedule.needed_results()


def _run_rounds(
    program: "_LaneProgram", schedule: LaneSchedule, worker: int, lengthens: bool
) -> Iterator[None]:
    """Run the rounds of one worker until there is no start for its lanes.

    Args:
        program: of the lanes.
        schedule: the starts in them.
        worker: index of the worker.
        lengthens: whether rounds of little time are followed by longer ones.
    """
    iterations = ITERATIONS_PER_ROUND
    state = program.idle_lanes(schedule.lanes.shape[1])
    while True:
        starts, is_fresh = schedule.refill(worker)
        is_busy = starts != IDLE_INDEX
        if not is_busy.any():
            return
        # Idle lanes repeat the start of another lane, since a program has no lanes to
        # leave out.
        repeated = np.where(is_busy, starts, starts[is_busy][0])
        began = time.perf_counter()
        state, out = program(state, repeated, is_fresh, iterations)
        if lengthens and time.perf_counter() - began < MIN_ROUND_SECONDS:
            iterations *= 2
        schedule.record(worker, out)
        yield


def _unsolved_results(inputs: BatchInputs, state: SolverState) -> Result:
    """Return results of all starts, at their initial paths."""
    n, dtype = len(inputs.initial_paths), inputs.initial_paths.dtype
    rows = n, *state.lagrangian.multipliers.shape
    return Result(
        inputs.initial_paths.copy(),
        np.full(rows, np.inf, dtype),
        np.zeros(rows, dtype),
        np.full(n, np.inf, dtype),
        np.full(n, np.inf, dtype),
        np.full(n, np.inf, dtype),
        np.zeros(n, int),
        np.full(n, int(Status.INTERRUPTED)),
        np.ones(n, dtype),
    )


def _count_lanes(
    inputs: BatchInputs,
    max_solutions: int | None,
    program_size: int,
    mesh: Mesh | None,
) -> int:
    """Return a number of lanes, a power of two times the number of devices."""
    size: int = inputs.initial_paths[0].size
    if is_cpu_backend():
        fitting = max(MAX_VARIABLES_PER_CALL // size, 1)
        max_lanes = 1 << fitting.bit_length() - 1
    else:
        max_lanes = MAX_ACCELERATOR_LANES
    num_lanes = program_size
    # Lanes of a CPU run one after the other: more of them would delay the solutions.
    if max_solutions is not None and is_cpu_backend():
        problems = int(inputs.problem_index.max()) + 1
        num_lanes = min(num_lanes, SPECULATIVE_STARTS * max_solutions * problems)
    devices = mesh.size if mesh else 1
    # Powers of two, so that batches of similar size share a program.
    per_device = -(-num_lanes // devices)
    return min(max_lanes, 1 << (per_device - 1).bit_length()) * devices


class _LaneProgram:
    """The compiled program that advances all lanes, with arrays on its devices."""

    def __init__(
        self, inputs: BatchInputs, options: Options, mesh: Mesh | None
    ) -> None:
        self.inputs, self.options, self.mesh = inputs, options, mesh
        self.is_varied = tuple(inputs.is_varied)
        pairs = zip(inputs.leaves, self.is_varied, strict=True)
        self.leaves = [a if v else put_sharded(mesh, False, a) for a, v in pairs]
        x = inputs.initial_paths[0]
        # Making one takes 10 ms of tracing.
        self.idle_state: SolverState | Packed = _IDLE_STATES.get(
            (inputs.problem, x.shape, x.dtype),
            lambda: pack(
                empty_state(inputs.problem, inputs.first_data(), x, options), np
            ),
        )
        """State of a lane that has ended, packed NumPy arrays."""

    def idle_lanes(self, lane_count: int) -> Any:
        """Return packed idle states of lanes, on the devices."""
        return self._shard(
            jax.tree.map(
                lambda a: np.repeat(np.asarray(a)[None], lane_count, 0), self.idle_state
            )
        )

    def __call__(
        self,
        state: Any,
        starts: Int[np.ndarray, " lanes"],
        is_fresh: Bool[np.ndarray, " lanes"],
        iterations: int,
    ) -> tuple[Any, Result]:
        """Advance all lanes by one round.

        Args:
            state: packed states of all lanes.
            starts: the start in each lane.
            is_fresh: which lanes begin from their initial path.
            iterations: number of iterations in the round.
        """
        inputs = self.inputs
        # `take` is several times faster than an index.
        rows = inputs.problem_index.take(starts)
        pairs = zip(self.leaves, self.is_varied, strict=True)
        state, out = _advance_lanes_compiled(
            inputs.problem,
            inputs.data_structure,
            self.is_varied,
            self.mesh,
            [self._shard(a.take(rows, 0)) if v else a for a, v in pairs],
            state,
            self._shard(inputs.initial_paths.take(starts, 0)),
            self._shard(is_fresh),
            self._shard(inputs.penalties.take(starts)),
            self.options,
            iterations,
        )
        return state, fetch(out)

    def _shard(self, tree: Any) -> Any:
        return put_sharded(self.mesh, True, tree)


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
    iterations: Number,
) -> tuple[SolverState | Packed, Result]:
    """Advance all lanes, or those of one device, by one round."""

    def advance_lane(lane: Any) -> tuple[SolverState | Packed, Result]:
        varied, state, x, is_fresh, mu = lane
        varied_leaves = iter(varied)
        pairs = zip(leaves, is_varied, strict=True)
        data = pack(
            jax.tree.unflatten(
                data_structure, [next(varied_leaves) if v else a for a, v in pairs]
            ),
            max_shared_size=MAX_SHARED_SIZE,
        )
        packed_options = pack(replace(options, mu=mu))
        state, out = resume(
            problem,
            data,
            x,
            state,
            is_fresh,
            packed_options,
            iterations,
            known_length=None if is_cpu_backend() else ITERATIONS_PER_ROUND,
        )
        return state, unpack(out)

    def vmap(fn: Any, lanes: Any) -> Any:
        return jax.vmap(fn)(lanes)

    varied = [a for a, v in zip(leaves, is_varied, strict=True) if v]
    # A CPU's single kernel runs lanes one after the other: in a vmapped loop each lane
    # would take as many iterations as the slowest one.
    map_lanes = jax.lax.map if is_cpu_backend() else vmap
    states: tuple[SolverState | Packed, Result] = map_lanes(
        advance_lane, (varied, state, x, is_fresh, mu)
    )
    return states


_advance_lanes_compiled = compile_program(
    _advance_lanes,
    num_static=4,
    is_large=lambda problem, *_: problem.is_large,
    transform=shard_lanes,
)
