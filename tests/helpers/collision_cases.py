"""Bodies for tests of `contact`, and checks of contacts in NumPy alone.

The checks are independent of the library: the separation along a unit
normal, s(n) = min_a n·a - max_b n·b, never exceeds the signed distance, and equals it
at the right normal.
"""

import json
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation

from posewise.collision import (
    Body,
    Box,
    BoxPlusEllipsoid,
    Contact,
    HalfSpace,
    Hull,
    Segment,
    contact,
)

PAIRS = 128
"""Number of pairs in each call: always the same, so that each kind compiles once."""

VERTICES = 34

KINDS = (
    "sphere",
    "capsule",
    "box",
    "rounded box",
    "cylinder",
    "rounded cylinder",
    "ellipsoid",
    "hull",
    "rounded hull",
    "plane",
)

CORES = (Segment, Box, BoxPlusEllipsoid, Hull, HalfSpace)

CORE_PAIRS = [
    (a, b)
    for i, a in enumerate(CORES)
    for b in CORES[i:]
    if not (a is HalfSpace and b is HalfSpace)
]


def pair_name(cores: tuple[type, type]) -> str:
    """Return a name for the cases of parametrised tests."""
    return "-".join(c.__name__ for c in cores)


def has_curved_core(cores: tuple[type, type]) -> bool:
    """Whether distances are found by iteration on curved surfaces."""
    return BoxPlusEllipsoid in cores and HalfSpace not in cores


# -- making bodies: NumPy arrays throughout, one batch axis ----------------------------


class Shape(NamedTuple):
    """A core without batch axis and its radius."""

    core: object
    radius: float = 0.0


def sphere(r: float) -> Shape:
    return Shape(Segment(0.0), r)


def capsule(half: float, r: float) -> Shape:
    return Shape(Segment(half), r)


def box(half, r: float = 0.0) -> Shape:
    """Return a box of outer half sizes; r rounds corners inwards."""
    return Shape(Box(np.asarray(half) - r), r)


def cylinder(half: float, r: float, rounding: float = 0.0) -> Shape:
    r = r - rounding
    return Shape(
        BoxPlusEllipsoid(np.array([0, 0, half - rounding]), np.array([r, r, 0.0])),
        rounding,
    )


def ellipsoid(radii) -> Shape:
    return Shape(BoxPlusEllipsoid(np.zeros(3), np.asarray(radii)))


def hull(vertices, r: float = 0.0) -> Shape:
    """Return a hull padded to `VERTICES` by its first vertex."""
    v = np.asarray(vertices, float)
    return Shape(Hull(np.concatenate([v, np.repeat(v[:1], VERTICES - len(v), 0)])), r)


def plane() -> Shape:
    return Shape(HalfSpace())


def bodies(shapes: list[Shape], R, p) -> Body:
    """Return shapes of one type of core as one Body."""
    stack = lambda *x: np.stack([np.asarray(y, float) for y in x])
    core = jax.tree.map(stack, *[s.core for s in shapes])
    radius = np.array([s.radius for s in shapes], float)
    return Body(core, radius, np.asarray(R, float), np.asarray(p, float))


def select_rows(body: Body, rows) -> Body:
    """Return some entries of a batch."""
    return jax.tree.map(lambda x: x[rows], body)


def concatenate_bodies(*many: Body) -> Body:
    """Return one batch from several."""
    return jax.tree.map(lambda *x: np.concatenate(x), *many)


def move_body(body: Body, w=0.0, v=0.0) -> Body:
    """Return the body turned about its origin by vectors w (world), shifted by v."""
    w = np.broadcast_to(w, body.p.shape)
    turn = Rotation.from_rotvec(np.array(w).reshape(-1, 3)).as_matrix()
    return body._replace(R=turn.reshape(body.R.shape) @ body.R, p=body.p + v)


def transform_body(body: Body, turn: np.ndarray, shift: np.ndarray) -> Body:
    """Return the body after a rigid motion of the world."""
    p = np.einsum("...ij,...j->...i", turn, body.p) + shift
    return body._replace(R=turn @ body.R, p=p)


def random_shape(kind: str, rng: np.random.Generator) -> Shape:
    u = lambda low, high, size=None: rng.uniform(low, high, size)
    match kind:
        case "sphere":
            return sphere(u(0.05, 0.3))
        case "capsule":
            return capsule(u(0.05, 0.4), u(0.03, 0.2))
        case "box":
            return box(u(0.08, 0.4, 3))
        case "rounded box":
            return box(u(0.08, 0.4, 3), u(0.01, 0.07))
        case "cylinder":
            return cylinder(u(0.05, 0.4), u(0.05, 0.3))
        case "rounded cylinder":
            return cylinder(u(0.05, 0.4), u(0.05, 0.3), u(0.01, 0.04))
        case "ellipsoid":
            return ellipsoid(u(0.08, 0.4, 3))
        case "hull" | "rounded hull":
            v = rng.normal(size=(rng.integers(8, 33), 3))
            v *= u(0.1, 0.35, 3) / np.linalg.norm(v, axis=1)[:, None]
            return hull(v, u(0.01, 0.08) if kind == "rounded hull" else 0.0)
    return plane()


def random_rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    return Rotation.random(n, random_state=rng).as_matrix()


def kinds_with_core(core: type) -> list[str]:
    """Kinds of shape with this kind of core."""
    rng = np.random.default_rng(0)
    return [k for k in KINDS if isinstance(random_shape(k, rng).core, core)]


def random_pairs(
    cores: tuple[type, type], seed: int, n: int = PAIRS
) -> tuple[Body, Body]:
    """Random shapes with these cores at random poses, about two in five overlapping."""
    rng = np.random.default_rng(seed)
    shapes = [
        [random_shape(kind, rng) for kind in rng.choice(kinds_with_core(core), n)]
        for core in cores
    ]
    a, b = (bodies(s, random_rotations(rng, n), np.zeros((n, 3))) for s in shapes)
    u = rng.normal(size=(n, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    if cores[1] is HalfSpace:
        u = b.R[:, :, 2]
    touch = -separation(a, b, u)
    a = a._replace(p=rng.uniform(-0.2, 0.2, (n, 3)))
    # B lies against u; s(u) of the pair is `gap`
    gap = rng.uniform(-0.8, 1.0, n) * np.minimum(touch, 1.0)
    return a, b._replace(p=a.p - (touch + gap)[:, None] * u)


def pad_batch(a: Body, b: Body) -> tuple[Body, Body]:
    """Filled up to `PAIRS` pairs with the last one, far apart: that costs little."""
    n = len(a.p)
    assert n <= PAIRS
    rows = np.minimum(np.arange(PAIRS), n - 1)
    a, b = select_rows(a, rows), select_rows(b, rows)
    far = np.where(np.arange(PAIRS) >= n, 100.0, 0.0)[:, None]
    return a, b._replace(p=b.p + far)


def tangent(body: Body, w=0.0, v=0.0, radius=0.0, core=None) -> Body:
    """A velocity: turning by w, moving by v, growing."""
    zero = np.zeros_like(body.p)
    w, v = zero + w, zero + v
    dR = np.cross(w[..., None, :], np.swapaxes(body.R, -1, -2))
    core = jax.tree.map(np.zeros_like, body.core) if core is None else core
    return Body(core, np.zeros_like(body.radius) + radius, np.swapaxes(dR, -1, -2), v)


def displace(body: Body, by: Body, w, h: float) -> Body:
    """The body after h of the velocity `by`, whose turning is w."""
    out = move_body(body, h * w, h * by.p)
    core = jax.tree.map(lambda x, y: x + h * y, body.core, by.core)
    return out._replace(core=core, radius=body.radius + h * by.radius)


# -- the library, compiled once per kind -----------------------------------------------


@jax.jit
def _directional_derivative(
    a: Body, b: Body, da: Body, db: Body
) -> tuple[Contact, Contact]:
    return jax.jvp(contact, (a, b), (da, db))


def directional_derivative(
    a: Body, b: Body, da: Body, db: Body, dtype=float
) -> tuple[Contact, Contact]:
    """Return contacts and their derivatives along velocities; at most `PAIRS` pairs."""
    n = len(a.p)
    a, b = pad_batch(a, b)
    da, db = pad_batch(da, db)  # what is beyond n is not looked at
    args = jax.tree.map(lambda x: jnp.asarray(x, dtype), (a, b, da, db))
    return jax.tree.map(lambda x: np.asarray(x)[:n], _directional_derivative(*args))


def solve(a: Body, b: Body) -> Contact:
    """Contacts of any number of pairs, by the program of `directional_derivative`."""
    chunks = range(0, len(a.p), PAIRS)
    parts = []
    for k in chunks:
        x, y = (select_rows(body, slice(k, k + PAIRS)) for body in (a, b))
        parts.append(directional_derivative(x, y, tangent(x), tangent(y))[0])
    return jax.tree.map(lambda *x: np.concatenate(x), *parts)


value = jax.jit(contact)


# -- what NumPy says -------------------------------------------------------------------


def support_value(body: Body, n: np.ndarray) -> np.ndarray:
    """Support function: how far a body reaches along n (pairs, ..., 3) from its p."""
    more = n.ndim - 2
    wide = lambda x, k=0: x.reshape(len(x), *[1] * more, *x.shape[1:])
    m = np.einsum("bji,b...j->b...i", body.R, n)
    match body.core:
        case Segment(half):
            h = wide(half) * np.abs(m[..., 2])
        case Box(half):
            h = np.sum(wide(half) * np.abs(m), -1)
        case BoxPlusEllipsoid(half, radii):
            h = np.sum(wide(half) * np.abs(m), -1)
            h = h + np.linalg.norm(wide(radii) * m, axis=-1)
        case Hull(vertices):
            h = np.max(np.einsum("bvi,b...i->b...v", vertices, m), -1)
        case HalfSpace():
            h = np.where(m[..., 2] > 1 - 1e-6, 0.0, np.inf)
    return h + wide(body.radius)


def separation(a: Body, b: Body, n: np.ndarray) -> np.ndarray:
    """Return s(n), at most the signed distance; n (pairs, [directions,] 3)."""
    t = np.einsum("bi,b...i->b...", a.p - b.p, n)
    return t - support_value(a, -n) - support_value(b, n)


def distance_from_core(
    body: Body, outward: np.ndarray, point: np.ndarray
) -> np.ndarray:
    """Return the distance of the core's point under a surface point from the core."""
    m = np.einsum("bji,bj->bi", body.R, outward)
    x = np.einsum("bji,bj->bi", body.R, point - body.p)
    x = x - body.radius[:, None] * m
    beyond = lambda y, half: np.maximum(np.abs(y) - half, 0.0)
    match body.core:
        case Segment(half):
            off = np.stack([x[:, 0], x[:, 1], beyond(x[:, 2], half)], -1)
            return np.linalg.norm(off, axis=1)
        case Box(half):
            return np.linalg.norm(beyond(x, half), axis=1)
        case BoxPlusEllipsoid(half, radii):
            y = beyond(x, half) * np.sign(x)
            flat = radii[:, 2] == 0
            safe = np.where(radii > 0, radii, 1.0)
            level = np.linalg.norm(np.where(radii > 0, y / safe, 0.0), axis=1)
            over = np.maximum(level - 1, 0.0) * np.max(radii, 1)
            return over + np.where(flat, np.abs(y[:, 2]), 0.0)
        case Hull(vertices):
            one = np.ones((len(x), 1))
            M = np.concatenate([vertices, np.ones((*vertices.shape[:2], 1))], -1)
            r = np.concatenate([x, one], -1)
            return np.array([nnls(A.T, y)[1] for A, y in zip(M, r, strict=True)])
    return np.maximum(x[:, 2], 0.0)


def sphere_directions(n: int) -> np.ndarray:
    """Return directions spread evenly over the sphere."""
    k = np.arange(n) + 0.5
    z, turn = 1 - 2 * k / n, np.pi * (1 + 5**0.5) * k
    side = np.sqrt(1 - z * z)
    return np.stack([side * np.cos(turn), side * np.sin(turn), z], -1)


def searched_distance(a: Body, b: Body, directions: int, zooms: int = 0) -> np.ndarray:
    """Return the greatest s(n) over many n: a lower bound of the signed distance."""
    D = sphere_directions(directions)
    s = separation(a, b, np.broadcast_to(D, (len(a.p), *D.shape)))
    few = min(6, directions)
    top = np.argpartition(-s, few - 1, axis=1)[:, :few]
    n, best = D[top], np.take_along_axis(s, top, 1)
    rng = np.random.default_rng(0)
    width = 4 / np.sqrt(directions)
    for _ in range(zooms):
        m = n[:, :, None] + width * rng.normal(size=(*n.shape[:2], 16, 3))
        m /= np.linalg.norm(m, axis=-1, keepdims=True)
        s = separation(a, b, m)
        k = np.argmax(s, -1)
        pick = lambda x, k=k: np.take_along_axis(
            x, k.reshape(*k.shape, *[1] * (x.ndim - 2)), 2
        )[:, :, 0]
        better = pick(s) > best
        best = np.where(better, pick(s), best)
        n = np.where(better[..., None], pick(m), n)
        width *= 0.75
    return best.max(1)


# -- random velocities -----------------------------------------------------------------


def velocities(a: Body, b: Body, seed: int, sizes: bool):
    """Return a random velocity for each pair: (velocity, turning) of both."""
    rng = np.random.default_rng(seed)
    out = []
    for body in (a, b):
        shape = body.p.shape
        w, v = rng.normal(size=shape), rng.normal(size=shape)
        core, radius = None, 0.0
        if sizes:
            w, v = np.zeros(shape), np.zeros(shape)
            core = jax.tree.map(lambda x: rng.normal(size=x.shape), body.core)
            radius = rng.normal(size=len(w))
        # points and disks stay points and disks
        if isinstance(body.core, BoxPlusEllipsoid) and sizes:
            core = core._replace(radii=core.radii * (body.core.radii > 0))
            core = core._replace(half=core.half * (body.core.half > 0))
        elif isinstance(body.core, Segment) and sizes:
            core = core._replace(half=core.half * (body.core.half > 0))
        elif isinstance(body.core, Hull) and sizes:
            first = body.core.vertices == body.core.vertices[:, :1]
            same = np.all(first, -1, keepdims=True)
            core = Hull(np.where(same, core.vertices[:, :1], core.vertices))
        out.append((tangent(body, w, v, radius, core), w))
    return out


# -- reference data --------------------------------------------------------------------


def shape_from_json(s: dict) -> Shape:
    """A shape of the reference cases."""
    match s["type"]:
        case "sphere":
            return sphere(s["r"])
        case "capsule":
            return capsule(s["h"], s["r"])
        case "box":
            return box(s["half"])
        case "ssbox":
            return box(s["half"], s["r"])
        case "cylinder":
            return cylinder(s["h"], s["r"])
        case "ellipsoid":
            return ellipsoid(s["radii"])
        case "convex":
            return hull(s["V"], s.get("r") or 0.0)
        case "halfspace":
            return plane()
    raise ValueError(json.dumps(s))


def rotation(wxyz) -> np.ndarray:
    return Rotation.from_quat(np.asarray(wxyz), scalar_first=True).as_matrix()


class ReferenceCase(NamedTuple):
    """A pair of shapes at poses in the order of `CORES`, and what is known of it."""

    shapes: tuple[Shape, Shape]
    R: tuple[np.ndarray, np.ndarray]
    p: tuple[np.ndarray, np.ndarray]
    sign: float
    """-1 where the two have changed places: the normal is the other way round."""
    known: dict


def reference_case(a, b, known: dict) -> ReferenceCase:
    """Return a pair of bodies from (shape, R, p) twice."""
    rank = lambda x: CORES.index(type(x[0].core))
    sign = 1.0
    if rank(a) > rank(b):
        a, b, sign = b, a, -1.0
    return ReferenceCase(*zip(a, b, strict=True), sign, known)


def group_by_cores(
    rows: list[ReferenceCase],
) -> dict[tuple[type, type], list[ReferenceCase]]:
    """Return the cases by their pair of core types."""
    out: dict = {}
    for r in rows:
        out.setdefault(tuple(type(s.core) for s in r.shapes), []).append(r)
    return out


def batch_cases(rows: list[ReferenceCase]) -> tuple[Body, Body]:
    make = lambda k: bodies(
        [r.shapes[k] for r in rows], [r.R[k] for r in rows], [r.p[k] for r in rows]
    )
    return make(0), make(1)
