"""Demo: solve and draw an inverse kinematics, a reaching path and a placement."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .features import FS
from .objectives import KOMO, OT, Solution
from .robots import Box, Config, ConfigError, Marker, Sphere
from .robots.kinematics.transforms import axis_angle_to_quat, pose_multiply
from .robots.loaders.dispatch import Packages
from .robots.visual.drawing import (
    draw_path,
    draw_shapes,
    draw_skeleton,
    fit_axes,
    frame_chain,
    new_axes,
)

GAZE_DISTANCE = 0.3
"""Distance of the ball from the camera [m]; a larger one puts it farther from the
hand."""


@dataclass(frozen=True)
class Scene:
    """A robot in its world, the frame it moves, and the pose it starts from."""

    config: Config
    tip: str
    start: np.ndarray


def load_robot(
    file: Path | None, tip: str | None, seed: int, packages: Packages | None = None
) -> Scene:
    """Return the Panda, or a robot from a file, with a target and a ball.

    All joints that do not move `tip` are locked. A camera looks along the tip's z axis.
    The target and the ball that the camera must see are placed with the tip in a random
    configuration within the limits, so that they can be reached; of 50 configurations
    the first one with both above the ground is taken.

    Args:
        file: a model file; None: the Panda.
        tip: the frame that moves; None: the Panda's tool centre point.
        seed: of the random configuration.
        packages: folders of ROS packages by name.

    Raises:
        ConfigError: for an unknown tip, or one that no joint moves.
    """
    C = Config()
    if file is None:
        C.load("panda")
        tip = tip or "panda_hand_tcp"
    else:
        C.add_file(file, packages=packages)
        if tip is None:
            raise ConfigError(f"Give --tip LINK, one of: {', '.join(C.frame_names)}.")
    moving = moving_joints(C, tip)
    if not moving:
        raise ConfigError(f"No joint moves {tip!r}; choose another --tip.")
    C.joints.select(moving)
    C.q = np.clip(C.q, *C.limits)
    start = C.q
    C.add_frame("camera", tip, position=[0, 0, 0.02], shape=Marker())
    rng = np.random.default_rng(seed)
    for _ in range(50):
        C.q = random_configuration(C, rng)
        target, camera = C.pose(tip), C.pose("camera")
        ball = pose_multiply(camera, np.array([0, 0, GAZE_DISTANCE, 1.0, 0, 0, 0]))
        if min(ball[2], target[2]) > 0.1:
            break
    C.q = start
    C.add_frame("target", pose=target, shape=Marker())
    C.add_frame("ball", pose=ball, shape=Sphere(0.04), color=[0.85, 0.3, 0.25])
    return Scene(C, tip, start)


def moving_joints(C: Config, tip: str) -> list[str]:
    """Return the names of the joints that move a frame."""
    J = C.kinematics().jacobian(C.q, tip)
    mask = C.tree.model.kinematics.dof_mask[C.index(tip)]
    columns = np.flatnonzero(mask[: J.shape[-1]])
    names = C.joint_names
    owner = np.concatenate([np.full(dims, k) for k, dims in enumerate(_tangent(C))])
    return [names[k] for k in np.unique(owner[columns])]


def _tangent(C: Config) -> list[int]:
    """Return the tangent dimension of each joint of q."""
    quaternions = np.array(C.joints.quaternions, int)
    sizes = []
    for name in C.joint_names:
        part = C.joints.coordinates(name)
        sizes.append(part.size - int(np.isin(quaternions, part).sum()))
    return sizes


def random_configuration(C: Config, rng: np.random.Generator) -> np.ndarray:
    """Return a configuration within 60 % of the limits; ±0.9 if there are none."""
    low, high = C.limits
    low = np.where(np.isfinite(low), low, C.q - 1.5)
    high = np.where(np.isfinite(high), high, C.q + 1.5)
    middle, half = (low + high) / 2, (high - low) / 2
    return middle + 0.6 * half * rng.uniform(-1, 1, C.nq)


def inverse_kinematics(scene: Scene) -> KOMO:
    """Return a problem: the tip at the target, the camera on the ball, near home."""
    komo = KOMO(scene.config)
    komo.add_control_objective(0, 0.1)
    komo.add_objective(
        None, FS.positionDiff, [scene.tip, "target"], OT.eq, scale=10, name="at target"
    )
    komo.add_objective(
        None, FS.gazeAt, ["ball", "camera"], OT.eq, name="camera looks at ball"
    )
    komo.add_objective(None, FS.jointLimits, [], OT.ineq, name="joint limits")
    return komo


def reaching_path(scene: Scene) -> KOMO:
    """Return a path of 32 slices with least acceleration to rest at the target."""
    komo = KOMO(scene.config, 1, 32, 2, duration_per_phase=2.0)
    komo.add_control_objective(2, 0.1)
    komo.add_objective(
        [1.0], FS.positionDiff, [scene.tip, "target"], OT.eq, scale=10, name="at target"
    )
    komo.add_objective(
        [1.0], FS.gazeAt, ["ball", "camera"], OT.eq, name="camera looks at ball"
    )
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1, name="at rest")
    komo.add_objective(None, FS.jointLimits, [], OT.ineq, name="joint limits")
    if "shelf" in scene.config.frame_names:
        komo.add_objective(
            None,
            FS.accumulatedCollisions,
            ["shelf"],
            OT.ineq,
            scale=10,
            margin=0.02,
            name="clear of the shelf",
        )
    return komo


def put_shelf(scene: Scene, path: np.ndarray) -> None:
    """Put a board across the path of the tip, clear of the arm at both ends."""
    C = scene.config
    tips = C.forward_pass(path).frames.p[:, C.index(scene.tip)]
    C.add_frame("shelf", shape=Box([0.25, 0.25, 0.02], rounding=0.005))
    for k in sorted(range(len(path)), key=lambda k: abs(k - len(path) / 2)):
        C.set_pose("shelf", [*tips[k], 1.0, 0, 0, 0])
        clear = []
        for q in (scene.start, path[-1]):
            C.q = q
            clear.append(not _hits_shelf(C, 0.03))
        if all(clear):
            break
    C.q = scene.start


def _hits_shelf(C: Config, margin: float) -> bool:
    return any("shelf" in pair[:2] for pair in C.collisions(margin))


def placement_world() -> Config:
    """Return a table with a marked region, and a free box."""
    C = Config()
    C.load("table")
    turn = axis_angle_to_quat(np.array([0.0, 0, 1]), 0.4)
    C.add_frame(
        "region",
        "table",
        position=[0.25, 0.1, 0.736],
        quaternion=turn,
        shape=Box([0.4, 0.3, 0.01]),
        color=[0.35, 0.65, 0.4, 0.6],
        contact=0,
    )
    C.add_frame(
        "box",
        joint="free",
        pose=[-0.3, -0.2, 1.1, 0.9, 0.1, 0.3, -0.2],
        shape=Box([0.12, 0.08, 0.18]),
        color=[0.85, 0.6, 0.3],
        mass=0.3,
    )
    return C


def placement(C: Config) -> KOMO:
    """Return a problem: the box upright on the region, near the table's edge.

    A cost turns the box towards the edge.
    """
    komo = KOMO(C)
    komo.add_objective(
        None, FS.vectorZ, ["box"], OT.eq, target=[0, 0, 1], name="upright"
    )
    komo.add_objective(
        None,
        FS.standingAbove,
        ["box", "region"],
        OT.ineq,
        scale=10,
        margin=0.01,
        name="stands on the region",
    )
    touch = [[0, 0, 0, 0, 10.0]]
    komo.add_objective(
        None, FS.standingAbove, ["box", "region"], OT.eq, scale=touch, name="touches it"
    )
    komo.add_objective(
        None, FS.positionRel, ["box", "table"], OT.sos, scale=[[1.0, 0, 0]],
        target=[0.6, 0, 0], name="near the edge",
    )  # fmt: skip
    komo.add_objective(
        None, FS.scalarProductXY, ["box", "table"], OT.sos, name="turned to it"
    )
    return komo


def solve_twice(title: str, komo: KOMO, starts: int, seed: int) -> Solution:
    """Solve cold and warm; print the report and both times."""
    began = time.perf_counter()
    komo.solve(seed, starts)
    first = time.perf_counter() - began
    solution = komo.solve(seed, starts)
    print(f"\n{title}\n{'-' * len(title)}")
    print(solution.report())
    print(
        f"first solve {first:.2f} s with compilation, then"
        f" {1e3 * solution.seconds:.1f} ms ({starts} starts)"
    )
    return solution


def run(
    out: Path,
    robot: Path | None = None,
    tip: str | None = None,
    seed: int = 0,
    starts: int = 8,
    packages: Packages | None = None,
) -> bool:
    """Solve and draw all three problems; return whether each one is feasible."""
    out.mkdir(parents=True, exist_ok=True)
    scene = load_robot(robot, tip, seed, packages)
    C = scene.config
    print(f"{C}, moving {scene.tip!r}")

    ik = solve_twice("inverse kinematics", inverse_kinematics(scene), starts, seed)
    free = reaching_path(scene).solve(seed, min(starts, 4))
    put_shelf(scene, free.path)
    path = solve_twice(
        "reaching path around a shelf", reaching_path(scene), min(starts, 4), seed
    )
    path.plot(out / "path.png")
    path.film(out / "film.png")
    draw_arm(scene, ik, path, out / "arm.png")

    D = placement_world()
    place = solve_twice("placement", placement(D), starts, seed)
    draw_placement(D, place, out / "placement.png")
    pictures = ", ".join(sorted(p.name for p in out.glob("*.png")))
    print(f"\npictures in {out}: {pictures}")
    return ik.feasible and path.feasible and place.feasible


def draw_arm(scene: Scene, ik: Solution, path: Solution, file: Path) -> None:
    """Draw the arm along its path, and the inverse kinematics in red."""
    C = scene.config
    figure, axes = new_axes("reaching path (blue), inverse kinematics (red)")
    draw_path(axes, C, path.path, scene.tip)
    draw_skeleton(axes, C, ik.q, scene.tip, (0.8, 0.2, 0.2, 0.9))
    draw_shapes(axes, (C, ["ball"], 1.0), (C, ["shelf"], 0.5))
    axes.scatter(*C.pose("target")[:3], marker="*", s=80, color="k", label="target")
    gaze = C.forward_pass(ik.q).frames.p[[C.index("camera"), C.index("ball")]]
    axes.plot(*gaze.T, color=(0.8, 0.2, 0.2), linestyle=":", label="gaze")
    axes.legend(fontsize=8)
    states = np.concatenate([path.path, ik.path])
    links = C.forward_pass(states).frames.p[:, frame_chain(C, scene.tip)].reshape(-1, 3)
    fit_axes(axes, np.concatenate([links, [C.pose("ball")[:3]]]))
    figure.savefig(file, dpi=110)


def draw_placement(C: Config, place: Solution, file: Path) -> None:
    """Draw the table, the region, and the box before (pale) and after."""
    figure, axes = new_axes("the box, before (pale) and placed")
    D = C.copy()
    D.q = place.q
    draw_shapes(
        axes,
        (C, ["table"], 1.0),
        (C, ["region"], 1.0),
        (C, ["box"], 0.25),
        (D, ["box"], 1.0),
    )
    fit_axes(axes, np.array([[-0.6, -0.5, 0.0], [0.6, 0.5, 1.2]]), 0.05)
    axes.view_init(elev=28, azim=-50)
    figure.savefig(file, dpi=110)
