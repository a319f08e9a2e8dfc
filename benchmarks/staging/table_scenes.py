"""Scenes with many objects to be placed, all different: tables, a kitchen, a move.

Tables are stated by features, or by predicates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import posewise as pw
from posewise import FS, OT, logic

from .packing_worlds import Problem, somewhere, tray
from .worlds import at, open_box

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


def _looking(eye: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the pose of a camera that looks along its x axis, z upwards."""
    x = (target - eye) / np.linalg.norm(target - eye)
    y = np.cross([0.0, 0, 1], x)
    y /= np.linalg.norm(y)
    R = np.stack([x, y, np.cross(x, y)], 1)
    return np.array([*eye, *pw.robots.kinematics.transforms.matrix_to_quat(R)])


def by_features(count: int, seed: int) -> Problem:
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
    return Problem(C, movable, rows)


def by_predicates(count: int, seed: int) -> Problem:
    """Return a table stated by predicates alone."""
    table = _table(count, np.random.default_rng(seed))
    movable = list(table.half)
    rows = [logic.OnTopOf(name, "table") for name in movable]
    rows += [logic.Upright(name) for name in movable]
    for setting in table.settings:
        for kind, name in setting.items():
            if kind != "plate":
                rows.append(logic.NextTo(name, setting["plate"]))
        rows.append(logic.InFoVOfAgent(setting["cup"], "cam"))
    return Problem(table.C, movable, rows)


def counter(seed: int) -> Problem:
    """A counter with a cupboard of two boards above it, and ten objects to put away."""
    rng = np.random.default_rng(seed)
    u = rng.uniform
    C = pw.Config()
    C.add_object("counter", [(pw.Box([1.6, 0.6, 0.04]), at(z=0.88))])
    sides = [(pw.Box([0.02, 0.35, 0.72]), at(s * 0.41, z=0.36)) for s in (-1, 1)]
    back, top = pw.Box([0.84, 0.01, 0.72]), pw.Box([0.84, 0.36, 0.02])
    parts = [*sides, (back, at(y=0.18, z=0.36)), (top, at(z=0.73))]
    C.add_object("cupboard", parts, pose=at(u(-0.3, 0.3), 0.1, 1.35))
    for k in range(2):
        board = pw.Box([0.8, 0.35, 0.02])
        C.add_frame(f"board{k}", "cupboard", pose=at(z=0.01 + 0.36 * k), shape=board)
    rows: list = []
    names: list[str] = []

    def put(name: str, shape, on: str) -> None:
        C.add_frame(name, joint="free", pose=somewhere(rng), shape=shape)
        names.append(name)
        rows.extend([logic.OnTopOf(name, on), logic.Upright(name)])

    for k in range(4):
        shape = pw.Cylinder(u(0.08, 0.11), u(0.035, 0.045))
        put(f"mug{k}", shape, f"board{k % 2}")
    under = "board1"
    for k in range(3):
        put(f"plate{k}", pw.Cylinder(0.02, 0.12 - 0.01 * k), under)
        under = f"plate{k}"
    put("pan", pw.Cylinder(0.08, u(0.12, 0.15)), "counter")
    put("bottle", pw.Cylinder(u(0.2, 0.3), u(0.03, 0.045)), "counter")
    put("toaster", pw.Box([0.3, 0.18, 0.2]), "counter")
    rows += [logic.NextTo("bottle", "pan")]
    return Problem(C, names, rows)


def moving_box(seed: int) -> Problem:
    """Twelve items in a box of 40 x 30 x 25 cm, and its lid on top."""
    rng = np.random.default_rng(seed)
    C = pw.Config()
    C.add_object("box", open_box(0.42, 0.32, 0.26, 0.01))
    inner = [0.4, 0.3, 0.249]
    C.annotations.add_region("box", "cavity", size=inner, pose=at(z=0.01 + 0.1245))
    rows: list = []
    names: list[str] = []
    for k in range(12):
        size = rng.uniform(0.05, 0.13, 3)
        shape = pw.Cylinder(size[0], size[1] / 2) if k % 3 == 0 else pw.Box(size)
        C.add_frame(f"item{k}", joint="free", pose=somewhere(rng), shape=shape)
        names.append(f"item{k}")
        rows.append(logic.InsideOf(f"item{k}", "box"))
    C.add_frame(
        "lid", joint="free", pose=somewhere(rng), shape=pw.Box([0.44, 0.34, 0.01])
    )
    names.append("lid")
    rows += [logic.OnTopOf("lid", "box"), logic.Upright("lid")]
    rows.append(
        (pw.Feature(FS.position, ["lid"], scale=np.eye(3), target=[0, 0, 0.265]), OT.eq)
    )
    return Problem(C, names, rows)


def bookshelf(seed: int) -> Problem:
    """Ten books on a board between two ends, sorted by their height, by features."""
    rng = np.random.default_rng(seed)
    C = pw.Config()
    sizes = np.stack(
        [
            rng.uniform(0.02, 0.05, 10),
            rng.uniform(0.12, 0.2, 10),
            rng.uniform(0.16, 0.3, 10),
        ],
        1,
    )
    width = sizes[:, 0].sum() + 0.04
    C.add_object("shelf", tray(width, 0.25, 0.1), pose=at(z=0.5))
    rows: list = []
    names = [f"book{k}" for k in range(10)]
    for name, size in zip(names, sizes, strict=True):
        C.add_frame(name, joint="free", pose=somewhere(rng), shape=pw.Box(size))
        up, side = [0.0, 0, 1], [1.0, 0, 0]
        height = [0, 0, 0.5 + size[2] / 2]
        rows += [
            (pw.Feature(FS.vectorZ, [name], target=up), OT.eq),
            (pw.Feature(FS.vectorX, [name], target=side), OT.eq),
            (pw.Feature(FS.position, [name], scale=[up], target=height), OT.eq),
            (pw.Feature(FS.position, [name], scale=[[0, 1.0, 0]]), OT.eq),
        ]
        for sign in (-1.0, 1.0):
            end = sign * (width - size[0]) / 2
            scale = [[sign, 0, 0]]
            feature = pw.Feature(FS.position, [name], scale=scale, target=[end, 0, 0])
            rows.append((feature, OT.ineq))
    order = np.argsort(sizes[:, 2])
    for a, b in zip(order[:-1], order[1:], strict=True):
        pair = [names[a], names[b]]
        rows.append((pw.Feature(FS.positionDiff, pair, scale=[[1.0, 0, 0]]), OT.ineq))
    return Problem(C, names, rows)


SCENES: dict[str, Callable[[int], Problem]] = {
    **{f"table of {n}, features": partial(by_features, n) for n in KINDS},
    **{f"table of {n}, predicates": partial(by_predicates, n) for n in KINDS},
    "counter with a cupboard": counter,
    "moving box with a lid": moving_box,
    "bookshelf sorted by height": bookshelf,
}
