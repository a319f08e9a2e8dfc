"""The starts that the lanes of a batch hold, and their threads, without any solve."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise.compilation.threads import count_cores
from posewise.solvers import Result, Status
from posewise.solvers.lane_schedule import IDLE_INDEX, LaneSchedule, StartQueue
from posewise.solvers.workers import run_workers

RUNNING, GOOD, BAD = Status.INTERRUPTED, Status.CONVERGED, Status.INFEASIBLE


def results(statuses, iterations=0):
    n = len(statuses)
    rows = [np.zeros((n, 1, 2)), *(np.zeros((n, 3)) for _ in range(2))]
    ends = np.full(n, np.inf), np.zeros(n), np.zeros(n)
    counts = np.full(n, iterations), np.array(statuses, int)
    return Result(*rows, *ends, *counts, np.ones(n))


def schedule_of(problem_index, max_solutions=None, workers=1, lanes=2):
    queue = StartQueue(np.array(problem_index), max_solutions)
    n = len(problem_index)
    return LaneSchedule(queue, results([RUNNING] * n), workers, lanes)


def order(queue):
    return [*queue.take(2).tolist(), *queue.take(100).tolist(), *queue.take(1)]


@pytest.mark.parametrize(
    ("problems", "want"),
    [
        ([0], [0]),
        ([0, 0, 0], [0, 1, 2]),
        ([0, 0, 1, 1, 2, 2], [0, 2, 4, 1, 3, 5]),
        ([0, 1, 1, 1, 2], [0, 1, 4, 2, 3]),
    ],
)
def test_first_starts_of_all_problems_come_first(problems, want):
    assert order(StartQueue(np.array(problems), None)) == want


@pytest.mark.parametrize(
    ("max_solutions", "solved", "needed"),
    [
        (None, [1, 2], [0, 1, 2, 3, 4, 5]),
        (1, [1], [0, 1, 4, 5]),
        (1, [3, 1], [0, 1, 4, 5]),
        (1, [0, 4], [0, 4]),
        (2, [1], [0, 1, 2, 3, 4, 5]),
        (2, [2, 1], [0, 1, 2, 4, 5]),
        (2, [3, 5, 0], [0, 1, 2, 3, 4, 5]),
        (10**12, [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_starts_after_enough_solutions_are_not_needed(max_solutions, solved, needed):
    queue = StartQueue(np.array([0, 0, 0, 0, 1, 1]), max_solutions)
    queue.count_solutions(np.array(solved))
    assert np.flatnonzero(queue.is_needed(np.arange(6))).tolist() == needed
    assert sorted(order(queue)) == needed


def test_lanes_are_refilled_as_starts_end():
    schedule = schedule_of([0, 1, 2, 3, 4])
    lanes = []
    for statuses in ([RUNNING, GOOD], [RUNNING, BAD], [GOOD, GOOD], [GOOD, GOOD]):
        starts, is_fresh = schedule.refill(0)
        lanes.append((starts.tolist(), is_fresh.tolist()))
        schedule.record(0, results(statuses, 10 + len(lanes)))
    assert lanes == [
        ([0, 1], [True, True]),
        ([0, 2], [False, True]),
        ([0, 3], [False, True]),
        ([4, IDLE_INDEX], [True, False]),
    ]
    starts, _ = schedule.refill(0)
    assert (starts == IDLE_INDEX).all()
    ended, which = schedule.needed_results()
    assert which.tolist() == [0, 1, 2, 3, 4]
    assert ended.status.tolist() == [GOOD, GOOD, BAD, GOOD, GOOD]
    assert ended.iterations.tolist() == [13, 11, 12, 13, 14]


def test_a_lane_gives_up_a_start_that_is_not_needed():
    schedule = schedule_of([0, 0, 0, 1], max_solutions=1, lanes=3)
    starts, _ = schedule.refill(0)
    assert starts.tolist() == [0, 3, 1]
    schedule.record(0, results([GOOD, RUNNING, RUNNING]))
    starts, is_fresh = schedule.refill(0)
    assert starts.tolist() == [IDLE_INDEX, 3, IDLE_INDEX]
    assert not is_fresh.any()
    schedule.record(0, results([RUNNING, GOOD, RUNNING]))
    _, which = schedule.needed_results()
    assert which.tolist() == [0, 3]


def test_results_in_between_are_those_of_the_last_round():
    schedule = schedule_of([0, 1, 2])
    assert not schedule.has_begun
    schedule.refill(0)
    schedule.record(0, results([RUNNING, GOOD], iterations=7))
    schedule.refill(0)  # start 2 has no result yet
    latest, is_done = schedule.read()
    assert schedule.has_begun
    assert is_done.tolist() == [False, True, False]
    assert latest.iterations.tolist() == [7, 7, 0]
    assert latest.status.tolist() == [RUNNING, GOOD, RUNNING]


def test_workers_share_the_starts():
    schedule = schedule_of(range(5), workers=2)
    (a, _), (b, _) = schedule.refill(0), schedule.refill(1)
    assert (a.tolist(), b.tolist()) == ([0, 1], [2, 3])
    schedule.record(1, results([GOOD, RUNNING]))
    assert schedule.refill(1)[0].tolist() == [4, 3]
    assert schedule.refill(0)[0].tolist() == [0, 1]


def test_rounds_of_one_worker_and_of_several():
    log = []

    def rounds(name, count):
        for k in range(count):
            log.append((name, k))
            yield

    run_workers([rounds("a", 3)], lambda: log.append("heard"), 0.01)
    assert log == [("a", 0), "heard", ("a", 1), "heard", ("a", 2), "heard"]
    log.clear()
    run_workers([rounds("a", 3), rounds("b", 2)], lambda: None, 0.01)
    assert sorted(log) == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]


@pytest.mark.parametrize("count", [1, 2])
def test_an_error_of_a_worker_is_raised(count):
    def fail():
        yield
        raise MemoryError

    with pytest.raises(MemoryError):
        run_workers([fail() for _ in range(count)], lambda: None, 0.01)


@pytest.mark.parametrize("count", [1, 2])
def test_an_interrupt_ends_all_workers(count):
    def forever():
        while True:
            yield

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_workers([forever() for _ in range(count)], interrupt, 0.01)


def test_there_is_a_core():
    assert count_cores() >= 1


@pytest.mark.parametrize("x64", [False, True])
def test_workers_compute_in_the_precision_of_their_caller(x64):
    dtypes = set()

    def work():
        dtypes.add(jnp.zeros(1).dtype.name)
        yield

    with jax.enable_x64(x64):
        run_workers([work(), work()], lambda: None, 0.01)
    assert dtypes == {"float64" if x64 else "float32"}
