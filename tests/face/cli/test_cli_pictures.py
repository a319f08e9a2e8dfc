"""Pictures and placement files of `posewise solve`."""

import numpy as np
import pytest
from helpers.problem_files import POINTING

import posewise as pw
from posewise.__main__ import main
from posewise.cli.problem_file import read_problem

pytest.importorskip("matplotlib", reason="pictures need the extra plot")

PLACING = """\
scene:
  frames:
    table: {position: [0.6, 0, 0.7], shape: "Box([0.8, 1.2, 0.04])"}
    mug: {joint: free, position: [0.5, 0, 1.2], shape: "Cylinder(0.1, 0.04)"}
  cameras:
    cam: {position: [-0.5, 0, 1.0], width: 200, height: 100}
placement: {movable: [mug], starts: 2, count: 1}
objectives:
  - {feature: position, frames: [mug], target: [0.5, 0.2, 0.77]}
seed: 0
"""


@pytest.mark.slow
def test_a_placement_is_drawn_and_its_file_is_that_of_python(write_problem):
    file = write_problem(PLACING)
    table, picture = file.parent / "table.json", file.parent / "table.png"
    command = ["solve", str(file), "--json", str(table), "--picture", str(picture)]
    assert main([*command, "--camera", "cam"]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    C = read_problem(file).world
    loaded = pw.Placement.load(table)
    loaded.apply(C)
    np.testing.assert_allclose(C.pose("mug")[:3], [0.5, 0.2, 0.77], atol=1e-3)
    assert main(["check", str(file), str(table)]) == 0
    # A file that Python wrote is one for the command line.
    (placement, *_) = pw.solve_placement(
        C, [(pw.Feature(pw.FS.position, ["mug"], target=[0.5, 0.2, 0.77]), pw.OT.eq)],
        ["mug"], starts=1, progress=False,
    )  # fmt: skip
    placement.save(table)
    assert main(["check", str(file), str(table)]) == 0


@pytest.mark.long
def test_a_path_is_drawn(write_problem):
    file = write_problem(POINTING)
    picture = file.parent / "path.svg"
    assert main(["solve", str(file), "--picture", str(picture)]) == 0
    assert "<svg" in picture.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--camera", "cam"], "--picture"),
        (["--picture", "x.txt"], "ends in .png"),
        (["--picture", "x.png", "--camera", "can"], "did you mean 'cam'"),
    ],
)
def test_pictures_that_cannot_be_drawn(write_problem, capsys, options, message):
    assert main(["solve", str(write_problem(PLACING)), *options]) == 2
    assert message in capsys.readouterr().err
