"""Rounds of several workers in threads, on the cores of this process."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

from posewise.compilation.threads import in_this_precision


def run_workers(
    workers: Sequence[Iterator[None]], on_round: Callable[[], None], interval: float
) -> None:
    """Run all workers to their ends: one in this thread, several in one thread each.

    Args:
        workers: iterators; each step is a round.
        on_round: called from this thread after each round of a single worker; with
            several workers at intervals, while any of them goes on. If it raises, as an
            interrupt does, all workers stop after their rounds.
        interval: time between two calls [s].
    """
    if len(workers) == 1:
        for _ in workers[0]:
            on_round()
        return
    stop = Event()

    def exhaust(rounds: Iterator[None]) -> None:
        for _ in rounds:
            if stop.is_set():
                return

    with ThreadPoolExecutor(len(workers)) as pool:
        # Contexts of JAX, such as that of float64, are those of one thread.
        run = in_this_precision(exhaust)
        running = [pool.submit(run, worker) for worker in workers]
        try:
            while wait(running, interval).not_done:
                on_round()
            for worker in running:
                worker.result()
        finally:
            stop.set()
