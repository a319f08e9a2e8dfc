"""Uses of the public API as in the README; `mypy --strict` checks them, nothing runs.

A wrong or missing annotation of an entry point makes this file fail to type-check.
"""

import numpy as np

import posewise as pw
from posewise import FS, OT, presets


def reach() -> pw.Solution:
    """A path to a target, with collisions, as in the README."""
    C = pw.load("panda")
    C.lock("panda_finger_joint1")
    C.add_frame("target", position=[0.5, 0.3, 0.3], shape=pw.Marker(0.1))
    komo = pw.KOMO(C, phases=1, slices_per_phase=32, k_order=2, duration_per_phase=2.0)
    komo.add_control_objective(order=2, scale=0.1)
    goal = komo.add_objective(
        [1.0], FS.positionDiff, ["panda_hand_tcp", "target"], OT.eq, scale=10
    )
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq, margin=0.02)
    komo.initialize(C.q)
    solution = komo.solve(seed=0, starts=4, max_iterations=200, progress=False)
    batch: pw.SolutionBatch = komo.solve_batch({goal: np.zeros((3, 3))}, starts=2)
    sensitivity: pw.Sensitivity = batch[0].sensitivity(goal)
    assert sensitivity.regular and solution.world_at(-1).nq == C.nq
    phi, J = komo.nlp().evaluate(komo.nlp().initial)
    assert phi.shape[0] == J.shape[0]
    return solution


def name_by_facets(C: pw.Config) -> tuple[str, ...]:
    """Joints, pairs that may collide, and annotations."""
    C.joints.set_type("door", "hinge", axis=[0, 0, 1], limits=[-1.0, 0.0])
    C.joints.add_named_state("open", {"door": -1.0})
    reasons = [pair.reason for pair in C.pairs.ignore_default(seed=1)]
    C.annotations.rooms = pw.RoomMap([pw.Room("hall", cells=[0, 0, 4, 4])], size=4)
    region: pw.Region = C.annotations.add_region("cupboard", "inside", size=[1, 1, 1])
    return (*C.joints.types, *reasons, region.name)


def pick_and_place(C: pw.Config) -> pw.Solution:
    """Presets, mode switches, helper frames and contacts."""
    komo = presets.setup_motion(C, phases=2, slices_per_phase=16)
    grasp: presets.Preset = presets.grasp_box("gripper", "box", "palm", "x")
    komo.add(grasp, times=[1.0])
    komo.add(presets.place_box("box", "table", "palm", "-z", margin=0.05), [2.0])
    komo.add(presets.no_collisions([("palm", "table")]))
    komo.add_mode_switch([1.0, 2.0], "stable", ["gripper", "box"])
    komo.add_frame("grasp", "box", joint="free", stable=True)
    komo.add_contact([1.0, 2.0], "box", "table", kind="sliding")
    solution = komo.solve()
    names: tuple[str, ...] = solution.alternatives
    forces: tuple[pw.ContactForce, ...] = solution.forces()
    assert names is not None and forces is not None
    return solution


def place(C: pw.Config) -> list[pw.Placement]:
    """A placement with a feature, a preset and given starts."""
    upright = (pw.Feature(FS.vectorZ, ["mug"], target=[0, 0, 1]), OT.eq)
    inside = presets.target_relative_xy_position("mug", "table", [0.1, 0.0])
    return pw.solve_placement(
        C,
        [upright, inside],
        ["mug"],
        starts={"mug": np.zeros((4, 7))},
        region=[[-1, -1, 0], [1, 1, 2]],
        min_separation=(0.01, 0.1),
        count=1,
        progress=False,
        max_iterations=100,
    )


class StraightPlanner:
    """A planner of a user, as in the guide."""

    def plan(self, task: pw.PlanningTask) -> np.ndarray | None:
        """Return the straight motion to the first goal, if it is free."""
        ends = task.start[None], task.goals[:1]
        return np.vstack(ends) if task.are_free_motions(*ends).all() else None


def plan(komo: pw.KOMO) -> pw.Solution:
    """A path by posewise's planner, by one of another library, and by one's own."""
    planner: pw.Planner = StraightPlanner()
    komo.plan(planner="ompl")
    komo.plan(seed=1, planner="rrt-connect")
    return komo.plan(planner=planner, max_time=10.0)


def keep_and_look(C: pw.Config, placement: pw.Placement) -> bool:
    """Files of placements and of simulators, and what a camera sees."""
    placement.save("table.json")
    saved = pw.Placement.load("table.json")
    saved.apply(C)
    C.write_mjcf("scene.xml")
    C.write_sdf("scene.sdf")
    C.write_usd("scene.usda")
    placement.picture("table.png", camera="cam", names=True)
    return saved.solved
