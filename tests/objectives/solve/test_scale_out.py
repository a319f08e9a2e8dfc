"""Batches on several devices and hosts: the same answers as on one."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import posewise as pw

pytestmark = pytest.mark.long

SCRIPT = Path(__file__).parents[2] / "processes" / "distributed.py"
SMALL = dict(devices=1, processes=1, joints=2, slices=1, problems=10, mesh=False)
PLAIN = dict(rank=0, port=0, checkpoint_dir=None)


def start(tmp_path, **settings) -> tuple[list[subprocess.Popen], list[Path]]:
    """Return processes that solve a batch, and the files of their results."""
    settings = {**SMALL, **PLAIN, **settings}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        settings["port"] = free.getsockname()[1]
    outs = [tmp_path / f"out{rank}.npz" for rank in range(settings["processes"])]
    started = []
    for rank, out in enumerate(outs):
        process_settings = json.dumps({**settings, "rank": rank, "out": str(out)})
        command = [sys.executable, str(SCRIPT), process_settings]
        env = {**os.environ, "JAX_PLATFORMS": "cpu"}
        pipe = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(subprocess.Popen(command, env=env, **pipe))
    return started, outs


def end(started: list[subprocess.Popen]) -> None:
    """Kill processes that still run."""
    for process in started:
        process.kill()
        process.communicate()


def run(tmp_path, **settings) -> list[dict[str, np.ndarray]]:
    """Return the results of each process."""
    started, outs = start(tmp_path, **settings)
    try:
        outputs = [process.communicate(timeout=400)[0] for process in started]
    finally:
        end(started)
    if any(process.returncode for process in started):
        raise RuntimeError("\n".join(outputs))
    return [dict(np.load(out)) for out in outs]


def same(got, want):
    np.testing.assert_array_equal(got["statuses"], want["statuses"])
    np.testing.assert_allclose(got["paths"], want["paths"], atol=2e-5)


@pytest.mark.slow
def test_eight_devices_give_the_same_answers(tmp_path):
    (one,) = run(tmp_path)
    (eight,) = run(tmp_path, devices=8, mesh=True)
    assert (one["statuses"] == pw.Status.CONVERGED).all()
    same(eight, one)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2])
def test_two_processes_give_the_same_answers(tmp_path, devices):
    size = dict(joints=4, slices=6, problems=21)
    (one,) = run(tmp_path, **size)
    two = run(tmp_path, processes=2, devices=devices, mesh=True, **size)
    for each in two:
        same(each, one)
    np.testing.assert_array_equal(two[0]["paths"], two[1]["paths"])


@pytest.mark.slow
def test_two_processes_share_a_store(tmp_path):
    folder = tmp_path / "store"
    settings = dict(processes=2, mesh=True, checkpoint_dir=str(folder))
    first = run(tmp_path, **settings)
    files = sorted(folder.glob("*.npz"))
    problems = [np.load(file)["problem"].tolist() for file in files]
    assert sorted(sum(problems, [])) == list(range(10)) and len(files) == 4
    files[1].unlink()
    again = run(tmp_path, **settings)
    alone = run(tmp_path, checkpoint_dir=str(folder))
    for each in (*again, *alone):
        same(each, first[0])
    (fresh,) = run(tmp_path)
    same(fresh, first[0])


@pytest.mark.slow
def test_processes_that_disagree_are_told(tmp_path):
    with pytest.raises(RuntimeError, match="different problems: other numbers"):
        run(tmp_path, processes=2, mesh=True, strange=1)


@pytest.mark.slow
def test_a_killed_process_loses_its_chunk_only(tmp_path):
    folder, settings = tmp_path / "store", dict(problems=1200)
    started, outs = start(
        tmp_path, processes=2, mesh=True, checkpoint_dir=str(folder), **settings
    )
    try:
        # rank 1 solves the odd problems
        odd = lambda file: int(file.stem.removeprefix("solves-")) % 2
        deadline = time.monotonic() + 120
        while sum(map(odd, folder.glob("solves-*.npz"))) < 5:
            assert time.monotonic() < deadline and started[1].poll() is None
            time.sleep(0.01)
        started[1].kill()
        started[1].wait()
    finally:
        end(started)
    assert not any(out.exists() for out in outs)
    stored = {file: file.stat().st_mtime_ns for file in folder.glob("solves-*.npz")}
    problems = sum((np.load(file)["problem"].tolist() for file in stored), [])
    assert 20 <= len(problems) < 1200
    # whole chunks of each share are there: only the one in progress is lost
    for rank in (0, 1):
        mine = sorted(b for b in problems if b % 2 == rank)
        assert mine == list(range(rank, 2 * len(mine), 2))
    (again,) = run(tmp_path, checkpoint_dir=str(folder), **settings)
    assert all(file.stat().st_mtime_ns == then for file, then in stored.items())
    (fresh,) = run(tmp_path, **settings)
    same(again, fresh)
