"""The picture of the README: a Panda puts a box on a shelf.

    MUJOCO_GL=osmesa python docs/hero.py docs/media/hero.gif

Solves the whole motion as one problem and renders it off-screen with MuJoCo (needs the
extras `mujoco` and `plot`, and a GL library: osmesa or egl).
"""

import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import mujoco  # noqa: E402
import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402

SIZE = (480, 340)
FRAME_SECONDS = 0.06
WOOD = [0.72, 0.52, 0.33]
WHITE, STEEL, DARK = [0.95, 0.95, 0.96], [0.75, 0.77, 0.80], [0.30, 0.32, 0.35]


def make_world() -> pw.Config:
    """Return a Panda at a table with a shelf, a can in the way, and a box."""
    C = pw.load("panda")
    C.lock("panda_finger_joint1")
    table = pw.Box([0.7, 1.3, 0.04])
    C.add_frame("table", position=[0.55, 0, 0.1], shape=table, color=[0.82, 0.8, 0.77])
    C.add_frame("shelf", position=[0.62, 0.4, 0.12])
    boards = {
        "low": ([0, 0, 0.16], [0.28, 0.36, 0.02]),
        "high": ([0, 0, 0.50], [0.28, 0.36, 0.02]),
        "left": ([0, 0.18, 0.25], [0.28, 0.02, 0.52]),
        "right": ([0, -0.18, 0.25], [0.28, 0.02, 0.52]),
    }
    for name, (place, size) in boards.items():
        C.add_frame(name, "shelf", position=place, shape=pw.Box(size), color=WOOD)
    can = pw.Cylinder(0.18, 0.04)
    C.add_frame("can", position=[0.48, 0, 0.21], shape=can, color=[0.25, 0.45, 0.7])
    C.add_frame(
        "box",
        joint="free",
        position=[0.55, -0.35, 0.18],
        shape=pw.Box([0.05, 0.05, 0.12]),
        color=[0.85, 0.3, 0.22],
    )
    for name in ("table", "can", "box", *boards):
        C.set_contact(name, 1)
    # The box may touch what it stands on and what holds it.
    fingers = [f for f in C.frame_names if "finger" in f or "hand" in f]
    C.ignore_collisions("box", ["table", "low", *fingers])
    return C


def make_problem(C: pw.Config) -> pw.KOMO:
    """Return the problem: pick in phase 1, place in phase 2, withdraw in phase 3."""
    arm = [name for name in C.joint_names if name.startswith("panda")]
    hand = ["panda_hand_tcp", "box"]
    komo = pw.KOMO(C, 3, slices_per_phase=12, k_order=2, duration_per_phase=1.5)
    komo.add_control_objective(order=2, scale=0.1)
    komo.add_mode_switch([1.0, 2.0], "stable", hand)
    komo.add_mode_switch([2.0], "stable", ["shelf", "box"])
    komo.add_objective([1.0], FS.positionDiff, hand, OT.eq, scale=10)
    komo.add_objective([1.0], FS.scalarProductYZ, hand, OT.eq)  # level fingers
    on_board = [0.60, 0.40, 0.35]
    komo.add_objective([2.0], FS.position, ["box"], OT.eq, target=on_board, scale=10)
    komo.add_objective([2.0], FS.vectorZ, ["box"], OT.eq, target=[0, 0, 1])
    away = [0.40, 0.15, 0.60]
    komo.add_objective([3.0], FS.position, hand[:1], OT.eq, target=away, scale=3)
    for time in (1.0, 2.0, 3.0):
        komo.add_objective([time], FS.qItself, arm, OT.eq, order=1)
    komo.add_objective(
        None, FS.accumulatedCollisions, [], OT.ineq, scale=10, margin=0.01
    )
    return komo


def color_of(frame: str, own_color: list[float] | None) -> list[float]:
    """Return the colour of a frame's shapes (r, g, b, a)."""
    if "hand" in frame or "finger" in frame:
        return [*DARK, 1.0]
    if frame.startswith("panda"):
        return [*(STEEL if frame[-1] in "57" else WHITE), 1.0]
    return [*(WHITE if own_color is None else own_color)[:3], 1.0]


def size_of(shape: pw.Box | pw.Capsule | pw.Cylinder | pw.Sphere) -> list[float]:
    """Return a shape's size as MuJoCo's geoms have it: half lengths, radius first."""
    if isinstance(shape, pw.Box):
        return [float(length) / 2 for length in shape.size]
    half = 0.0 if isinstance(shape, pw.Sphere) else shape.length / 2
    return [shape.radius, half, 0.0]


def make_stage(C: pw.Config) -> mujoco.MjModel:
    """Return a MuJoCo model with a body for each frame, posed from outside."""
    kinds = {
        pw.Box: mujoco.mjtGeom.mjGEOM_BOX,
        pw.Capsule: mujoco.mjtGeom.mjGEOM_CAPSULE,
        pw.Cylinder: mujoco.mjtGeom.mjGEOM_CYLINDER,
        pw.Sphere: mujoco.mjtGeom.mjGEOM_SPHERE,
    }
    spec = mujoco.MjSpec()
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 2 * np.array(SIZE)
    spec.visual.quality.shadowsize = 4096
    spec.visual.headlight.ambient = [0.45] * 3
    spec.visual.headlight.diffuse = [0.35] * 3
    spec.visual.headlight.specular = [0.05] * 3
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=[1, 1, 1],
        rgb2=[1, 1, 1],
        width=64,
        height=384,
    )
    floor = mujoco.mjtGeom.mjGEOM_PLANE
    spec.worldbody.add_geom(type=floor, size=[4, 4, 0.1], rgba=[1, 1, 1, 1])
    spec.worldbody.add_light(
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[1.2, -1.2, 3],
        dir=[-0.35, 0.45, -1],
        castshadow=True,
        diffuse=[0.45] * 3,
        specular=[0.1] * 3,
    )
    for frame in C.frames:
        body = spec.worldbody.add_body(name=frame.name, mocap=True)
        for geometry in frame.geometries:
            body.add_geom(
                type=kinds[type(geometry.shape)],
                size=size_of(geometry.shape),
                pos=geometry.pose[:3],
                quat=geometry.pose[3:],
                rgba=color_of(frame.name, geometry.color),
            )
    return spec.compile()


def between(before: np.ndarray, after: np.ndarray, share: float) -> np.ndarray:
    """Interpolate poses (n, 7); quaternions along the shorter way."""
    sign = np.where((before[:, 3:] * after[:, 3:]).sum(1, keepdims=True) < 0, -1, 1)
    target = np.hstack([after[:, :3], sign * after[:, 3:]])
    poses = (1 - share) * before + share * target
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    return poses


def render(C: pw.Config, poses: list[np.ndarray]) -> list[Image.Image]:
    """Return a picture of the frames of `C` at each set of poses (n, 7)."""
    model = make_stage(C)
    data = mujoco.MjData(model)
    camera = mujoco.MjvCamera()
    camera.lookat, camera.distance = [0.35, 0.03, 0.36], 1.62
    camera.azimuth, camera.elevation = 163, -20
    bodies = [model.body(name).mocapid[0] for name in C.frame_names]
    pictures = []
    with mujoco.Renderer(model, 2 * SIZE[1], 2 * SIZE[0]) as renderer:
        for pose in poses:
            data.mocap_pos[bodies], data.mocap_quat[bodies] = pose[:, :3], pose[:, 3:]
            mujoco.mj_forward(model, data)
            renderer.update_scene(data, camera)
            picture = Image.fromarray(renderer.render())
            pictures.append(picture.resize(SIZE, Image.Resampling.LANCZOS))
    return pictures


def main(file: Path) -> None:
    """Solve the problem and write the animation."""
    C = make_world()
    solution = make_problem(C).solve(seed=0, starts=8)
    print(solution.report())
    if not solution.feasible:
        sys.exit("no feasible motion")
    slices = [
        np.array([solution.world_at(t).pose(name) for name in C.frame_names])
        for t in range(len(solution.path))
    ]
    poses = [slices[0]] * 5
    for before, after in zip(slices[:-1], slices[1:], strict=True):
        poses += [before, between(before, after, 0.5)]
    pictures = render(C, poses + [slices[-1]] * 9)
    palette = np.vstack([np.asarray(p) for p in pictures[::8]])
    colors = Image.fromarray(palette).quantize(128)
    flat = [p.quantize(palette=colors, dither=Image.Dither.NONE) for p in pictures]
    file.parent.mkdir(parents=True, exist_ok=True)
    flat[0].save(
        file,
        save_all=True,
        append_images=flat[1:],
        duration=round(1000 * FRAME_SECONDS),
        loop=0,
        optimize=True,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
