"""Convex pieces and where straight lines cross them, in NumPy, float64.

In closed form but for rounded boxes and cylinders.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

MAX_NEWTON_STEPS = 100
"""Newton steps; only lines that graze a surface to the last bit need many."""


class LineIntervals(NamedTuple):
    """Along each line, in lengths of its direction; enter > leave where it misses."""

    enter: Float[np.ndarray, "lines bodies"]
    leave: Float[np.ndarray, "lines bodies"]


@dataclass(frozen=True, eq=False)
class Polytopes:
    """normal · x <= offset for all planes of each; repeated planes do no harm."""

    planes: Float[np.ndarray, "pieces planes 4"]
    owner: Int[np.ndarray, " pieces"]

    def intersect(self, o: np.ndarray, d: np.ndarray) -> LineIntervals:
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
        return LineIntervals(np.where(beside, np.inf, enter), leave)


@dataclass(frozen=True, eq=False)
class PosedPrimitives:
    """Pieces with a pose and two sizes."""

    R: Float[np.ndarray, "pieces 3 3"]
    p: Float[np.ndarray, "pieces 3"]
    half: Float[np.ndarray, "pieces 3"]
    radii: Float[np.ndarray, "pieces 3"]
    owner: Int[np.ndarray, " pieces"]

    def rows(self, chosen: Bool[np.ndarray, " pieces"]) -> "PosedPrimitives":
        return PosedPrimitives(**{name: x[chosen] for name, x in vars(self).items()})

    def local(self, o: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lines (lines, pieces, 3) in the axes of each piece."""
        from_piece = o[:, None] - self.p
        turn = lambda x: np.einsum("pji,lpj->lpi", self.R, x)
        return turn(from_piece), turn(np.broadcast_to(d[:, None], from_piece.shape))


class Ellipsoids(PosedPrimitives):
    """|x / radii| <= 1."""

    def intersect(self, o: np.ndarray, d: np.ndarray) -> LineIntervals:
        radii = np.maximum(self.radii, 1e-9 * self.radii.max(-1, keepdims=True))
        x, v = (a / radii for a in self.local(o, d))
        return _intersect_ball(x, v, 1.0)


class Cylinders(PosedPrimitives):
    """About z, of half length half[2] and radius radii[0]."""

    def intersect(self, o: np.ndarray, d: np.ndarray) -> LineIntervals:
        return _intersect_cylinder(*self.local(o, d), self.radii[:, 0], self.half[:, 2])


@dataclass(frozen=True, eq=False)
class RoundedCores(PosedPrimitives):
    """Boxes ±half, or the cylinders above where radii are not 0, inflated."""

    radius: Float[np.ndarray, " pieces"]

    def intersect(self, o: np.ndarray, d: np.ndarray) -> LineIntervals:
        x, v = self.local(o, d)
        r = self.radius[:, None]
        disc = np.broadcast_to(self.radii[:, 0] > 0, x.shape[:2])
        drum = _intersect_cylinder(
            x, v, self.radii[:, 0] + r[:, 0], self.half[:, 2] + r[:, 0]
        )
        block = _intersect_box(x, v, self.half + r)
        outer = [np.where(disc, c, b) for c, b in zip(drum, block, strict=True)]
        enter, leave = np.full_like(outer[0], np.inf), np.full_like(outer[1], -np.inf)
        line, piece = np.nonzero(outer[0] <= outer[1])
        core = (self.half[piece], self.radii[piece], self.radius[piece])
        x, v = x[line, piece], v[line, piece]
        enter[line, piece] = _enter_rounded(x, v, outer[0][line, piece], *core)
        leave[line, piece] = -_enter_rounded(x, -v, -outer[1][line, piece], *core)
        return LineIntervals(enter, leave)


def _enter_rounded(
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
    for _ in range(MAX_NEWTON_STEPS):
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


def _intersect_ball(
    x: np.ndarray, v: np.ndarray, radius: np.ndarray | float
) -> LineIntervals:
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
    return LineIntervals(np.where(square < 0, np.inf, enter), leave)


def _intersect_box(x: np.ndarray, v: np.ndarray, half: np.ndarray) -> LineIntervals:
    """-half <= x + t v <= half."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(-half - x) / v, (half - x) / v])
    inside = np.abs(x) <= half
    enter = np.where(v == 0, np.where(inside, -np.inf, np.inf), ends.min(0))
    leave = np.where(v == 0, np.inf, ends.max(0))
    return LineIntervals(enter.max(-1), leave.min(-1))


def _intersect_cylinder(
    x: np.ndarray, v: np.ndarray, radius: np.ndarray, half: np.ndarray
) -> LineIntervals:
    round_, ends = (
        _intersect_ball(x[..., :2], v[..., :2], radius),
        _intersect_box(x[..., 2:], v[..., 2:], half[:, None]),
    )
    return LineIntervals(
        np.maximum(round_.enter, ends.enter), np.minimum(round_.leave, ends.leave)
    )


RayPrimitives = Polytopes | Ellipsoids | Cylinders | RoundedCores
