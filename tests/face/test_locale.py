"""Text is UTF-8 on every machine, whatever its locale is."""

import os
import subprocess
import sys
from pathlib import Path

from posewise.robots.config import Config

SCRIPT = Path(__file__).parents[1] / "processes" / "ascii_locale.py"


def test_files_and_outputs_under_an_ascii_locale(tmp_path):
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    process = subprocess.run(
        [sys.executable, SCRIPT, tmp_path],
        env={**os.environ, **ascii_only},
        capture_output=True,
        encoding="utf-8",
    )
    assert process.returncode == 0, process.stderr
    assert "π touches ρ" in process.stdout
    assert "nothere_π.yaml" in process.stderr


def test_written_xml_says_that_it_is_utf_8(tmp_path):
    C = Config()
    C.add_frame("π")
    C.write_urdf(tmp_path / "w.urdf")
    C.pairs.write_srdf(tmp_path / "w.srdf")
    for file in tmp_path.iterdir():
        head, _, body = file.read_bytes().partition(b"\n")
        assert head == b'<?xml version="1.0" encoding="utf-8"?>'
        assert ("π".encode() in body) == (file.suffix == ".urdf")
