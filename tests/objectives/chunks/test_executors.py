"""Chunks on executors: all results are there, whatever becomes of the workers."""

import errno
import pickle
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context

import jax
import numpy as np
import pytest
from helpers.interrupts import ctrl_c
from processes.map_work import solved_by_client, square, square_once_killed
from processes.reaching_circle import reaching_circle

import posewise as pw
from posewise import FS, OT, ObjectiveError, Status
from posewise.objectives.chunks import folder as chunk_folder
from posewise.objectives.chunks.folder import ChunkFolder
from posewise.objectives.solve.batch_fingerprint import batch_fingerprint
from posewise.objectives.solve.problem_batch import make_problem_batch
from posewise.objectives.solve.settings import make_settings


class Eager(Executor):
    """An executor of this process that calls a function when it gets it.

    Args:
        events: for each call in turn, an error that ends its worker, or a function to
            call before; None, and after them: nothing happens.
    """

    def __init__(self, *events):
        self.events = iter(events)
        self.calls = []

    def submit(self, function, *args):
        event, future = next(self.events, None), Future()
        self.calls.append(args)
        if isinstance(event, Exception):
            future.set_exception(event)
            return future
        if event is not None:
            event()
        future.set_result(function(*args))
        return future


class Idle(Eager):
    """An executor whose later calls never begin."""

    def __init__(self, count):
        super().__init__()
        self.count, self.waiting = count, []

    def submit(self, function, *args):
        if len(self.calls) < self.count:
            return super().submit(function, *args)
        self.waiting.append(Future())
        return self.waiting[-1]


def solve(folder, executor=None, count=8, chunk_size=2, **options):
    komo, goal, targets = reaching_circle(count)
    options = dict(progress=False, executor=executor, chunk_size=chunk_size, **options)
    return komo.solve_batch({goal: targets}, checkpoint_dir=folder, **options)


def whole(count=8):
    komo, goal, targets = reaching_circle(count)
    return komo.solve_batch({goal: targets}, progress=False)


def same(got, want):
    np.testing.assert_array_equal(got.status, want.status)
    np.testing.assert_allclose(got.path, want.path, atol=1e-6)
    assert got.feasible.all() and len(got) == len(want)


def stored(folder):
    return sorted(b for chunk in ChunkFolder(folder).ranges() for b in chunk)


@pytest.mark.parametrize("tries", [0, 1, 2])
def test_a_chunk_whose_worker_dies_is_given_out_again(tmp_path, tries):
    executor = Eager(*[RuntimeError("the worker died")] * tries)
    same(solve(tmp_path, executor), whole())
    assert len(executor.calls) == 4 + tries
    assert stored(tmp_path) == list(range(8))
    # the folder is all that is needed
    same(solve(tmp_path, Idle(0)), whole())


def test_a_chunk_that_three_workers_die_of_ends_the_call(tmp_path):
    deaths = [None, *[OSError("the worker died")] * 9]
    with pytest.raises(
        ObjectiveError, match="failed 3 times.*the worker died.* stored"
    ):
        solve(tmp_path, Eager(*deaths))
    assert 2 <= len(stored(tmp_path)) < 8
    same(solve(tmp_path), whole())


def test_a_broken_executor_says_what_is_there(tmp_path):
    broken = BrokenProcessPool("a process was terminated abruptly")
    with pytest.raises(
        ObjectiveError, match="workers have ended.*abruptly.* of 8 problems are stored"
    ):
        solve(tmp_path, Eager(None, None, broken))
    assert len(stored(tmp_path)) >= 4
    with ProcessPoolExecutor(1) as pool:
        pass
    with pytest.raises(ObjectiveError, match="workers have ended.*after shutdown"):
        solve(tmp_path, pool)
    same(solve(tmp_path, Eager()), whole())


def test_an_interrupt_keeps_what_is_stored(tmp_path, accepts_interrupts):
    got = solve(tmp_path, Eager(None, None, ctrl_c))
    done = got.status != Status.INTERRUPTED
    assert done.sum() == len(stored(tmp_path)) == 4
    assert set(got.status[done]) == {Status.CONVERGED}
    assert got[int(np.flatnonzero(~done)[0])].stopped == (
        "Interrupted after 4 of 8 problems."
    )
    same(solve(tmp_path, Eager()), whole())


def test_an_interrupt_before_anything_is_stored(tmp_path, accepts_interrupts):
    with pytest.raises(KeyboardInterrupt):
        solve(tmp_path, Eager(ctrl_c))


@pytest.mark.parametrize("started", [0, 1])
def test_a_limit_cancels_what_has_not_begun(tmp_path, started):
    executor = Idle(started)
    got = solve(tmp_path, executor, max_time=0.5)
    assert all(future.cancelled() for future in executor.waiting)
    assert (got.status == Status.TIME_LIMIT).sum() == 8 - 2 * started
    assert np.isfinite(got.path).all()
    same(solve(tmp_path), whole())


def test_clients_of_a_folder_share_its_chunks(tmp_path):
    other = Eager()
    first = Eager(None, lambda: same(solve(tmp_path, other), whole()))
    same(solve(tmp_path, first), whole())
    assert len(other.calls) == 3 and len(first.calls) == 4
    assert stored(tmp_path) == list(range(8))


@pytest.mark.parametrize("executor", [None, Eager()], ids=["none", "eager"])
def test_a_share_solves_its_own_problems(tmp_path, executor):
    got = solve(tmp_path, executor, share=(2, 3))
    is_solved = np.isin(np.arange(8), [2, 3, 4])
    np.testing.assert_array_equal(got.status == Status.INTERRUPTED, ~is_solved)
    np.testing.assert_array_equal(got.feasible, is_solved)
    assert {"another share" in got[b].message for b in (0, 1, 5, 6, 7)} == {True}
    assert stored(tmp_path) == [2, 3, 4]
    same(solve(tmp_path, executor), whole())


def test_an_interrupted_share_tells_its_own_problems_from_those_of_others(
    tmp_path, accepts_interrupts
):
    got = solve(tmp_path, Eager(None, ctrl_c), share=(1, 2))
    sentences = [got[b].stopped for b in range(8)]
    # Either chunk may be the first one.
    interrupted = "Interrupted after 2 of 4 problems."
    assert sorted(sentences[:4]) == ["", "", interrupted, interrupted]
    assert all("another share" in sentence for sentence in sentences[4:])


def test_the_first_file_stays(tmp_path):
    file = tmp_path / "chunk"
    chunk_folder.write_first(file, b"first")
    chunk_folder.write_first(file, b"second")
    assert file.read_bytes() == b"first" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("executor", [None, Eager()], ids=["none", "eager"])
def test_a_full_disk_is_a_sentence(tmp_path, monkeypatch, executor):
    solve(tmp_path, count=8, max_time=1e-9)
    (tmp_path / "chunk-00000000-00000002.pickle").unlink(missing_ok=True)

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(chunk_folder.os, "fsync", full)
        with pytest.raises(
            ObjectiveError, match="No space left.*results in it are kept"
        ):
            solve(tmp_path, executor)
    assert not list(tmp_path.glob("*.part"))
    same(solve(tmp_path), whole())


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ObjectiveError, match="cannot be used.*that can be written"):
        solve(tmp_path / "file" / "folder", Eager())


def test_a_damaged_problem_is_a_sentence(tmp_path):
    def damage():
        (file,) = tmp_path.glob("work-*")
        file.write_bytes(b"?")

    with pytest.raises(ObjectiveError, match="is damaged; delete it"):
        solve(tmp_path, Eager(damage), count=5)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (dict(executor=3), "executor is 3, expected a concurrent.futures.Executor"),
        (dict(executor=Eager()), "executor is given without checkpoint_dir"),
    ],
)
def test_executors_that_do_not_fit(options, match):
    komo, goal, targets = reaching_circle(2)
    with pytest.raises(ObjectiveError, match=match):
        komo.solve_batch({goal: targets}, **options)
    with pytest.raises(ObjectiveError, match=match):
        pw.map_solves(square, [1], **options)


@pytest.mark.parametrize(
    ("share", "match"),
    [
        ((1, 2), "share is given without checkpoint_dir"),
        ((3, 2), r"share is \(3, 2\), expected \(k, n\)"),
        ((0, 2), r"share.*expected \(k, n\)"),
        ((1.5, 2), r"share.*expected \(k, n\)"),
        ((True, 3), r"share is \(True, 3\), expected \(k, n\)"),
        (2, r"share is 2, expected \(k, n\)"),
    ],
)
def test_shares_that_do_not_fit(share, match):
    komo, goal, targets = reaching_circle(2)
    with pytest.raises(ObjectiveError, match=match):
        komo.solve_batch({goal: targets}, share=share)


def test_a_mesh_is_not_for_an_executor(tmp_path):
    mesh = jax.make_mesh((1,), ("devices",))
    with pytest.raises(ObjectiveError, match="mesh and executor are both given"):
        solve(tmp_path, Eager(), mesh=mesh)


@pytest.mark.long
def test_certified_paths_are_stored_with_their_certificates(tmp_path):
    komo, goal, targets = reaching_circle(4, slices=4, is_certified=True)
    want = komo.solve_batch({goal: targets}, progress=False)
    options = dict(checkpoint_dir=tmp_path, chunk_size=1, progress=False)
    for executor in (Eager(), None):
        got = komo.solve_batch({goal: targets}, executor=executor, **options)
        same(got, want)
        for solution, alone in zip(got, want, strict=True):
            assert solution.config is komo.config
            assert solution._record.certificate.is_kept
            assert solution.message == alone.message


def test_a_problem_is_the_same_after_pickling():
    komo, goal, targets = reaching_circle(3)
    komo.add_objective(None, FS.scalarProductXY, ["tip", "j0"], OT.sos)
    komo.add_objective(None, FS.vectorXDiff, ["tip", "j0"], OT.sos)
    settings = make_settings(komo.spec, 1e-3, False, {})
    problems = make_problem_batch([komo.spec], {goal: targets})
    copied = pickle.loads(pickle.dumps((problems, settings)))
    assert batch_fingerprint(*copied) == batch_fingerprint(problems, settings)


@pytest.mark.parametrize("executor", [None, Eager()], ids=["none", "eager"])
def test_a_function_of_items_in_their_order(tmp_path, executor):
    items = [9, 3, 4, 1, 5]
    want = [81, 9, 16, 1, 25]
    options = dict(executor=executor, chunk_size=2, progress=False)
    for _ in range(2):
        assert pw.map_solves(square, items, checkpoint_dir=tmp_path, **options) == want
    assert pw.map_solves(square, items, progress=False) == want
    assert pw.map_solves(square, [], checkpoint_dir=tmp_path / "none", **options) == []
    with pytest.raises(ObjectiveError, match="other problems: other items"):
        pw.map_solves(square, items[:2], checkpoint_dir=tmp_path, **options)
    with pytest.raises(ObjectiveError, match="other problems: other function"):
        pw.map_solves(str, items, checkpoint_dir=tmp_path, **options)


@pytest.mark.parametrize("executor", [None, Eager()], ids=["none", "eager"])
def test_an_error_of_the_function_comes_through(tmp_path, executor):
    options = dict(checkpoint_dir=tmp_path, executor=executor, chunk_size=2)
    with pytest.raises(ObjectiveError, match="7 is not for squares") as caught:
        pw.map_solves(square, [1, 2, 3, 7], progress=False, **options)
    assert "the function with item 3" in "".join(caught.value.__notes__)
    with pytest.raises(ObjectiveError, match="function is 3, expected a function"):
        pw.map_solves(3, [1])


def test_progress_counts_items(tmp_path):
    heard = []
    for executor in (None, Eager()):
        folder = tmp_path / str(len(heard))
        options = dict(checkpoint_dir=folder, executor=executor, chunk_size=2)
        pw.map_solves(square, range(5), progress=heard.append, **options)
    counts = [(progress.finished, progress.solves) for progress in heard]
    assert counts[4] == counts[-1] == (5, 5) and len(counts) == 8


def test_a_solve_that_hears_ctrl_c_is_not_stored(tmp_path, accepts_interrupts):
    def solve_item(k):
        try:
            if k == 3:
                ctrl_c()
        except KeyboardInterrupt:
            return "a part"
        return "all"

    options = dict(checkpoint_dir=tmp_path, chunk_size=8, progress=False)
    with pytest.raises(KeyboardInterrupt):
        pw.map_solves(solve_item, range(8), **options)
    assert len(stored(tmp_path)) == 3
    with pytest.raises(KeyboardInterrupt):
        pw.map_solves(solve_item, range(8), **options)


def test_what_cannot_be_pickled_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    options = dict(checkpoint_dir=tmp_path, executor=Eager(), progress=False)
    with pytest.raises(ObjectiveError, match=r'sent.*lambda.*"posewise\[cluster\]"'):
        pw.map_solves(lambda x: x, [1], **options)


def processes(count=2):
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"))


@pytest.mark.slow
def test_a_killed_process_of_a_pool_costs_its_chunk_only(tmp_path):
    function = partial(square_once_killed, marker=tmp_path / "marker")
    options = dict(checkpoint_dir=tmp_path / "all", chunk_size=1, progress=False)
    with processes() as pool:
        with pytest.raises(ObjectiveError, match="ended.*of 12 problems are stored"):
            pw.map_solves(function, range(12), executor=pool, **options)
    with processes() as pool:
        got = pw.map_solves(function, range(12), executor=pool, **options)
    assert got == [x * x for x in range(12)]


@pytest.mark.slow
def test_two_clients_fill_one_folder(tmp_path):
    with processes() as pool:
        first, second = pool.map(solved_by_client, [tmp_path] * 2)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, whole(40).q, atol=1e-6)
    assert stored(tmp_path) == list(range(40))


@pytest.fixture(scope="module")
def cluster():
    """Two workers of Dask, each a process."""
    distributed = pytest.importorskip("distributed")
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with distributed.LocalCluster(**options) as workers:
        with distributed.Client(workers) as client:
            yield client.get_executor()


@pytest.mark.slow
def test_a_cluster_gives_the_same_answers(tmp_path, cluster):
    same(solve(tmp_path, cluster, count=30, chunk_size=4), whole(30))
    komo, goal, targets = reaching_circle(4, slices=4, is_certified=True)
    options = dict(chunk_size=1, checkpoint_dir=tmp_path / "paths", executor=cluster)
    got = komo.solve_batch({goal: targets}, progress=False, **options)
    same(got, komo.solve_batch({goal: targets}, progress=False))


@pytest.mark.slow
def test_a_killed_worker_of_a_cluster_costs_nothing_else(tmp_path, cluster):
    function = partial(square_once_killed, marker=tmp_path / "marker")
    options = dict(checkpoint_dir=tmp_path / "all", chunk_size=1, progress=False)
    got = pw.map_solves(function, range(12), executor=cluster, **options)
    assert got == [x * x for x in range(12)] and (tmp_path / "marker").exists()
