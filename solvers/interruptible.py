"""Long solves go in rounds: between two, progress is shown and an interrupt is heard.

A round is a call of a compiled program that advances by so many iterations; how many
decides nothing but how long a round takes.
"""

import sys
import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from posewise.compilation.packed_pytree import fetch, pack

from .augmented_lagrangian import Result, initial_state, resume_compiled, solve
from .chain_problem import ChainProblem
from .options import Options
from .state import SolverState
from .status import Status

MAX_UNINTERRUPTED_VARIABLES = 512
"""Problems of no more variables are solved in one round: it takes little time."""
FIRST_ROUND_WORK = 20000
"""Variables times iterations in the first round of all others."""

REPORT_INTERVAL = 2.0
"""Seconds between two lines, and from the first round to the first one."""
MIN_ROUND_SECONDS = 0.25
"""Rounds shorter than this [s] grow."""


class Progress(NamedTuple):
    """How far one solve has come, or several."""

    iterations: int
    """Of several solves the most."""
    violation: float
    """The largest, in scaled units; of several solves that of the best one."""
    cost: float
    """Sum of squares; of several solves that of the best one."""
    finished: int
    """Solves that have ended."""
    solves: int
    """All solves."""

    def __str__(self) -> str:
        many = f"{self.finished} of {self.solves} solves done, the best: "
        return (
            f"{many if self.solves > 1 else ''}iteration {self.iterations}, violation"
            f" {self.violation:.2g}, cost {self.cost:.4g}"
        )


ProgressCallback = Callable[[Callable[[], Progress]], None]
"""Is called after each round, with a function that tells how far it is."""


class ProgressReporter:
    """Shows progress: True: on stderr, False: not, else a function gets `Progress`."""

    def __init__(self, progress: bool | Callable[[Progress], Any]) -> None:
        self.progress = progress
        self.began = time.perf_counter()
        self.shown: float | None = None

    def __call__(self, look: Callable[[], Progress]) -> None:
        """After each round; `look` tells how far it is, if anyone wants to know."""
        now = time.perf_counter()
        if self.shown is None:
            self.shown = now  # the first round may have been compiled
        if callable(self.progress):
            self.progress(look())
        elif self.progress and now - self.shown > REPORT_INTERVAL:
            print(f"posewise, {now - self.began:.0f} s: {look()}", file=sys.stderr)
            self.shown = now


NO_PROGRESS = ProgressReporter(False)


def solve_interruptible(
    problem: ChainProblem,
    data: Any,
    x: Float[jax.Array | np.ndarray, "T nq"],
    options: Options,
    watch: ProgressReporter = NO_PROGRESS,
) -> Result:
    """`solve`, shown and open to interrupts where it may take long."""
    size = problem.slices * problem.nv
    options = _options_as_arrays(options, x.dtype)
    if size <= MAX_UNINTERRUPTED_VARIABLES:
        return solve(problem, data, x, options)
    spare = _empty_state_slot(problem, x.dtype)
    if not spare:
        spare.append(jax.device_put(pack(empty_state(problem, data, x, options), np)))

    def run(state: Any, fresh: bool, passes: int) -> tuple[Any, Result]:
        state, out = resume_compiled(problem, data, x, state, fresh, options, passes)
        return state, fetch(out)

    return run_in_rounds(run, spare[0], max(FIRST_ROUND_WORK // size, 1), watch)


def empty_state(
    problem: ChainProblem, data: Any, x: Any, options: Options
) -> SolverState:
    """A state of a problem's shapes that is done; nothing is compiled for it."""
    shapes = jax.eval_shape(partial(initial_state, problem), data, x, options)
    zeros = jax.tree.map(lambda s: np.zeros(s.shape, s.dtype), shapes)
    return zeros._replace(done=np.ones((), bool))


@lru_cache(maxsize=64)
def _options_as_arrays(options: Options, dtype: Any) -> Options:
    """The same object again, as what is sealed is known by that."""
    return jax.tree.map(lambda v: np.asarray(v, dtype), options)


@lru_cache(maxsize=64)
def _empty_state_slot(problem: Any, dtype: Any) -> list[Any]:
    """Where a state of a problem's shapes is kept: to make one takes a millisecond."""
    return []


def run_in_rounds(
    run: Callable[[Any, bool, int], tuple[Any, Result]],
    state: Any,
    passes: int,
    watch: ProgressReporter,
) -> Result:
    """Run until all is done, or until an interrupt.

    Args:
        run: from a state, whether it is to be made afresh, and a number of iterations
            to the state and the result after them, INTERRUPTED what is not done.
        state: anything of the right shapes.
        passes: iterations of the first round.
        watch: is told of every round but the last.

    Raises:
        KeyboardInterrupt: for an interrupt before the first round has ended.
    """
    out: Result | None = None
    try:
        while True:
            began = time.perf_counter()
            state, out = run(state, out is None, passes)
            done = np.asarray(out.status) != Status.INTERRUPTED
            if done.all():
                return out
            passes *= 2 if time.perf_counter() - began < MIN_ROUND_SECONDS else 1
            watch(partial(summarize_progress, out, int(done.sum()), done.size))
    except KeyboardInterrupt:
        if out is None:
            raise
        return out


def summarize_progress(out: Result, finished: int, solves: int) -> Progress:
    """The progress of the solves of a result."""
    violation, cost = np.ravel(out.violation), np.ravel(out.cost)
    best = np.lexsort((cost, violation))[0]
    return Progress(
        int(np.max(out.iterations)),
        float(violation[best]),
        float(cost[best]),
        finished,
        solves,
    )
