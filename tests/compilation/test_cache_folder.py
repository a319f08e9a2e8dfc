"""Programs are kept in a private folder of bounded size."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import posewise as pw
from posewise.compilation import cache_folder

needs_owners = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners")

SAY = """
import json, jax, posewise
from posewise.compilation.cache_folder import cache_dir, why_no_cache
found = cache_dir()
print(json.dumps([found and str(found), why_no_cache(),
                  jax.config.jax_compilation_cache_dir]))
"""


def ask(**variables):
    """Return the folder, why there is none, and JAX's folder, in a new process."""
    inherited = {k: v for k, v in os.environ.items() if k != cache_folder.VARIABLE}
    words = [sys.executable, "-c", SAY]
    env = {**inherited, **variables}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_programs_are_kept_by_default_without_a_setting_of_JAX(tmp_path):
    folder = tmp_path / "posewise" / "jax"
    assert ask(XDG_CACHE_HOME=str(tmp_path)) == [str(folder), "", None]
    assert folder.stat().st_mode & 0o777 == 0o700
    chosen = tmp_path / "mine"
    assert ask(POSEWISE_CACHE=str(chosen)) == [str(chosen), "", None]
    assert ask(POSEWISE_CACHE="~/mine", HOME=str(tmp_path)) == [str(chosen), "", None]
    reason = "the environment has POSEWISE_CACHE=0."
    assert ask(POSEWISE_CACHE="0") == [None, reason, None]


@pytest.mark.long
def test_without_a_folder_nothing_is_kept(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    folder, why, of_jax = ask(XDG_CACHE_HOME=str(file))
    assert folder is None and of_jax is None and str(file) in why


@pytest.mark.long
@needs_owners
@pytest.mark.sampled
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_can_write_is_refused(tmp_path, mode):
    tmp_path.chmod(mode)
    with pytest.raises(PermissionError, match="others may write to it; expected a"):
        pw.cache_programs(tmp_path)
    assert "others may write" in ask(POSEWISE_CACHE=str(tmp_path))[1]
    assert tmp_path.stat().st_mode & 0o7777 == mode


@needs_owners
def test_a_file_that_others_can_write_is_not_read(tmp_path):
    file = tmp_path / "a.program"
    cache_folder.write(file, b"data")
    assert cache_folder.read(file) == b"data"
    file.chmod(0o666)
    assert cache_folder.read(file) is None


def test_the_least_recently_used_files_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_folder, "MAX_SIZE", 300)
    other = tmp_path / "notes.txt"
    other.write_bytes(bytes(1000))
    names = ["a.program", "b.entry", "c.unfinished"]
    data = bytes(100 - cache_folder.CHECKSUM_SIZE)
    for age, name in enumerate(names):
        cache_folder.write(tmp_path / name, data)
        os.utime(tmp_path / name, (1e9 + age, 1e9 + age))
    assert cache_folder.read(tmp_path / "a.program") == data
    cache_folder.write(tmp_path / "d.program", data)
    names_after = sorted(file.name for file in tmp_path.iterdir())
    assert names_after == ["a.program", "c.unfinished", "d.program", "notes.txt"]


@pytest.mark.long
def test_the_cache_is_turned_off_by_one_call(tmp_path):
    names = (
        "jax_compilation_cache_dir",
        "jax_persistent_cache_min_compile_time_secs",
        "jax_persistent_cache_min_entry_size_bytes",
    )
    before = {name: getattr(jax.config, name) for name in names}
    try:
        assert pw.cache_programs(tmp_path) == tmp_path == cache_folder.cache_dir()
        assert jax.config.jax_compilation_cache_dir == str(tmp_path)
        assert pw.cache_programs(False) is None and cache_folder.cache_dir() is None
        assert "cache_programs(False)" in cache_folder.why_no_cache()
        assert jax.config.jax_compilation_cache_dir is None
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


# -- damage ----------------------------------------------------------------------------


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


CONTENTS = {
    "cut by 3": lambda data: data[:-3],
    "cut in half": lambda data: data[: len(data) // 2],
    "cut to one byte": lambda data: data[:1],
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "garbage": lambda data: bytes((7 * k) % 256 for k in range(len(data))),
    "one bit": flip,
    "longer": lambda data: data + b"x",
    "of an older version": lambda data: data[cache_folder.CHECKSUM_SIZE :],
    "a list as text": lambda data: b'["xla"]',
    "a number as text": lambda data: b"1",
    "a pickle": lambda data: pickle.dumps([1, (b"", 2, 3)]),
}


def damage(file: Path, how: str) -> None:
    """Damage a file of a cache."""
    if how in CONTENTS:
        file.write_bytes(CONTENTS[how](file.read_bytes()))
    elif how == "unreadable":
        file.chmod(0)
    elif how == "a folder":
        file.unlink()
        file.mkdir()
    elif how == "a full folder":
        file.unlink()
        file.mkdir()
        (file / "x").write_text("")
    else:
        assert how == "a link to nothing"
        file.unlink()
        file.symlink_to(file.parent / "absent")


DAMAGES = [*CONTENTS, "unreadable", "a folder", "a full folder", "a link to nothing"]


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_files_are_made_again(tmp_path, how):
    file = tmp_path / "a.entry"
    cache_folder.write(file, b'{"name": 1}')
    damage(file, how)
    can_read = how == "unreadable" and os.access(file, os.R_OK)  # by the superuser
    try:
        assert (cache_folder.read(file) is not None) == can_read
    except OSError:
        assert how not in CONTENTS
    if "folder" in how:
        with pytest.raises(OSError):
            cache_folder.write(file, b"{}")
    else:
        cache_folder.write(file, b"{}")
        assert cache_folder.read(file) == b"{}"
    assert not [*tmp_path.glob("*.unfinished")]


@pytest.mark.slow
def test_processes_work_with_damaged_files(tmp_path):
    env = {**os.environ, "POSEWISE_CACHE": str(tmp_path)}
    words = [sys.executable, "-W", "error", "-c", MANY]

    def run() -> str:
        pipes = dict(capture_output=True, text=True, check=True, env=env)
        done = subprocess.run(words, **pipes)
        assert not done.stderr
        return done.stdout

    answer = run()
    files = [*tmp_path.iterdir()]
    assert {file.suffix for file in files} == {".program", ".entry"}
    for how in DAMAGES:
        for file in files:
            damage(file, how)
        assert run() == answer, how
        if "folder" not in how:
            assert all(map(cache_folder.read, files)), how
        for file in files:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        assert run() == answer


MANY = """
import sys
from pathlib import Path
import numpy as np
import posewise as pw
from posewise import FS
C = pw.load("planar3")
C.q = [0.1, 0.2, 0.3]
print(C.eval(FS.position, [C.frames[-1].name])[0].tolist())
"""


@pytest.mark.long
def test_processes_share_the_folder(tmp_path):
    env = {**os.environ, "POSEWISE_CACHE": str(tmp_path)}
    words = [sys.executable, "-c", MANY]
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    outputs = []
    for _ in range(2):
        running = [subprocess.Popen(words, **pipes) for _ in range(2)]
        outputs += [process.communicate() for process in running]
    assert len({out for out, _ in outputs}) == 1 and outputs[0][0], outputs[0][1]
    # an entry is the kept result of the trial of small calls
    assert {Path(f).suffix for f in os.listdir(tmp_path)} == {".program", ".entry"}
