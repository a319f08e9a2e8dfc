"""Long solves in rounds, between which progress is reported and interrupts are heard.

A round is one call of a compiled program, which advances by some number of iterations.
This number decides how long a round takes, but not what the solve results in.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np
from jaxtyping import Float, PyTree

from posewise.compilation.arrays import Array
from posewise.compilation.packed_pytree import fetch, pack
from posewise.compilation.progress import write_line

from .augmented_lagrangian import NEWTON, Result, initial_state, resume_compiled, solve
from .chain_problem import ChainProblem
from .deadline import check_deadline
from .memo import Memo
from .options import Options
from .state import SolverState
from .status import Status

MAX_UNINTERRUPTED_VARIABLES = 512
"""Number of variables up to which a problem is solved in one round, as that takes
little time. Higher values delay interrupts."""
FIRST_ROUND_VARIABLE_ITERATIONS = 20000
"""Number of variables times iterations in the first round of larger problems. More
delay the first report and interrupts."""

REPORT_INTERVAL = 2.0
"""Time between two lines on stderr, and from the first round to the first line [s]. A
longer one writes fewer lines."""
MIN_ROUND_SECONDS = 0.25
"""Duration below which the next round has twice as many iterations [s]. Longer rounds
have less overhead, but delay reports and interrupts."""

MAX_PROBLEMS = 64
"""Number of problems whose arrays are kept, the last used (count). Fewer are made again
more often."""
_ZERO_MULTIPLIERS: Memo[np.ndarray] = Memo(MAX_PROBLEMS)
_EMPTY_STATES: Memo[Any] = Memo(MAX_PROBLEMS)


class Progress(NamedTuple):
    """Progress of one solve, or of several."""

    iterations: int
    """Number of iterations; the largest one of several solves, 0 for those of workers,
    who tell only when they have ended."""
    violation: float
    """Largest violation in scaled units; of several solves that of the best one."""
    cost: float
    """Sum of squares; of several solves that of the best one."""
    finished: int
    """Number of solves that have ended."""
    solves: int
    """Number of all solves."""

    def __str__(self) -> str:
        many = f"{self.finished} of {self.solves} solves done"
        if self.iterations == 0 and self.solves > 1:
            return many
        best = (
            f"iteration {self.iterations}, violation {self.violation:.2g}, cost"
            f" {self.cost:.4g}"
        )
        return f"{many}, the best: {best}" if self.solves > 1 else best

    def pace(self, seconds: float) -> str:
        """Return how many solves end in a second, and the time that the rest takes.

        Args:
            seconds: time in which those that are finished have ended [s].
        """
        if self.solves == 1 or not 0 < self.finished < self.solves:
            return ""
        # Since the beginning: later solves are like earlier ones, in any order.
        rate = self.finished / seconds
        to_go = timedelta(seconds=round((self.solves - self.finished) / rate))
        digits = f"{rate:.3g}" if rate < 100 else f"{rate:.0f}"
        return f"; {digits} a second, {to_go} to go"


ProgressLike = bool | Callable[[Progress], object]
"""Choice of the output of progress: True: stderr, False: none, or a function."""

ProgressCallback = Callable[[Callable[[], Progress]], None]
"""A function that is called after each round, with a function to get the progress."""


class ProgressReporter:
    """A `ProgressCallback` that prints progress on stderr, or calls a function.

    Args:
        progress: True: print it, False: do not, a function: call it.
    """

    def __init__(self, progress: ProgressLike) -> None:
        self.progress = progress
        self.began = time.perf_counter()
        self.last_report: float | None = None

    def __call__(self, get_progress: Callable[[], Progress]) -> None:
        """Report the progress after a round, if that is due."""
        now = time.perf_counter()
        if self.last_report is None:
            # The first round may have spent its time on compilation.
            self.last_report = now
        if callable(self.progress):
            self.progress(get_progress())
        elif self.progress and now - self.last_report > REPORT_INTERVAL:
            seconds = now - self.began
            progress = get_progress()
            pace = progress.pace(seconds)
            write_line(f"posewise, {seconds:.0f} s: {progress}{pace}")
            self.last_report = now


State = TypeVar("State")
"""State of a solve, or of several, that the next round goes on from."""

NO_PROGRESS = ProgressReporter(False)


def solve_interruptible(
    problem: ChainProblem,
    data: PyTree,
    x: Float[jax.Array | np.ndarray, "T nq"],
    options: Options,
    on_progress: ProgressCallback = NO_PROGRESS,
    multipliers: Float[np.ndarray, " N"] | None = None,
) -> Result:
    """Solve from one initial path, in rounds if the problem is large.

    Args:
        problem: the structure of the problem.
        data: its numbers.
        x: the initial path.
        options: of the solver.
        on_progress: called after each round but the last.
        multipliers: those of a similar problem's solution; None: zeros.

    Raises:
        KeyboardInterrupt: for an interrupt before the first round has ended; a later
            one ends the solve with the status INTERRUPTED.
    """
    size = problem.slices * problem.nv
    options = _options_as_arrays(options, x.dtype)
    if multipliers is None:
        # Given as zeros, so that one program serves both kinds of solves.
        multipliers = zero_multipliers(problem, data, x)
    if size <= MAX_UNINTERRUPTED_VARIABLES:
        result: Result = solve(problem, data, x, options, multipliers)
        return result
    # A fresh solve replaces the state that it is given, so one empty state of the right
    # shapes serves all solves of a problem.
    # Making one takes a millisecond.
    begin = _EMPTY_STATES.get(
        (problem, x.dtype),
        lambda: jax.device_put(pack(empty_state(problem, data, x, options), np)),
    )

    def run_round(state: Any, is_fresh: bool, iterations: int) -> tuple[Any, Result]:
        state, out = resume_compiled(
            problem, data, x, state, is_fresh, options, iterations, multipliers
        )
        return state, fetch(out)

    # The time of an iteration grows with the number of variables.
    iterations = max(FIRST_ROUND_VARIABLE_ITERATIONS // size, 1)
    return run_in_rounds(run_round, begin, iterations, on_progress)


def empty_state(
    problem: ChainProblem, data: PyTree, x: Float[Array, "T nq"], options: Options
) -> SolverState:
    """Return a state of a problem's shapes that is done, without compiling anything."""
    shapes = jax.eval_shape(partial(initial_state, problem, NEWTON), data, x, options)
    zeros = jax.tree.map(lambda s: np.zeros(s.shape, s.dtype), shapes)
    state: SolverState = zeros._replace(status=np.asarray(int(Status.ITERATION_LIMIT)))
    return state


def zero_multipliers(
    problem: ChainProblem, data: PyTree, x: Float[jax.Array | np.ndarray, "T nq"]
) -> Float[np.ndarray, " N"]:
    """Return a zero for each row."""

    def zeros() -> np.ndarray:
        rows = [np.prod(b.y.shape, dtype=int) for b in problem.shapes(data, x)]
        return np.zeros(int(np.sum(rows)), x.dtype)

    return _ZERO_MULTIPLIERS.get((problem, x.dtype), zeros)


@lru_cache(maxsize=MAX_PROBLEMS)
def _options_as_arrays(options: Options, dtype: np.dtype) -> Options:
    """Return the same object for equal options, because packing is cached by object."""
    arrays: Options = jax.tree.map(lambda v: np.asarray(v, dtype), options)
    return arrays


def run_in_rounds(
    run_round: Callable[[State, bool, int], tuple[State, Result]],
    state: State,
    iterations: int,
    on_progress: ProgressCallback,
) -> Result:
    """Run rounds until all solves are done, or an interrupt or time limit ends them.

    Args:
        run_round: from a state, whether to begin afresh, and a number of iterations to
            the next state and its result; solves that are not done are INTERRUPTED.
        state: any state of the right shapes.
        iterations: of the first round.
        on_progress: called after every round except the last one.

    Raises:
        KeyboardInterrupt: for an interrupt before the first round has ended.
    """
    out: Result | None = None
    try:
        while True:
            began = time.perf_counter()
            state, out = run_round(state, out is None, iterations)
            is_done = np.asarray(out.status) != Status.INTERRUPTED
            if is_done.all():
                return out
            # Doubling finds a suitable length within a few rounds, whatever an
            # iteration of this problem takes.
            if time.perf_counter() - began < MIN_ROUND_SECONDS:
                iterations *= 2
            finished = int(is_done.sum())
            on_progress(partial(summarize_progress, out, finished, is_done.size))
            check_deadline()
    except KeyboardInterrupt:
        # The last round's result is a valid point, which its status marks as
        # unfinished.
        if out is None:
            raise
        return out


def summarize_progress(out: Result, finished: int, solves: int) -> Progress:
    """Return the progress of the solves of a result."""
    violation, cost = np.ravel(out.violation), np.ravel(out.cost)
    # The solve with the smallest violation, and among equal ones the lowest cost.
    best = np.lexsort((cost, violation))[0]
    return Progress(
        int(np.max(out.iterations)),
        float(violation[best]),
        float(cost[best]),
        finished,
        solves,
    )
