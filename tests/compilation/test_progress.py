"""The line on stderr during a slow step."""

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
