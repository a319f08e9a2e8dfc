"""Manipulation problems in the style of rai's third tutorial, for both packages.

Each takes the module as `ry` and returns numbers by name. Run as a module, it prints
the results of `robotic` as one JSON object.
"""

import json

import numpy as np
from helpers.rai_tutorials import in_child

GRIPPER, PALM = "l_gripper", "l_palm"


def scene(ry, size=(0.06, 0.06, 0.06)):
    """The robot at its table with a box, without the camera that top grasps touch."""
    C = ry.Config()
    C.addFile(ry.raiPath("scenarios/pandaSingle.g"))
    C.delFrame(C.getFrame("panda_collCameraWrist"))
    box = C.addFrame("box", "table").setJoint(ry.JT.rigid)
    box.setShape(ry.ST.ssBox, [*size, 0.005]).setContact(1)
    box.setRelativePosition([-0.25, 0.2, 0.05 + size[2] / 2])
    return C


def result(man, ret):
    path = np.asarray(man.komo.getPath())
    return {"feasible": bool(ret.feasible), "sos": ret.sos, "path": list(path.shape)}


def grasp(ry, add, z=0.95):
    C = scene(ry)
    C.getFrame("box").setPosition([-0.25, 0.1, z])
    can = C.addFrame("can").setShape(ry.ST.capsule, [0.2, 0.02])
    can.setPosition([0.25, 0.1, 1.0]).setContact(1)
    man = ry.KOMO_ManipulationHelper()
    man.setup_inverse_kinematics(C)
    add(man)
    return result(man, man.solve(0))


def top_grasp(ry):
    return grasp(ry, lambda m: m.grasp_top_box(1.0, GRIPPER, "box", "xz"))


def side_grasp(ry):
    return grasp(ry, lambda m: m.grasp_top_box(1.0, GRIPPER, "box", "zy"))


def box_grasp_x(ry):
    return grasp(ry, lambda m: m.grasp_box(1.0, GRIPPER, "box", PALM, "x"))


def box_grasp_y(ry):
    return grasp(ry, lambda m: m.grasp_box(1.0, GRIPPER, "box", PALM, "y"))


def box_grasp_z(ry):
    return grasp(ry, lambda m: m.grasp_box(1.0, GRIPPER, "box", PALM, "z"))


def capsule_grasp(ry):
    return grasp(ry, lambda m: m.grasp_cylinder(1.0, GRIPPER, "can", PALM))


def pick_and_place(ry):
    C = scene(ry, (0.15, 0.06, 0.06))
    man = ry.KOMO_ManipulationHelper()
    man.setup_pick_and_place_waypoints(C, GRIPPER, "box", homing_scale=1e-1)
    man.grasp_box(1.0, GRIPPER, "box", PALM, "y")
    man.place_box(2.0, "box", "table", PALM, "z")
    man.no_collisions([], [PALM, "table"])
    man.target_relative_xy_position(2.0, "box", "table", [0.2, 0.3])
    return result(man, man.solve(0))


def push(ry):
    C = scene(ry, (0.15, 0.06, 0.06))
    C.getFrame("l_panda_finger_joint1").setJointState(np.array([0.01]))
    man = ry.KOMO_ManipulationHelper()
    man.setup_sequence(C, 2, 1e-1, accumulated_collisions=False)
    man.komo.addFrameDof("slide", "table", ry.JT.transXY, False, "box")
    man.komo.addRigidSwitch(1.0, ["slide", "box"])
    man.straight_push([1.0, 2.0], "box", GRIPPER, "table")
    flat = 1e1 * np.eye(3)[:2]
    goal = [0.0, 0.35, 0.0]
    man.komo.addObjective([2.0], ry.FS.position, ["box"], ry.OT.eq, flat, goal)
    return result(man, man.solve(0))


PROBLEMS = (
    *(top_grasp, side_grasp, box_grasp_x, box_grasp_y, box_grasp_z),
    *(capsule_grasp, pick_and_place, push),
)

if __name__ == "__main__":
    import robotic

    robotic.params_add({"disableGui": True})
    results = {p.__name__: in_child(p, robotic) for p in PROBLEMS}
    print("RESULT " + json.dumps(results))
