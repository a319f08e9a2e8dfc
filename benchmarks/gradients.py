"""Gradients of signed distances, of posewise and of peers, beside the truth.

    python benchmarks/gradients.py [--pairs 40] [--only posewise coal ...]

Each pair of a sphere, capsule, box or convex mesh has six derivatives of its distance:
by a translation of the first body [1] and by a rotation about its centre [m/rad]. The
truth comes from none of the libraries: the Minkowski difference of the cores is a
polytope, and the origin's distance to its facets is exact to 1e-15 m. Differences of it
to both sides bound each derivative. A gradient is *right* if each component is within
1e-3 of that interval: where the distance has a kink, any value between the two
one-sided derivatives is. The error is how far the worst component is outside.

MJX is asked of the pairs without meshes alone, because it has no margin for these. A
library that is not installed is skipped, with a line that says so. Peers:
`pip install mujoco mujoco-mjx coal drake`.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from gradient_peers import LIBRARIES, WITHOUT_MESHES
from scipy.optimize import brentq
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

TOLERANCE = 1e-3
STEP = 1e-6
KINDS = (
    ("sphere", "box"),
    ("capsule", "capsule"),
    ("capsule", "box"),
    ("box", "box"),
    ("box", "mesh"),
    ("mesh", "mesh"),
)
REGIMES = ("apart", "touching", "overlap")


@dataclass(frozen=True)
class Shape:
    """A convex body: the hull of some vertices, thickened by a radius [m]."""

    kind: str
    vertices: np.ndarray
    """(k, 3) in the body's frame."""
    radius: float = 0.0

    @property
    def half(self) -> np.ndarray:
        """Half extents of the core."""
        return self.vertices.max(0)


@dataclass(frozen=True)
class Pair:
    """Two bodies at their poses."""

    a: Shape
    b: Shape
    Ra: np.ndarray
    pa: np.ndarray
    Rb: np.ndarray
    pb: np.ndarray

    def moved(self, twist: np.ndarray) -> "Pair":
        """Return the pair after a translation and rotation vector of A, (6,)."""
        R = Rotation.from_rotvec(twist[3:]).as_matrix() @ self.Ra
        return Pair(self.a, self.b, R, self.pa + twist[:3], self.Rb, self.pb)


def box(half: np.ndarray) -> Shape:
    corners = np.stack(np.meshgrid(*[[-1, 1]] * 3, indexing="ij"), -1).reshape(-1, 3)
    return Shape("box", corners * half)


def random_shape(kind: str, rng: np.random.Generator, is_regular: bool) -> Shape:
    """Return a shape of some decimetres; regular meshes are prisms on a hexagon."""
    radius = rng.uniform(0.05, 0.15)
    match kind:
        case "sphere":
            return Shape(kind, np.zeros((1, 3)), radius)
        case "capsule":
            end = np.array([0, 0, rng.uniform(0.1, 0.3)])
            return Shape(kind, np.stack([-end, end]), radius)
        case "box":
            return box(rng.uniform(0.1, 0.3, 3))
    if is_regular:
        angle = np.arange(6) * np.pi / 3
        ring = rng.uniform(0.1, 0.3) * np.stack([np.cos(angle), np.sin(angle)], -1)
        height = rng.uniform(0.1, 0.3)
        caps = [np.insert(ring, 2, z, axis=1) for z in (-height, height)]
        return Shape(kind, np.concatenate(caps))
    points = rng.normal(size=(16, 3))
    points *= 0.3 / np.linalg.norm(points, axis=1, keepdims=True)
    points = points[ConvexHull(points).vertices]
    return Shape(kind, points - points.mean(0))


def random_pair(kinds: tuple[str, str], regime: str, is_aligned: bool, rng) -> Pair:
    """Return a pair whose true distance is that of the regime."""
    a, b = (random_shape(kind, rng, is_aligned) for kind in kinds)
    if is_aligned:
        # turned by quarters, so that faces and edges are parallel, and centred in up to
        # two directions
        turns = rng.integers(4, size=(2, 3)) * np.pi / 2
        Ra, Rb = Rotation.from_euler("xyz", turns).as_matrix().round()
        u = rng.normal(size=3) * rng.permutation([1, *rng.integers(2, size=2)])
    else:
        Ra, Rb = Rotation.random(2, rng=rng).as_matrix()
        u = rng.normal(size=3)
    u /= np.linalg.norm(u)
    distance = {"touching": 0.0, "apart": rng.uniform(0.02, 0.3)}.get(regime)
    if distance is None:
        distance = -rng.uniform(0.01, 0.08)

    def pair_at(s: float) -> Pair:
        return Pair(a, b, Ra, s * u, Rb, np.zeros(3))

    # The distance is a convex function of s, and below `distance` at most once.
    def excess(s: float) -> float:
        return true_distance(pair_at(s)) - distance

    return pair_at(brentq(excess, 0, 3, xtol=1e-15) if excess(0) < 0 else 0.0)


def true_distance(pair: Pair) -> float:
    """Return the signed distance; in overlap minus the penetration depth."""
    A = pair.a.vertices @ pair.Ra.T + pair.pa
    B = pair.b.vertices @ pair.Rb.T + pair.pb
    difference = (A[:, None] - B).reshape(-1, 3)
    radius = pair.a.radius + pair.b.radius
    if len(difference) <= 4:
        corners = [[0, 0, 0]] if len(difference) == 1 else [[0, 1, 2], [1, 2, 3]]
        return triangle_distance(difference[np.array(corners)]).min() - radius
    hull = ConvexHull(difference)
    depth = hull.equations[:, 3].max()
    if depth > 0:  # the origin is outside of a facet
        depth = triangle_distance(difference[hull.simplices]).min()
    return depth - radius


def triangle_distance(corners: np.ndarray) -> np.ndarray:
    """Return the distance of the origin to triangles (m, 3, 3)."""
    following = np.roll(corners, -1, axis=1)
    edges = following - corners
    along = np.sum(edges * edges, -1)
    t = np.clip(-np.sum(corners * edges, -1) / np.maximum(along, 1e-30), 0, 1)
    to_edges = np.linalg.norm(corners + t[..., None] * edges, axis=-1).min(-1)
    n = np.cross(edges[:, 0], edges[:, 1])
    area = np.linalg.norm(n, axis=-1)
    n = n / np.maximum(area, 1e-30)[:, None]
    height = np.sum(n * corners[:, 0], -1)
    foot = height[:, None] * n
    sides = np.sum(np.cross(edges, foot[:, None] - corners) * n[:, None], -1)
    is_inside = (sides >= 0).all(-1) & (area > 1e-12)
    return np.where(is_inside, np.abs(height), to_edges)


def true_interval(pair: Pair) -> np.ndarray:
    """Return the least and largest derivative along each coordinate (2, 6)."""
    distance = true_distance(pair)
    steps = STEP * np.eye(6)
    ahead = [(true_distance(pair.moved(e)) - distance) / STEP for e in steps]
    behind = [(distance - true_distance(pair.moved(-e))) / STEP for e in steps]
    return np.sort([ahead, behind], axis=0)


def errors(gradients: np.ndarray, intervals: np.ndarray) -> np.ndarray:
    """Return how far the worst component of each gradient is outside; NaN: infinity."""
    low, high = intervals[:, 0], intervals[:, 1]
    outside = np.maximum(low - gradients, gradients - high).max(-1)
    return np.where(np.isfinite(outside), np.maximum(outside, 0), np.inf)


def make_regime(regime: str, is_aligned: bool, count: int) -> list[Pair]:
    rng = np.random.default_rng([REGIMES.index(regime), is_aligned])
    return [
        random_pair(kinds, regime, is_aligned, rng)
        for kinds in KINDS
        for _ in range(count)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40, help="of each kind and regime")
    parser.add_argument("--only", nargs="+", choices=list(LIBRARIES))
    options = parser.parse_args()
    gradients_of = {}
    for name in options.only or LIBRARIES:
        try:
            gradients_of[name] = LIBRARIES[name]()
        except ImportError as error:
            print(f"{name} is skipped: {error}")
    kinds = ", ".join("-".join(k) for k in KINDS)
    print(f"{options.pairs} pairs each of {kinds}\n")
    print("| regime | library | right | median error | worst error | wrong most |")
    print("|---|---|---|---|---|---|")
    for is_aligned in (False, True):
        for regime in REGIMES:
            pairs = make_regime(regime, is_aligned, options.pairs)
            intervals = np.array([true_interval(pair) for pair in pairs])
            title = f"{regime}, aligned" if is_aligned else regime
            for name, gradients in gradients_of.items():
                chosen = np.array(
                    [
                        name not in WITHOUT_MESHES or "mesh" not in (c.a.kind, c.b.kind)
                        for c in pairs
                    ]
                )
                measured_pairs = [
                    c for c, is_chosen in zip(pairs, chosen, strict=True) if is_chosen
                ]
                error = errors(gradients(measured_pairs), intervals[chosen])
                print_row(title, name, error, options.pairs)


def print_row(regime: str, name: str, error: np.ndarray, count: int) -> None:
    """Print the share of right gradients, and the kind of pairs with the fewest."""
    is_right = error <= TOLERANCE
    by_kind = is_right.reshape(-1, count).mean(1)
    worst = int(np.argmin(by_kind))
    shown = "no gradient" if np.isinf(error.max()) else f"{error.max():.1e}"
    kind = f"{'-'.join(KINDS[worst])} {by_kind[worst]:.0%}"
    print(
        f"| {regime} | {name} | {is_right.mean():.1%} | {np.median(error):.0e} |"
        f" {shown} | {'' if is_right.all() else kind} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
