"""Pairs of a robot's links that need no collision test, and why.

The reasons are those of MoveIt's setup assistant (`compute_default_collisions.cpp`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.collision import Body, HalfSpace, contact_within
from posewise.collision.broad_phase import bounding_radius

from ..kinematics.forward import forward_pass
from ..validation import integer, number
from ..world.frame_tree import FrameTree
from .bodies import Bodies
from .body_pairs import BodyPairs, group_body_pairs
from .collision_pairs import FramePair
from .filter import CollisionFilter
from .own_links import adjacent_pairs, robot_roots

ALWAYS_SAMPLES = 200
"""Number of random states that decide whether a pair always touches; more take longer,
since all pairs are measured in them."""
ALWAYS_FRACTION = 0.95
"""Share of these states above which a pair touches always; lower ones exclude more."""
STATES_PER_BATCH = 256
"""Random states evaluated at a time (count); more need more memory, fewer take longer
per state."""
ROWS_PER_BATCH = 1024
"""Pairs of bodies measured at a time (count), the size that is compiled for."""
CONTACT_TOLERANCE = 1e-6
"""Distance beyond the margin at which frames still touch [m], so that faces that meet
count; a larger one counts more."""


@dataclass(frozen=True)
class IgnoredPair:
    """Two frames that never collide, and the reason."""

    a: str
    b: str
    reason: str
    """One of "Adjacent", "Default", "Always", "Never", "User", or words of a file."""

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
    """Return pairs to exclude; see `Config.ignore_default_collisions`."""
    samples = integer("samples", samples, "states >= 1", lambda n: n >= 1)
    seed = integer("seed", seed, "an integer >= 0", lambda n: n >= 0)
    margin = number("margin", margin, "one number (metres)")
    root = robot_roots(tree, collision_filter.held)
    pairs = collision_filter.pairs(tree)
    pairs = pairs[root[pairs[:, 0]] == root[pairs[:, 1]]]
    keys = [(int(a), int(b)) for a, b in pairs]
    neighbours = adjacent_pairs(tree, collision_filter.held)
    reasons = {pair: "Adjacent" for pair in keys if pair in neighbours}
    test = _TouchTest(tree, pairs, margin + CONTACT_TOLERANCE)
    open_ = np.array([pair not in reasons for pair in keys], bool)

    def exclude(found: Bool[np.ndarray, " pairs"], reason: str) -> None:
        for k in np.flatnonzero(found & open_):
            reasons[keys[k]] = reason
        open_[found] = False

    exclude(test.touching(_home(tree)[None], open_)[0], "Default")
    states = _random_states(tree, samples, np.random.default_rng(seed))
    first = test.touching(states[:ALWAYS_SAMPLES], open_)
    exclude(first.mean(0) > ALWAYS_FRACTION, "Always")
    never = open_ & ~first.any(0)
    for start in range(ALWAYS_SAMPLES, samples, STATES_PER_BATCH):
        if not never.any():
            break
        batch = states[start : start + STATES_PER_BATCH]
        never &= ~test.touching(batch, never).any(0)
    exclude(never, "Never")
    return reasons


def _home(tree: FrameTree) -> Float[np.ndarray, " nq"]:
    """Return the home, its coordinates outside of their limits in their middle."""
    K = tree.model.kinematics
    lower, upper = K.limits
    is_inside = (lower <= K.home) & (K.home <= upper)
    nearest = np.clip(K.home, lower, upper)
    with np.errstate(invalid="ignore"):
        middle = (lower + upper) / 2
    return np.where(is_inside, K.home, np.where(np.isfinite(middle), middle, nearest))


def _random_states(
    tree: FrameTree, samples: int, rng: np.random.Generator
) -> Float[np.ndarray, "samples nq"]:
    """Return states uniform within the limits, or within ±pi of home without any."""
    K = tree.model.kinematics
    home, (lower, upper) = _home(tree), K.limits
    low = np.where(np.isfinite(lower), lower, home - np.pi)
    high = np.where(np.isfinite(upper), upper, home + np.pi)
    # One limit alone may lie beyond the range about home.
    q = rng.uniform(np.minimum(low, high), np.maximum(low, high), (samples, len(home)))
    for first, _ in K.tree.balls:
        w = rng.normal(size=(samples, 4))
        q[:, first : first + 4] = w / np.linalg.norm(w, axis=1, keepdims=True)
    return q


class _TouchTest:
    """Test of pairs of frames for contact in many states."""

    def __init__(
        self, tree: FrameTree, pairs: Int[np.ndarray, "n 2"], cutoff: float
    ) -> None:
        self.tree, self.pairs, self.cutoff = tree, pairs, cutoff
        self.groups = group_body_pairs(tree.frames, pairs)

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
        R, p = self._poses(q)
        for group in self.groups:
            rows = np.flatnonzero(among[group.pair])
            sides = [
                _Side.of(bodies, self._frames(group, rows, side), rows, R, p)
                for bodies, side in ((group.a, 0), (group.b, 1))
            ]
            for state, k in self._near(*sides):
                sign = self._touch(*(side.body(state, k) for side in sides))
                np.logical_or.at(touches, (state, group.pair[rows[k]]), sign)
        return touches

    def _frames(
        self, group: BodyPairs, rows: np.ndarray, side: int
    ) -> Int[np.ndarray, " rows"]:
        flipped = group.is_flipped[rows]
        return self.pairs[group.pair[rows], np.where(flipped, 1 - side, side)]

    def _poses(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = len(q)
        padding = np.repeat(q[:1], -size % STATES_PER_BATCH, 0)
        K = self.tree.model.jax_kinematics.without_names()
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

    bodies: Bodies
    R: Float[np.ndarray, "states rows 3 3"]
    p: Float[np.ndarray, "states rows 3"]
    radius: Float[np.ndarray, " rows"]
    """Radius of the ball around each body [m]."""

    @classmethod
    def of(
        cls,
        bodies: Bodies,
        frames: np.ndarray,
        rows: np.ndarray,
        R: np.ndarray,
        p: np.ndarray,
    ) -> "_Side":
        """Place bodies at the poses (states, frames, …) of their frames."""
        chosen = bodies.rows(rows)
        body = chosen.body
        R_frame = R[:, frames]
        origin = p[:, frames] + np.einsum("snij,nj->sni", R_frame, body.p)
        return cls(chosen, R_frame @ body.R, origin, _ball_radius(body))

    def body(self, state: np.ndarray, row: np.ndarray) -> Body:
        """Return the bodies of some rows, each in one state."""
        body = self.bodies.rows(row).body
        return Body(body.core, body.radius, self.R[state, row], self.p[state, row])


def _ball_radius(body: Body) -> Float[np.ndarray, " rows"]:
    if isinstance(body.core, HalfSpace):
        return np.full(len(body.radius), np.inf)
    return np.asarray(bounding_radius(body.core)) + body.radius


@jax.jit
def _frame_poses(K, q):
    frames = forward_pass(K, q).frames
    return frames.R, frames.p


@jax.jit
def _distance(a, b, cutoff):
    return contact_within(a, b, cutoff).distance
