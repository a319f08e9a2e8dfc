"""Pairs of a robot's links that need no collision test, and why.

The reasons are those of MoveIt's setup assistant (`compute_default_collisions.cpp`).
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.collision import Body, Core, contact_within
from posewise.compilation.program import compile_program

from ..errors import first_few
from ..kinematics.forward import forward_pass
from ..validation import integer, number
from ..world.fit_collisions import unfitted
from ..world.frame import Frame
from ..world.frame_tree import FrameTree
from .body_table import (
    CORES_OF_KIND,
    BodyArrays,
    PairKind,
    body_pairs,
    make_core,
    pad_vertices,
)
from .collision_pairs import FramePair
from .filter import CollisionFilter
from .huge_shapes import warn_of_huge_shapes
from .own_links import adjacent_pairs, robot_roots
from .states import home_within_limits, random_states, usual_clearance

ALWAYS_SAMPLES = 200
"""Number of random states that decide whether a pair always touches; more take longer,
since all pairs are measured in them."""
ALWAYS_FRACTION = 0.95
"""Share of these states above which a pair touches always; lower ones exclude more."""
NEAR_FRACTION = 0.9
"""Share of these states above which a pair stays nearer than the usual clearance; lower
ones exclude more."""
STATES_PER_BATCH = 256
"""Random states evaluated at a time (count); more need more memory, fewer take longer
per state."""
ROWS_PER_BATCH = 1024
"""Number of pairs of bodies measured at a time, the size that is compiled for. More
waste work on the last ones."""
CONTACT_TOLERANCE = 1e-6
"""Distance beyond the margin at which frames still touch [m], so that faces that meet
count; a larger one counts more."""


MIN_CROWD = 4
"""Number of pairs that touch at home from which a warning says that most do (count)."""


@dataclass(frozen=True)
class IgnoredPair:
    """Two frames that never collide, and the reason."""

    a: str
    b: str
    reason: str
    """One of "Adjacent", "Default", "Always", "Never", "Near", "User", or words of a
    file."""

    def __str__(self) -> str:
        return f"{self.a} and {self.b}: {self.reason}"


def named_pairs(tree: FrameTree, reasons: Mapping[FramePair, str]) -> list[IgnoredPair]:
    """Return pairs of frame indices with names, in order of the frames."""
    names = tree.model.names
    return [IgnoredPair(names[a], names[b], reasons[a, b]) for a, b in sorted(reasons)]


def default_exclusions(
    tree: FrameTree,
    collision_filter: CollisionFilter,
    samples: int,
    seed: int,
    margin: float,
) -> dict[FramePair, str]:
    """Return pairs to exclude; see `Config.pairs.ignore_default`."""
    samples = integer("samples", samples, "states >= 1", lambda n: n >= 1)
    seed = integer("seed", seed, "an integer >= 0", lambda n: n >= 0)
    margin = number("margin", margin, "one number (metres)")
    root = robot_roots(tree.frames, collision_filter.attached)
    pairs = collision_filter.pairs(tree)
    pairs = pairs[root[pairs[:, 0]] == root[pairs[:, 1]]]
    keys = [(int(a), int(b)) for a, b in pairs]
    neighbours = adjacent_pairs(tree, collision_filter.attached)
    reasons = {pair: "Adjacent" for pair in keys if pair in neighbours}
    cutoff = margin + CONTACT_TOLERANCE
    test = _TouchTest(tree, tuple(map(unfitted, tree.frames)), pairs, cutoff)
    open_ = np.array([pair not in reasons for pair in keys], bool)

    def exclude(mask: Bool[np.ndarray, " pairs"], reason: str) -> None:
        for k in np.flatnonzero(mask & open_):
            reasons[keys[k]] = reason
        open_[mask] = False

    home = home_within_limits(tree)[None]
    at_home = test.touching(home, open_)[0]
    _warn_of_a_crowded_home(int(at_home.sum()), int(open_.sum()))
    exclude(at_home, "Default")
    states = random_states(tree, samples, np.random.default_rng(seed))
    first = test.touching(states[:ALWAYS_SAMPLES], open_)
    exclude(first.mean(0) > ALWAYS_FRACTION, "Always")
    never = open_ & ~first.any(0)
    for start in range(ALWAYS_SAMPLES, samples, STATES_PER_BATCH):
        if not never.any():
            break
        batch = states[start : start + STATES_PER_BATCH]
        never &= ~test.touching(batch, never).any(0)
    exclude(never, "Never")
    clearance = usual_clearance(tree)
    near = _TouchTest(tree, test.frames, pairs, max(cutoff, clearance))
    is_near = near.touching(states[:ALWAYS_SAMPLES], open_)
    exclude(is_near.mean(0) > NEAR_FRACTION, "Near")
    is_fitted = np.array([bool(frame.unfitted) for frame in tree.frames], bool)
    inflated = open_ & is_fitted[pairs].any(1)
    fitted = _TouchTest(tree, tree.frames, pairs[inflated], cutoff)
    touching = fitted.touching(home, np.ones(inflated.sum(), bool))[0]
    larger = {keys[k]: "Fitted" for k in np.flatnonzero(inflated)[touching]}
    _warn_of_inflated_pairs(named_pairs(tree, larger))
    return reasons


def _warn_of_a_crowded_home(count: int, total: int) -> None:
    """Warn when most pairs touch at home, since all of these are excluded for ever."""
    if count >= MIN_CROWD and count > total / 2:
        warnings.warn(
            f"pairs.ignore_default: {count} of {total} pairs that are no"
            ' neighbours touch at home, and are excluded as "Default". If that is no'
            " posture of the robot, load it again and set a better home (C.home = q)"
            " first; if its meshes are in millimetres, write"
            ' scale="0.001 0.001 0.001" in its file.',
            UserWarning,
            stacklevel=4,
        )


def _warn_of_inflated_pairs(pairs: Sequence[IgnoredPair]) -> None:
    """Warn of pairs that touch at home with fitted shapes only."""
    if pairs:
        names = first_few([f"{p.a!r} and {p.b!r}" for p in pairs])
        warnings.warn(
            "pairs.ignore_default: at home these pairs touch only because"
            f" fit_collisions made their shapes larger: {names}. They still count, so"
            " that the home collides: fit these links closer (fit_collisions with"
            " links= and a smaller tolerance=, or with 'boxes'), or exclude the pairs"
            " with ignore_collisions.",
            UserWarning,
            stacklevel=4,
        )


class _TouchTest:
    """Test of pairs of frames for contact in many states."""

    def __init__(
        self,
        tree: FrameTree,
        frames: tuple[Frame, ...],
        pairs: Int[np.ndarray, "n 2"],
        cutoff: float,
    ) -> None:
        self.tree, self.frames, self.pairs, self.cutoff = tree, frames, pairs, cutoff
        self.table = body_pairs(frames, pairs)
        bodies = self.table.bodies
        self.bodies = bodies._replace(vertices=pad_vertices(bodies.vertices))
        warn_of_huge_shapes(frames, pairs)

    def touching(
        self, q: Float[np.ndarray, "states nq"], among: Bool[np.ndarray, " pairs"]
    ) -> Bool[np.ndarray, "states pairs"]:
        """Return whether pairs touch, for some of the pairs; else False.

        Args:
            q: states.
            among: the pairs to test.
        """
        touches = np.zeros((len(q), len(self.pairs)), bool)
        if not among.any():
            return touches
        table, (R, p) = self.table, self._poses(q)
        for kind in np.unique(table.kind).tolist():
            rows = np.flatnonzero((table.kind == kind) & among[table.pair])
            cores = CORES_OF_KIND[PairKind(kind)]
            sides = [
                _Side.of(core, self.bodies, x[rows], R, p)
                for core, x in zip(cores, (table.a, table.b), strict=True)
            ]
            for state, k in self._near(*sides):
                sign = self._touch(*(side.body(state, k) for side in sides))
                np.logical_or.at(touches, (state, table.pair[rows[k]]), sign)
        return touches

    def _poses(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = len(q)
        padding = np.repeat(q[:1], -size % STATES_PER_BATCH, 0)
        K = self.tree.model.unnamed_kinematics
        R, p = _frame_poses(K, np.concatenate([q, padding]))
        return np.asarray(R)[:size], np.asarray(p)[:size]

    def _near(self, a: "_Side", b: "_Side") -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield batches of states and rows whose bounding balls are near."""
        if not len(a.radius):
            return
        gap = np.linalg.norm(a.p - b.p, axis=-1) - a.radius - b.radius
        near = np.argwhere(gap < self.cutoff)
        for start in range(0, len(near), ROWS_PER_BATCH):
            yield tuple(near[start : start + ROWS_PER_BATCH].T)

    def _touch(self, a: Body, b: Body) -> Bool[np.ndarray, " rows"]:
        count = len(a.radius)
        rows = np.minimum(np.arange(ROWS_PER_BATCH), count - 1)
        a, b = (jax.tree.map(lambda x: x[rows], body) for body in (a, b))
        cutoff = np.full(ROWS_PER_BATCH, self.cutoff)
        return np.asarray(_distance(a, b, cutoff))[:count] < self.cutoff


@dataclass(frozen=True, eq=False)
class _Side:
    """Bodies of one side of pairs, in several states."""

    core: type[Core]
    bodies: BodyArrays
    chosen: Int[np.ndarray, " rows"]
    """Row of each body."""
    R: Float[np.ndarray, "states rows 3 3"]
    p: Float[np.ndarray, "states rows 3"]
    radius: Float[np.ndarray, " rows"]
    """Radius of the ball around each body [m]."""

    @classmethod
    def of(
        cls,
        core: type[Core],
        bodies: BodyArrays,
        chosen: np.ndarray,
        R: np.ndarray,
        p: np.ndarray,
    ) -> "_Side":
        """Place bodies at the poses (states, frames, …) of their frames."""
        frames, pose = bodies.frame[chosen], bodies.pose[chosen]
        R_frame = R[:, frames]
        origin = p[:, frames] + np.einsum("snij,nj->sni", R_frame, pose[:, :, 3])
        radius = (bodies.core_radius + bodies.radius)[chosen]
        return cls(core, bodies, chosen, R_frame @ pose[:, :, :3], origin, radius)

    def body(self, state: np.ndarray, row: np.ndarray) -> Body:
        """Return the bodies of some rows, each in one state."""
        b, rows = self.bodies, self.chosen[row]
        core = make_core(
            self.core, b.half[rows], b.radii[rows], b.hull[rows], b.vertices
        )
        return Body(core, b.radius[rows], self.R[state, row], self.p[state, row])


@jax.jit
def _frame_poses(K, q):
    frames = forward_pass(K, q).frames
    return frames.R, frames.p


_distance = compile_program(
    lambda a, b, cutoff: contact_within(a, b, cutoff).distance,
    num_static=0,
    fetches=True,
)
