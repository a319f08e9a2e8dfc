"""Every notebook runs from top to bottom, and is committed executed and small."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
QUICK = ("01",)
NEEDS = {
    "06": ("bddl", "mujoco"),
    "07": ("mujoco",),
    "08": ("mujoco",),
    "12": ("mujoco", "viser"),
    "16": ("mujoco",),
    "20": ("torch",),
}


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda p: p.stem)
def test_committed_executed_and_small(file):
    assert file.stat().st_size < 1_500_000
    cells = json.loads(file.read_text())["cells"]
    code = [c for c in cells if c["cell_type"] == "code"]
    assert code and all(c["execution_count"] for c in code)
    assert not any(o["output_type"] == "error" for c in code for o in c["outputs"])
    kinds = [k for c in code for o in c["outputs"] for k in o.get("data", {})]
    assert "image/png" in kinds
    streams = [o["name"] for c in code for o in c["outputs"] if "name" in o]
    assert "stderr" not in streams


LONG = [
    pytest.param(p, id=p.stem, marks=[pytest.mark.slow] * (p.stem[:2] not in QUICK))
    for p in NOTEBOOKS
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", LONG)
def test_runs_from_top_to_bottom(file, monkeypatch):
    for extra in NEEDS.get(file.stem[:2], ()):
        pytest.importorskip(extra, reason=f"needs the extra `{extra}`")
    nbformat = pytest.importorskip("nbformat", reason="needs the extra `notebook`")
    nbclient = pytest.importorskip("nbclient", reason="needs the extra `notebook`")
    pytest.importorskip("ipykernel", reason="needs the extra `notebook`")
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parent))
    notebook = nbformat.read(file, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}}
    )
    client.execute()
