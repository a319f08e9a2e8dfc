"""Time limits of solves: what they end with, and that nothing computed is lost."""

import numpy as np
import optax
import pytest
from helpers.batch_problems import reaching
from helpers.interrupts import TickingClock, ctrl_c, make_rounds_short

import posewise as pw
from posewise import FS, OT, Feature, ObjectiveError, Status
from posewise.logic import Eventually, Predicate
from posewise.objectives.planning import rrt_connect
from posewise.objectives.solve import alternative_search, certified, start_batches
from posewise.objectives.solve.avoidance_rows import RowExchange
from posewise.objectives.solve.settings import make_settings
from posewise.solvers import Result
from posewise.solvers import multistart as lanes
from posewise.solvers.deadline import check_deadline, passed_deadline, time_limit
from posewise.solvers.interruptible import NO_PROGRESS, run_in_rounds

TARGETS = [[0.7, 0.6, 0], [0.6, 0.7, 0], [0.5, 0.75, 0], [-0.3, 0.9, 0]]
ADAM = optax.adam(3e-3)


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch):
    """Make short solves take many rounds: one iteration, two lanes, one worker."""
    make_rounds_short(monkeypatch)
    monkeypatch.setattr(lanes, "ITERATIONS_PER_ROUND", 1)


@pytest.fixture
def ticking(monkeypatch):
    """Return a clock on which a second passes with each look."""
    return TickingClock(monkeypatch)


class Tipped(Predicate):
    """The tip is above a line."""

    def holds(self, C):
        return bool(C.pose("tip")[1] > 0.5)

    def explain(self, C):
        return "It is seen."

    def objectives(self, C, interval):
        row = Feature(FS.position, ["tip"], scale=[[0, -1, 0]], target=[0, 0.5, 0])
        yield row, OT.ineq, interval.slices


def problem() -> pw.KOMO:
    return reaching(slices=2)[0]


def undecided() -> pw.KOMO:
    """A problem with two alternatives."""
    komo = reaching(slices=2)[0]
    komo.add(Eventually(Tipped(), [0.0, 1.0]))
    return komo


def certain(slices: int = 2) -> pw.KOMO:
    """A problem whose path is certified: a disc comes to the other side of a wall."""
    C = pw.Config()
    limits = [[-2.0] * 2, [2.0] * 2]
    C.add_frame("disc", joint="transXY", limits=limits, q=[-0.5, 0])
    C.set_shape("disc", pw.Sphere(0.1))
    C.add_frame("wall", shape=pw.Box([0.02, 1.0, 1.0]))
    for name in ("disc", "wall"):
        C.set_contact(name, 1)
    komo = pw.KOMO(C, 1, slices, 1)
    komo.add_control_objective(1, 0.1)
    goal = [0.5, 0.0]
    komo.add_objective([1.0], FS.qItself, ["disc"], OT.eq, target=goal, scale=10)
    komo.avoid_collisions()
    komo.initialize(np.linspace(C.q, goal, slices + 1)[1:])
    return komo


def batch(**options) -> list[pw.Solution]:
    komo, goal = reaching(slices=2)
    return komo.solve_batch({goal: TARGETS}, progress=False, **options)


def certain_batch(**options) -> list[pw.Solution]:
    komo = certain()
    return komo.solve_batch(worlds=[komo.config] * 3, progress=False, **options)


def placed(**options) -> list[pw.Solution]:
    C = pw.Config()
    C.add_frame("cup", shape=pw.Sphere(0.05))
    C.add_frame("tray", shape=pw.Box([0.3, 0.3, 0.02]))
    rows = [(Feature(FS.position, ["cup"], target=[0.1, 0, 0.1]), OT.eq)]
    placements = pw.solve_placement(
        C, rows, ["cup"], starts=8, progress=False, **options
    )
    return [placement.solution for placement in placements]


ENTRIES = {
    "solve": lambda **o: [problem().solve(progress=False, **o)],
    "starts": lambda **o: [problem().solve(starts=8, progress=False, **o)],
    "all": lambda **o: problem().solve_all(starts=8, progress=False, **o),
    "batch": batch,
    "batch of starts": lambda **o: batch(starts=3, **o),
    "placement": placed,
    "first order": lambda **o: [
        problem().solve(starts=3, method=ADAM, progress=False, **o)
    ],
    "alternatives": lambda **o: [undecided().solve(progress=False, **o)],
    "certified": lambda **o: [certain().solve(starts=3, progress=False, **o)],
    "certified batch": certain_batch,
}


@pytest.mark.long
@pytest.mark.sampled("solve")
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_limit_ends_each_solve_with_a_result(entry):
    solutions = ENTRIES[entry](max_time=1e-9)
    assert solutions
    for solution in solutions:
        assert np.isfinite(solution.path).all()
        assert solution.status is Status.TIME_LIMIT
        assert solution.message.startswith("Time limit of 1e-09 s reached")
        assert "Time limit of 1e-09 s reached" in solution.report()
    # A first round has been computed, and is there.
    assert np.isfinite(solutions[0].eq) and solutions[0].iterations > 0
    assert passed_deadline() is None


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_limit_that_is_not_reached_changes_nothing(entry):
    pairs = zip(ENTRIES[entry](), ENTRIES[entry](max_time=1e6), strict=True)
    for free, limited in pairs:
        assert limited.stopped == "" and limited.status is free.status
        assert limited.message == free.message
        np.testing.assert_array_equal(limited.path, free.path)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [6, 12, 20])
def test_what_is_done_in_time_is_kept(ticking, seconds):
    whole = problem().solve_all(starts=8, progress=False)
    part = problem().solve_all(starts=8, progress=False, max_time=seconds)
    ended = [s for s in part if s.status is not Status.TIME_LIMIT]
    for solution in ended:
        np.testing.assert_array_equal(solution.path, whole[solution.start].path)
        assert solution.status is whole[solution.start].status
    sentence = f"Time limit of {seconds} s reached after {len(ended)} of 8 starts."
    assert {s.stopped for s in part} == {sentence}
    assert all(sentence in s.message for s in part)
    best = problem().solve(starts=8, progress=False, max_time=seconds)
    if any(s.feasible for s in ended):
        assert best.feasible and best.stopped == sentence


@pytest.mark.long
def test_problems_of_a_batch_that_are_done_do_not_change(ticking):
    whole = batch(max_time=1e6)
    half = ticking.seconds // 2
    part = batch(max_time=half)
    done = [s.status is not Status.TIME_LIMIT for s in part]
    assert 0 < sum(done) < 4
    sentence = f"Time limit of {half:g} s reached after {sum(done)} of 4 problems."
    for solution, full, is_done in zip(part, whole, done, strict=True):
        assert solution.stopped == ("" if is_done else sentence)
        if is_done:
            np.testing.assert_array_equal(solution.path, full.path)


@pytest.mark.long
def test_a_batch_that_ran_out_of_time_goes_on_from_its_folder(ticking, tmp_path):
    def part(**options):
        return batch(checkpoint_dir=tmp_path, chunk_size=1, **options)

    whole = batch(max_time=1e6)
    first = part(max_time=ticking.seconds)
    done = [s.status is not Status.TIME_LIMIT for s in first]
    assert 0 < sum(done) < 4
    later = part()
    for before, after, is_done, full in zip(first, later, done, whole, strict=True):
        assert after.stopped == "" and after.status is full.status
        if is_done:
            np.testing.assert_array_equal(before.path, after.path)


@pytest.mark.long
def test_a_stalled_problem_waits_for_time_for_its_second_start(monkeypatch, ticking):
    komo, goal = reaching(slices=2)
    out_of_reach = [[3.0, 0, 0], [0.7, 0.6, 0]]
    free = komo.solve_batch({goal: out_of_reach}, progress=False)
    assert [s.status for s in free][0] is Status.INFEASIBLE
    starts = []
    solve_problems = start_batches.solve_problems

    def last_in_time(*arguments, **options):
        starts.append(options.get("first_start", 0))
        with time_limit(None):
            result = solve_problems(*arguments, **options)
        ticking.seconds = 1e9
        return result

    monkeypatch.setattr(start_batches, "solve_problems", last_in_time)
    late = komo.solve_batch({goal: out_of_reach}, progress=False, max_time=1e6)
    assert starts == [0]
    assert [s.status for s in late] == [Status.TIME_LIMIT, free[1].status]
    assert "after 1 of 2 problems" in late[0].message and late[1].stopped == ""


@pytest.mark.long
def test_alternatives_that_are_done_are_kept(monkeypatch):
    komo = problem()
    solved = komo.solve_all(progress=False)
    three = [komo.spec] * 3
    monkeypatch.setattr(alternative_search, "resolve_alternatives", lambda spec: three)
    calls = []

    def solve(spec, settings, retry):
        calls.append(spec)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return solved

    settings = make_settings(komo.spec, 1e-3, False, {})
    ended = alternative_search.solve_alternatives(komo.spec, settings, solve)
    assert [s.stopped for s in ended] == ["Interrupted after 1 of 3 alternatives."]
    np.testing.assert_array_equal(ended[0].path, solved[0].path)


@pytest.mark.long
@pytest.mark.parametrize("starts", [0, 1])
def test_detours_are_given_up_in_time(monkeypatch, ticking, starts):
    """The deadline passes while a detour is planned, first or after a failed start."""
    if starts:
        monkeypatch.setattr(certified, "free_start", lambda *_: None)
    sampled, sample = [], rrt_connect.FreeSpace.sample

    def sample_late(*arguments):
        sampled.append(arguments)
        ticking.seconds = 1e9
        return sample(*arguments)

    monkeypatch.setattr(rrt_connect.FreeSpace, "sample", sample_late)
    monkeypatch.setattr(certified, "ROW_EXCHANGE", RowExchange(max_exchanges=0))
    solution = certain(8).solve(starts=4, progress=False, max_time=1e6)
    assert len(sampled) == 1
    assert solution.status is Status.TIME_LIMIT
    message = f"reached after {starts} of 4 starts. To continue"
    assert message in solution.message


@pytest.mark.long
def test_an_interrupt_tells_how_far_starts_came(accepts_interrupts):
    def listen(progress):
        if progress.finished >= 3:
            ctrl_c()

    part = problem().solve_all(starts=8, progress=listen)
    ended = sum(s.status is not Status.INTERRUPTED for s in part)
    assert ended >= 3
    assert {s.stopped for s in part} == {f"Interrupted after {ended} of 8 starts."}


def test_rounds_end_after_the_one_in_which_time_ran_out(ticking):
    """A result of numbers stands for the solver's; its status says that it goes on."""

    def run_round(state, is_fresh, iterations):
        status = np.asarray([Status.INTERRUPTED, Status.CONVERGED])
        zero = np.zeros(2)
        end = Result(zero, zero, zero, zero, zero, zero, zero + state, status, zero)
        return state + 1, end

    with time_limit(4):
        end = run_in_rounds(run_round, 1, 1, NO_PROGRESS)
    np.testing.assert_array_equal(end.iterations, [4, 4])
    assert end.status[0] == Status.INTERRUPTED


def test_of_nested_limits_the_first_to_end_counts(ticking):
    with time_limit(3):
        with time_limit(100):
            assert passed_deadline() is None
            with pytest.raises(KeyboardInterrupt, match="limit of 3 s"):
                check_deadline()
        with time_limit(1):
            assert passed_deadline().max_time == 3
    assert passed_deadline() is None
    with time_limit(100), time_limit(1), pytest.raises(KeyboardInterrupt, match="1 s"):
        check_deadline()


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, True, "2", [1.0, 2.0]])
@pytest.mark.parametrize("entry", ["solve", "all", "batch", "placement"])
def test_what_a_limit_may_be(entry, value):
    with pytest.raises(
        ObjectiveError, match=r"max_time is .*, expected .* seconds > 0"
    ):
        ENTRIES[entry](max_time=value)
