"""The fast form of programs is chosen by a trial, not by versions."""

import logging
import os
import subprocess
import sys

import jax
import pytest

from posewise.compilation import cache_folder, small_calls
from posewise.compilation.plain_jit import uses_plain_jit

pytestmark = [
    pytest.mark.skipif(uses_plain_jit(), reason="no single kernels"),
    pytest.mark.skipif(jax.default_backend() != "cpu", reason="of CPUs"),
]


@pytest.fixture
def folder(tmp_path):
    cache_folder.set_cache_dir(tmp_path)
    yield tmp_path
    cache_folder.set_cache_dir(None)


def test_this_version_compiles_small_calls():
    calls = small_calls.probe({})
    assert calls.options == {} and not calls.reason


def test_options_that_XLA_does_not_know_are_left_out():
    options = {"xla_no_such_option": 1, "xla_cpu_prefer_vector_width": 256}
    options |= {"xla_cpu_enable_fast_math": "perhaps"}
    calls = small_calls.probe(options)
    assert calls.options == {"xla_cpu_prefer_vector_width": 256}


def unmarked(x, count):
    return small_calls._compute(x, count)


def raising(x, count):
    raise TypeError("of another version")


def wrong(x, count, marked=small_calls._compute_marked):
    first, *others = marked(x, count)
    return [first, others[0] + 1, *others[1:]]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (unmarked, "inlines"),
        (raising, "TypeError: of another version"),
        (wrong, "other values"),
    ],
)
def test_a_version_without_small_calls_is_noticed(broken, reason, monkeypatch):
    monkeypatch.setattr(small_calls, "_compute_marked", broken)
    calls = small_calls.probe({})
    assert calls.options is None and reason in calls.reason


def test_a_success_is_kept_and_a_failure_is_logged(folder, monkeypatch, caplog):
    decide = small_calls.small_calls.__wrapped__
    trials = []
    trial = small_calls.probe

    def counted(options):
        trials.append(options)
        return trial(options)

    monkeypatch.setattr(small_calls, "probe", counted)
    monkeypatch.setattr(small_calls, "_compute_marked", raising)
    for _ in range(2):
        with caplog.at_level(logging.WARNING, "posewise"):
            assert decide().options is None
    assert len(trials) == 2 and "of another version" in caplog.text
    assert not list(folder.iterdir())
    monkeypatch.undo()
    monkeypatch.setattr(small_calls, "probe", counted)
    caplog.clear()
    first, again = decide(), decide()
    assert first == again and first.options is not None and not caplog.text
    assert len(trials) == 3 and len(list(folder.iterdir())) == 1


@pytest.mark.edge
@pytest.mark.parametrize("data", [b"{", b"[1]", b"1", b'{"xla_x": 1}', b"\xff\xfe"])
def test_what_is_kept_is_no_wanted_option(folder, monkeypatch, data):
    options = small_calls.SmallCalls({"xla_cpu_prefer_vector_width": 512})
    monkeypatch.setattr(small_calls, "probe", lambda _: options)
    decide = small_calls.small_calls.__wrapped__
    decide()
    (file,) = folder.iterdir()
    cache_folder.write(file, data)
    assert decide() == options
    assert b"vector_width" in cache_folder.read(file)


@pytest.mark.long
def test_flags_of_the_user_are_left_to_the_user():
    code = (
        "from posewise.compilation.small_calls import small_calls as f;"
        " print('xla_cpu_prefer_vector_width' in f().options)"
    )
    env = {**os.environ, "XLA_FLAGS": "--xla_cpu_prefer_vector_width=256"}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
