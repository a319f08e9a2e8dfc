"""The table of usual mistakes: what a user writes, and the sentence that it gets.

Each case: a name, a call with an empty folder, where the sentence is (an error, a
warning, the report or the message of what the call returns), and patterns for what it
names and for what to do. A last test makes the same calls without the mistake.
"""

import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, logic

LIMITS = [[-2.5], [2.5]]
MUG = pw.Box([0.1, 0.1, 0.1])
ON_TABLE = logic.OnTopOf("mug", "table")


def arm(**table) -> pw.Config:
    """Return an arm of two links of 0.5 m in the plane, its tip, and a box at its end.

    The arguments are those of the box.
    """
    C = pw.Config()
    C.add_frame("upper", joint="hingeZ", limits=LIMITS)
    C.add_frame("lower", "upper", position=[0.5, 0, 0], joint="hingeZ", limits=LIMITS)
    C.add_frame("tip", "lower", position=[0.5, 0, 0], shape=pw.Sphere(0.05))
    box = dict(position=[0, 0.8, 0], shape=pw.Box([0.2, 0.2, 0.2])) | table
    C.add_frame("box", **box)
    C.q = [0.1, 0.2]
    return C


def path(C: pw.Config, **avoided: float) -> pw.KOMO:
    """Return a path of two slices, which keeps clear of all with a margin."""
    komo = pw.KOMO(C, 1, 2, 1)
    komo.add_control_objective(order=1, scale=0.1)
    if avoided:
        komo.avoid_collisions(**avoided)
    return komo


def pose(C: pw.Config, *goal, **options) -> pw.KOMO:
    """Return an inverse kinematics with one goal."""
    komo = pw.KOMO(C)
    komo.add_control_objective(order=0, scale=0.1)
    if goal:
        komo.add_objective([], *goal, OT.eq, **options)
    return komo


def gap(target: float) -> pw.KOMO:
    """Return an inverse kinematics whose tip keeps off the box, or does not."""
    komo = pose(arm())
    bound = dict(type=OT.ineq, target=target)
    komo.add_objective([], FS.distance, ["tip", "box"], **bound)
    return komo


def standing(target: float) -> pw.KOMO:
    """Return a weight on a foot."""
    C = pw.Config()
    C.add_frame("foot", joint="transXY", shape=pw.Box([0.2, 0.1, 0.02]), mass=1.0)
    C.add_frame("weight", "foot", joint="transXY", mass=9.0)
    komo = pose(C)
    komo.add_objective([], FS.supportPolygon, ["foot"], OT.ineq, target=target)
    return komo


def stacking(
    *constraints: logic.Predicate | tuple[pw.Feature, OT],
    shape: pw.Box | pw.Sphere = MUG,
) -> pw.Placement:
    """Return the best placement of a mug beside a table that stands still."""
    C = pw.Config()
    C.add_frame("table", position=[0, 0, 0.5], shape=pw.Box([1, 1, 0.1]))
    C.add_frame("mug", joint="free", position=[0, 0, 1], shape=shape)
    return pw.solve_placement(C, [*constraints], movable=["mug"], starts=2)[0]


def scene(*atoms: str, mug: str = "mug.n.01") -> pw.Config:
    """Return a scene of a mug and a table for a goal."""
    text = f"""(define (problem p) (:domain d)
        (:objects mug - {mug} table - table.n.02 floor - floor.n.01)
        (:init (onfloor table floor)) (:goal (and {" ".join(atoms)})))"""
    return logic.bddl.make_scene(logic.bddl.parse(text))


def batch(goals: list[list[float]]) -> object:
    """Solve an inverse kinematics for several targets."""
    komo = pw.KOMO(arm())
    reach = komo.add_objective([], FS.position, ["tip"], OT.eq, target=GOAL)
    return komo.solve_batch(targets={reach: goals})


def at(q) -> pw.Config:
    """Return the arm in a state."""
    C = arm()
    C.q = q
    return C


def wheel(q: float) -> pw.Config:
    """Return a joint without limits."""
    C = pw.Config()
    C.add_frame("wheel", joint="hingeZ", q=q)
    return C


def slide(end: float) -> pw.Config:
    """Return a cart that slides to both sides."""
    C = pw.Config()
    C.add_frame("cart", joint="transX", limits=[[-end], [end]], shape=pw.Sphere(0.1))
    return C


def hinged(low: float, high: float) -> pw.Config:
    """Return a joint with limits."""
    C = pw.Config()
    C.add_frame("hinge", joint="hingeZ", limits=[[low], [high]])
    return C


def hurried(seconds: float) -> pw.KOMO:
    """Return a quarter turn of a robot with limits of velocity."""
    C = pw.load("panda")
    komo = pw.KOMO(C, 1, 4, 1, duration_per_phase=seconds)
    komo.add_motion_limits()
    turned = C.q + 1.5 * np.eye(C.nq)[0]
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=turned)
    return komo


def urdf(mesh: str) -> Callable[[Path], pw.Config]:
    """Load a robot that names a mesh."""

    def load(folder: Path) -> pw.Config:
        (folder / "robot.urdf").write_text(
            "<robot name='r'><link name='a'><collision><geometry>"
            f"<mesh filename='{mesh}'/></geometry></collision></link></robot>"
        )
        C = pw.Config()
        C.add_file(folder / "robot.urdf")
        return C

    return load


def switch(*frames: str) -> pw.KOMO:
    """Attach one frame to another."""
    C = pw.Config()
    C.add_frame("rail", joint="transX", shape=pw.Sphere(0.1))
    C.add_frame("grip", "rail")
    C.add_frame("box", position=[0, 0.8, 0], joint="free", shape=pw.Sphere(0.1))
    komo = path(C)
    komo.add_mode_switch([1.0], "stable", frames)
    return komo


def in_float32(komo: pw.KOMO, tolerance: float) -> pw.Solution:
    """Solve without 64 bits, as JAX does unless it is told to."""
    jax.config.update("jax_enable_x64", False)
    try:
        return komo.solve(tolerance=tolerance)
    finally:
        jax.config.update("jax_enable_x64", True)


def limited(**limits: float) -> pw.KOMO:
    """Limit the speed of a robot whose model has limits."""
    komo = path(pw.load("panda"))
    komo.add_motion_limits(**limits)
    return komo


def contradiction() -> pw.Solution:
    komo = pose(arm(), FS.position, ["tip"], target=[0.5, 0.5, 0], name="left")
    komo.add_objective([], FS.position, ["tip"], OT.eq, target=[0.5, -0.5, 0])
    return komo.solve()


def swung(target: list[float]) -> pw.Solution:
    """Swing an arm to a place within one second, at a limit of speed."""
    komo = pw.KOMO(arm(), 1, 2, 1, duration_per_phase=1.0)
    komo.add_control_objective(order=1, scale=0.1)
    komo.add_motion_limits(velocity=1.0)
    xy = [[1, 0, 0], [0, 1, 0]]
    komo.add_objective(
        [1.0], FS.position, ["tip"], OT.eq, target=[*target, 0], scale=xy
    )
    return komo.solve()


def looking(x: float, limits: list[list[float]] = LIMITS, in_front: bool = False):
    """Turn a neck so that a camera, which looks along x at first, looks at a ball."""
    C = pw.Config()
    C.add_frame("neck", joint="hingeZ", limits=limits)
    C.add_frame("camera", "neck", quaternion=[1, 0, 1, 0])
    C.add_frame("ball", position=[x, 0.3, 0], shape=pw.Sphere(0.05))
    komo = pose(C, FS.gazeAt, ["ball", "camera"])
    if in_front:
        komo.add_objective(
            None,
            *(FS.positionRel, ["ball", "camera"], OT.ineq),
            scale=[0, 0, -1],
            target=[0, 0, 0.1],
        )
    return komo.solve(starts=4 if in_front else 1)


def moved(frame: str, parent: str = "world") -> None:
    """Set the pose of a frame in the world of a robot, a mug and a table."""
    C = pw.load("panda")
    C.load("mug", joint="free")
    C.load("table", "desk_")
    C.add_frame("target", "panda_hand_tcp")
    C.add_frame("can", shape=pw.Sphere(0.03))
    C.attach("panda_hand", "can")
    C.set_pose(frame, [0.5, 0.2, 0.5, 1, 0, 0, 0], parent)


ERROR = "error"
"""The call raises an error of the library (or an AttributeError) with the sentence."""
WARNING = "warning"
"""The call warns with the sentence."""
REPORT = "report"
"""The report of the solution or placement has the sentence."""
DOUBT = "doubt"
"""The same of a solution that is feasible."""


@dataclass(frozen=True)
class Mistake:
    """One row of the table."""

    call: Callable[[Path], object]
    where: str
    says: tuple[str, ...]


def mistake(call: Callable[[], object], where: str, *says: str) -> Mistake:
    return Mistake(lambda folder: call(), where, says)


GOAL = [0.5, 0.5, 0.0]
MISTAKES = {
    "a start in degrees": mistake(
        lambda: path(at([90, 45])).solve(), WARNING, "upper is 90 rad", "np.deg2rad"
    ),
    "a start in degrees of an endless joint": mistake(
        lambda: path(wheel(90)).solve(), WARNING, "wheel is 90 rad", "np.deg2rad"
    ),
    "limits in degrees": mistake(
        lambda: path(hinged(-180, 180)).solve(),
        WARNING,
        "hinge from -180 to 180 rad",
        "np.deg2rad",
    ),
    "a target in degrees": mistake(
        lambda: pose(arm(), FS.qItself, [], target=[45, 90]).solve(),
        WARNING,
        "upper is 45 rad",
        "np.deg2rad",
    ),
    "speeds in degrees": mistake(
        lambda: limited(velocity=90.0), WARNING, "90 of panda_joint1", "rad/s and m/s"
    ),
    "a target in millimetres": mistake(
        lambda: pose(arm(), FS.position, ["tip"], target=[500, 300, 0]).solve(),
        REPORT,
        r"farther than they reach \(1.000 m",
        "divide millimetres by 1000",
    ),
    "a size in millimetres": mistake(
        lambda: path(arm(shape=pw.Box([60, 60, 60]))).solve(),
        WARNING,
        r"'box' \(60 m across\)",
        "divide millimetres by 1000",
    ),
    "a place in millimetres": mistake(
        lambda: path(arm(position=[300, 0, 0])).solve(),
        WARNING,
        r"'box' \(300 m\)",
        "divide millimetres by 1000",
    ),
    "a target of a slide in millimetres": mistake(
        lambda: pose(slide(2000), FS.position, ["cart"], target=[900, 50, 0]).solve(),
        REPORT,
        "Large lengths: position.cart. has a target of 900 m",
        "divide millimetres by 1000",
    ),
    "a placement in millimetres": mistake(
        lambda: stacking(
            (pw.Feature(FS.position, ["mug"], target=[900, 0, 0]), OT.eq),
            (pw.Feature(FS.position, ["mug"], target=[0, 500, 0]), OT.eq),
            shape=pw.Box([60, 60, 60]),
        ),
        REPORT,
        "Large lengths: 'mug' is 60 m across",
        "divide millimetres by 1000",
    ),
    "a margin in millimetres": mistake(
        lambda: path(arm(), margin=20.0).solve(),
        WARNING,
        "margin is 20 m",
        "divide millimetres by 1000",
    ),
    "a gap of the wrong sign": mistake(
        lambda: gap(0.02).solve(),
        WARNING,
        "'tip' and 'box' may overlap by 20 mm",
        "a gap of 20 mm has the target -0.02",
    ),
    "a gap of the wrong sign between objects": mistake(
        lambda: stacking(
            (pw.Feature(FS.distance, ["mug", "table"], target=0.02), OT.ineq)
        ),
        WARNING,
        "'mug' and 'table' may overlap by 20 mm",
    ),
    "a reserve of balance of the wrong sign": mistake(
        lambda: standing(0.02).solve(),
        WARNING,
        "may be 20 mm outside of the support polygon",
        "has the target -0.02",
    ),
    "a negative margin": mistake(
        lambda: path(arm(), margin=-0.02).solve(),
        WARNING,
        "margin is -20 mm",
        "Give the distance to keep, which is positive",
    ),
    "a quaternion (x, y, z, w)": mistake(
        lambda: pose(arm(quaternion=[0, 0, 0, 1]), FS.poseDiff, ["tip", "box"]).solve(),
        REPORT,
        "'box' is turned by half a turn",
        r"\(w, x, y, z\)",
    ),
    "Euler angles as a quaternion": mistake(
        lambda: arm(quaternion=[0, 0, 1.57]),
        ERROR,
        "quaternion of frame 'box'",
        r"\(w, x, y, z\)",
    ),
    "a matrix as a pose": mistake(
        lambda: pw.Config().add_frame("box", pose=np.eye(4)),
        ERROR,
        "pose of frame 'box'",
        r"\(px, py, pz, w, x, y, z\)",
    ),
    "an argument under another name": mistake(
        lambda: arm(rpy=[0, 0, 1]), ERROR, "'box'.*'rpy'", "did you mean 'quaternion'"
    ),
    "a rate as the time between samples": mistake(
        lambda: path(arm()).solve().resample(125),
        ERROR,
        "dt is 125 s",
        r"for a rate in hertz, 1 / rate",
    ),
    "a path that is not feasible, played": mistake(
        lambda: contradiction().resample(0.01), WARNING, "not feasible", "Violated"
    ),
    "a quaternion of zeros": mistake(
        lambda: arm(quaternion=[0, 0, 0, 0]), ERROR, "'box'", r"\(w, x, y, z\)"
    ),
    "angles within a pose": mistake(
        lambda: arm(position=None, pose=[0, 0.8, 0, 90, 0, 0, 0]),
        ERROR,
        "'box': the quaternion .* has length 90",
        "in radians",
    ),
    "a wrong frame": mistake(
        lambda: pose(arm(), FS.position, ["tipp"]),
        ERROR,
        "'tipp'",
        "did you mean 'tip'",
    ),
    "an unknown feature": mistake(
        lambda: FS.positonDiff, ERROR, "'positonDiff'", "did you mean 'positionDiff'"
    ),
    "a feature as a string": mistake(
        lambda: pw.Feature("postion", ["tip"]),
        ERROR,
        "'postion', a string",
        r"without quotes: FS\.postion",
    ),
    "a feature as a string, evaluated": mistake(
        lambda: arm().eval("position", ["tip"]), ERROR, "a string", r"FS\.position\."
    ),
    "a joint for a frame": mistake(
        lambda: pw.load("panda").pose("panda_joint7"),
        ERROR,
        "'panda_joint7': that is the joint of frame 'panda_link7'",
        "name the frame",
    ),
    "set_pose as an inverse kinematics": mistake(
        lambda: moved("panda_hand_tcp"),
        WARNING,
        "'panda_hand_tcp' is fixed to 'panda_hand'.* no joint moved",
        "inverse kinematics .pw.KOMO with FS.poseDiff",
        "relative_to='panda_hand'",
    ),
    "an axis that is no unit vector": mistake(
        lambda: pose(arm(), FS.vectorZ, ["tip"], target=[0, 0, -2]).solve(),
        WARNING,
        r"vectorZ\(tip\): its target \[0.0, 0.0, -2.0\] has length 2",
        r"give \[0.0, 0.0, -1.0\]",
    ),
    "a place too far for its time": mistake(
        lambda: swung([-0.5, 0.5]),
        REPORT,
        "reaches its velocity limits.* likely needs more time",
        "longer duration_per_phase, or KOMO.free_durations",
    ),
    "a gaze from behind": mistake(
        lambda: looking(-2.0),
        DOUBT,
        r"in slice 0 'ball' is 2.02 m behind 'camera'",
        r"OT.ineq, scale=\[0, 0, -1\], target=\[0, 0, 0.1\]",
    ),
    "an unknown predicate": mistake(
        lambda: logic.OnTop, ERROR, "'OnTop'", "did you mean 'OnTopOf'"
    ),
    "an unknown type": mistake(lambda: OT.equal, ERROR, "'equal'", "did you mean 'eq'"),
    "a wrong shape of a target": mistake(
        lambda: pose(arm(), FS.position, ["tip"], target=[1, 2]),
        ERROR,
        "target has 2 numbers",
        "expected 1 or 3",
    ),
    "a gripper that was not locked": mistake(
        lambda: setattr(pw.load("panda"), "q", [0, -0.5, 0, -2, 0, 2, 0.8]),
        ERROR,
        "panda_finger_joint1",
        r"lock\(names\) holds joints still",
    ),
    "NaN in the start": mistake(lambda: at([np.nan, 0]), ERROR, "NaN .* at 'upper'"),
    "limits swapped": mistake(
        lambda: hinged(1, -1), ERROR, "'hinge'", "above its upper"
    ),
    "limits as pairs": mistake(
        lambda: pw.Config().add_frame("a", joint="transXYPhi", limits=[[-1, 1]] * 3),
        ERROR,
        r"'a'.*\(3, 2\)",
        "lower bounds, then upper ones",
    ),
    "an objective beyond the horizon": mistake(
        lambda: path(arm()).add_objective([2.0], FS.position, ["tip"], target=GOAL),
        ERROR,
        r"position\(tip\): times \[2.0\]",
        "slices lie at 0.5 to 1",
    ),
    "seconds as a time": mistake(
        lambda: path(arm()).add_objective([0.05], FS.position, ["tip"]),
        ERROR,
        r"times \[0.05\]",
        "in phases",
    ),
    "a start in collision": mistake(
        lambda: path(arm(position=[0.9, 0.2, 0]), margin=0.0).solve(),
        WARNING,
        "'tip' and 'box'",
        "Move the start away",
    ),
    "a target beyond reach": mistake(
        lambda: pose(arm(), FS.position, ["tip"], target=[1.2, 0, 0]).solve(),
        REPORT,
        r"position\(tip\): its target",
        r"farther than they reach \(1.000 m",
    ),
    "a target too far for its time": mistake(
        lambda: hurried(0.1).solve(),
        REPORT,
        r"its target is panda_joint1 0.69 s away .* slice 3 is at 0.1 s",
        "more time .*free_durations",
    ),
    "more components than joints": mistake(
        lambda: pose(arm(), FS.pose, ["tip"], target=[*GOAL, 0, 1, 0, 0]).solve(),
        REPORT,
        "sets 6 components .* 2 degrees of freedom",
        "fewer components",
    ),
    "sizes one by one": mistake(
        lambda: pw.Box(0.8, 0.8, 0.04),
        ERROR,
        "3 arguments",
        r"Box\(\[0.8, 0.8, 0.04\]\)",
    ),
    "start for starts": mistake(
        lambda: path(arm()).solve(start=2), ERROR, "'start'", "did you mean 'starts'"
    ),
    "a robot that stands on nothing": mistake(
        lambda: arm().eval(FS.supportPolygon, "tip"),
        ERROR,
        "'tip' cannot fall",
        'joint="free"',
    ),
    "a goal for what has no joint": mistake(
        lambda: pose(arm(), FS.position, ["box"], target=GOAL).solve(),
        REPORT,
        "no joint moves 'box'",
        'joint="free"',
    ),
    "two equalities in contradiction": mistake(
        contradiction, REPORT, "Violated:.*left", "relax one of the objectives"
    ),
    "a hand attached to its object": mistake(
        lambda: switch("box", "grip"), WARNING, "'grip', which has no shape", "swap"
    ),
    "OnTopOf with its objects swapped": mistake(
        lambda: stacking(logic.OnTopOf("table", "mug")),
        WARNING,
        r"OnTopOf\(table, mug\)",
        "swap them",
    ),
    "InsideOf with its objects swapped": mistake(
        lambda: stacking(logic.InsideOf("table", "mug")),
        WARNING,
        "'table' is larger than 'mug'",
        "swap them",
    ),
    "a ball that is to be stable": mistake(
        lambda: stacking(ON_TABLE & logic.Stable("mug"), shape=pw.Sphere(0.05)),
        WARNING,
        r"Stable\(mug\): 'mug' is a ball",
        "check Stable afterwards",
    ),
    "predicates that exclude each other": mistake(
        lambda: stacking(logic.OnTopOf("mug", "table"), logic.Under("mug", "table")),
        REPORT,
        r"Violated: .*OnTopOf: \(mug, table\)",
        "relax one of the objectives",
    ),
    "sizes of a placement in millimetres": mistake(
        lambda: stacking(ON_TABLE, shape=pw.Box([100, 100, 100])),
        WARNING,
        r"'mug' \(100 m across\)",
        "divide millimetres by 1000",
    ),
    "a table on a mug": mistake(
        lambda: scene("(ontop table mug)"),
        WARNING,
        r"\(ontop table mug\): table is far larger than mug.* 1.6 × 1.6 × 0.1 m",
        r"\(ontop mug table\) is the other order",
    ),
    "a synset that does not exist": mistake(
        lambda: scene("(ontop mug table)", mug="cofeemug.n.01"),
        WARNING,
        r"cofeemug.n.01, now a box of 0.12 × 0.08 × 0.06 m",
        "Correct them",
    ),
    "NaN among targets": mistake(
        lambda: batch([GOAL, [0.5, np.nan, 0.0]]),
        ERROR,
        r"targets of position\(tip\): nan at index \[1, 1\]",
        "expected finite numbers",
    ),
    "a tight tolerance in float32": mistake(
        lambda: in_float32(path(arm()), 1e-9),
        WARNING,
        "tolerance is 1e-09",
        "jax_enable_x64",
    ),
    "a file that is missing": mistake(
        lambda: pw.Config().add_file("no/robot.urdf"),
        ERROR,
        "'no/robot.urdf'",
        "give the path",
    ),
    "a mesh that is missing": Mistake(
        urdf("meshes/a.stl"), WARNING, ("'meshes/a.stl'", "not found in /")
    ),
    "a package that is unknown": Mistake(
        urdf("package://arm_model/a.stl"),
        WARNING,
        ("'package://arm_model/a.stl'", r"Pass packages=\{'arm_model': folder\}"),
    ),
    "a misspelt model": mistake(
        lambda: pw.load("pandas"), ERROR, "'pandas'", "did you mean 'panda'"
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_remedy(name, tmp_path):
    case = MISTAKES[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = case.call(tmp_path), None
        except (pw.PosewiseError, AttributeError) as raised:
            result, error = None, raised
    if case.where == ERROR:
        texts = [str(error or "nothing was raised")]
    elif error is not None:
        raise error
    elif case.where == WARNING:
        texts = [str(w.message) for w in caught]
    else:
        assert result.feasible == (case.where == DOUBT)
        texts = [result.report()]
    assert any(all(re.search(p, text, re.S) for p in case.says) for text in texts), (
        texts
    )


RIGHT = {
    "time enough": lambda: hurried(0.75).solve(),
    "radians": lambda: path(at([1.5, 0.7])).solve(),
    "a wheel that has turned often": lambda: path(wheel(90.3)).solve(),
    "a wheel at rest": lambda: path(wheel(6.0)).solve(),
    "a valve of several turns": lambda: path(hinged(-31.4, 31.4)).solve(),
    "a wheel whose limits are none": lambda: path(hinged(-1000, 1000)).solve(),
    "metadata": lambda: arm(material="wood", grasp_width=0.04),
    "a wall": lambda: path(arm(shape=pw.Box([60, 0.1, 60]))).solve(),
    "a neighbour far away": lambda: path(arm(position=[50, 0, 0])).solve(),
    "a millimetre of overlap": lambda: path(arm(), margin=-0.001).solve(),
    "a gap": lambda: gap(-0.02).solve(),
    "a pressed pad": lambda: gap(0.002).solve(),
    "a reserve of balance": lambda: standing(-0.02).solve(),
    "metres of margin": lambda: path(arm(position=[50, 0, 0]), margin=2.0),
    "speeds above the model's": lambda: limited(velocity=4.0),
    "a hand with its object": lambda: switch("grip", "box"),
    "an object put down": lambda: switch("world", "box"),
    "OnTopOf": lambda: stacking(logic.OnTopOf("mug", "table")),
    "a mug on a table": lambda: scene("(ontop mug table)"),
    "a plate on a mug": lambda: scene("(ontop mug table)", mug="plate.n.04"),
    "a synset of bddl or of a known word": lambda: scene(mug="paper_cup.n.01"),
    "float32": lambda: in_float32(path(arm()), 1e-5),
    "an object moved": lambda: moved("mug"),
    "furniture moved": lambda: moved("desk_table"),
    "a target of the user moved": lambda: moved("target"),
    "what a hand holds, moved": lambda: moved("can"),
    "a tool that is mounted anew": lambda: moved("panda_hand_tcp", "panda_hand"),
}


@pytest.mark.long
def test_predicates_need_no_import_of_their_own():
    code = "import posewise as pw; print(pw.logic.OnTopOf.__name__)"
    python = [sys.executable, "-c", code]
    assert subprocess.check_output(python, text=True) == "OnTopOf\n"


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_no_mistake_costs_no_warning(name):
    RIGHT[name]()


@pytest.mark.long
def test_a_gaze_that_must_be_in_front_turns_round():
    assert looking(2.0).doubts == ()
    turned = looking(-2.0, [[-3.1], [3.1]], in_front=True)
    assert turned.feasible and turned.doubts == ()
    assert np.isclose(turned.q[0], np.pi - np.arctan2(0.3, 2.0), atol=1e-3)
    assert not looking(-2.0, in_front=True).feasible
