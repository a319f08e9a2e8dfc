"""The layout, what importing costs and changes, and the README's snippets."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("features", "logic", "objectives", "robots", "solvers")
HEAVY = "trimesh mujoco matplotlib yourdfpy robotic scipy h5py yaml optax".split()


def settings() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_packages_follow_the_folders():
    found = {"posewise"}
    for folder in (*FOLDERS, "posewise"):
        inside = [p for p in (ROOT / folder).rglob("__init__.py") if p.is_file()]
        for file in inside:
            parts = file.parent.relative_to(ROOT).parts
            if "posewise" in parts[:1] and len(parts) > 1 and parts[1] in FOLDERS:
                continue
            name = ".".join(parts)
            found.add(name if parts[0] == "posewise" else f"posewise.{name}")
    assert set(settings()["packages"]) == found
    places = settings()["package-dir"]
    for package in found - {"posewise"}:
        if package in places:
            assert (ROOT / places[package]).is_dir()
        assert package in places or package.startswith("posewise.rai")


@pytest.mark.parametrize("folder", FOLDERS)
def test_links_lead_to_the_folders(folder):
    link = ROOT / "posewise" / folder
    assert link.is_symlink() and link.resolve() == ROOT / folder


def python(code: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_importing_changes_no_setting_and_loads_nothing_heavy():
    out = python(
        "import jax, sys, json; before = dict(jax.config.values); import posewise;"
        " print(json.dumps([before == dict(jax.config.values),"
        f" [m for m in {HEAVY} if m in sys.modules]]))"
    )
    assert json.loads(out) == [True, []]


def test_readme_snippets_run():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(blocks) >= 4
    out = python("\n".join(blocks))
    assert "CONVERGED" in out


def test_the_wheel_carries_the_models(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--quiet"]
        + ["--wheel-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    if run.returncode:
        pytest.skip(f"pip cannot build here: {run.stderr.strip().splitlines()[-1:]}")
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    for part in (
        "robots/data/panda.urdf",
        "robots/data/index.json",
        "features/table.py",
    ):
        assert f"posewise/{part}" in names
