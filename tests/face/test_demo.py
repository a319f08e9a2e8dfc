"""The demo on our robot and on robots that we did not write."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.reference_kinematics import BULLET, EXAMPLES
from helpers.worlds import plain_poses

from posewise.__main__ import main
from posewise.demo import (
    GAZE_DISTANCE,
    inverse_kinematics,
    load_robot,
    placement,
    placement_world,
    put_shelf,
    reaching_path,
)

COMMAND = [sys.executable, "-m", "posewise", "demo"]
FOREIGN = {
    "panda": (EXAMPLES / "panda_description/urdf/panda.urdf", "panda_hand"),
    "ur5": (EXAMPLES / "ur_description/urdf/ur5_robot.urdf", "tool0"),
    "pr2": (EXAMPLES / "pr2_description/urdf/pr2.urdf", "r_gripper_palm_link"),
    "iiwa": (BULLET / "kuka_iiwa/model.urdf", "lbr_iiwa_link_7"),
}


def check_reached(scene, q) -> None:
    """Check with independent kinematics: tip at target, ball on the camera's axis."""
    C = scene.config
    C.q = q
    poses = plain_poses(C)

    def at(name: str) -> np.ndarray:
        return poses[C.index(name)]

    np.testing.assert_allclose(at(scene.tip)[:3], at("target")[:3], atol=2e-4)
    camera = at("camera")
    w, x, y, z = camera[3:]
    axis = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    view = at("ball")[:3] - camera[:3]
    offset = view - (view @ axis) * np.array(axis)
    assert np.linalg.norm(offset) < 2e-3
    assert GAZE_DISTANCE * 0.9 < np.linalg.norm(view)
    assert (C.q >= C.limits[0] - 1e-6).all() and (C.q <= C.limits[1] + 1e-6).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*mesh.*:UserWarning")
@pytest.mark.sampled("panda")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            n, id=n or "own", marks=[pytest.mark.slow] * (n in {"ur5", "iiwa", "pr2"})
        )
        for n in (None, *FOREIGN)
    ],
)
def test_reaching_and_gazing(name):
    if name is None:
        scene = load_robot(None, None, 0)
    else:
        file, tip = FOREIGN[name]
        if not file.is_file():
            pytest.skip(f"{name}: example-robot-data or pybullet is not installed")
        scene = load_robot(file, tip, 0)
    ik = inverse_kinematics(scene).solve(0, 8)
    assert ik.feasible, ik.report()
    path = reaching_path(scene).solve(0, 4)
    assert path.feasible, path.report()
    check_reached(scene, ik.q)
    check_reached(scene, path.q)
    full = np.concatenate([[scene.start] * 2, path.path])
    assert np.abs(full[-1] - full[-2]).max() < 1e-3
    assert np.abs(np.diff(full, 2, axis=0)).max() < 0.2


@pytest.mark.slow
def test_a_shelf_in_the_way_is_avoided():
    scene = load_robot(None, None, 0)
    C = scene.config
    free = reaching_path(scene).solve(0, 4)
    put_shelf(scene, free.path)

    def clearance(path) -> float:
        least = np.inf
        for q in path:
            C.q = q
            near = [d for a, b, d in C.collisions(0.1) if "shelf" in (a, b)]
            least = min([least, *near])
        return least

    assert clearance(free.path) < -0.01
    C.q = scene.start
    around = reaching_path(scene).solve(0, 4)
    assert around.feasible, around.report()
    check_reached(scene, around.q)
    assert clearance(around.path) > 0.0195


@pytest.mark.sampled
@pytest.mark.parametrize("seed", [0, 1])
def test_the_box_stands_on_the_region(seed):
    C = placement_world()
    sol = placement(C).solve(seed, 8)
    assert sol.feasible, sol.report()
    C.q = sol.q
    poses = plain_poses(C)
    corners = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    corners = corners * C.frame("box").shape.size / 2
    frames = C.forward_pass().frames
    box, region = C.index("box"), C.index("region")
    on_region = corners @ frames.R[box].T + poses[box][:3] - poses[region][:3]
    on_region = on_region @ frames.R[region]
    size = C.frame("region").shape.size
    assert (np.abs(on_region[:, :2]) <= size[:2] / 2 - 0.0098).all()
    np.testing.assert_allclose(on_region[:, 2].min(), size[2] / 2, atol=2e-4)
    assert np.ptp(np.sort(on_region[:, 2])[:4]) < 1e-3


@pytest.mark.slow
def test_the_command_prints_a_table_and_writes_pictures(tmp_path):
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "posewise",
            "demo",
            "--out",
            str(tmp_path),
            "--starts",
            "2",
        ],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env={
            "PATH": "/usr/bin:/bin",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "XLA_FLAGS": os.environ["XLA_FLAGS"],
        },
    )
    assert run.returncode == 0, run.stderr
    assert len(re.findall(r"\b(CONVERGED|FEASIBLE)\b", run.stdout)) == 3, run.stdout
    assert "cost share" in run.stdout
    for name in ("path.png", "film.png", "arm.png", "placement.png"):
        assert (tmp_path / name).stat().st_size > 20_000
    cache = tmp_path / "cache" / "posewise" / "jax"
    assert cache.stat().st_mode & 0o777 == 0o700 and any(cache.iterdir())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--robot", "nowhere.urdf", "--tip", "x"], "nowhere.urdf"),
        (["--robot", "ROBOT"], "--tip"),
        (["--robot", "ROBOT", "--tip", "tipp"], "'tip'"),
        (["--robot", "ROBOT", "--tip", "base"], "No joint moves"),
    ],
)
def test_bad_arguments_end_with_a_sentence(arguments, text, capsys, monkeypatch):
    from posewise.robots.models import DATA_DIR

    monkeypatch.setattr("posewise.__main__.prepare_jax", lambda: None)
    file = str(DATA_DIR / "planar3.urdf")
    arguments = [file if a == "ROBOT" else a for a in arguments]
    assert main(["demo", *arguments]) == 2
    message = capsys.readouterr().err
    assert text in message and "Traceback" not in message
