"""Fixtures of the tests of the command line."""

import textwrap

import pytest


@pytest.fixture
def write_problem(tmp_path, monkeypatch):
    """Return a function that writes a problem file beside a robot's file."""
    pytest.importorskip("yaml", reason="problem files need pyyaml")
    monkeypatch.setattr("posewise.__main__.prepare_jax", lambda: None)
    from posewise.robots.models import DATA_DIR

    (tmp_path / "robot.urdf").write_text((DATA_DIR / "planar3.urdf").read_text())

    def write(text, name="problem.yaml"):
        file = tmp_path / name
        file.write_text(textwrap.dedent(text))
        return file

    return write
