"""Random scenes of primitives before a camera, also as MuJoCo models."""

import numpy as np

import posewise as pw
from helpers.predicate_scenes import at, built_once

SHAPES = {
    "milk": pw.Box([0.1, 0.1, 0.25]),
    "box": pw.Box([0.3, 0.2, 0.25]),
    "board": pw.Box([0.5, 0.03, 0.4]),
    "can": pw.Cylinder(0.3, 0.1),
    "ball": pw.Sphere(0.15),
}


@built_once
def before_camera() -> pw.Config:
    """Free objects before a camera that is on a free frame itself, above a floor."""
    C = pw.Config()
    C.add_frame("floor", shape=pw.Plane())
    for name, shape in SHAPES.items():
        C.add_object(name, [(shape, None)], pose=at(1.5), joint="free")
    C.add_frame("head", joint="free", pose=at(z=1.0))
    C.annotations.add_camera("eyes", "head")
    return C


def random_states(count: int, seed: int = 0) -> np.ndarray:
    """The camera faces the milk; other objects are strewn before and behind it.

    In every third the milk stands on the floor, in some of them 0.05 mm too deep.
    """
    C, rng = before_camera(), np.random.default_rng(seed)
    states = np.tile(C.q, (count, 1))
    for k, q in enumerate(states):
        milk = np.array([rng.uniform(0.6, 3), rng.uniform(-0.8, 0.8), 1.0])
        milk[2] = 0.125 - 5e-5 * (k % 2) if k % 3 == 0 else rng.uniform(0.2, 1.8)
        q[C.joints.coordinates(["head"])] = at(
            z=rng.uniform(0.6, 1.4), yaw=rng.normal() / 5
        )
        q[C.joints.coordinates(["milk"])] = at(*milk, rng.uniform(-3, 3))
        for name in ("box", "board", "can", "ball"):
            place = rng.uniform([0.7, -1.5, 0.2], [4.0, 1.5, 1.8])
            turn = rng.normal(size=4)
            turn /= np.linalg.norm(turn)
            q[C.joints.coordinates([name])] = [*place, *turn]
    return states


def mujoco_model(C: pw.Config):
    """The bounded objects as geoms of one fixed body, and their names in order."""
    import mujoco

    kinds = {
        pw.Box: ("box", lambda s: s.size / 2),
        pw.Cylinder: ("cylinder", lambda s: [s.radius, s.length / 2]),
        pw.Sphere: ("sphere", lambda s: [s.radius]),
    }
    geoms, names = [], []
    write = lambda x: " ".join(f"{v:.17g}" for v in np.ravel(x))
    for frame in C.frames:
        if type(frame.shape) in kinds:
            kind, size = kinds[type(frame.shape)]
            pose = C.pose(frame.name)
            geoms.append(
                f'<geom type="{kind}" size="{write(size(frame.shape))}"'
                f' pos="{write(pose[:3])}" quat="{write(pose[3:])}"/>'
            )
            names.append(frame.name)
    geoms.append('<geom type="plane" size="0 0 1"/>')
    names.append("floor")
    text = f"<mujoco><worldbody>{''.join(geoms)}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data, names


def first_geoms(model, data, origin, rays) -> np.ndarray:
    """Index of the geom that each ray hits first; -1: none."""
    import mujoco

    rays = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    n = len(rays)
    geom, distance = np.full(n, -1, np.int32), np.zeros(n)
    arguments = (model, data, origin, rays.ravel(), None, 1, -1, geom, distance)
    mujoco.mj_multiRay(*arguments, None, n, 1e9)
    return geom


def counted(C: pw.Config, name: str, rays: np.ndarray) -> tuple[int, int, dict]:
    """Numbers of pixels that show an object alone, that show it, and that hide it."""
    import mujoco

    model, data, names = mujoco_model(C)
    origin = C.pose("eyes")[:3]
    full = first_geoms(model, data, origin, rays)
    mine = names.index(name)
    for k in range(model.ngeom):  # all others are out of the way
        if k != mine:
            model.geom_pos[k] = [0, 0, -1e6]
    mujoco.mj_forward(model, data)
    alone = first_geoms(model, data, origin, rays) == mine
    hidden = {
        names[k]: int((full[alone] == k).sum())
        for k in set(full[alone].tolist()) - {mine, -1}
    }
    return int(alone.sum()), int((full[alone] == mine).sum()), hidden


def image_rays(C: pw.Config, pixels: int) -> np.ndarray:
    """Rays of an upright camera with 90 degrees of view."""
    w, x, y, z = C.pose("eyes")[3:]
    forward = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 0.0])
    forward /= np.linalg.norm(forward)
    left_axis = np.array([-forward[1], forward[0], 0])
    grid = (2 * np.arange(pixels) + 1) / pixels - 1
    up, side = np.meshgrid(-grid, -grid, indexing="ij")
    flat = lambda a: a.reshape(-1, 1)
    return forward + flat(side) * left_axis + flat(up) * np.array([0, 0, 1.0])
