"""Ten robots that others wrote, from the package `example-robot-data`.

For each: its file, its tip, and where a table with three boxes stands before it. What
may touch and what is to be reached is found once (`prepare`) and kept in a folder, so
that each measured process works with the same pairs and targets.
"""

import json
import sys
import warnings
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path

import numpy as np

import posewise as pw
from posewise import FS, OT

MODELS = ("meshes", "capsules")
TARGETS = 10
OVERLAP = 1e-3
"""Depth up to which a constraint counts as satisfied [m], as in the solver."""
SLICES = 32


@dataclass(frozen=True)
class Robot:
    """A file, the frame that reaches, and a table in the workspace of that frame."""

    file: str
    tip: str
    table: tuple[float, float, float]
    """Middle of the table's top [m]."""
    size: float
    """Length of the table [m]; its boxes and the way around them are in proportion."""
    all_pairs: bool = False
    """Whether pairs that never touch are kept."""

    @cached_property
    def path(self) -> Path:
        """The URDF."""
        return data_folder() / self.file


ROBOTS = {
    "panda": Robot(
        "panda_description/urdf/panda.urdf", "panda_hand_tcp", (0.5, 0, 0.2), 1.0
    ),
    "ur5": Robot("ur_description/urdf/ur5_robot.urdf", "tool0", (0.5, 0, 0.1), 1.0),
    "so101": Robot(
        "so_arm_description/urdf/so101.urdf", "gripper_frame_link", (0.25, 0, 0), 0.4
    ),
    "xarm7": Robot("xarm_description/urdf/xarm7.urdf", "link_eef", (0.45, 0, 0.1), 0.9),
    "kinova": Robot(
        "kinova_description/robots/kinova.urdf",
        "j2s6s200_end_effector",
        (0.45, 0, 0.1),
        0.9,
    ),
    "tiago": Robot(
        "tiago_description/robots/tiago.urdf", "hand_grasping_frame", (0.7, 0, 0.6), 0.8
    ),
    "pr2": Robot(
        "pr2_description/urdf/pr2.urdf", "r_gripper_tool_frame", (0.7, -0.2, 0.6), 0.8
    ),
    "baxter": Robot(
        "baxter_description/urdf/baxter.urdf", "right_gripper", (0.8, -0.3, -0.1), 0.8
    ),
    "g1": Robot(
        "g1_description/urdf/g1_29dof_rev_1_0.urdf",
        "right_rubber_hand",
        (0.3, -0.15, 0.05),
        0.4,
        all_pairs=True,
    ),
    "talos": Robot(
        "talos_data/robots/talos_reduced.urdf",
        "gripper_right_base_link",
        (0.5, -0.25, 0.0),
        0.6,
    ),
}


def data_folder() -> Path:
    """Return the folder of robots of the installed `example-robot-data`."""
    inside = "cmeel.prefix/share/example-robot-data/robots"
    for place in map(Path, sys.path):
        if (place / inside).is_dir():
            return place / inside
    sys.exit(
        f"{inside} is in no folder of sys.path: install the robots with"
        " `pip install example-robot-data`."
    )


def load(robot: Robot) -> pw.Config:
    """Return the robot with its meshes, fixed at the origin."""
    C = pw.Config()
    with warnings.catch_warnings():  # of what the files lack, see `docs/limits.md`
        warnings.simplefilter("ignore")
        C.add_file(robot.path)
    return C


def fit_capsules(C: pw.Config) -> None:
    """Put one capsule in place of the meshes of each link."""
    C.fit_collisions("capsules", tolerance=inf)


def home(C: pw.Config) -> np.ndarray:
    """Return the home, in the middle of limits that do not allow it."""
    low, high = C.limits
    outside = (C.home < low) | (C.home > high)
    return np.where(outside, (np.nan_to_num(low) + np.nan_to_num(high)) / 2, C.home)


def random_states(C: pw.Config, rng: np.random.Generator, count: int) -> np.ndarray:
    """Return states within the limits; of coordinates without limits, within ±pi."""
    low, high = np.where(np.isfinite(C.limits), C.limits, [[-np.pi], [np.pi]])
    return rng.uniform(low, high, (count, C.nq))


def allow_touching_at_home(C: pw.Config) -> None:
    """Exclude the pairs that touch at home."""
    C.q = home(C)
    for a, b, _ in C.collisions():
        C.ignore_collisions(a, b)


def reaching(
    C: pw.Config, tip: str, target: np.ndarray, home_scale: float = 0.01
) -> pw.KOMO:
    """Return the problem of the tip at a point without collisions, near to home."""
    komo = pw.KOMO(C)
    if home_scale:
        komo.add_control_objective(order=0, scale=home_scale)
    komo.add_objective(None, FS.position, [tip], OT.eq, target=target)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    return komo


def is_reached(C: pw.Config, tip: str, q: np.ndarray, target: np.ndarray) -> bool:
    """Return whether the tip is within 1 mm, and nothing overlaps by more than that."""
    C.q = q
    near = np.linalg.norm(C.pose(tip)[:3] - target) < 1e-3
    return bool(near) and not C.collisions(margin=-OVERLAP)


def add_table(C: pw.Config, robot: Robot) -> None:
    """Add a table with three boxes."""
    x, y, z = robot.table
    s = robot.size
    C.add_frame(
        "the_table",
        position=[x, y, z - 0.02 * s],
        shape=pw.Box([0.5 * s, s, 0.04 * s]),
        contact=1,
    )
    for k, (along, height) in enumerate([(-0.15, 0.2), (0, 0.3), (0.15, 0.25)]):
        C.add_frame(
            f"the_box{k}",
            position=[x + 0.03 * s * (k - 1), y + along * s, z + height * s / 2],
            shape=pw.Box([0.12 * s, 0.1 * s, height * s]),
            contact=1,
        )


def sides(robot: Robot) -> np.ndarray:
    """Return a point above the table on either side of the boxes (2, 3)."""
    x, y, z = robot.table
    s = robot.size
    return np.array([[x, y - 0.35 * s, z + 0.22 * s], [x, y + 0.35 * s, z + 0.22 * s]])


def around(C: pw.Config, tip: str, target: np.ndarray) -> pw.KOMO:
    """Return the problem of a path of least acceleration to rest at a point."""
    komo = pw.KOMO(C, 1, SLICES, k_order=2, duration_per_phase=2.0)
    komo.add_control_objective(order=2, scale=0.1)
    komo.add_objective([1.0], FS.position, [tip], OT.eq, target=target, scale=10)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq, scale=10)
    return komo


def prepare(name: str, folder: Path, samples: int) -> None:
    """Find and keep what may touch, targets that can be reached, and a path's start."""
    robot = ROBOTS[name]
    C = load(robot)
    if not robot.all_pairs:
        C.pairs.ignore_default(samples=samples)
    allow_touching_at_home(C)
    C.pairs.write_srdf(folder / "meshes.srdf")
    D = C.copy()
    fit_capsules(D)
    allow_touching_at_home(D)
    D.pairs.write_srdf(folder / "capsules.srdf")
    rng = np.random.default_rng(0)
    targets: list[list[float]] = []
    while len(targets) < TARGETS:
        C.q = D.q = random_states(C, rng, 1)[0]
        if not C.collisions() and not D.collisions():
            targets.append(C.pose(robot.tip)[:3].tolist())
    D.q = home(D)
    add_table(D, robot)
    ends = [reaching(D, robot.tip, p).solve(starts=32) for p in sides(robot)]
    values = {"targets": targets, "start": None}
    if all(end.feasible for end in ends):
        values["start"] = ends[0].q.tolist()
    (folder / "prepared.json").write_text(json.dumps(values))


@dataclass(frozen=True)
class Prepared:
    """The results of `prepare`."""

    folder: Path

    @cached_property
    def _values(self) -> dict:
        return json.loads((self.folder / "prepared.json").read_text())

    @property
    def targets(self) -> np.ndarray:
        """Points that the tip reaches without collisions (n, 3)."""
        return np.array(self._values["targets"])

    @property
    def start(self) -> np.ndarray | None:
        """Joint values on one side of the boxes; None: none were found."""
        start = self._values["start"]
        return None if start is None else np.array(start)

    def exclude(self, C: pw.Config, model: str) -> None:
        """Exclude the pairs of a robot that need no test."""
        C.pairs.read_srdf(self.folder / f"{model}.srdf")
