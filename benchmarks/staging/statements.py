"""The open KOMO problems of the reference data, stated in posewise, and four of ours.

`scenes`, and `problems` of rai's, are modules of the reference data.
"""

from collections.abc import Callable

import numpy as np

import posewise as pw
from posewise import FS, OT

XY = np.eye(3)[:2]
HOME = [0.0, -0.5, 0.0, -2.0, 0.0, 2.0, 0.785]


def world(scene: dict) -> pw.Config:
    """The Config of a scene in the reference data's own format."""
    C = pw.Config()
    for f in scene["frames"]:
        options: dict = {"pose": f["rel"]} if "rel" in f else {}
        if joint := f.get("joint"):
            options = {"joint": joint["type"], "limits": joint["limits"]}
            if joint["axis"] is not None:
                options["axis"] = joint["axis"]
        if shape := f.get("shape"):
            options |= {"shape": _shape(**shape), "contact": shape["contact"]}
        C.add_frame(f["name"], f["parent"] or "world", mass=f.get("mass"), **options)
    return C


def _shape(type: str, size: list, verts: list | None, contact: int):
    match type:
        case "ssBox":
            return pw.Box(size[:3], rounding=size[3])
        case "sphere":
            return pw.Sphere(size[0])
        case "capsule":
            return pw.Capsule(*size)
        case "ssCylinder":
            return pw.Cylinder(*size)
        case "marker":
            return pw.Marker()
    raise ValueError(type)


def basics(komo: pw.KOMO, collisions: bool, order: int = 0, cost: float = 0.1) -> None:
    """Add the objectives of all problems: control cost, collisions, limits."""
    komo.add_control_objective(order, cost)
    if collisions:
        komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    komo.add_objective(None, FS.jointLimits, [], OT.ineq)


def ik_gaze(scenes) -> pw.KOMO:
    C = world(scenes.panda7())
    C.q = HOME
    komo = pw.KOMO(C)
    basics(komo, False)
    komo.add_objective(None, FS.positionDiff, ["gripper", "target"], OT.eq, scale=10)
    komo.add_objective(None, FS.positionRel, ["ball", "camera"], OT.eq, scale=XY)
    return komo


def ik_shelf_coll(scenes) -> pw.KOMO:
    C = world(scenes.panda7())
    C.q = HOME
    komo = pw.KOMO(C)
    basics(komo, True)
    komo.add_objective(
        None,
        FS.positionRel,
        ["gripper", "shelf"],
        OT.eq,
        scale=10,
        target=[-0.05, -0.12, 0.05],
    )
    for link in ("palm", "cap7", "cap6", "fingL", "fingR"):
        komo.add_objective(
            None, FS.negDistance, [link, "shelf"], OT.ineq, scale=10, target=-0.01
        )
    return komo


def ik_align_coll(scenes) -> pw.KOMO:
    C = world(scenes.panda7())
    C.q = HOME
    komo = pw.KOMO(C)
    basics(komo, True)
    grip = dict(type=OT.eq, scale=10, target=GRIP)
    komo.add_objective(None, FS.positionDiff, ["gripper", "box"], **grip)
    komo.add_objective(None, FS.vectorZ, ["gripper"], OT.eq, target=[0, 0, 1])
    komo.add_objective(None, FS.scalarProductXY, ["gripper", "box"], OT.eq)
    return komo


def ik_align_coll_of_rai(problems):
    """No open problem: the gripper about a box, across it, pointing down."""
    ry = problems.ry
    komo = ry.KOMO(problems.panda(), 1, 1, 0, True)
    problems.basics(komo, True, 0, 0.1)
    grip = (ry.OT.eq, [1e1], GRIP)
    komo.addObjective([], ry.FS.positionDiff, ["gripper", "box"], *grip)
    komo.addObjective([], ry.FS.vectorZ, ["gripper"], ry.OT.eq, [1.0], [0, 0, 1])
    across = (ry.OT.eq, [1.0])
    komo.addObjective([], ry.FS.scalarProductXY, ["gripper", "box"], *across)
    return komo, "uniform"


def waypoints4(scenes) -> pw.KOMO:
    C = world(scenes.panda7())
    C.q = HOME
    komo = pw.KOMO(C, 4, 1, 1)
    basics(komo, True, cost=1e-2)
    komo.add_control_objective(1, 0.1)
    goals = [
        ("target", None),
        ("ball", [0, 0, 0.15]),
        ("box", [0, 0, 0.1]),
        ("tray", [0, 0, 0.12]),
    ]
    for k, (frame, above) in enumerate(goals):
        komo.add_objective(
            [k + 1.0],
            FS.positionDiff,
            ["gripper", frame],
            OT.eq,
            scale=10,
            target=above,
        )
    for t in (3.0, 4.0):
        komo.add_objective([t], FS.vectorZ, ["gripper"], OT.eq, target=[0, 0, 1])
    return komo


def planar_path32(scenes, q0=(2.2, -0.5, -0.5)) -> pw.KOMO:
    C = world(scenes.planar3())
    C.q = q0
    komo = pw.KOMO(C, 1, 32, 2)
    basics(komo, True, 2, 1.0)
    komo.add_objective([1.0], FS.positionDiff, ["tip", "target"], OT.eq, scale=10 * XY)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    return komo


def planar_path32_hard(scenes) -> pw.KOMO:
    return planar_path32(scenes, ASTRAY)


def planar_path32_hard_of_rai(problems):
    """No open problem: the one that is, from where straight lines cross the ball."""
    return problems.planar_path32(ASTRAY)


def path32(scenes) -> pw.KOMO:
    C = world(scenes.panda7(post=True))
    C.q = [-0.7, *HOME[1:]]
    komo = pw.KOMO(C, 1, 32, 2)
    basics(komo, True, 2, 1.0)
    goal = dict(type=OT.eq, scale=10, target=BESIDE)
    komo.add_objective([1.0], FS.positionDiff, ["gripper", "post"], **goal)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    return komo


def path32_of_rai(problems):
    """No open problem: a path of the kind that is, around a post."""
    ry = problems.ry
    komo = ry.KOMO(problems.panda(post=True), 1, 32, 2, True)
    problems.basics(komo, True, 2, 1.0)
    goal = (ry.OT.eq, [1e1], BESIDE)
    komo.addObjective([1.0], ry.FS.positionDiff, ["gripper", "post"], *goal)
    komo.addObjective([1.0], ry.FS.qItself, [], ry.OT.eq, [1.0], [], 1)
    return komo, "noise:.02"


def pick_and_place(scenes, slices: int, order: int) -> pw.KOMO:
    """A grasp at the end of the first phase, a place for the box at the second's."""
    C = world(scenes.panda7(box_joint=True))
    C.q = HOME
    komo = pw.KOMO(C, 2, slices, order)
    basics(komo, True, cost=1e-2)
    komo.add_control_objective(order, 0.1)
    komo.add_mode_switch([1.0], "stable", ["gripper", "box"])
    komo.add(pw.presets.grasp_box("gripper", "box", "palm", "x"), [1.0])
    komo.add(pw.presets.place_box("box", "table", "palm", "z", 0.1), [2.0])
    spot = pw.presets.target_relative_xy_position("box", "table", [0.05, 0.1])
    komo.add(spot, [2.0])
    return komo


def pnp_switch(scenes) -> pw.KOMO:
    return pick_and_place(scenes, 1, 1)


def pnp_path(scenes) -> pw.KOMO:
    return pick_and_place(scenes, 16, 2)


def pnp_path_of_rai(problems):
    """No open problem: the whole path of the one that is."""
    ry, helper = problems.ry, problems.MH()
    komo = helper.komo = ry.KOMO(problems.panda(True), 2, 16, 2, True)
    problems.basics(komo, True, 0, 1e-2)
    komo.addControlObjective([], 2, 1e-1)
    komo.addModeSwitch([1.0, -1.0], ry.SY.stable, ["gripper", "box"], True)
    helper.grasp_box(1.0, "gripper", "box", "palm", "x", 0.02)
    helper.place_box(2.0, "box", "table", "palm", "z", 0.1)
    spot = (ry.OT.eq, 10 * XY, [0.05, 0.1, 0])
    komo.addObjective([2.0], ry.FS.positionRel, ["box", "table"], *spot)
    return komo, "initRandom"


def place_free(scenes) -> pw.KOMO:
    F, turned = scenes.F, scenes.rpy(0, 0, 0.4)
    solid = lambda name, position, shape, size, **more: F(
        name, "table", position, shape=shape, size=size, contact=1, **more
    )
    frames = [
        F("world"),
        F("table", "world", (0, 0, 0.3), shape="ssBox", size=[1, 0.8, 0.1, 0.02],
          contact=1),
        solid("o1", (0.1, 0.05, 0.1), "ssBox", [0.15, 0.1, 0.1, 0.01], quat=turned),
        solid("o2", (-0.15, 0.1, 0.1), "ssCylinder", [0.1, 0.06, 0.01]),
        solid("o3", (0, -0.15, 0.1), "sphere", [0.05]),
        solid("o4", (0.25, -0.1, 0.12), "capsule", [0.08, 0.04]),
        F("region", "table", (0.05, 0, 0.05), shape="ssBox",
          size=[0.6, 0.5, 0.01, 0.001]),
        F("obj", "world", joint="free", shape="ssBox", size=[0.14, 0.1, 0.2, 0.01],
          contact=1, limits=[[-0.5, -0.4, 0.3, *[-1.1] * 4],
                             [0.5, 0.4, 0.8, *[1.1] * 4]]),
    ]  # fmt: skip
    C = world({"frames": frames})
    komo = pw.KOMO(C)
    komo.add_control_objective(0, 1e-2)
    komo.add_objective(
        None,
        FS.positionDiff,
        ["obj", "table"],
        OT.eq,
        scale=[[0, 0, 10]],
        target=[0, 0, 0.15],
    )
    komo.add_objective(None, FS.vectorZ, ["obj"], OT.eq, target=[0, 0, 1])
    komo.add_objective(
        None, FS.aboveBox, ["obj", "region"], OT.ineq, scale=10, target=-0.05
    )
    for other in ("o1", "o2", "o3", "o4"):
        komo.add_objective(
            None, FS.negDistance, ["obj", other], OT.ineq, scale=10, target=-0.005
        )
    return komo


BESIDE = [0.1, 0.3, 0.1]
"""Target of path32 relative to the post [m]."""
GRIP = [0, 0, 0.03]
"""Position of the gripper in the box in ik_align_coll [m]."""
ASTRAY = [-0.3, -0.5, -0.5]
"""Configuration from which planar_path32_hard begins."""
PROBLEMS: list[Callable] = [
    ik_gaze,
    ik_align_coll,
    ik_shelf_coll,
    waypoints4,
    planar_path32,
    planar_path32_hard,
    path32,
    pnp_switch,
    pnp_path,
    place_free,
]
OF_RAI = {
    "ik_align_coll": ik_align_coll_of_rai,
    "planar_path32_hard": planar_path32_hard_of_rai,
    "path32": path32_of_rai,
    "pnp_path": pnp_path_of_rai,
}
"""rai's form of problems that the reference data does not contain."""


def own_starts(scenes) -> dict[str, list[np.ndarray]]:
    """Return starts of problems without reference data: noise around rai's start."""
    rng = np.random.default_rng(0)

    def around(q: list, sd: float) -> list[np.ndarray]:
        return [np.tile(q, 32) + sd * rng.normal(size=32 * len(q)) for _ in range(20)]

    beside = around([-0.7, *HOME[1:]], 0.02)
    limits = [*[-1] * 5, -0.017, -1], [*[1] * 3, -0.07, *[1] * 3]
    zero = np.clip(0.01 * rng.normal(size=(20, 32, 7)), *limits)
    return {
        "path32": beside,
        "pnp_path": list(zero.reshape(20, -1)),
        "planar_path32_hard": around(ASTRAY, 0.02),
        "ik_align_coll": list(rng.uniform(*world(scenes.panda7()).limits, (20, 7))),
    }


def initial(name: str, komo: pw.KOMO, x: list) -> np.ndarray:
    """Return an initial path from rai's variables, which have shared ones only once."""
    if name != "pnp_switch":
        return np.reshape(x, (komo.T, -1))
    return np.stack([x[:7], x[-7:]])


def for_rai(x: list, sample: np.ndarray) -> np.ndarray:
    """Return a start with all of rai's variables, including poses of held objects.

    Args:
        x: the start without them.
        sample: rai's own initialization, which has them from half of the path on.
    """
    half = len(x) // 2
    object_poses = sample[half : len(sample) - len(x) + half]
    return np.concatenate([x[:half], object_poses, x[half:]])
