"""Where straight lines cross the convex bodies of a frame: in NumPy, float64.

Every body is a union of pieces, each crossed in closed form but for rounded boxes and
cylinders; as the body is convex, a line is in it from the first piece to the last.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise import collision

from .bodies import frame_bodies
from .frame import Frame
from .hulls import hull_planes, simplices

STEPS = 100
"""Newton steps; only lines that graze a surface to the last bit need many."""


class Crossings(NamedTuple):
    """Along each line, in lengths of its direction; enter > leave where it misses."""

    enter: Float[np.ndarray, "lines bodies"]
    leave: Float[np.ndarray, "lines bodies"]


def crossings(
    frame: Frame,
    origin: Float[np.ndarray, "lines 3"],
    direction: Float[np.ndarray, "lines 3"],
) -> Crossings:
    """Where lines enter and leave the bodies of a frame, all in the frame.

    Bodies are in the order of `frame_bodies`; points are never met.

    Args:
        frame: its collision shapes count, meshes by their convex parts.
        origin: a point of each line.
        direction: of each line, of any length but 0.

    Raises:
        ConfigError: for a frame with shapes that cannot be used, see `frame_bodies`.
    """
    pieces = _pieces(frame)
    count = sum(len(group) for group in frame_bodies(frame))
    enter = np.full((len(origin), count), np.inf)
    leave = np.full((len(origin), count), -np.inf)
    for group in pieces:
        first, last = group.cross(origin, direction)
        missed = first > last
        first, last = np.where(missed, np.inf, first), np.where(missed, -np.inf, last)
        for k, body in enumerate(group.owner):
            np.minimum(enter[:, body], first[:, k], out=enter[:, body])
            np.maximum(leave[:, body], last[:, k], out=leave[:, body])
    return Crossings(enter, leave)


def entries(
    frame: Frame,
    origin: Float[np.ndarray, "lines 3"],
    direction: Float[np.ndarray, "lines 3"],
) -> Float[np.ndarray, "lines bodies"]:
    """How far along each ray it enters each body, inf where it does not.

    A ray that starts in a body does not enter that one, as in Bullet.
    """
    enter, _ = crossings(frame, origin, direction)
    return np.where(enter > 0, enter, np.inf)


@dataclass(frozen=True, eq=False)
class _Polytopes:
    """normal · x <= offset for all planes of each; repeated planes do no harm."""

    planes: Float[np.ndarray, "pieces planes 4"]
    owner: Int[np.ndarray, " pieces"]

    def cross(self, o: np.ndarray, d: np.ndarray) -> Crossings:
        normals, offsets = self.planes[..., :3], self.planes[..., 3]
        pieces, planes = offsets.shape
        flat = normals.reshape(-1, 3).T
        speed = (d @ flat).reshape(-1, pieces, planes)
        room = offsets - (o @ flat).reshape(-1, pieces, planes)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = room / speed
        enter = np.where(speed < 0, t, -np.inf).max(-1)
        leave = np.where(speed > 0, t, np.inf).min(-1)
        beside = ((speed == 0) & (room < 0)).any(-1)
        return Crossings(np.where(beside, np.inf, enter), leave)


@dataclass(frozen=True, eq=False)
class _Posed:
    """Pieces with a pose and two sizes."""

    R: Float[np.ndarray, "pieces 3 3"]
    p: Float[np.ndarray, "pieces 3"]
    half: Float[np.ndarray, "pieces 3"]
    radii: Float[np.ndarray, "pieces 3"]
    owner: Int[np.ndarray, " pieces"]

    def rows(self, chosen: Bool[np.ndarray, " pieces"]) -> "_Posed":
        return _Posed(**{name: x[chosen] for name, x in vars(self).items()})

    def local(self, o: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lines (lines, pieces, 3) in the axes of each piece."""
        from_piece = o[:, None] - self.p
        turn = lambda x: np.einsum("pji,lpj->lpi", self.R, x)
        return turn(from_piece), turn(np.broadcast_to(d[:, None], from_piece.shape))


class _Ellipsoids(_Posed):
    """|x / radii| <= 1."""

    def cross(self, o: np.ndarray, d: np.ndarray) -> Crossings:
        radii = np.maximum(self.radii, 1e-9 * self.radii.max(-1, keepdims=True))
        x, v = (a / radii for a in self.local(o, d))
        return _ball(x, v, 1.0)


class _Cylinders(_Posed):
    """About z, of half length half[2] and radius radii[0]."""

    def cross(self, o: np.ndarray, d: np.ndarray) -> Crossings:
        return _cylinder(*self.local(o, d), self.radii[:, 0], self.half[:, 2])


@dataclass(frozen=True, eq=False)
class _Rounded(_Posed):
    """Boxes ±half, or the cylinders above where radii are not 0, inflated."""

    radius: Float[np.ndarray, " pieces"]

    def cross(self, o: np.ndarray, d: np.ndarray) -> Crossings:
        x, v = self.local(o, d)
        r = self.radius[:, None]
        disc = np.broadcast_to(self.radii[:, 0] > 0, x.shape[:2])
        drum = _cylinder(x, v, self.radii[:, 0] + r[:, 0], self.half[:, 2] + r[:, 0])
        block = _box(x, v, self.half + r)
        outer = [np.where(disc, c, b) for c, b in zip(drum, block, strict=True)]
        enter, leave = np.full_like(outer[0], np.inf), np.full_like(outer[1], -np.inf)
        line, piece = np.nonzero(outer[0] <= outer[1])
        core = (self.half[piece], self.radii[piece], self.radius[piece])
        x, v = x[line, piece], v[line, piece]
        enter[line, piece] = _descend(x, v, outer[0][line, piece], *core)
        leave[line, piece] = -_descend(x, -v, -outer[1][line, piece], *core)
        return Crossings(enter, leave)


def _descend(
    x: Float[np.ndarray, "n 3"],
    v: Float[np.ndarray, "n 3"],
    start: Float[np.ndarray, " n"],
    half: Float[np.ndarray, "n 3"],
    radii: Float[np.ndarray, "n 3"],
    radius: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Where lines that are not in a rounded core yet enter it; inf: nowhere.

    The distance to the core is convex along a line: Newton's steps never go past the
    first point on the surface.
    """
    t, todo = start.copy(), np.arange(len(start))
    for _ in range(STEPS):
        point = x[todo] + t[todo, None] * v[todo]
        gap, rate = _core_distance(point, v[todo], half[todo], radii[todo])
        gap = gap - radius[todo]
        t[todo[(gap > 0) & (rate >= 0)]] = np.inf
        on = (gap > 1e-15 * (1 + np.abs(point).max(-1, initial=0))) & (rate < 0)
        todo, gap, rate = todo[on], gap[on], rate[on]
        if not len(todo):
            break
        t[todo] -= gap / rate
    return t


def _core_distance(
    x: np.ndarray, v: np.ndarray, half: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Distance to a box or a cylinder, and its rate when moving by v."""
    disc = radii[:, 0] > 0
    across = np.hypot(x[:, 0], x[:, 1])
    outward = (x[:, :2] * v[:, :2]).sum(-1) / np.where(across > 0, across, 1.0)
    size, rate = np.abs(x), np.sign(x) * v
    size[disc, 0], size[disc, 1] = across[disc], 0.0
    rate[disc, 0] = outward[disc]
    bound = half + radii * [1.0, 0, 0]
    beyond = np.maximum(size - bound, 0.0)
    distance = np.linalg.norm(beyond, axis=-1)
    speed = (beyond * rate).sum(-1) / np.where(distance > 0, distance, 1.0)
    return distance, speed


def _ball(x: np.ndarray, v: np.ndarray, radius: np.ndarray | float) -> Crossings:
    """|x + t v| <= radius; the root that would cancel is found from the other."""
    a, b = (v * v).sum(-1), (x * v).sum(-1)
    c = (x * x).sum(-1) - radius**2
    square = b * b - a * c
    with np.errstate(divide="ignore", invalid="ignore"):
        far = -(b + np.where(b < 0, -1, 1) * np.sqrt(np.maximum(square, 0)))
        ends = np.stack([far / a, c / far])
    ends = np.where(far == 0, 0.0, ends)
    enter, leave = ends.min(0), ends.max(0)
    still = a == 0
    enter = np.where(still, np.where(c <= 0, -np.inf, np.inf), enter)
    leave = np.where(still, np.inf, leave)
    return Crossings(np.where(square < 0, np.inf, enter), leave)


def _box(x: np.ndarray, v: np.ndarray, half: np.ndarray) -> Crossings:
    """-half <= x + t v <= half."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(-half - x) / v, (half - x) / v])
    inside = np.abs(x) <= half
    enter = np.where(v == 0, np.where(inside, -np.inf, np.inf), ends.min(0))
    leave = np.where(v == 0, np.inf, ends.max(0))
    return Crossings(enter.max(-1), leave.min(-1))


def _cylinder(
    x: np.ndarray, v: np.ndarray, radius: np.ndarray, half: np.ndarray
) -> Crossings:
    round_, ends = (
        _ball(x[..., :2], v[..., :2], radius),
        _box(x[..., 2:], v[..., 2:], half[:, None]),
    )
    return Crossings(
        np.maximum(round_.enter, ends.enter), np.minimum(round_.leave, ends.leave)
    )


_Pieces = _Polytopes | _Ellipsoids | _Cylinders | _Rounded


@lru_cache(maxsize=8192)
def _pieces(frame: Frame) -> list[_Pieces]:
    """What the bodies of a frame are made of, in the frame."""
    polytopes: list[tuple[np.ndarray, int]] = []
    made: list[_Pieces] = []
    first = 0
    for group in frame_bodies(frame):
        owner = list(range(first, first + len(group)))
        first += len(group)
        R, p, radius = (
            np.asarray(x) for x in (group.body.R, group.body.p, group.body.radius)
        )
        match group.body.core:
            case collision.HalfSpace():
                up = R[:, :, 2]
                planes = np.column_stack([up, (up * p).sum(-1)])
                polytopes += [(x[None], k) for x, k in zip(planes, owner, strict=True)]
            case collision.Hull(vertices):
                placed = vertices @ R.swapaxes(-1, -2) + p[:, None]
                for k, points, r in zip(owner, placed, radius, strict=True):
                    polytopes += [(planes, k) for planes in _inflated(points, r)]
                    if r > 0:
                        made.append(_edges(points, r, k))
            case core:
                half = np.asarray(core.half)
                radii = np.asarray(getattr(core, "radii", np.zeros_like(half)))
                posed = _Posed(R, p, half, radii, np.array(owner))
                made += _smooth(posed, radius)
    if polytopes:
        most = max(len(p) for p, _ in polytopes)
        full = [p[np.arange(most) % len(p)] for p, _ in polytopes]
        made.append(_Polytopes(np.array(full), np.array([k for _, k in polytopes])))
    return made


def _smooth(posed: _Posed, radius: Float[np.ndarray, " n"]) -> list[_Pieces]:
    """Boxes, cylinders, ellipsoids and balls, rounded ones; no points of no size."""
    made: list[_Pieces] = []
    point = ~(posed.half.any(-1) | posed.radii.any(-1))
    posed = replace(posed, radii=posed.radii + (point * radius)[:, None])
    radius = np.where(point, 0.0, radius)
    sharp = radius == 0
    ball = ~posed.half.any(-1) & (posed.radii[:, 2] > 0)
    drum = (posed.radii[:, 0] > 0) & ~ball
    box = ~ball & ~drum & posed.half.any(-1)
    if (sharp & box).any():
        boxes = posed.rows(sharp & box)
        made.append(_Polytopes(_box_planes(boxes), boxes.owner))
    if (sharp & ball).any():
        made.append(_Ellipsoids(**vars(posed.rows(sharp & ball))))
    if (sharp & drum).any():
        made.append(_Cylinders(**vars(posed.rows(sharp & drum))))
    if not sharp.all():
        rest = posed.rows(~sharp)
        made.append(_Rounded(**vars(rest), radius=radius[~sharp]))
    return made


def _box_planes(boxes: _Posed) -> Float[np.ndarray, "n 6 4"]:
    """Six planes for each box."""
    axes, half = boxes.R.swapaxes(-1, -2), boxes.half
    along = (axes * boxes.p[:, None]).sum(-1)
    over = np.concatenate([axes, (along + half)[..., None]], -1)
    under = np.concatenate([-axes, (half - along)[..., None]], -1)
    return np.concatenate([over, under], 1)


def _inflated(points: np.ndarray, radius: float) -> list[np.ndarray]:
    """The hull of points, and on each of its faces a prism as high as the radius."""
    planes = hull_planes(points)
    found = [planes] if len(planes) else []
    if radius == 0:
        return found
    for corners in simplices(points):
        if len(corners) < 3:
            continue
        a, b, c = corners
        normal = np.cross(b - a, c - a)
        normal /= np.linalg.norm(normal)
        sides = np.cross(np.roll(corners, -1, 0) - corners, normal)
        faces = np.array([normal, -normal])
        offsets = np.array([1, -1]) * (normal @ a) + radius
        walls = np.column_stack([sides, (sides * corners).sum(-1)])
        found.append(np.concatenate([np.column_stack([faces, offsets]), walls]))
    return found


def _edges(points: np.ndarray, radius: float, owner: int) -> _Rounded:
    """Capsules about the edges of a hull."""
    ends = [
        (corners[i], corners[i - 1])
        for corners in simplices(points)
        for i in range(len(corners))
    ]
    a, b = (np.array(x) for x in zip(*ends, strict=True))
    length = np.linalg.norm(b - a, axis=-1)
    z = (b - a) / np.where(length > 0, length, 1.0)[:, None]
    helper = np.eye(3)[np.abs(z).argmin(-1)]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    R = np.stack([x, np.cross(z, x), z], -1)
    half = np.zeros((len(a), 3))
    half[:, 2] = length / 2
    owners = np.full(len(a), owner)
    radii = np.full(len(a), radius)
    return _Rounded(R, (a + b) / 2, half, np.zeros_like(half), owners, radii)
