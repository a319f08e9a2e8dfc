"""The pairs of bodies of batches of sums: their parameters, and which may be near.

Every row of a batch has the same pairs of bodies at other poses. Pairs are numbered
over all rows, so that lists of near pairs are lists of numbers; bounding balls select
them.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from posewise.collision import Body, HalfSpace
from posewise.collision.broad_phase import bounding_radius
from posewise.compilation.compaction import gather
from posewise.compilation.materialize import materialize
from posewise.robots.contact.body_pairs import BodyPairs, CoreTypes


def bounding_ball_params(
    groups: list[BodyPairs], pairs: Int[np.ndarray, "pairs 2"], frame_count: int
) -> dict[str, np.ndarray]:
    """Return pose and ball radius of each body, and the bodies of each pair.

    Args:
        groups: pairs of bodies.
        pairs: the two frames of each pair, as indices among the symbol's frames.
        frame_count: number of the symbol's frames.
    """
    # Stored by body, since a body that is in many pairs is then posed once.
    place: dict[tuple[int, int], int] = {}
    pose, reach = [], []
    params = {}
    for g, group in enumerate(groups):
        for side, column in (("a", 0), ("b", 1)):
            bodies = getattr(group, side)
            # Bodies of a pair are in the order of their types, which is not always that
            # of the frames; flipped pairs have body a on their second frame.
            columns = np.where(group.is_flipped, 1 - column, column)
            frame = pairs[group.pair, columns]
            # A half-space has no bounding ball, so it is near everything.
            is_plane = bodies.kind[0] is HalfSpace
            size = np.inf if is_plane else bounding_radius(bodies.body.core)
            radius = size + bodies.body.radius
            keys = list(zip(frame.tolist(), bodies.number.tolist(), strict=True))
            for k, key in enumerate(keys):
                if key not in place:
                    place[key] = len(place)
                    R, p = bodies.body.R[k], bodies.body.p[k]
                    pose.append(np.concatenate([R, p[:, None]], 1))
                    reach.append(radius[k])
            params[f"place_{side}{g}"] = np.array([place[key] for key in keys])
    # Bodies in the order of their frames, which need no index if each frame has one.
    frame_of_body = np.array([frame for frame, _ in place])
    order = np.argsort(frame_of_body, kind="stable")
    rank = np.argsort(order)
    params = {name: rank[index] for name, index in params.items()}
    params |= {"pose": np.array(pose)[order], "reach": np.array(reach)[order]}
    if not np.array_equal(frame_of_body[order], np.arange(frame_count)):
        params["body_frame"] = frame_of_body[order]
    return params


class PairSource(NamedTuple):
    """A batch of n rows with m sets of params, each shared by n / m successive rows."""

    kinds: CoreTypes
    R: jax.Array
    p: jax.Array
    params: dict[str, jax.Array]
    first_row: int
    """Index of its first row among the rows of all sources."""
    first_frame: int
    """Index of its first frame among the frames of all rows of all sources."""
    first_body: int
    """Index of its first body among the bodies of all rows of all sources."""
    first_slot: int
    """Index of its first pair of frames among those of all rows of all sources."""

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return len(self.p)

    @property
    def frames(self) -> int:
        """Return the number of frames of each row."""
        return self.p.shape[1]

    @property
    def bodies(self) -> int:
        """Return the number of bodies of each row."""
        return self.params["reach"].shape[1]

    @property
    def slots(self) -> int:
        """Return the number of pairs of frames of each row."""
        return self.params["at"].shape[1]

    @property
    def has_unions(self) -> bool:
        """Whether a frame has several bodies."""
        return "body_frame" in self.params

    def body_frames(self, params_row: jax.Array, body: jax.Array) -> jax.Array:
        """Return the frames of bodies, as indices among a row's frames."""
        if not self.has_unions:
            return body
        place = params_row * np.int32(self.bodies) + body
        return gather(self.params["body_frame"].reshape(-1), place)

    def body_poses(self) -> jax.Array:
        """Return the poses of the bodies of all rows, (rows · bodies, 3, 4)."""
        R, p = (x.reshape(-1, self.shared, *x.shape[1:]) for x in (self.R, self.p))
        if self.has_unions:
            frame = self.params["body_frame"][:, None, :, None]
            take = partial(jnp.take_along_axis, axis=2, mode="promise_in_bounds")
            R, p = take(R, frame[..., None]), take(p, frame)
        poses = materialize(_body_poses, R, p, self.params["pose"])
        return poses.reshape(-1, 3, 4)

    @property
    def shared(self) -> int:
        """Return the number of rows that share a set of params."""
        return self.n // len(self.params["margin"])

    def of_rows(self, name: str) -> jax.Array:
        """Return a param of each row."""
        return jnp.repeat(self.params[name], self.shared)


class PairGroup(NamedTuple):
    """Pairs of a source with the same types of cores."""

    source: PairSource
    g: int
    first: int
    """Index of its first pair among like pairs in the params of all sources."""

    @property
    def types(self) -> tuple[Any, Any]:
        """Return the types of the two cores."""
        return self.source.kinds[self.g]

    @property
    def pairs(self) -> int:
        """Return the number of pairs in all rows."""
        return self.places("a").size * self.source.shared

    def sizes(self) -> list[jax.Array]:
        """Return sizes and radius of a, then of b, of each pair in all params."""
        sizes = []
        for side, core in zip("ab", self.types, strict=True):
            names = (f"{side}{self.g}_{k}" for k in range(len(core._fields) + 1))
            sizes += [self.source.params[name] for name in names]
        return [flatten_axes(x, 2) for x in sizes]

    def places(self, side: str) -> jax.Array:
        """Return the body of each pair on a side, as index among a row's bodies."""
        return self.source.params[f"place_{side}{self.g}"]

    def at(self, k: jax.Array) -> "PairLocation":
        """Locate the k-th pair, counted over all rows of the source."""
        # Division of 32-bit integers is faster.
        s, k = self.source, k.astype(np.int32)
        # k counts an array (m, pairs, shared), in the layout of `_balls_are_near`.
        pair = jax.lax.div(k, np.int32(s.shared))
        params_row = jax.lax.div(pair, np.int32(self.places("a").shape[1]))
        row = params_row * s.shared + k - pair * s.shared
        body_a, body_b = (gather(self.places(x).reshape(-1), pair) for x in "ab")
        first_body = row * s.bodies + s.first_body
        first_frame = row * s.frames + s.first_frame
        return PairLocation(
            row=row + s.first_row,
            slot=row * s.slots + s.first_slot + self.slot(pair),
            params_pair=pair + self.first,
            body_a=first_body + body_a,
            body_b=first_body + body_b,
            frame_a=first_frame + s.body_frames(params_row, body_a),
            frame_b=first_frame + s.body_frames(params_row, body_b),
        )

    def slot(self, pair: jax.Array) -> jax.Array:
        """Return the pair of frames of each pair of bodies, as index among a row's."""
        return gather(self.source.params[f"pair{self.g}"].reshape(-1), pair)

    def near(self, poses: jax.Array) -> jax.Array:
        """Return for all pairs in all rows whether their balls are near."""
        s = self.source
        own_poses = poses[s.first_body : s.first_body + s.n * s.bodies]
        own_poses = own_poses.reshape(-1, s.shared, s.bodies, *own_poses.shape[1:])
        reach = s.params["margin"] + s.params["slack"]
        return _balls_are_near(
            own_poses, s.params["reach"], reach, self.places("a"), self.places("b")
        )


class PairLocation(NamedTuple):
    """Indices of pairs of bodies among those of all sources."""

    row: jax.Array
    slot: jax.Array
    """Index among the pairs of frames of all rows."""
    params_pair: jax.Array
    """Index among like pairs in the params of all sources."""
    body_a: jax.Array
    body_b: jax.Array
    frame_a: jax.Array
    frame_b: jax.Array


def flatten_axes(x: jax.Array, axes: int) -> jax.Array:
    """Merge the first axes into one, which is new if there are none."""
    return x.reshape(-1, *x.shape[axes:])


def concatenate(parts: Sequence[jax.Array]) -> jax.Array:
    return jnp.concatenate(parts) if len(parts) > 1 else parts[0]


def locate_pairs(groups: list[PairGroup], k: jax.Array) -> PairLocation:
    """Locate the k-th pair, counted over all pairs of groups."""
    # Groups are few, so that a chain of selects is less code than a search.
    *others, last = groups
    if not others:
        return last.at(k)
    first = sum(g.pairs for g in others)
    # Both sides of the select are computed, so that each needs an index in bounds.
    before = locate_pairs(others, jnp.minimum(k, first - 1))
    own = last.at(jnp.maximum(k - first, 0))
    return jax.tree.map(partial(jnp.where, k < first), before, own)


def make_body(core: Any, sizes: list[jax.Array], pose: jax.Array) -> Body:
    return Body(core(*sizes[:-1]), sizes[-1], pose[..., :3], pose[..., 3])


def _body_poses(R: Any, p: Any, local: Any) -> jax.Array:
    """Return the poses [R p] of bodies in the world, (m, shared, bodies, 3, 4)."""
    local = local[:, None]
    # R [R_local p_local] as a sum of products, which XLA fuses, unlike small matmuls.
    rotated = sum(R[..., k, None] * local[..., k, None, :] for k in range(3))
    return rotated + p[..., None] * np.array([0, 0, 0, 1], p.dtype)


def _balls_are_near(
    poses: jax.Array, size: jax.Array, reach: jax.Array, a: jax.Array, b: jax.Array
) -> jax.Array:
    """Return for all pairs in all rows whether balls are nearer than the reach.

    Args:
        poses: of bodies, (m, shared, bodies, 3, 4).
        size: radius of each body's ball (m, bodies).
        reach: margin plus slack (m,).
        a: first body of each pair (m, pairs).
        b: second body.
    """

    # One array for each coordinate, with the rows that share params last: a gather
    # along the bodies then moves whole runs of numbers.
    def coordinates(poses: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(jnp.moveaxis(poses[..., i, 3], 1, 2) for i in range(3))

    def take(x: jax.Array, frame: jax.Array) -> jax.Array:
        return jnp.take_along_axis(x, frame[:, :, None], 1, mode="promise_in_bounds")

    def difference(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        return take(x, a) - take(x, b)

    def max_distance(
        size: jax.Array, a: jax.Array, b: jax.Array, reach: jax.Array
    ) -> jax.Array:
        return take(size, a) + take(size, b) + reach[:, None, None]

    x, y, z = (
        materialize(difference, c, a, b) for c in materialize(coordinates, poses)
    )
    square = x**2 + y**2 + z**2
    limit = materialize(max_distance, size[..., None], a, b, reach)
    # Squares spare the root; as they lose the sign, a limit made negative by a negative
    # margin is excluded separately.
    return ((limit > 0) & (square < limit * limit)).reshape(-1)
