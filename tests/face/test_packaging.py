"""The layout, what importing costs and changes, and the README's snippets."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "collision",
    "compilation",
    "features",
    "logic",
    "objectives",
    "robots",
    "solvers",
)
HEAVY = "trimesh mujoco matplotlib yourdfpy robotic scipy h5py yaml optax torch".split()


def sources() -> dict[str, Path]:
    """Files of the package by their place in a wheel; links are not followed."""
    files = {}
    for folder in (*FOLDERS, "posewise"):
        for file in (ROOT / folder).rglob("*"):
            inside = file.relative_to(ROOT)
            if inside.parts[0] == "posewise" and inside.parts[1] in FOLDERS:
                continue
            if file.is_file() and "__pycache__" not in inside.parts:
                place = inside if folder == "posewise" else Path("posewise") / inside
                files[place.as_posix()] = file
    return files


@pytest.mark.parametrize("folder", FOLDERS)
def test_links_lead_to_the_folders(folder):
    link = ROOT / "posewise" / folder
    assert link.is_symlink() and link.resolve() == ROOT / folder


def python(code: str, folder: Path = ROOT) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_importing_changes_no_setting_and_loads_nothing_heavy():
    """With all public names; tests/test_lazy_names.py says what fewer of them load."""
    out = python(
        "import jax, sys, json; before = dict(jax.config.values);"
        " from posewise import *;"
        " print(json.dumps([before == dict(jax.config.values),"
        f" [m for m in {HEAVY} if m in sys.modules]]))"
    )
    assert json.loads(out) == [True, []]


def test_without_torch_the_error_names_the_extra():
    out = python(
        "import sys; sys.modules['torch'] = None\n"
        "try: import posewise.torch\n"
        "except ImportError as error: print(error)"
    )
    assert 'posewise.torch needs PyTorch: pip install "posewise[torch]".' in out


def snippets(page: Path) -> str:
    """All the Python of a page, as one program."""
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.S))


LONG_PAGES = (
    "again balance contacts controller grasping learning scale service solver".split()
)
"""Pages whose examples compile for long; the site's pictures run the first ones."""
FIRST_PAGES = ("README", "index", "conventions")
"""Pages that a user begins with."""


def kind_of(page: str) -> str:
    if page in FIRST_PAGES:
        return "first"
    return "long" if page in LONG_PAGES else "other"


@pytest.mark.parametrize(
    "kind",
    ["first", *(pytest.param(k, marks=pytest.mark.slow) for k in ("other", "long"))],
)
def test_snippets_of_all_pages_run(kind, tmp_path):
    """In one process, for the sake of what it has compiled; each page by itself."""
    pages = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    every = {page.stem: snippets(page) for page in pages}
    guide = "paths features placement grasping collisions contacts batches predicates"
    expected = {"README", "index", "idea", "coming_from", *LONG_PAGES}
    expected |= {*(guide + " states bddl your_robot").split()}
    assert expected <= {name for name, code in every.items() if code}
    programs = {k: code for k, code in every.items() if kind_of(k) == kind}
    file = tmp_path / "programs.json"
    file.write_text(json.dumps(programs))
    out = python(
        f"import json; programs = json.loads(open({str(file)!r}).read())\n"
        "for name, code in programs.items():\n"
        "    exec(compile(code, name, 'exec'), {'__name__': '__main__'})",
        tmp_path,
    )
    assert "CONVERGED" in out


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A copy of the sources in a folder called posewise, as `git clone` makes it."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    assert needed["requires"] == ["setuptools>=77"]
    if int(version("setuptools").split(".")[0]) < 77:
        pytest.skip(f"setuptools is {version('setuptools')}, a build needs >= 77")
    folder = tmp_path_factory.mktemp("home") / "posewise"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in (*FOLDERS, "posewise", "tools"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, folder)
    return folder


def build(clone: Path, kind: str) -> zipfile.ZipFile:
    """Build a wheel of a clone by its backend."""
    place = clone.parent / kind
    call = f"build_backend.{kind}({str(place)!r})"
    python(
        f"import sys; sys.path.insert(0, 'tools'); import build_backend; {call}", clone
    )
    return zipfile.ZipFile(next(place.glob("*.whl")))


def test_the_wheel_carries_every_file(clone):
    names = build(clone, "build_wheel").namelist()
    packed = {n for n in names if not n.split("/")[0].endswith(".dist-info")}
    assert packed == set(sources())
    assert {"posewise/robots/data/panda.urdf", "posewise/py.typed"} <= packed


def test_an_editable_install_is_found_beside_the_clone(clone):
    wheel = build(clone, "build_editable")
    place = clone.parent / "site"
    wheel.extractall(place)
    # Another environment, in which this checkout is not installed.
    code = (
        f"import sys, site; site.addsitedir({str(place)!r});"
        f" sys.path.append({sysconfig.get_path('purelib')!r});"
        " import posewise; print(posewise.__file__, posewise.Feature)"
    )
    other = clone.parent / "other"
    (other / "posewise").mkdir(parents=True)
    (other / "posewise" / "__init__.py").write_text("Feature = 0", "utf-8")
    for folder, package in ((clone.parent, clone), (clone, clone), (other, other)):
        run = [sys.executable, "-S", "-c", code]
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        out = subprocess.check_output(run, cwd=folder, env=env, text=True)
        assert out.startswith(str(package / "posewise" / "__init__.py"))
    (path_file,) = place.glob("*.pth")
    digest = base64.urlsafe_b64encode(hashlib.sha256(path_file.read_bytes()).digest())
    (record,) = place.glob("*.dist-info/RECORD")
    line = f"{path_file.name},sha256={digest.decode().rstrip('=')},"
    assert line + str(path_file.stat().st_size) in record.read_text().splitlines()
