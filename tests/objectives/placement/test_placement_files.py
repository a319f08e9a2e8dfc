"""Files of placements: read back, applied to the same world, refused by others."""

import json
import math

import numpy as np
import pytest

import posewise as pw
from posewise import ConfigError, LoadError, logic
from posewise.robots.world.frame_digests import frame_digests

pytestmark = pytest.mark.long


def table_and_cups() -> pw.Config:
    C = pw.Config()
    C.add_frame("table", position=[0.6, 0, 0.7], shape=pw.Box([0.8, 1.2, 0.04]))
    C.add_frame("lift", "table", joint="transZ", limits=[[0.0], [0.4]], q=[0.1])
    C.add_frame("shelf", "lift", position=[0, 0.4, 0], shape=pw.Box([0.2, 0.2, 0.02]))
    for k in range(2):
        C.add_frame(
            f"cup{k}", joint="free", position=[0, k, 2], shape=pw.Cylinder(0.1, 0.04)
        )
    C.joints.add_named_state("up", {"lift": 0.4})
    return C


@pytest.fixture(scope="module")
def placement() -> pw.Placement:
    C = table_and_cups()
    C.set_joint("lift", 0.2)
    goals = [logic.OnTopOf("cup0", "table"), logic.Upright("cup0")]
    (first, *_) = pw.solve_placement(
        C, goals, ["cup0"], starts=4, seed=0, count=1, progress=False
    )
    return first


def test_a_file_puts_the_same_world_in_the_same_state(placement, tmp_path):
    placement.save(tmp_path / "table.json")
    loaded = pw.Placement.load(tmp_path / "table.json")
    assert loaded.solved and loaded.status == "CONVERGED"
    np.testing.assert_array_equal(loaded.poses["cup0"], placement.poses["cup0"])
    C = table_and_cups()
    loaded.apply(C)
    expected = placement.solution.world_at(-1)
    for name in C.frame_names:
        np.testing.assert_allclose(C.pose(name), expected.pose(name), atol=1e-12)
    # The world that it was applied to is still the same one.
    C.set_joint("lift", 0.0)
    loaded.apply(C)
    assert C.q[0] == 0.2


def test_a_file_says_units_and_violations(placement, tmp_path):
    placement.save(tmp_path / "table.json")
    data = json.loads((tmp_path / "table.json").read_text())
    assert data["format"] == "posewise placements" and data["version"] == 1
    assert "[m]" in data["units"]["poses"] and "w x y z" in data["units"]["poses"]
    assert data["joints"]["lift"] == [0.2] and "cup0" not in data["joints"]
    entry = data["placements"][data["best"]]
    assert entry["poses"]["cup0"] == placement.poses["cup0"].tolist()
    assert all(o["scaled_violation"] <= 1e-3 for o in entry["objectives"])


CHANGES = {
    "table": lambda C: C.set_pose("table", [0.6, 0, 0.71, 1, 0, 0, 0]),
    "cup1": lambda C: C.set_shape("cup1", pw.Cylinder(0.1, 0.05)),
    "vase": lambda C: C.add_frame("vase", joint="free"),
    "cup0": lambda C: C.set_shape("cup0", pw.Sphere(0.05)),
}
"""Changes of what stands still, of shapes, and of frames, by what they change."""


@pytest.mark.parametrize("changed", CHANGES)
def test_another_world_is_refused(placement, tmp_path, changed):
    placement.save(tmp_path / "table.json")
    C = table_and_cups()
    CHANGES[changed](C)
    before = C.q
    with pytest.raises(ConfigError, match=f"another world, .* in {changed};"):
        pw.Placement.load(tmp_path / "table.json").apply(C)
    np.testing.assert_array_equal(C.q, before)


def test_state_colours_and_limits_are_not_the_world():
    C = table_and_cups()
    digests = frame_digests(C.frames)
    C.q = C.q + 0.05
    C.set_color("table", [1, 0, 0])
    C.joints.set_limits("lift", [[0.0], [0.3]])
    assert frame_digests(C.frames) == digests
    # What is placed may be anywhere, also attached to another frame.
    free = frame_digests(C.frames, ["cup1"])
    C.attach("table", "cup1")
    assert frame_digests(C.frames, ["cup1"]) == free
    assert frame_digests(C.frames) != digests


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: [], "has no placements"),
        (lambda data: {"placements": []}, "has no placements"),
        (lambda data: data | {"version": 2}, "newer posewise"),
        (lambda data: data | {"version": None}, "newer posewise"),
        (lambda data: data | {"best": 3}, "damaged"),
        (lambda data: data | {"world": None}, "damaged"),
        (lambda data: data | {"joints": {"lift": ["x"]}}, "joints of 'lift'"),
        (lambda data: data | {"joints": {"lift": [math.nan]}}, "finite numbers"),
        (lambda data: data | {"placements": [{}]}, "damaged"),
        (
            lambda data: data | {"placements": [{"poses": {"cup0": [1, 2]}}]},
            "expected 7 finite numbers",
        ),
    ],
)
def test_files_that_cannot_be_read(placement, tmp_path, change, message):
    file = tmp_path / "table.json"
    placement.save(file)
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    with pytest.raises(LoadError, match=message):
        pw.Placement.load(file)


def test_files_that_are_none(tmp_path):
    with pytest.raises(LoadError, match="cannot be read"):
        pw.Placement.load(tmp_path / "none.json")
    (tmp_path / "text.json").write_text("poses")
    with pytest.raises(LoadError, match="is no JSON"):
        pw.Placement.load(tmp_path / "text.json")
