"""Random scenes, with the exact truth of predicates and the values of their rows."""

from functools import cache, lru_cache

import jax
import numpy as np

import posewise as pw
from helpers import stable_scenes
from posewise.compilation.precision import full_matmul_precision
from posewise.logic.relaxed.constraint_terms import inequalities


def at(x, y, z):
    return [x, y, z, 1, 0, 0, 0]


CRATE = [
    (pw.Box([0.4, 0.3, 0.02]), at(0, 0, 0.01)),
    (pw.Box([0.02, 0.3, 0.2]), at(0.19, 0, 0.1)),
    (pw.Box([0.02, 0.3, 0.2]), at(-0.19, 0, 0.1)),
    (pw.Box([0.4, 0.02, 0.2]), at(0, 0.14, 0.1)),
    (pw.Box([0.4, 0.02, 0.2]), at(0, -0.14, 0.1)),
]
TABLE = [
    (pw.Box([0.6, 0.4, 0.04]), at(0, 0, 0.22)),
    (pw.Box([0.04, 0.04, 0.2]), at(0.25, 0.15, 0.1)),
    (pw.Box([0.04, 0.04, 0.2]), at(-0.25, -0.15, 0.1)),
]
THINGS = {
    "crate": (CRATE, pw.Box([0.1, 0.08, 0.06])),
    "table": (TABLE, pw.Capsule(0.1, 0.03)),
    "block": ([(pw.Box([0.2, 0.2, 0.2], 0.01), at(0, 0, 0.1))], pw.Sphere(0.05)),
    "can": ([(pw.Cylinder(0.2, 0.1), at(0, 0, 0.1))], pw.Box([0.1, 0.08, 0.06])),
}
ROOF = [
    [x, y, z]
    for x in (-0.1, 0.1)
    for y, z in ((-0.05, -0.03), (0.05, -0.03), (0, 0.04))
]
SHAPES = {
    "box": [(pw.Box([0.12, 0.1, 0.08]), None)],
    "drum": [(pw.Cylinder(0.12, 0.05), None)],
    "roof": [(pw.Convex(ROOF), None)],
    "lamp": [
        (pw.Box([0.3, 0.3, 0.01]), at(0, 0, -0.1)),
        (pw.Capsule(0.15, 0.02), None),
        (pw.Sphere(0.05), at(0, 0, 0.1)),
    ],
}
"""Objects that are placed in the flat."""
RESTING = ("box", "tower", "can", "rim", "crate", "rounded", "wedge", "stool", "ramp")
"""Scenes in which an object rests, or does not."""


@cache
def world(name):
    """A fixed object b and a free object a; the flat with a shape; or one at rest."""
    if name in SHAPES:
        return flat(SHAPES[name])
    if name.startswith("rest "):
        return stable_scenes.world(name.removeprefix("rest "))
    parts, shape = THINGS[name]
    C = pw.Config()
    C.add_object(
        "b", parts=parts, pose=[0.1, 0.05, 0.3, np.cos(0.2), 0, 0, np.sin(0.2)]
    )
    C.add_frame("a", joint="free", shape=shape, mass=0.3)
    return C


def flat(parts):
    """Two rooms of one type and a hall, a robot that rolls, looks and grasps, and a."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    C.annotations.rooms = pw.RoomMap(
        [
            pw.Room("kitchen_0", cells=[[0, 0, 30, 20], [0, 20, 12, 45]]),
            pw.Room("kitchen_1", cells=[35, 40, 50, 50]),
            pw.Room("hall", cells=[[30, 0, 50, 40], [20, 20, 30, 40]]),
        ],
        size=50,
    )
    C.add_frame("robot", joint="transXYPhi", shape=pw.Box([0.3, 0.3, 0.3]))
    C.add_frame("neck", "robot", joint="hingeY", position=[0.1, 0, 0.6])
    C.add_frame("head", "neck", shape=pw.Sphere(0.08))
    C.annotations.add_camera("eyes", "neck", width=48, height=36)
    C.add_frame(
        "hand", "robot", position=[0.4, 0, 0.5], shape=pw.Box([0.05, 0.2, 0.02])
    )
    for finger, side in (("left", 1), ("right", -1)):
        C.add_frame(
            finger, "hand", joint="transY", position=[0.1, 0.02 * side, 0],
            shape=pw.Box([0.12, 0.02, 0.03], 0.004),
        )  # fmt: skip
    C.annotations.add_agent("robot", base="robot", camera="eyes", hands=["hand"])
    C.add_object("wall", [(pw.Box([0.1, 0.8, 0.8]), None)], pose=at(0.5, 0.1, 0.5))
    C.add_object("ball", [(pw.Sphere(0.15), None)], pose=at(-0.2, -0.4, 0.6))
    C.add_object("a", parts, joint="free")
    return C


def turns(rng, count):
    """Every other one upright."""
    quaternions = rng.normal(size=(count, 4))
    quaternions[::2] = [1, 0, 0, 0]
    return quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)


def around(C, rng, count):
    """a about b, many where they just touch; none in solid matter."""
    q = np.zeros((count, 7))
    q[:, :3] = [0.1, 0.05, 0.4] + rng.uniform(-0.4, 0.4, (count, 3))
    q[:, 3:] = turns(rng, count)
    lowered = slice(0, count, 3)  # until they touch, or a little less
    q[lowered, 2] -= gaps(C, q, "b")[lowered] + rng.normal(size=count)[lowered] * 1e-4
    return q


def anywhere(C, rng, count):
    """a and the robot somewhere in the flat; two of three times a touches the ground,
    or nearly does."""
    q = np.tile(C.q, (count, 1))
    robot, a = C.joints.coordinates(["robot"]), C.joints.coordinates(["a"])
    q[:, robot] = rng.uniform(-2.8, 2.8, (count, 3))
    q[:, a[:2]] = rng.uniform(-2.8, 2.8, (count, 2))
    q[:, a[2]] = rng.uniform(0.2, 1, count)
    q[:, a[3:]] = turns(rng, count)
    near = rng.random(count) < 0.2  # walls, and who stands beside a
    q[near, a[0]] = np.round(2 * q[near, a[0]]) / 2 + rng.normal(size=near.sum()) * 1e-3
    lowered = np.arange(count) % 3 > 0
    gap = gaps(C, q, "ground") + rng.normal(size=count) * 1e-4
    q[lowered, a[2]] -= gap[lowered]
    return q


def ahead(C, rng, count):
    """The robot looks at the middle, or past it; a is somewhere before its eyes."""
    q = np.tile(C.q, (count, 1))
    robot, neck, a = (C.joints.coordinates([n]) for n in ("robot", "neck", "a"))
    side, far = rng.uniform(-np.pi, np.pi, count), rng.uniform(0.3, 2.5, count)
    q[:, robot[:2]] = -far[:, None] * np.stack([np.cos(side), np.sin(side)], -1)
    q[:, robot[2]] = side + 0.4 * rng.normal(size=count)
    q[:, neck[0]] = 0.3 * rng.normal(size=count)
    q[:, a[3:]] = turns(rng, count)
    eyes = C.forward_pass(q).frames
    i = C.index("eyes")
    depth = np.where(rng.random(count) < 0.3, 0.3, 4) * rng.uniform(-0.1, 1, count)
    off = np.stack([depth, *(1.5 * depth * rng.uniform(-1, 1, (2, count)))], -1)
    q[:, a[:3]] = np.einsum("nij,nj->ni", eyes.R[:, i], off) + eyes.p[:, i]
    return q


def between(C, rng, count):
    """a between the fingers, which come near it or touch it."""
    q = np.tile(C.q, (count, 1))
    a, left, right = (C.joints.coordinates([n]) for n in ("a", "left", "right"))
    q[:, a[:3]] = C.pose("hand")[:3] + rng.uniform(-1, 1, (count, 3)) * [
        0.1,
        0.02,
        0.03,
    ]
    q[:, a[0]] += 0.1
    q[:, a[3:]] = turns(rng, count)
    q[:, left], q[:, right] = 0.3, -0.3
    for finger, x, sign in (("left", left, -1), ("right", right, 1)):
        for _ in range(20):
            q[:, x[0]] += sign * gaps(C, q, finger)
        q[1::4, x[0]] -= sign * np.abs(rng.normal(size=count))[1::4] * 1e-4
        q[2::4, x[0]] += sign * rng.normal(size=count)[2::4] * 1e-4
    return q


def resting(name):
    """A sampler of states in which a rests, or does not."""

    def draw(C, rng, count):
        return np.array([stable_scenes.placed(name, rng).q for _ in range(count)])

    return draw


def gaps(C, q, other):
    """Distances of a and another frame."""
    return -rows(C, C.feature(pw.FS.negDistance, ["a", other]), q)[:, 0]


@cache
def states(name, draw, count):
    """Configurations (count, nq) of a world."""
    return draw(world(name).copy(), np.random.default_rng(0), count)


@cache
def judged(name, draw, predicate, count):
    """Exact truth of a predicate in each state."""
    C = world(name).copy()
    truth = np.zeros(count, bool)
    for i, q in enumerate(states(name, draw, count)):
        C.q = q
        truth[i] = predicate.holds(C)
    return truth


def violations(name, draw, predicate, count, truth=True):
    """Largest row of a predicate, or of its negation, in each state."""
    C, q = world(name), states(name, draw, count)
    terms = inequalities(predicate.relaxed(C, truth), C)
    return np.max([rows(C, row.feature, q).max(1) for row in terms], 0)


def rows(C, feature, q):
    """A feature of poses in many states (count, D); one program for each structure."""
    g, poses = feature.bind(C), C.forward_pass(q).frames
    y = _in_all(g.symbol)(poses.R[:, g.frames], poses.p[:, g.frames], g.params)
    return g.scale * (np.asarray(y) - g.target)


@lru_cache(maxsize=64)
def _in_all(symbol):
    fn = full_matmul_precision(lambda R, p, options: symbol.fn(R, p, **options))
    return jax.jit(jax.vmap(fn, (0, 0, None)))
