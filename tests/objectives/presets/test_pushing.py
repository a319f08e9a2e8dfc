"""Presets of pushes and pulls, and the template of a pick and place."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, presets

UP = np.array([0, 0, 1.0])


def world() -> pw.Config:
    """A free gripper with a round tip, and a box that slides on the ground."""
    C = pw.Config()
    C.add_frame("box", joint="transXYPhi", shape=pw.Box([0.1, 0.1, 0.08]))
    C.add_frame(
        "gripper", joint="free", position=[0.1, -0.3, 0.3], shape=pw.Sphere(0.01)
    )
    return C


def places(solution, frame) -> np.ndarray:
    return np.array(
        [solution.world_at(t).pose(frame) for t in range(solution.x.shape[0])]
    )


@pytest.mark.parametrize("preset", [presets.retract_push, presets.approach_push])
def test_a_push_is_left_and_met_backwards_and_up(preset):
    """The displacement in the axes of the gripper, which do not turn."""
    sign = 1 if preset is presets.retract_push else -1
    C = world()
    komo = pw.KOMO(C, 1, 8, 1)
    komo.add_control_objective(1, 0.1)
    komo.add(preset("gripper", 0.06), [0.0, 1.0])
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.report()
    moved = places(solution, "gripper")[-1] - C.pose("gripper")
    np.testing.assert_allclose(moved[[0, 3, 4, 5, 6]], 0, atol=2e-3)
    assert sign * moved[1] <= -0.06 + 2e-3
    assert sign * moved[2] >= 0.06 - 2e-3


@pytest.mark.long
def test_a_pull_is_from_above_and_level():
    C = world()
    komo = pw.KOMO(C, 2, 2, 1)
    komo.add_control_objective(1, 0.1)
    komo.add(presets.freeze_joint("box"), [0.0, 1.0])
    komo.add(presets.pull("gripper", "box", 0.005), [1.0, 2.0])
    komo.add_objective(
        [2.0], FS.position, ["box"], OT.eq, scale=np.eye(3)[:2], target=[0.2, 0.1, 0]
    )
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.report()
    gripper, box = places(solution, "gripper"), places(solution, "box")
    for t in (1, 2, 3):
        height = 0.04 + 0.01 + 0.005
        np.testing.assert_allclose(gripper[t, :3] - box[t, :3], height * UP, atol=1e-3)
        R = solution.world_at(t).eval(FS.vectorZ, ["gripper"])[0]
        np.testing.assert_allclose(R, UP, atol=1e-3)
    np.testing.assert_allclose(box[-1, :2], [0.2, 0.1], atol=2e-3)


def test_the_template_of_a_pick_and_place_carries_the_object():
    C = world()
    C.add_frame("table", position=[0, 0, -0.06], shape=pw.Box([1, 1, 0.04]))
    komo = presets.setup_pick_and_place(C, "gripper", "box", collisions=False)
    komo.add(presets.grasp_top_box("gripper", "box"), [1.0])
    komo.add(presets.place_box("box", "table", None), [2.0])
    komo.add(presets.target_relative_xy_position("box", "table", [0.3, 0.2]), [2.0])
    assert [(s.kind, s.parent, s.frame) for s in komo.switches] == [
        ("stable", "gripper", "box")
    ]
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.report()
    end = solution.world_at(1)
    np.testing.assert_allclose(end.pose("box")[:3], [0.3, 0.2, 0], atol=2e-3)
    assert end.frames[end.frame("box").parent].name == "gripper"
