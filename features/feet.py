"""Robots that stand: what a base carries, and the points of feet."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.geometry import shapes
from posewise.robots.kinematics.joint_types import joint_type
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.masses.frame_masses import frame_masses
from posewise.robots.typing import FrameName
from posewise.robots.world.frame import Frame, Geometry

from .errors import FeatureError
from .support_polygon import balance_margin, linearize_balance
from .symbol import Resolved
from .symbol_kinds import StackSymbol

RIM_POINTS = 32
"""Number of points of the rim of a cylinder's flat end (count); their hull is within
the disc, by half a percent of its radius."""
ELLIPSOID_POINTS = 256
"""Number of points of an ellipsoid (count); their hull is within it, by 1 %."""

Balls = tuple[Float[np.ndarray, "n 3"], float]
"""Centres of balls in the frame, and their radius [m]."""

_SYMBOL = StackSymbol(
    balance_margin,
    "supportPolygon",
    frames=(0, None),
    dim=1,
    unit="m",
    value_and_wrenches=linearize_balance,
)


def resolve_balance(
    C: Config, frames: Sequence[FrameName], sole: float = 0.01
) -> Resolved:
    """Return the symbol in a world: the soles of the feet, and all bodies with a mass.

    Raises:
        FeatureError: for a negative sole.
        ConfigError: for feet that no base or different ones carry, feet without solid
            shapes, and a robot without mass.
    """
    if not sole >= 0:
        raise FeatureError(f"supportPolygon: sole is {sole!r}, expected metres >= 0.")
    feet = [C.index(name) for name in frames]
    if len(C.frames) in feet:
        raise ConfigError("supportPolygon: the world is no foot; name frames that are.")
    base = _common_base(C.frames, feet)
    weights = frame_masses(C.frames)
    bodies = [i for i in _carried_by(C.frames, base) if weights[i].mass > 0]
    if not bodies:
        raise ConfigError(
            f"supportPolygon: no frame that {C.frames[base].name!r} carries has a mass;"
            " give each link one with C.set_mass(frame, kg)."
        )
    balls = [(k, *part) for k, i in enumerate(feet) for part in _balls_of(C.frames[i])]
    params = {
        "points": np.concatenate([points for _, points, _ in balls]),
        "radius": np.concatenate([np.full(len(x), r) for _, x, r in balls]),
        "foot": np.concatenate([np.full(len(x), k) for k, x, _ in balls]),
        "mass": np.array([weights[i].mass for i in bodies]),
        "com": np.array([weights[i].com for i in bodies]),
        "sole": np.array(float(sole)),
    }
    return Resolved(_SYMBOL, np.array(feet + bodies), params)


def _common_base(frames: Sequence[Frame], feet: Sequence[int]) -> int:
    """Return the frame whose joint moves all of a robot."""
    bases: dict[int, str] = {}
    for foot in feet:
        name = frames[foot].name
        moving = [i for i in _ancestors(frames, foot) if _moves(frames[i])]
        if not moving or not _translates(frames[moving[-1]]):
            raise ConfigError(
                f"supportPolygon: the robot of {name!r} cannot fall, because no joint"
                ' moves its base. Put the base on a joint, such as joint="free", and'
                " hold the feet in place by objectives."
            )
        bases.setdefault(moving[-1], name)
    if len(bases) > 1:
        (a, first), (b, second), *_ = bases.items()
        raise ConfigError(
            f"supportPolygon: {first!r} is carried by {frames[a].name!r}, but"
            f" {second!r} by {frames[b].name!r}; expected feet of one robot."
        )
    return next(iter(bases))


def _ancestors(frames: Sequence[Frame], i: int) -> list[int]:
    """Return a frame and all that carry it, the root last."""
    ancestors, parent = [i], frames[i].parent
    while parent is not None:
        ancestors.append(parent)
        parent = frames[parent].parent
    return ancestors


def _carried_by(frames: Sequence[Frame], base: int) -> list[int]:
    return [i for i in range(len(frames)) if base in _ancestors(frames, i)]


def _moves(frame: Frame) -> bool:
    return frame.joint is not None and frame.joint.dim > 0


def _translates(frame: Frame) -> bool:
    nodes = () if frame.joint is None else joint_type(frame.joint.type).nodes
    return any(node.translations for node in nodes)


def _balls_of(frame: Frame) -> list[Balls]:
    """Return balls whose convex hull is within a foot, and as low as the foot is.

    Raises:
        ConfigError: for a foot without solid shapes.
    """
    solid = [g for g in frame.geometries if g.collision]
    if not solid:
        raise ConfigError(
            f"supportPolygon: foot {frame.name!r} has no solid shape to stand on; give"
            " it one, or name the frame that has it."
        )
    return [_balls(geometry, frame.name) for geometry in solid]


def _balls(geometry: Geometry, frame: FrameName) -> Balls:
    radius = 0.0
    match geometry.shape:
        case shapes.Sphere(radius):
            centres = np.zeros((1, 3))
        case shapes.Capsule(length, radius):
            centres = np.array([[0, 0, 0.5], [0, 0, -0.5]]) * length
        case shapes.Box(size, radius):
            signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
            centres = signs * (size / 2 - radius)
        case shapes.Cylinder(length, outer, radius):
            angles = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
            rim = (outer - radius) * np.stack([np.cos(angles), np.sin(angles)], -1)
            z = length / 2 - radius
            centres = np.concatenate([np.insert(rim, 2, h, 1) for h in (z, -z)])
        case shapes.Ellipsoid(radii):
            centres = _directions() * radii
        case shapes.Convex(vertices, radius):
            centres = np.asarray(vertices)
        case shapes.Mesh() as mesh:
            centres = np.asarray(mesh.mesh.convex_hull.vertices)
        case shape:
            raise ConfigError(
                f"supportPolygon: foot {frame!r} has a {type(shape).__name__}; expected"
                " a solid shape, such as a Box."
            )
    pose = np.asarray(geometry.pose, float)
    return centres @ quat_to_matrix(pose[3:]).T + pose[:3], float(radius)


def _directions() -> Float[np.ndarray, "n 3"]:
    """Return evenly spread unit vectors, on a Fibonacci spiral over the sphere."""
    k = np.arange(ELLIPSOID_POINTS) + 0.5
    z = 1 - 2 * k / ELLIPSOID_POINTS
    angle = np.pi * (1 + np.sqrt(5)) * k
    ring = np.sqrt(1 - z * z)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), z], -1)
