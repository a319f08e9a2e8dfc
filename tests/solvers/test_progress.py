"""Progress reports of long solves, and results after an interrupt."""

import numpy as np
import optax
import pytest
from helpers.batch_problems import arm, reaching
from helpers.interrupts import ctrl_c, make_rounds_short

import posewise as pw
from posewise import FS, OT, Status
from posewise.solvers import Progress, ProgressReporter, interruptible, multistart

pytestmark = pytest.mark.usefixtures("accepts_interrupts")
ADAM = optax.adam(3e-3)


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch):
    """Make short solves take many rounds: one iteration, four lanes, one worker."""
    make_rounds_short(monkeypatch)


def path() -> pw.KOMO:
    komo = pw.KOMO(arm(), 1, 15, 2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective(
        [1.0], FS.position, ["tip"], OT.eq, scale=np.eye(3)[:2], target=[0.7, 0.6, 0]
    )
    return komo


def after(rounds: int, how):
    """Return a listener that interrupts after some rounds, and the list it fills."""
    heard: list[Progress] = []

    def listen(progress: Progress) -> None:
        heard.append(progress)
        if len(heard) == rounds:
            how()

    return listen, heard


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("method", ["augmented_lagrangian", ADAM])
def test_an_interrupted_solve_is_where_it_had_come(method):
    komo = path()
    listen, heard = after(3, ctrl_c)
    sol = komo.solve(method=method, progress=listen)
    assert sol.status is Status.INTERRUPTED and not sol.feasible
    assert "Interrupted" in sol.message and "INTERRUPTED" in sol.report()
    assert sol.iterations == heard[-1].iterations
    iterations = [progress.iterations for progress in heard]
    assert iterations == sorted(iterations)
    assert heard[-1].violation == sol.eq
    assert heard[-1].cost == pytest.approx(sol.sos)
    assert np.abs(sol.path).max() > 0.01
    komo.initialize(sol.path)
    assert komo.solve().feasible


def test_rounds_change_nothing(monkeypatch):
    listen, heard = after(0, ctrl_c)
    many = path().solve(progress=listen)
    monkeypatch.setattr(interruptible, "FIRST_ROUND_VARIABLE_ITERATIONS", 1 << 20)
    one = path().solve()
    assert len(heard) == many.iterations - 1 > 3  # round by round
    assert (many.iterations, many.status) == (one.iterations, Status.CONVERGED)
    np.testing.assert_array_equal(many.path, one.path)


@pytest.mark.sampled
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_batch_keeps_what_is_done(monkeypatch, workers):
    monkeypatch.setattr(multistart, "count_cores", lambda: workers)
    monkeypatch.setattr(multistart, "ITERATIONS_PER_ROUND", 1)
    komo, goal = reaching(slices=2)
    komo.initialize([0.1, 0.2, 0.3])
    rng = np.random.default_rng(0)
    targets = np.column_stack([rng.uniform(-0.9, 0.9, (40, 2)), np.zeros(40)])
    want = komo.solve_batch({goal: targets})

    def listen(progress: Progress) -> None:
        assert progress.solves == 40
        if progress.finished > 4:
            ctrl_c()

    got = komo.solve_batch({goal: targets}, progress=listen)
    done = [s.status is not Status.INTERRUPTED for s in got]
    assert sum(done) > 4
    for sol, whole, ended in zip(got, want, done, strict=True):
        assert np.isfinite(sol.path).all()
        if ended:
            assert sol.status is whole.status
            np.testing.assert_array_equal(sol.path, whole.path)
        elif sol.iterations == 0:
            np.testing.assert_array_equal(sol.path, np.tile([0.1, 0.2, 0.3], (2, 1)))
            assert sol.eq == np.inf and not sol.feasible
    if workers == 1:
        assert sum(s.iterations == 0 for s in got) > 4
        assert any(0 < s.iterations for s, e in zip(got, done, strict=True) if not e)


def test_lines_on_stderr_unless_silenced(monkeypatch, capsys):
    komo = path()
    komo.solve()
    assert capsys.readouterr().err == ""  # less than two seconds
    monkeypatch.setattr(interruptible, "REPORT_INTERVAL", -1.0)
    komo.solve()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 3
    assert all(line.startswith("posewise, 0 s: iteration ") for line in lines)
    komo.solve(starts=6)
    assert " of 6 solves done, the best: iteration " in capsys.readouterr().err
    komo.solve(progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("progress", "text", "pace"),
    [
        (Progress(3, 0.5, 2, 0, 1), "iteration 3, violation 0.5, cost 2", ""),
        (
            Progress(0, np.inf, np.inf, 30, 120),
            "30 of 120 solves done",
            "; 2.5 a second, 0:00:36 to go",
        ),
        (Progress(0, np.inf, np.inf, 120, 120), "120 of 120 solves done", ""),
    ],
)
def test_lines_tell_how_far_solves_are(progress, text, pace):
    assert str(progress) == text
    assert progress.pace(12.0) == pace


def test_with_nothing_done_an_interrupt_is_one():
    def run(state, fresh, passes):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interruptible.run_in_rounds(run, None, 1, ProgressReporter(False))


def test_what_progress_may_be():
    with pytest.raises(pw.ObjectiveError, match="progress is 'yes', expected True"):
        path().solve(progress="yes")
