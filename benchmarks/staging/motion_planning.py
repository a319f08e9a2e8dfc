"""Motion-planning problems of the reference data, and the check that comes with them.

Each asks for a path from one configuration to another among boxes and capsules; see
the reference data's own description.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

import posewise as pw
from posewise import FS, OT

from .random_meshes import random_mesh

FOLDER = Path(__file__).resolve().parents[2].parent / "shared/oracle/mbm"
MARGIN = 0.005
"""A clearance [m] for problems of our own; starts and goals have 0.002 to 0.02."""


@dataclass(frozen=True)
class ProblemSet:
    """Families of problems for one robot, and an independent check of paths."""

    robot: pw.Config
    families: dict[str, list[dict]]
    """Problems by family: `start`, `goal` (nq,) and `obstacles`, each a name, a kind,
    a size and a pose."""
    is_valid: Callable[[dict, np.ndarray], bool]
    """Whether a path (slices, nq) solves a problem without collisions, also between
    slices."""


def reference_problems(name: str, folder: Path = FOLDER) -> ProblemSet:
    """Return the problems of the reference data whose ends are free by its check."""
    check = load_check(folder)
    joints = check.joints(name)
    judge = check.Robot(name, joints)

    def is_free(problem: dict) -> bool:
        ends = np.stack([problem["start"], problem["goal"]])
        return min(map(np.min, judge.clearance(ends, problem["obstacles"]))) >= 0

    families = {
        family: list(filter(is_free, problems))
        for family, problems in check.problems(name).items()
    }
    return ProblemSet(
        robot(name, joints, folder), families, lambda p, q: check.valid(judge, p, q)
    )


def load_check(folder: Path = FOLDER) -> ModuleType:
    """Return the reference data's module, which reads problems and checks paths."""
    spec = importlib.util.spec_from_file_location("mbm_check", folder / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def robot(name: str, joints: list[str], folder: Path = FOLDER) -> pw.Config:
    """Return the robot with several spheres a link and its ignored collisions."""
    C = pw.Config()
    C.add_file(folder / f"{name}_spherized.urdf")
    C.pairs.read_srdf(folder / f"{name}.srdf")
    for joint in C.joint_names:
        if joint not in joints:
            C.lock(joint)
    return C


def world(base: pw.Config, problem: dict) -> pw.Config:
    """Return the robot in the start of a problem, among its obstacles."""
    C = base.copy()
    for name, kind, size, pose in problem["obstacles"]:
        shape = {
            "box": lambda s: pw.Box(s),
            "capsule": lambda s: pw.Capsule(*s),
            "cylinder": lambda s: pw.Cylinder(*s),
            "sphere": lambda s: pw.Sphere(s[0]),
            "mesh": lambda s: random_mesh(int(s[0]), (s[1], s[2])),
        }[kind](size)
        C.add_frame(f"obstacle_{name}", shape=shape, pose=pose, contact=1)
    C.q = problem["start"]
    return C


def motion(C: pw.Config, goal: np.ndarray, slices: int) -> pw.KOMO:
    """Return the path problem: to the goal, short, within limits, without collisions.

    Its initial path is straight.
    """
    komo = pw.KOMO(C, 1, slices, 2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective(None, FS.jointLimits, [], OT.ineq)
    komo.avoid_collisions()
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=goal)
    komo.initialize(straight(C.q, goal, slices))
    return komo


def straight(start: np.ndarray, goal: np.ndarray, slices: int) -> np.ndarray:
    """Return a straight path (slices, nq), which ends at the goal."""
    return start + np.arange(1, slices + 1)[:, None] / slices * (goal - start)
