"""The same motion-planning problems for rai (`robotic`)."""

import time
from dataclasses import dataclass

import numpy as np
import robotic as ry

import posewise as pw

from .motion_planning import straight

OPTIONS = {"verbose": 0}
"""rai's defaults."""
SHAPES = {
    pw.Box: lambda s: (ry.ST.box, s.size),
    pw.Capsule: lambda s: (ry.ST.capsule, [s.length, s.radius]),
    pw.Cylinder: lambda s: (ry.ST.cylinder, [s.length, s.radius]),
    pw.Sphere: lambda s: (ry.ST.sphere, [s.radius]),
}


@dataclass(frozen=True)
class RaiResult:
    """Path that rai has found."""

    path: np.ndarray
    is_feasible: bool
    """Whether every row of a constraint is within 1e-3."""
    ms: float
    """Milliseconds of one core."""


def solve(C: pw.Config, goal: np.ndarray, slices: int) -> RaiResult:
    """Solve a problem from a straight initial path with rai's KOMO."""
    ry.params_add({"KOMO/verbose": 0, "opt/verbose": 0})
    K = ry.KOMO(as_rai(C), 1, slices, 2, True)
    K.addControlObjective([], 2, 0.1)
    K.addObjective([], ry.FS.jointLimits, [], ry.OT.ineq, [1.0])
    K.addObjective([], ry.FS.accumulatedCollisions, [], ry.OT.eq, [1.0])
    K.addObjective([1.0], ry.FS.qItself, [], ry.OT.eq, [1.0], goal)
    nlp = K.nlp()
    solver = ry.NLP_Solver()
    solver.setProblem(nlp)
    solver.setOptions(**OPTIONS)
    solver.setInitialization(straight(C.q, goal, slices).ravel())
    begin = time.process_time()
    x = np.array(solver.solve().x)
    ms = 1e3 * (time.process_time() - begin)
    values, _ = nlp.evaluate(x)
    worst = [
        abs(value) if kind == ry.OT.eq else value
        for value, kind in zip(values, nlp.getTypes(), strict=True)
        if kind in (ry.OT.eq, ry.OT.ineq)
    ]
    return RaiResult(x.reshape(slices, -1), max(worst) < 1e-3, ms)


def as_rai(C: pw.Config) -> ry.Config:
    """Return the world for rai: each shape is a frame, joints are hinges.

    rai ignores pairs by a number of ancestors of each link: as many as are ignored here
    without a gap.
    """
    at_zero = C.copy()
    at_zero.q = np.zeros(C.nq)
    world = ry.Config()
    world.addFrame("root")
    # A link apart, which ignores the robot's base and has no pairs within.
    world.addFrame("obstacles", "root").setJoint(ry.JT.rigid)
    for k, frame in enumerate(C.frames):
        is_obstacle = frame.parent is None and not C.children(frame.name)
        parent = "obstacles" if is_obstacle else "root"
        if frame.parent is not None:
            parent = C.frame_names[frame.parent]
        origin = world.addFrame(f"{frame.name} origin", parent)
        origin.setPose(at_zero.pose(k))
        link = world.addFrame(frame.name, f"{frame.name} origin")
        joint = frame.joint
        if joint is not None and moves(C, k):
            link.setJoint(
                ry.JT.hinge,
                C.limits[:, C.joints.coordinates(joint.name)].ravel(),
                joint.axis,
            )
        ignored = 1 if is_obstacle else ignored_ancestors(C, k)
        solids = [g for g in frame.geometries if g.collision]
        for n, geometry in enumerate(solids):
            shape = world.addFrame(f"{frame.name} {n}", frame.name)
            shape.setRelativePose(geometry.pose)
            shape.setShape(*SHAPES[type(geometry.shape)](geometry.shape))
            shape.setContact(-ignored or 1)
    world.setJointState(C.q)
    return world


def ignored_ancestors(C: pw.Config, frame: int) -> int:
    """Return how many links, from a frame's own one towards the root, it ignores."""
    pairs = set(map(frozenset, C.pairs.indices().tolist()))
    count, link = 0, link_of(C, frame)
    while (parent := C.frames[link].parent) is not None:
        link = link_of(C, parent)
        rigid = [k for k in range(len(C.frames)) if link_of(C, k) == link]
        if any(frozenset((frame, k)) in pairs for k in rigid):
            break
        count += 1
    return count


def link_of(C: pw.Config, frame: int) -> int:
    """Return the frame nearest the root that a frame moves rigidly with."""
    parent = C.frames[frame].parent
    return frame if moves(C, frame) or parent is None else link_of(C, parent)


def moves(C: pw.Config, frame: int) -> bool:
    """Return whether a frame has a joint that moves."""
    joint = C.frames[frame].joint
    return joint is not None and joint.name in C.joint_names
