"""Convex primitives and their intersections with straight lines, in NumPy, float64.

Rounded boxes and cylinders take Newton's method; all others have a closed form.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

MAX_NEWTON_STEPS = 100
"""Largest number of Newton steps (count). More serve only lines that graze a surface to
the last bit."""
PARALLEL_SLOPE = 1e-7
"""Sine of the angle between a line and a plane up to which they are parallel [1]: more
than vertices in single precision make of common faces."""
SEAM_WIDTH = 1e-7
"""Distance from a plane up to which a parallel line lies in it [m]; more closes wider
gaps between pieces, and widens them for lines along a face."""


class LineIntervals(NamedTuple):
    """Ends of intervals along each line, in lengths of its direction.

    A line misses where enter > leave.
    """

    enter: Float[np.ndarray, "lines bodies"]
    leave: Float[np.ndarray, "lines bodies"]


@dataclass(frozen=True, eq=False)
class Polytopes:
    """Intersections of half-spaces normal · x <= offset; planes may repeat.

    Normals have length 1.
    """

    planes: Float[np.ndarray, "pieces planes 4"]
    owner: Int[np.ndarray, " pieces"]

    def intersect(self, o: np.ndarray, d: np.ndarray) -> LineIntervals:
        """Clip the lines o + t d (lines, 3) at all planes (Cyrus and Beck 1978)."""
        normals, offsets = self.planes[..., :3], self.planes[..., 3]
        pieces, planes = offsets.shape
        flat = normals.reshape(-1, 3).T
        rate = (d @ flat).reshape(-1, pieces, planes)
        slack = offsets - (o @ flat).reshape(-1, pieces, planes)
        # A line along the common face of two pieces is in both: by rounding alone, it
        # would be between them.
        speed = np.linalg.norm(d, axis=-1)[:, None, None]
        rate = np.where(np.abs(rate) <= PARALLEL_SLOPE * speed, 0.0, rate)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = slack / rate
        enter = np.where(rate < 0, t, -np.inf).max(-1)
        leave = np.where(rate > 0, t, np.inf).min(-1)
        misses = ((rate == 0) & (slack < -SEAM_WIDTH)).any(-1)
        return LineIntervals(np.where(misses, np.inf, enter), leave)


@dataclass(frozen=True, eq=False)
class PosedPrimitives:
    """Primitives with a pose and two sizes."""

    R: Float[np.ndarray, "pieces 3 3"]
    p: Float[np.ndarray, "pieces 3"]
    half: Float[np.ndarray, "pieces 3"]
    radii: Float[np.ndarray, "pieces 3"]
    owner: Int[np.ndarray, " pieces"]

    def rows(self, mask: Bool[np.ndarray, " pieces"]) -> "PosedPrimitives":
        """Return the primitives where the mask is true."""
        return PosedPrimitives(**{name: x[mask] for name, x in vars(self).items()})

    def local(self, o: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return lines (lines, pieces, 3) in the axes of each primitive."""
        offset = o[:, None] - self.p
        directions = np.broadcast_to(d[:, None], offset.shape)
        x, v = (np.einsum("pji,lpj->lpi", self.R, a) for a in (offset, directions))
        return x, v


class Ellipsoids(PosedPrimitives):
    """Ellipsoids |x / radii| <= 1."""

    def intersect(self, o: np.ndarray, d: np.ndarray) -> LineIntervals:
        """Intersect lines with the unit ball, after scaling space by 1 / radii."""
        # Flat ellipsoids get a minute thickness so that the scaling stays finite.
        radii = np.maximum(self.radii, 1e-9 * self.radii.max(-1, keepdims=True))
        x, v = (a / radii for a in self.local(o, d))
        return _intersect_ball(x, v, 1.0)


class Cylinders(PosedPrimitives):
    """Cylinders about z, of half length half[2] and radius radii[0]."""

    def intersect(self, o: np.ndarray, d: np.ndarray) -> LineIntervals:
        """Intersect the infinite cylinder and the slab between its ends."""
        return _intersect_cylinder(*self.local(o, d), self.radii[:, 0], self.half[:, 2])


@dataclass(frozen=True, eq=False)
class RoundedCores(PosedPrimitives):
    """Boxes ±half, or cylinders where radii are not 0, inflated by a radius."""

    radius: Float[np.ndarray, " pieces"]

    def intersect(self, o: np.ndarray, d: np.ndarray) -> LineIntervals:
        """Intersect a sharp shape that contains the rounded one, then apply Newton."""
        x, v = self.local(o, d)
        r = self.radius[:, None]
        is_cylinder = np.broadcast_to(self.radii[:, 0] > 0, x.shape[:2])
        cylinder = _intersect_cylinder(
            x, v, self.radii[:, 0] + r[:, 0], self.half[:, 2] + r[:, 0]
        )
        box = _intersect_box(x, v, self.half + r)
        first, last = (
            np.where(is_cylinder, c, b) for c, b in zip(cylinder, box, strict=True)
        )
        enter, leave = np.full_like(first, np.inf), np.full_like(last, -np.inf)
        line, piece = np.nonzero(first <= last)
        core = (self.half[piece], self.radii[piece], self.radius[piece])
        x, v = x[line, piece], v[line, piece]
        enter[line, piece] = _enter_rounded(x, v, first[line, piece], *core)
        leave[line, piece] = -_enter_rounded(x, -v, -last[line, piece], *core)
        return LineIntervals(enter, leave)


def _enter_rounded(
    x: Float[np.ndarray, "n 3"],
    v: Float[np.ndarray, "n 3"],
    start: Float[np.ndarray, " n"],
    half: Float[np.ndarray, "n 3"],
    radii: Float[np.ndarray, "n 3"],
    radius: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Return where lines x + t v enter rounded cores, from t = start on; inf: nowhere.

    The lines must not be in the cores at `start`.
    """
    t, active = start.copy(), np.arange(len(start))
    # The distance to a convex core is convex along a line, so that Newton's steps never
    # go past the first point on the surface.
    for _ in range(MAX_NEWTON_STEPS):
        point = x[active] + t[active, None] * v[active]
        gap, rate = _core_distance(point, v[active], half[active], radii[active])
        gap = gap - radius[active]
        t[active[(gap > 0) & (rate >= 0)]] = np.inf
        # Rounding errors of the distance are in proportion to the coordinates.
        tolerance = 1e-15 * (1 + np.abs(point).max(-1, initial=0))
        running = (gap > tolerance) & (rate < 0)
        active, gap, rate = active[running], gap[running], rate[running]
        if not len(active):
            break
        t[active] -= gap / rate
    return t


def _core_distance(
    x: np.ndarray, v: np.ndarray, half: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance to a box or a cylinder, and its rate when moving by v."""
    is_cylinder = radii[:, 0] > 0
    # A cylinder is a box in the coordinates (distance from the axis, 0, z).
    across = np.hypot(x[:, 0], x[:, 1])
    outward = (x[:, :2] * v[:, :2]).sum(-1) / np.where(across > 0, across, 1.0)
    size, rate = np.abs(x), np.sign(x) * v
    size[is_cylinder, 0], size[is_cylinder, 1] = across[is_cylinder], 0.0
    rate[is_cylinder, 0] = outward[is_cylinder]
    bound = half + radii * [1.0, 0, 0]
    excess = np.maximum(size - bound, 0.0)
    distance = np.linalg.norm(excess, axis=-1)
    speed = (excess * rate).sum(-1) / np.where(distance > 0, distance, 1.0)
    return distance, speed


def _intersect_ball(
    x: np.ndarray, v: np.ndarray, radius: np.ndarray | float
) -> LineIntervals:
    """Return where |x + t v| <= radius."""
    # Roots of a t² + 2 b t + c. The one whose numerator would cancel follows from the
    # other by Vieta: t1 t2 = c / a (Press et al., Numerical Recipes, section 5.6).
    a, b = (v * v).sum(-1), (x * v).sum(-1)
    c = (x * x).sum(-1) - radius**2
    discriminant = b * b - a * c
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(discriminant, 0))
        numerator = -(b + np.where(b < 0, -1, 1) * root)
        ends = np.stack([numerator / a, c / numerator])
    ends = np.where(numerator == 0, 0.0, ends)
    enter, leave = ends.min(0), ends.max(0)
    is_fixed = a == 0
    enter = np.where(is_fixed, np.where(c <= 0, -np.inf, np.inf), enter)
    leave = np.where(is_fixed, np.inf, leave)
    return LineIntervals(np.where(discriminant < 0, np.inf, enter), leave)


def _intersect_box(x: np.ndarray, v: np.ndarray, half: np.ndarray) -> LineIntervals:
    """Return where -half <= x + t v <= half in all coordinates."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(-half - x) / v, (half - x) / v])
    inside = np.abs(x) <= half
    enter = np.where(v == 0, np.where(inside, -np.inf, np.inf), ends.min(0))
    leave = np.where(v == 0, np.inf, ends.max(0))
    return LineIntervals(enter.max(-1), leave.min(-1))


def _intersect_cylinder(
    x: np.ndarray, v: np.ndarray, radius: np.ndarray, half: np.ndarray
) -> LineIntervals:
    """Return where lines are in cylinders about z."""
    side = _intersect_ball(x[..., :2], v[..., :2], radius)
    slab = _intersect_box(x[..., 2:], v[..., 2:], half[:, None])
    enter, leave = (
        np.maximum(side.enter, slab.enter),
        np.minimum(side.leave, slab.leave),
    )
    return LineIntervals(enter, leave)


RayPrimitives = Polytopes | Ellipsoids | Cylinders | RoundedCores
