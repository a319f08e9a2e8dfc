"""Batches with checkpoints: finished problems are stored, and solved only once."""

import secrets

import numpy as np
import pytest
from helpers.interrupts import ctrl_c

import posewise as pw
from posewise import FS, OT, Status
from posewise.objectives.chunks.folder import ChunkFolder
from posewise.objectives.solve import start_batches as solving
from posewise.solvers import multistart as batch

ANGLES = np.linspace(0.2, 1.4, 10)
TARGETS = 0.7 * np.column_stack([np.cos(ANGLES), np.sin(ANGLES), 0 * ANGLES])


def bending(by):
    """A user's cost, with a constant in it."""
    return lambda pose: by * pose.p[:2]


BENT = bending(np.array([0.1, 0.2]))


def arm() -> pw.Config:
    C = pw.Config()
    for k, parent in enumerate(["world", "j0"]):
        C.add_frame(f"j{k}", parent, position=[0.4 * k, 0, 0], joint="hingeZ", q=[0.3])
    C.add_frame("tip", "j1", position=[0.4, 0, 0])
    return C


def reaching(cost=BENT):
    komo = pw.KOMO(arm())
    komo.add_objective(None, cost, ["j1"], OT.sos)
    kind = dict(scale=np.eye(3)[:2], target=[0.5, 0.4, 0])
    return komo, komo.add_objective([1.0], FS.position, ["tip"], OT.eq, **kind)


@pytest.fixture(autouse=True)
def four_lanes(monkeypatch):
    """Use one program for all of these batches."""
    monkeypatch.setattr(batch, "MAX_VARIABLES_PER_CALL", 8)


@pytest.fixture(autouse=True)
def ascending(monkeypatch):
    """Begin with the first chunk."""
    monkeypatch.setattr(secrets, "randbelow", lambda n: 0)


@pytest.fixture
def solved(monkeypatch):
    """Record the number of problems in each call of the solver."""
    counts: list[int] = []
    real = solving.solve_multistart

    def spy(inputs, *args, **options):
        counts.append(int(inputs.problem_index.max()) + 1)
        return real(inputs, *args, **options)

    monkeypatch.setattr(solving, "solve_multistart", spy)
    return counts


def run(folder, targets=TARGETS, problem=None, chunk_size=4, **options):
    komo, goal = problem or reaching()
    return komo.solve_batch(
        {goal: targets},
        starts=2,
        checkpoint_dir=folder,
        chunk_size=chunk_size,
        **options,
    )


def same(got, want):
    assert [s.status for s in got] == [s.status for s in want]
    assert [s.start for s in got] == [s.start for s in want]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.path, b.path, atol=1e-6)
        assert (a.sos, a.eq) == pytest.approx((b.sos, b.eq), abs=1e-6)
        assert a.feasible


def test_a_store_changes_nothing_and_is_read_again(tmp_path, solved):
    komo, goal = reaching()
    want = komo.solve_batch({goal: TARGETS}, starts=2)
    first = run(tmp_path / "new" / "store")
    assert solved == [10, 3, 3, 4]
    again = run(tmp_path / "new" / "store", chunk_size=3)
    assert len(solved) == 4
    same(first, want)
    same(again, want)
    np.testing.assert_array_equal([s.path for s in again], [s.path for s in first])
    assert again[7].seconds == first[7].seconds > 0
    for a, b in zip(again, first, strict=True):
        a, b = a._record, b._record
        np.testing.assert_array_equal(a.multipliers, b.multipliers)
        assert a.data.batches[1].target.tolist() == b.data.batches[1].target.tolist()


def test_an_interrupted_batch_goes_on(
    tmp_path, solved, monkeypatch, accepts_interrupts
):
    monkeypatch.setattr(batch, "ITERATIONS_PER_ROUND", 2)
    monkeypatch.setattr(batch, "count_cores", lambda: 1)
    heard = []

    def listen(progress):
        heard.append(progress)
        # three problems with two starts each, and some more
        if progress.finished >= 10:
            ctrl_c()

    got = run(tmp_path, progress=listen)
    assert {progress.solves for progress in heard} == {20}
    done = [s.status is not Status.INTERRUPTED for s in got]
    assert all(done[:3]) and not any(done[6:])
    assert all(np.isfinite(s.path).all() for s in got)
    num_stored = sum(len(c) for c in ChunkFolder(tmp_path).ranges())
    assert 4 <= num_stored <= sum(done)
    solved.clear()
    whole = run(tmp_path)
    assert sum(solved) == 10 - num_stored
    komo, goal = reaching()
    same(whole, komo.solve_batch({goal: TARGETS}, starts=2))


def test_a_crashed_batch_goes_on(tmp_path, solved, monkeypatch):
    real, calls = solving.solve_multistart, iter([1, 2])

    def fail(*args, **options):
        if not next(calls, None):
            raise MemoryError
        return real(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(solving, "solve_multistart", fail)
        with pytest.raises(MemoryError):
            run(tmp_path)
    solved.clear()
    assert all(s.feasible for s in run(tmp_path))
    assert solved == [4]


def test_an_interrupt_before_anything_is_done(tmp_path, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(solving, "solve_multistart", stop)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)


OTHERS = {
    "numbers": dict(targets=TARGETS + [0.01, 0, 0]),
    "structure": dict(problem=reaching(bending(0.1))),
    "structure ": dict(problem=reaching(bending(np.array([0.1, 0.21])))),
    "options": dict(tolerance=1e-4),
    "seed": dict(seed=1),
}


def test_a_store_of_other_problems_is_refused(tmp_path):
    run(tmp_path, TARGETS[:2])
    for what, changed in OTHERS.items():
        with pytest.raises(
            pw.ObjectiveError, match=f"other problems: .*{what.strip()}"
        ):
            run(tmp_path, **{"targets": TARGETS[:2], **changed})
    komo, goal = reaching()
    komo.initialize([0.1, 0.1])
    with pytest.raises(pw.ObjectiveError, match="other initial paths"):
        run(tmp_path, TARGETS[:2], (komo, goal))
    (tmp_path / "problem.json").unlink()
    with pytest.raises(pw.ObjectiveError, match="other problems: .*structure"):
        run(tmp_path, TARGETS[:2])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (dict(folder=3), "checkpoint_dir is 3, expected a folder"),
        (dict(folder=""), "checkpoint_dir is '', expected a folder"),
        (dict(folder=__file__), "cannot be used"),
        (dict(folder="x", chunk_size=0), "chunk_size is 0, expected at least 1"),
        (dict(folder="x", mesh=4), "mesh is 4, expected a jax.sharding.Mesh"),
    ],
)
def test_errors_name_what_is_wrong(options, match):
    with pytest.raises(pw.ObjectiveError, match=match):
        run(**options)


@pytest.mark.sampled
@pytest.mark.parametrize("damage", [b"", None])
def test_a_broken_file_is_named(tmp_path, damage):
    run(tmp_path, TARGETS[:2])
    (file,) = tmp_path.glob("chunk-*")
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2] if damage is None else damage)
    with pytest.raises(pw.ObjectiveError, match="00000002.pickle cannot be read"):
        run(tmp_path, TARGETS[:2])
    file.unlink()
    assert run(tmp_path, TARGETS[:2])[0].feasible


def test_nothing_to_solve(tmp_path):
    assert len(run(tmp_path, np.zeros((0, 3)))) == 0
