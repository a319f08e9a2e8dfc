"""Pairs of bodies of a batch of rows: how many, and which balls are near.

Every row of a batch has the same bodies and pairs, at other poses.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from posewise.compilation.materialize import materialize
from posewise.robots.contact.body_table import (
    NO_PAIR_NUMBER,
)

from .tables import PairTypes

PAIR_CHUNK_SIZE = 128
"""Number of pairs in all rows whose balls are compared at a time (count). More waste
more work on places that no pair takes, fewer vectorise worse."""


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

    def body_centers(self) -> jax.Array:
        """Return the origins of the bodies of all rows, (sets, shared, bodies, 3)."""
        R, p = (x.reshape(-1, self.shared, *x.shape[1:]) for x in (self.R, self.p))
        local, frame = self.params["body_pose"][..., 3], self.params["body_frame"]
        return materialize(_centers, R, p, local, frame)

    def of_pairs(self, distance: jax.Array) -> jax.Array:
        """Return a distance of each pair of frames for their pairs of bodies.

        That of places which no pair of bodies takes is -inf.
        """
        if self.types.has_unions:
            rows = self.params["end_row"]
            distance = jnp.take_along_axis(distance, rows, 1, mode="promise_in_bounds")
        return jnp.where(self.params["kind"] == NO_PAIR_NUMBER, -jnp.inf, distance)

    def near(
        self, centers: jax.Array, reach: jax.Array, moved: jax.Array | None = None
    ) -> jax.Array:
        """Return for all pairs in all rows whether their balls are near.

        Args:
            centers: see `body_centers`.
            reach: distance at which each pair of bodies is near (sets, pairs) [m].
            moved: by how much the ball of each body is larger (rows, bodies) [m].
        """
        size = (self.params["core_radius"] + self.params["radius"])[..., None]
        if moved is not None:
            size = size + jnp.moveaxis(moved.reshape(centers.shape[:3]), 1, 2)
        columns = reach, self.params["body_a"], self.params["body_b"]
        are_near = partial(_balls_are_near, centers, size)
        if jax.default_backend() != "cpu" or self.pairs % PAIR_CHUNK_SIZE:
            return are_near(*columns).reshape(-1)

        # Places that no pair takes come last: the loop ends before them.
        def process(k: jax.Array, near: jax.Array) -> jax.Array:
            first = k * PAIR_CHUNK_SIZE
            chunk = (
                jax.lax.dynamic_slice_in_dim(x, first, PAIR_CHUNK_SIZE, 1)
                for x in columns
            )
            return jax.lax.dynamic_update_slice_in_dim(near, are_near(*chunk), first, 1)

        present = jnp.sum(self.params["kind"] != NO_PAIR_NUMBER, 1).max()
        nothing = jnp.zeros((self.sets, self.pairs, self.shared), bool)
        chunks = (present + PAIR_CHUNK_SIZE - 1) // PAIR_CHUNK_SIZE
        return jax.lax.fori_loop(0, chunks, process, nothing).reshape(-1)


def flatten_axes(x: jax.Array, axes: int) -> jax.Array:
    """Merge the first axes into one, which is new if there are none."""
    return x.reshape(math.prod(x.shape[:axes]), *x.shape[axes:])


def concatenate(parts: Sequence[jax.Array]) -> jax.Array:
    return jnp.concatenate(parts) if len(parts) > 1 else parts[0]


def _centers(R: Any, p: Any, local: Any, frame: Any) -> jax.Array:
    """Return R local + p of bodies on frames, (m, shared, bodies, 3)."""
    index = frame[:, None, :, None]
    take = partial(jnp.take_along_axis, axis=2, mode="promise_in_bounds")
    turned = sum(take(R[..., k], index) * local[:, None, :, k, None] for k in range(3))
    return turned + take(p, index)


def _balls_are_near(
    centers: jax.Array, size: jax.Array, reach: jax.Array, a: jax.Array, b: jax.Array
) -> jax.Array:
    """Return for all pairs in all rows whether balls are nearer than the reach.

    Args:
        centers: of bodies, (m, shared, bodies, 3).
        size: radius of each body's ball (m, bodies, shared), or (m, bodies, 1).
        reach: of each pair (m, pairs); -inf: never near.
        a: first body of each pair (m, pairs).
        b: second body.
    """

    # One array for each coordinate, with the rows that share params last: a gather
    # along the bodies then moves whole runs of numbers.
    def coordinates(centers: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(jnp.moveaxis(centers[..., i], 1, 2) for i in range(3))

    def take(x: jax.Array, body: jax.Array) -> jax.Array:
        return jnp.take_along_axis(x, body[:, :, None], 1, mode="promise_in_bounds")

    def difference(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        return take(x, a) - take(x, b)

    def max_distance(
        size: jax.Array, a: jax.Array, b: jax.Array, reach: jax.Array
    ) -> jax.Array:
        far = take(size, a) + take(size, b) + reach[:, :, None]
        # The sum of infinite radii and no reach is not a number.
        return jnp.where(reach[:, :, None] == -jnp.inf, -jnp.inf, far)

    x, y, z = (
        materialize(difference, c, a, b) for c in materialize(coordinates, centers)
    )
    square = x**2 + y**2 + z**2
    limit = materialize(max_distance, size, a, b, reach)
    # Squares spare the root; as they lose the sign, a limit made negative by a negative
    # margin is excluded separately.
    return (limit > 0) & (square < limit * limit)
