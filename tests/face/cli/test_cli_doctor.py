"""The command `posewise doctor`."""

import tomllib
from pathlib import Path

from posewise.__main__ import main
from posewise.cli import doctor

ROOT = Path(__file__).parents[3]


def test_doctor_says_what_the_installation_is(capsys):
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    titles = [line for line in output.splitlines() if line[0] != " "]
    assert titles == [
        "Versions:",
        "Devices:",
        "Fast form:",
        "Program cache:",
        "Extras:",
        "Solve:",
    ]
    for line in ("  Python 3.", "  jaxlib 0.", "  cpu 0:", "  off: "):
        assert line in output
    assert "  on: " in output or "  off, solves take" in output
    assert "CONVERGED, first" in output or "FEASIBLE, first" in output


def test_doctor_fails_where_nothing_is_solved(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "time_a_solve", lambda: (False, "STALLED"))
    assert main(["doctor"]) == 1
    assert "was not solved" in capsys.readouterr().err


def test_doctor_names_all_extras_for_users():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    # "all" has what the others have
    developers = {"all", "docs", "lint", "test", "peers"}
    assert {*doctor.FOR_USERS} == project["optional-dependencies"].keys() - developers


def test_doctor_names_what_is_missing(monkeypatch):
    required = ["jax>=0.10", 'matplotlib; extra == "plot"', 'h5py>=3; extra == "rai"']
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: required)
    monkeypatch.setattr(doctor, "_is_present", lambda name: name == "matplotlib")
    extras = dict(line.split(": ", 1) for line in doctor.extras())
    assert extras["plot"] == "present"
    assert extras["rai"] == "h5py missing: pip install 'posewise[rai]'"
