"""Lines on stderr during slow steps."""

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
    with progress.break_silence("solving"):
        time.sleep(0.75)
        assert capsys.readouterr().err == "posewise: solving, 0 s so far …\n" + (
            "posewise: solving, 1 s so far …\n"
        )
        for _ in range(4):
            progress.write_line("other")
            time.sleep(0.15)
    assert capsys.readouterr().err == "other\n" * 4
    with progress.break_silence("solving", False):
        time.sleep(0.5)
    with progress.break_silence("solving"):
        pass
    time.sleep(0.5)
    assert capsys.readouterr().err == ""
