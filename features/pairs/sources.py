"""Pairs of bodies of a batch of rows: how many, and which may be near.

Every row of a batch has the same bodies and pairs, at other poses.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from posewise.compilation.backend import is_cpu_backend
from posewise.compilation.compaction import (
    CompactIndices,
    append,
    dynamic_row,
    update_slice,
)
from posewise.compilation.materialize import materialize
from posewise.robots.contact.body_table import NO_PAIR_NUMBER, PairKind

from ..pair_types import PairTypes

MIN_RUN = 8
"""Least number of rows with the same bodies for which a loop visits pair after pair on
CPUs (count), each in all rows at once. Smaller, an inverse kinematics beside a shelf
takes 1.6 times as long (with 1); larger, ruling out pairs of a path twice as long."""


MAY_BE_NEAR = np.int8(1)
"""Code of a pair that may be near."""
IS_NEAR = np.int8(2)
"""Code of a pair that is near for certain: one more."""


_Near = tuple[CompactIndices, jax.Array]
"""Indices of pairs that may be near, and rows that are lost (sets, shared)."""


class PairSource(NamedTuple):
    """A batch of n rows with m sets of params, each shared by n / m successive rows."""

    types: PairTypes
    R: jax.Array
    p: jax.Array
    params: dict[str, jax.Array]
    """Arrays of `FramePairTable`, with an axis of sets."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.p)

    @property
    def sets(self) -> int:
        """Number of sets of params."""
        return len(self.params["margin"])

    @property
    def shared(self) -> int:
        """Number of rows that share a set of params."""
        return self.n // self.sets

    @property
    def frames(self) -> int:
        """Number of frames of each row."""
        return self.p.shape[1]

    @property
    def bodies(self) -> int:
        """Number of bodies of each row."""
        return self.params["radius"].shape[1]

    @property
    def hulls(self) -> int:
        """Number of hulls of each row."""
        return self.params["vertices"].shape[1]

    @property
    def pairs(self) -> int:
        """Number of pairs of bodies of each row."""
        return self.params["kind"].shape[1]

    @property
    def ends(self) -> int:
        """Number of pairs of frames of each row."""
        return self.params["margin"].shape[1]

    def body_poses(self) -> "BodyPoses":
        """Return the poses of the bodies of all rows."""
        R, p = (x.reshape(-1, self.shared, *x.shape[1:]) for x in (self.R, self.p))
        local, frame = self.params["body_pose"], self.params["body_frame"]
        return materialize(_body_poses, R, p, local, frame)

    def of_pairs(self, distance: jax.Array) -> jax.Array:
        """Return a distance of each pair of frames for their pairs of bodies.

        That of places which no pair of bodies takes is -inf.
        """
        if self.types.has_unions:
            rows = self.params["end_row"]
            distance = jnp.take_along_axis(distance, rows, 1, mode="promise_in_bounds")
        return jnp.where(self.params["kind"] == NO_PAIR_NUMBER, -jnp.inf, distance)

    def append_near(
        self,
        known: CompactIndices,
        first: int,
        reach: jax.Array,
        moved: jax.Array | None = None,
        poses: "BodyPoses | None" = None,
    ) -> tuple[CompactIndices, jax.Array]:
        """Return indices after those of pairs that may be near, and lost rows.

        Measured is from the ball about the smaller core to the box about the larger
        one, such as a shelf, whose ball would hold half of a room.

        Args:
            known: indices of pairs.
            first: index of the first pair.
            reach: distance at which each pair of bodies is near (sets, pairs) [m].
            moved: by how much each body is larger (rows, bodies) [m].
            poses: see `body_poses`.

        Returns:
            The indices, counting an array (sets, pairs, shared), and in which rows some
            pair is near for certain if no body is larger: a pair of boxes, segments or
            points, of which the centre of one is near the other.
        """
        bodies = self._volumes(poses or self.body_poses(), moved)
        a, b = self.params["body_a"], self.params["body_b"]
        take = partial(jnp.take_along_axis, axis=1, mode="promise_in_bounds")
        core = self.params["core_radius"]
        is_first = take(core, a) > take(core, b)
        # Numbers of the bodies among those of all sets.
        begin = self.bodies * np.arange(self.sets)[:, None]
        outer = (jnp.where(is_first, a, b) + begin).reshape(-1)
        inner = (jnp.where(is_first, b, a) + begin).reshape(-1)
        is_box = (self.params["kind"] == int(PairKind.BOXES)).reshape(-1)
        pairs = materialize(_BallsAndBoxes, outer, inner, is_box, reach.reshape(-1))
        count = self.sets * self.pairs
        if not is_cpu_backend() or self.shared < MIN_RUN:
            compare = partial(_nearness, bodies, pairs)
            nearness = jax.vmap(compare)(jnp.arange(count)).reshape(-1)
            places = first + jnp.arange(len(nearness))
            known = append(known, places, nearness >= MAY_BE_NEAR)
            shape = self.sets, self.pairs, self.shared
            is_lost = (nearness == IS_NEAR).reshape(shape).any(1)
            return known, is_lost.reshape(-1)
        # Places that no pair takes come last in each set: they are left out.
        present = jnp.sum(self.params["kind"] != NO_PAIR_NUMBER, 1).max()
        row = jnp.arange(self.shared)

        def add_set(i: jax.Array, state: _Near) -> _Near:
            def add_pair(j: jax.Array, state: _Near) -> _Near:
                known, is_lost = state
                k = i * self.pairs + j
                nearness = materialize(_nearness, bodies, pairs, k)
                places = first + k * self.shared + row
                known = append(known, places, nearness >= MAY_BE_NEAR)
                of_set = dynamic_row(is_lost, i) | (nearness == IS_NEAR)
                return known, update_slice(is_lost, of_set[None], i)

            end: _Near = jax.lax.fori_loop(0, present, add_pair, state)
            return end

        no_row = jnp.zeros((self.sets, self.shared), bool)
        known, is_lost = jax.lax.fori_loop(0, self.sets, add_set, (known, no_row))
        return known, is_lost.reshape(-1)

    def _volumes(self, poses: "BodyPoses", moved: jax.Array | None) -> "_Volumes":
        """Return what encloses the bodies; for arguments see `near`."""
        p = self.params
        shape = self.sets, self.bodies, self.shared
        radius = jnp.broadcast_to(p["radius"][..., None], shape)
        if moved is not None:
            grown = moved.reshape(self.sets, self.shared, self.bodies)
            radius = radius + jnp.moveaxis(grown, 1, 2)
        is_plane = jnp.isinf(p["core_radius"])[..., None]
        half = p["half"] + p["radii"]
        # A half-space is below z = 0.
        high = jnp.where(is_plane, np.array([np.inf, np.inf, 0.0], half.dtype), half)
        low = jnp.where(is_plane, -np.inf, -half)
        sizes = jnp.concatenate([low, high, p["core_radius"][..., None]], -1)
        stacked = (*poses.R[0], *poses.R[1], *poses.R[2], *poses.p, radius)
        return materialize(
            lambda rows, sizes: _Volumes(
                flatten_axes(jnp.stack(rows, 2), 2), flatten_axes(sizes, 2)
            ),
            stacked,
            sizes,
        )


class BodyPoses(NamedTuple):
    """Poses of the bodies of all rows; rows that share params come last.

    Gathers along the bodies then move whole runs of numbers.
    """

    R: tuple[tuple[jax.Array, ...], ...]
    """Rows of the rotations, each a tuple of three arrays (sets, bodies, shared)."""
    p: tuple[jax.Array, ...]
    """Coordinates of the origins, arrays (sets, bodies, shared)."""

    @property
    def centers(self) -> jax.Array:
        """Origins of the bodies (rows, bodies, 3)."""
        p = jnp.moveaxis(jnp.stack(self.p, -1), 1, 2)
        return p.reshape(-1, *p.shape[2:])


class _Volumes(NamedTuple):
    """Boxes and balls about the cores of the bodies of all sets."""

    poses: jax.Array
    """Rows of the rotation, origin, and what inflates the core [m], of each body in all
    rows that share it (bodies, 13, shared)."""
    sizes: jax.Array
    """Least and greatest coordinates of the box, and radius of the ball (bodies, 7)
    [m]."""


class _BallsAndBoxes(NamedTuple):
    """Pairs of bodies, of one of which the box counts and of the other the ball."""

    outer: jax.Array
    """The body whose box counts (pairs,)."""
    inner: jax.Array
    """The body whose ball counts (pairs,)."""
    is_box: jax.Array
    """True where both are boxes, segments or points (pairs,)."""
    reach: jax.Array
    """Distance at which they are near (pairs,) [m]; -inf: never."""


def flatten_axes(x: jax.Array, axes: int) -> jax.Array:
    """Merge the first axes into one, which is new if there are none."""
    return x.reshape(math.prod(x.shape[:axes]), *x.shape[axes:])


def concatenate(parts: Sequence[jax.Array]) -> jax.Array:
    return jnp.concatenate(parts) if len(parts) > 1 else parts[0]


def _body_poses(
    R: jax.Array, p: jax.Array, local: jax.Array, frame: jax.Array
) -> BodyPoses:
    """Return R local and p of bodies on frames.

    Args:
        R: rotations of the frames (sets, shared, frames, 3, 3).
        p: origins (sets, shared, frames, 3).
        local: poses of the bodies in their frames (sets, bodies, 3, 4).
        frame: of each body (sets, bodies).
    """

    def take(x: jax.Array) -> jax.Array:
        x = jnp.moveaxis(x, 1, 2)
        index = frame[:, :, None]
        return jnp.take_along_axis(x, index, 1, mode="promise_in_bounds")

    of_frame = [[take(R[..., i, k]) for k in range(3)] for i in range(3)]
    local = local[:, :, None]

    def turned(i: int, k: int) -> jax.Array:
        # Sums of products instead of `@`, because element-wise operations fuse.
        terms: Iterator[Any] = (of_frame[i][j] * local[..., j, k] for j in range(3))
        entry: jax.Array = sum(terms)
        return entry

    rotations = tuple(tuple(turned(i, k) for k in range(3)) for i in range(3))
    origins = tuple(turned(i, 3) + take(p[..., i]) for i in range(3))
    return BodyPoses(rotations, origins)


def _nearness(bodies: _Volumes, pairs: _BallsAndBoxes, k: jax.Array) -> jax.Array:
    """Return in all rows whether the k-th pair may be nearer than its reach (shared,).

    Args:
        bodies: what encloses them.
        pairs: all pairs.
        k: index of the pair.

    Returns:
        `IS_NEAR` where it is for certain, `MAY_BE_NEAR` where it may be, else 0.
    """
    i, j = dynamic_row(pairs.outer, k), dynamic_row(pairs.inner, k)
    box, ball = dynamic_row(bodies.poses, i), dynamic_row(bodies.poses, j)
    low_high, ball_size = dynamic_row(bodies.sizes, i), dynamic_row(bodies.sizes, j)
    v = ball[9:12] - box[9:12]
    square = jnp.zeros_like(v[0])
    for c in range(3):
        local = box[c] * v[0] + box[3 + c] * v[1] + box[6 + c] * v[2]
        outside = _greater(local - low_high[3 + c], low_high[c] - local)
        square += _greater(outside, np.array(0, square.dtype)) ** 2
    least = dynamic_row(pairs.reach, k) + ball[12] + box[12]
    most = least + ball_size[6]
    # Squares spare the root; as they lose the sign, a limit made negative by a negative
    # margin is excluded separately.
    may_be = (most > 0) & (square < most * most)
    is_near = dynamic_row(pairs.is_box, k) & (least > 0) & (square < least * least)
    # One number, since XLA would compute each of two results from the beginning.
    return may_be.astype(np.int8) * MAY_BE_NEAR + is_near.astype(np.int8)


def _greater(x: jax.Array, y: jax.Array | np.ndarray) -> jax.Array:
    """Return the greater of two numbers, in one instruction as it ignores NaN."""
    return jnp.where(x > y, x, y)
