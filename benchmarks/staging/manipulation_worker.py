"""Pick and place of boxes by the manipulation helper of one package, in a process.

    python benchmarks/staging/manipulation_worker.py robotic|posewise < boxes.json

The input is a list of boxes (see `manipulation.py`); the output one line of JSON with
what each solve took and found.
"""

import json
import sys
import time

import numpy as np

GRIPPER, PALM = "l_gripper", "l_palm"


def package(name: str):
    """Return the module with rai's names."""
    if name == "posewise":
        import jax

        jax.config.update("jax_enable_x64", True)
        import posewise.rai as ry

        return ry
    import robotic as ry

    ry.params_add({"disableGui": True})
    ry.KOMO_ManipulationHelper.setup_point_to_point_motion = point_to_point
    return ry


def point_to_point(
    self, C, q1, homing_scale=1e-2, acceleration_scale=1e-1, collisions=True, *_
):
    """Stand in for rai's method: its `initWithWaypoints` ends the process here."""
    import robotic as ry

    self.setup_motion(C, 1, 50, homing_scale, acceleration_scale, collisions)
    s = (1 - np.cos(np.pi * np.arange(1, 51) / 50)) / 2
    start = C.getJointState()
    self.komo.initWithPath(start + s[:, None] * (np.asarray(q1) - start))
    self.komo.addObjective([1.0], ry.FS.qItself, [], ry.OT.eq, [1e0], q1)


def scene(ry, box: dict):
    """Return the robot at its table with a box."""
    C = ry.Config()
    C.addFile(ry.raiPath("scenarios/pandaSingle.g"))
    C.delFrame(C.getFrame("panda_collCameraWrist"))
    frame = C.addFrame("box", "table").setJoint(ry.JT.rigid)
    frame.setShape(ry.ST.ssBox, [*box["size"], 0.005]).setContact(1)
    frame.setRelativePosition([*box["start"], 0.05 + box["size"][2] / 2])
    turn = box["turn"] / 2
    frame.setRelativeQuaternion([np.cos(turn), 0, 0, np.sin(turn)])
    return C


def timed(solve) -> tuple[float, object]:
    """Return seconds and result of a solve."""
    began = time.perf_counter()
    ret = solve()
    return time.perf_counter() - began, ret


def run(ry, box: dict) -> dict:
    """Return the waypoints, and seconds and success of them and of both motions."""
    C = scene(ry, box)
    man = ry.KOMO_ManipulationHelper()

    def waypoints():
        man.setup_pick_and_place_waypoints(C, GRIPPER, "box", homing_scale=1e-1)
        man.grasp_box(1.0, GRIPPER, "box", PALM, box["grasp"])
        man.place_box(2.0, "box", "table", PALM, box["place"])
        man.no_collisions([], [PALM, "table"])
        man.target_relative_xy_position(2.0, "box", "table", list(box["goal"]))
        return man.solve(0)

    seconds, ret = timed(waypoints)
    record = {"seconds": [seconds], "feasible": [bool(ret.feasible)], "waypoints": None}
    if not ret.feasible:
        return record
    record["waypoints"] = np.asarray(man.path).tolist()

    def motion(phase: int):
        move = man.sub_motion(phase)
        if phase == 0:
            move.retract([0.0, 0.2], GRIPPER)
            move.approach([0.8, 1.0], GRIPPER)
        else:
            move.no_collisions([], ["table", "box"])
        move.solve(0)
        return move

    for phase in (0, 1):
        seconds, move = timed(lambda phase=phase: motion(phase))
        record["seconds"].append(seconds)
        record["feasible"].append(bool(move.feasible))
    return record


def main() -> None:
    """Print the results of all boxes."""
    ry = package(sys.argv[1])
    boxes = json.load(sys.stdin)
    print("RESULT " + json.dumps([run(ry, box) for box in boxes]))


if __name__ == "__main__":
    main()
