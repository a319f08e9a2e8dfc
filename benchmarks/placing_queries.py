"""A mug among clutter: stable, visible, reachable and not blocked, by one call.

    python benchmarks/placing_queries.py [--scenes 50] [--starts 32]

Scenes of a seed: a Panda at a table with boxes, cans and cups, all free to be knocked
over, and a camera across the table. The mug is to stand somewhere where all four
queries are true of the world as it is: the arm stays where it is, and its way to a
place above the mug is a witness. Success: the exact queries say so of a copy of the
world, Stable by simulation, and nothing overlaps by more than 1 mm.

Prints what fails and why, the share of successes (and of how many the exact queries
find a way of the arm without the witness), seconds of the first solve (with
compilation), median milliseconds of a warm one, and of the rows of Stable.
"""

import argparse
import time

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import logic  # noqa: E402
from posewise.robots.kinematics.transforms import axis_angle_to_quat, matrix_to_quat  # noqa: E402

TOP = 0.4
"""Height of the table [m]."""
TABLE = [(0.2, 0.95), (-0.5, 0.5)]
"""Ranges of x and y on the table in which objects stand [m]."""
ABOVE = "above the mug"
REGION = [[0.2, -0.5, TOP], [0.95, 0.5, TOP + 0.5]]
GOALS = [
    logic.Stable("mug"),
    logic.Visible("mug", "camera"),
    logic.Reachable(ABOVE, "panda"),
    ~logic.Blocking(ABOVE, "panda"),
]


def at(x=0.0, y=0.0, z=0.0, yaw=0.0) -> np.ndarray:
    return np.array([x, y, z, *axis_angle_to_quat(np.array([0.0, 0, 1]), yaw)])


def looking(eye: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The pose of a camera, its image upright."""
    x = (target - eye) / np.linalg.norm(target - eye)
    y = np.cross([0.0, 0, 1], x)
    y /= np.linalg.norm(y)
    return np.array([*eye, *matrix_to_quat(np.stack([x, y, np.cross(x, y)], -1))])


def cup() -> list[tuple]:
    """A cup with a handle, 9.5 cm high; it stands on its origin."""
    return [
        (pw.Cylinder(0.095, 0.04), at(z=0.0475)),
        (pw.Box([0.03, 0.01, 0.06]), at(0.05, z=0.05)),
    ]


def clutter(rng: np.random.Generator) -> list[tuple]:
    """Return parts and radii of six objects: boxes, cans and a cup."""
    things: list[tuple] = [(cup(), 0.065)]
    for _ in range(3):
        x, y, z = rng.uniform([0.05, 0.05, 0.06], [0.2, 0.2, 0.35])
        things.append(([(pw.Box([x, y, z]), at(z=z / 2))], np.hypot(x, y) / 2))
    for _ in range(2):
        z, r = rng.uniform([0.08, 0.03], [0.3, 0.06])
        things.append(([(pw.Cylinder(z, r), at(z=z / 2))], r))
    return things


def scene(seed: int) -> pw.Config:
    """Return a table with six objects that do not touch, and a mug on the floor."""
    rng = np.random.default_rng(seed)
    C = pw.Config()
    C.add_frame("floor", shape=pw.Plane())
    C.add_frame("table", position=[0.6, 0, TOP - 0.02], shape=pw.Box([0.9, 1.2, 0.04]))
    C.add_frame("post", position=[0, 0, TOP / 2], shape=pw.Box([0.2, 0.2, TOP]))
    C.load("panda", pose=at(z=TOP))
    C.annotations.add_agent("panda", base="panda_link0", hands=["panda_hand_tcp"])
    disks: list[tuple] = []
    for k, (parts, radius) in enumerate(clutter(rng)):
        while True:
            place = rng.uniform(*np.transpose(TABLE))
            gaps = [np.linalg.norm(place - p) - r - radius for p, r in disks]
            if min(gaps, default=1.0) > 0.01:
                break
        disks.append((place, radius))
        pose = at(*place, TOP, rng.uniform(-np.pi, np.pi))
        C.add_object(f"thing{k}", parts, pose=pose, joint="free", mass=0.4)
    C.add_object("mug", cup(), pose=at(-0.6, 0.3), joint="free", mass=0.3)
    C.add_frame(ABOVE, "mug", position=[0, 0, 0.13])
    eye = rng.uniform([1.3, -0.6, 0.9], [1.7, 0.6, 1.5])
    pose = looking(eye, np.array([0.55, 0, TOP]))
    C.annotations.add_camera(
        "camera", pose=pose, vertical_fov=np.pi / 3, width=640, height=480
    )
    return C


def failures(C: pw.Config, placement: pw.objectives.placement.Placement) -> list[str]:
    """Return the reasons, by exact queries, why a placement fails.

    Queries about the present world (Stable, Visible) are evaluated with the arm where
    it was; queries about reaching, with the arm at its witness.
    """
    world = C.copy()
    placement.apply(world)
    at_witness = world.copy()
    for witness in placement.witnesses.values():
        for joint, value in witness.items():
            at_witness.set_joint(joint, value)
    queries = [(GOALS[:2], world), (GOALS[2:], at_witness)]
    reasons = [p.explain(w) for goals, w in queries for p in goals if not p.holds(w)]
    low, high = at_witness.limits
    if (at_witness.q < low - 1e-6).any() or (at_witness.q > high + 1e-6).any():
        reasons.append("The witness is beyond the limits of the joints.")
    deep = world.collisions(margin=-1e-3)
    return reasons + [f"{a} and {b} overlap by {-1e3 * d:.1f} mm." for a, b, d in deep]


def holds_without_witness(
    C: pw.Config, placement: pw.objectives.placement.Placement
) -> bool:
    """Return whether all goals hold if the exact queries search a motion themselves."""
    world = C.copy()
    placement.apply(world)
    return all(p.holds(world) for p in GOALS)


def solve(C: pw.Config, starts: int, seed: int, region=REGION) -> list:
    return pw.solve_placement(
        C,
        GOALS,
        ["mug"],
        starts=starts,
        count=1,
        max_iterations=60,
        seed=seed,
        region=region,
        progress=False,
    )


def rows_ms(C: pw.Config) -> float:
    """Value and gradient of the rows of Stable on the table, the best of 50 [ms]."""
    world = C.copy()
    world.joints.select(["mug"])
    world.set_pose("mug", at(0.6, 0.45, TOP + 1e-4))
    rows = logic.Stable("mug").relaxed(world).terms[0].feature.function(world)
    program = jax.jit(jax.value_and_grad(lambda q: rows(q).max()))
    jax.block_until_ready(program(world.q))
    times = []
    for _ in range(50):
        began = time.process_time()
        jax.block_until_ready(program(world.q))
        times.append(time.process_time() - began)
    return 1e3 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scenes", type=int, default=50)
    parser.add_argument("--starts", type=int, default=32)
    args = parser.parse_args()
    wall, cores, good, confirmed = [], [], [], 0
    for seed in range(args.scenes):
        C = scene(seed)
        began, cpu = time.perf_counter(), time.process_time()
        best = solve(C, args.starts, seed)[0]
        wall.append(time.perf_counter() - began)
        cores.append(time.process_time() - cpu)
        why = failures(C, best) if best.feasible else [best.message]
        good.append(not why)
        confirmed += not why and holds_without_witness(C, best)
        for text in why:
            print(f"scene {seed}: {text}", flush=True)
    print(
        f"success {sum(good)} of {len(good)} ({confirmed} without witness); first"
        f" {wall[0]:.1f} s, {cores[0]:.1f} s of the cores; median"
        f" {1e3 * np.median(wall[1:]):.0f} ms, {1e3 * np.median(cores[1:]):.0f} ms of"
        f" the cores; rows of Stable {rows_ms(scene(0)):.1f} ms"
    )


if __name__ == "__main__":
    main()
