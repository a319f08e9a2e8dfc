"""Lines on stderr during slow steps."""

import threading
import time

import pytest

from posewise.compilation import progress


@pytest.mark.parametrize(
    "seconds, expected", [(0.0, ""), (0.3, "posewise: waiting …\n")]
)
def test_only_slow_steps_are_announced(seconds, expected, monkeypatch, capsys):
    monkeypatch.setattr(progress, "SLOW_AFTER", 0.1)
    with progress.announce_if_slow("waiting"):
        time.sleep(seconds)
    assert capsys.readouterr().err == expected


def test_long_steps_are_told_again_unless_others_write(monkeypatch, capsys):
    monkeypatch.setattr(progress, "MAX_SILENCE", 0.3)
    with progress.break_silence("planning"), progress.tell_part("solving"):
        time.sleep(1.8)
        lines = capsys.readouterr().err.splitlines()
        # It is looked at every half second.
        assert 2 <= len(lines) <= 4
        assert all(line.startswith("posewise: solving, ") for line in lines)
        for _ in range(8):
            progress.write_line("other")
            time.sleep(0.15)
    assert capsys.readouterr().err == "other\n" * 8
    with progress.break_silence("planning", False), progress.tell_part("solving"):
        time.sleep(0.9)
    assert capsys.readouterr().err == ""


def test_the_watching_thread_ends_after_the_last_step():
    for _ in range(2):
        with progress.break_silence("solving"), progress.break_silence("planning"):
            watchers = [t for t in threading.enumerate() if t is progress._watcher]
        assert len(watchers) == 1
        watchers[0].join(timeout=10)
        assert not watchers[0].is_alive()
