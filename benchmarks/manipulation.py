"""Pick and place of random boxes by the manipulation helper, beside rai's.

    python benchmarks/manipulation.py [--boxes 100]

Each box has a random size, place, turn, axis of the grasp, side that ends up, and goal.
Three solves: the waypoints of pick and place, the motion to the box with a straight
retreat and approach, and the motion with the box. The same calls are made with
`robotic` and with `posewise.rai`, each in a process; rai's waypoint initialisation,
which ends the process, is replaced by the same path.

*Feasible* is what the helper says: a sum of violations below 0.1. *Sound* is judged by
one check on both: nothing overlaps by more than 2 mm in pick and place, the gripper is
in the middle plane of the box within 2 mm, and the box ends within 2 mm of its goal.
*Motions*: both were feasible, of the boxes whose waypoints are.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

from posewise import FS  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from staging.manipulation_worker import GRIPPER, scene  # noqa: E402

TOLERANCE = 2e-3
"""Overlap and error of a position up to which a solution is sound [m]."""
UP = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}


def random_boxes(count: int, seed: int = 0) -> list[dict]:
    """Return boxes on the table, to be grasped across a side of at most 7 cm."""
    rng = np.random.default_rng(seed)
    boxes = []
    for _ in range(count):
        size = rng.uniform(0.04, 0.14, 3)
        grasp = int(rng.integers(3))
        size[grasp] = rng.uniform(0.03, 0.07)
        place = str(rng.choice(["x", "y", "z", "xNeg", "yNeg", "zNeg"]))
        boxes.append(
            {
                "size": size.round(4).tolist(),
                "start": rng.uniform([-0.4, 0.05], [0.4, 0.4]).round(4).tolist(),
                "turn": float(rng.uniform(-np.pi, np.pi)),
                "grasp": "xyz"[grasp],
                "place": place,
                "goal": rng.uniform([-0.4, 0.05], [0.4, 0.4]).round(4).tolist(),
            }
        )
    return boxes


def run(package: str, boxes: list[dict]) -> list[dict]:
    """Return the results of a package, in a new process."""
    worker = Path(__file__).parent / "staging" / "manipulation_worker.py"
    process = subprocess.run(
        [sys.executable, worker, package],
        input=json.dumps(boxes),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    if "RESULT " not in process.stdout:
        raise RuntimeError(process.stderr[-2000:])
    return json.loads(process.stdout.rpartition("RESULT ")[2])


def is_sound(box: dict, waypoints: list[list[float]]) -> bool:
    """Return whether pick and place hold within the tolerance."""
    import posewise.rai as ry

    C = scene(ry, box).C
    table, height = C.pose("table"), box["size"]["xyz".index(box["place"][0])]
    C.q = waypoints[0]
    sides = C.eval(FS.positionRel, [GRIPPER, "box"])[0]
    errors = [abs(sides["xyz".index(box["grasp"])])]
    deepest = [-d for _, _, d in C.collisions()]
    C.attach(GRIPPER, "box")
    C.q = waypoints[1]
    # The box may touch the table where it is put.
    deepest += [-d for a, b, d in C.collisions()]
    goal = table[:3] + [*box["goal"], 0.05 + height / 2]
    errors += np.abs(C.pose("box")[:3] - goal).tolist()
    sign = -1 if box["place"].endswith("Neg") else 1
    axis = C.eval(FS[f"vector{box['place'][0].upper()}"], ["box"])[0]
    tilt = np.linalg.norm(axis - sign * np.array([0.0, 0, 1])) * max(box["size"]) / 2
    return max([*errors, *deepest, tilt]) <= TOLERANCE


def summary(package: str, boxes: list[dict], results: list[dict]) -> str:
    """Return a row of the table."""
    count = len(boxes)
    reached = [(b, r) for b, r in zip(boxes, results, strict=True) if r["feasible"][0]]
    sound = sum(is_sound(b, r["waypoints"]) for b, r in reached)
    moved = sum(all(r["feasible"][1:]) for _, r in reached)
    ways = [r["seconds"][0] for r in results]
    motions = [s for _, r in reached for s in r["seconds"][1:]]
    first = ways[0] + sum(reached[0][1]["seconds"][1:])
    warm = motions[2:]  # of the first box both programs are compiled
    return (
        f"| {package} | {len(reached) / count:.0%} | {sound / count:.0%}"
        f" | {moved / len(reached):.0%} | {1e3 * np.median(ways[1:]):.0f}"
        f" ({1e3 * np.max(ways[1:]):.0f}) | {1e3 * np.median(warm):.0f}"
        f" ({1e3 * np.max(warm):.0f}) | {first:.1f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--boxes", type=int, default=100)
    boxes = random_boxes(parser.parse_args().boxes)
    print(
        "| package | feasible | sound | motions | waypoints ms | motion ms | first s |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for package in ("robotic", "posewise"):
        print(summary(package, boxes, run(package, boxes)), flush=True)


if __name__ == "__main__":
    main()
