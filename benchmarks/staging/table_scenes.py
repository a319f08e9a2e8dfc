"""Tables to be set, stated by features and by predicates; all scenes differ."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import posewise as pw
from posewise import FS, OT, logic

KINDS = {
    8: (2, ("plate", "fork", "cup"), ("jug", "bowl")),
    13: (4, ("plate", "fork", "cup"), ("jug",)),
    20: (4, ("plate", "fork", "knife", "cup"), ("jug", "bowl", "salt", "candle")),
}
"""By the number of objects: settings, what belongs to each, and what is shared."""
GAP = 0.01
"""Least distance of objects on tables that are stated by features [m]."""
HEIGHT = 0.75
"""Height of the table's top [m]."""
VIEW, PIXELS = 1.1, (640, 480)
"""Vertical field of view [rad] and resolution of the camera."""


@dataclass(frozen=True)
class Scene:
    """A world, and what is asked for."""

    C: pw.Config
    constraints: list
    movable: list[str]
    standing: list[str]
    """Objects that are to stay where they are in a simulation."""


@dataclass(frozen=True)
class _Table:
    """A table of random size with objects that lie about on the floor beside it."""

    C: pw.Config
    settings: list[dict[str, str]]
    """Names of the objects of each setting, by kind."""
    shared: list[str]
    half: dict[str, np.ndarray]
    """Half the extents of each object along its axes [m]."""


def _shape(kind: str, rng: np.random.Generator) -> tuple:
    """Return a shape of a kind of object, and half its extents."""
    u = rng.uniform
    if kind in ("fork", "knife"):
        size = np.array([u(0.018, 0.026), u(0.17, 0.22), u(0.006, 0.01)])
        return pw.Box(size), size / 2
    length, radius = {
        "plate": (u(0.015, 0.025), u(0.09, 0.125)),
        "cup": (u(0.08, 0.12), u(0.03, 0.042)),
        "jug": (u(0.18, 0.26), u(0.05, 0.07)),
        "bowl": (u(0.06, 0.1), u(0.07, 0.1)),
        "salt": (u(0.05, 0.09), u(0.018, 0.028)),
        "candle": (u(0.12, 0.25), u(0.02, 0.035)),
    }[kind]
    return pw.Cylinder(length, radius), np.array([radius, radius, length / 2])


def _table(count: int, rng: np.random.Generator) -> _Table:
    places, kinds, shared = KINDS[count]
    C = pw.Config()
    size = np.array([rng.uniform(1.1, 1.5), rng.uniform(1.0, 1.3), 0.04])
    C.add_frame("table", position=[0, 0, HEIGHT - 0.02], shape=pw.Box(size))
    side = rng.uniform(0, 2 * np.pi)
    eye = np.array([1.7 * np.cos(side), 1.7 * np.sin(side), 1.7])
    C.add_frame("center", position=[0, 0, HEIGHT])
    pose = _looking(eye, np.array([0, 0, HEIGHT]))
    C.annotations.add_camera(
        "cam", pose=pose, vertical_fov=VIEW, width=PIXELS[0], height=PIXELS[1]
    )
    half: dict[str, np.ndarray] = {}

    def add(name: str, kind: str) -> str:
        shape, half[name] = _shape(kind, rng)
        position = np.array([*rng.uniform(-1.5, 1.5, 2), rng.uniform(0.1, 1.5)])
        turn = rng.normal(size=4)
        pose = np.array([*position, *turn / np.linalg.norm(turn)])
        C.add_frame(name, joint="free", pose=pose, shape=shape)
        return name

    settings = [
        {kind: add(f"{kind}{k}", kind) for kind in kinds} for k in range(places)
    ]
    return _Table(C, settings, [add(name, name) for name in shared], half)


def _looking(eye: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the pose of a camera that looks along its x axis, z upwards."""
    x = (at - eye) / np.linalg.norm(at - eye)
    y = np.cross([0.0, 0, 1], x)
    y /= np.linalg.norm(y)
    R = np.stack([x, y, np.cross(x, y)], 1)
    return np.array([*eye, *pw.robots.kinematics.transforms.matrix_to_quat(R)])


def by_features(count: int, seed: int) -> Scene:
    """Return a table stated by features alone."""
    rng = np.random.default_rng(seed)
    table = _table(count, rng)
    C, half, rows = table.C, table.half, []
    movable = list(half)
    radius = rng.uniform(0.3, 0.36)

    def feature(symbol, frames, kind, **options) -> None:
        rows.append((pw.Feature(symbol, frames, **options), kind))

    def within(frames: Sequence[str], low: np.ndarray, high: np.ndarray) -> None:
        """Keep the first frame's origin in a box in the frame of the second one."""
        sides = np.eye(2, 3)
        feature(FS.positionRel, frames, OT.ineq, scale=sides, target=[*high, 0])
        feature(FS.positionRel, frames, OT.ineq, scale=-sides, target=[*low, 0])

    for name in movable:
        feature(FS.vectorZ, [name], OT.eq, target=[0, 0, 1])
        height = [0, 0, HEIGHT + half[name][2]]
        feature(FS.position, [name], OT.eq, scale=[[0, 0, 1]], target=height)
    for k, setting in enumerate(table.settings):
        plate, r = setting["plate"], half[setting["plate"]][0]
        # Its y axis points to the centre; neighbours' axes have equal angles.
        target = [0.0, radius, 0.0]
        feature(
            FS.positionRel, ["center", plate], OT.eq, scale=np.eye(2, 3), target=target
        )
        if k:
            before = table.settings[k - 1]["plate"]
            cosine = np.cos(2 * np.pi / len(table.settings))
            feature(FS.scalarProductYY, [plate, before], OT.eq, target=cosine)
        feature(FS.standingAbove, [plate, "table"], OT.ineq, margin=0.01)
        for kind, side in (("fork", -1), ("knife", 1)):
            if kind in setting:
                tool = setting[kind]
                feature(FS.scalarProductYY, [tool, plate], OT.eq, target=1)
                near = r + half[tool][0] + GAP
                ends = np.sort(side * np.array([near, near + 0.03]))
                within(
                    [tool, plate], np.array([ends[0], -0.02]), np.array([ends[1], 0.02])
                )
        cup, c = setting["cup"], half[setting["cup"]][0]
        low = np.array([0.3 * r, r + c])
        within([cup, plate], low, low + [0.8 * r, 0.1])
    for cup in [setting["cup"] for setting in table.settings]:
        edges = np.tan(VIEW / 2) * np.array([PIXELS[0] / PIXELS[1], 1.0])
        for axis, edge in zip((1, 2), edges, strict=True):
            for sign in (-1.0, 1.0):
                side = sign * np.eye(3)[axis] - edge * np.eye(3)[0]
                feature(FS.positionRel, [cup, "cam"], OT.ineq, scale=[side], target=0.0)
    for name in table.shared:
        feature(FS.standingAbove, [name, "table"], OT.ineq, margin=0.02)
    names = [n for setting in table.settings for n in setting.values()]
    pairs = [
        (a, b)
        for setting in table.settings
        for i, a in enumerate(setting.values())
        for b in list(setting.values())[i + 1 :]
    ]
    pairs += [(a, b) for a in table.shared for b in names]
    for a, b in pairs:
        feature(FS.distance, [a, b], OT.ineq, target=-GAP)
    return Scene(C, rows, movable, movable)


def by_predicates(count: int, seed: int) -> Scene:
    """Return a table stated by predicates alone."""
    table = _table(count, np.random.default_rng(seed))
    movable = list(table.half)
    rows = [logic.OnTopOf(name, "table") for name in movable]
    rows += [logic.Upright(name) for name in movable]
    rows += [logic.Stable(name) for name in table.shared]
    for setting in table.settings:
        for kind, name in setting.items():
            if kind != "plate":
                rows.append(logic.NextTo(name, setting["plate"]))
        rows.append(logic.InFoVOfAgent(setting["cup"], "cam"))
    return Scene(table.C, rows, movable, movable)
