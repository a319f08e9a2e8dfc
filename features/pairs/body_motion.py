"""Motion of bodies on straight ways, and by how much it lets distances fall.

On an interval the distance of two bodies is at least that at its middle less how far
they move relative to each other in half of it (conservative advancement; Mirtich 1996).
Motion across the normal of their nearest points counts only as far as it curves: their
distance is at least that of the planes of this normal that enclose them, whose speed is
known at the middle.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from posewise.compilation.compaction import gather
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.kinematics.motion_bounds import MotionBounds, motion_bounds

from ..safe_math import sqrt
from .near_pairs import PairLocation


def bounds_of_motion(
    has_planes: bool,
    K: Kinematics,
    twists: jax.Array,
    rates: jax.Array,
    centers: jax.Array,
    size: tuple[jax.Array, jax.Array],
    moves: jax.Array,
) -> tuple[MotionBounds, jax.Array]:
    """Return how far bodies move on intervals, and the radii of balls of their cores.

    Args:
        has_planes: whether there are half-spaces; static.
        K: kinematics.
        twists: of the dofs in the middle of the intervals (n, dofs, 6).
        rates: of the dofs on the intervals (n, dofs).
        centers: origins of the bodies (n, bodies, 3).
        size: radii of the cores, infinite for half-spaces, and of what inflates them.
        moves: which dofs move each body (bodies, dofs).
    """
    core_radius, radius = size
    # What a half-space sweeps depends on how far its points are that count.
    radii = jnp.where(jnp.isinf(core_radius), 0.0, core_radius)
    bounds = motion_bounds(K, twists, rates, centers, radii, moves)
    if has_planes:
        radii = _with_plane_radii(radii, core_radius + radius, centers, bounds)
        bounds = motion_bounds(K, twists, rates, centers, radii, moves)
    return bounds, jnp.broadcast_to(radii, centers.shape[:2])


def _with_plane_radii(
    radii: jax.Array, reach: jax.Array, centers: jax.Array, bounds: MotionBounds
) -> jax.Array:
    """Return radii (n, bodies) of cores in which half-spaces have those that count.

    The points of a half-space that are nearest to a body are no farther from its origin
    than the body gets. A ball of twice that distance cuts off nothing that changes the
    depth of a body in it, either.

    Args:
        radii: of the cores (1, bodies), 0 for half-spaces.
        reach: of the bodies (1, bodies), infinite for half-spaces.
        centers: origins of the bodies (n, bodies, 3).
        bounds: of the motion of the bodies, and of the origins of half-spaces.
    """
    is_plane = jnp.isinf(reach)
    moved = bounds.displacement.sum(-1)
    # The box of all origins holds each way between two of them.
    apart = jnp.linalg.norm(centers.max(1) - centers.min(1), axis=-1)
    far = (moved + jnp.where(is_plane, 0.0, reach)).max(1) + moved.max(1) + apart
    return jnp.where(is_plane, 2 * far[:, None], radii)


class BodyMotion(NamedTuple):
    """Motion of bodies on intervals."""

    displacement: jax.Array
    """Bound by dof (n · bodies, dofs); see `MotionBounds`."""
    curvature: jax.Array
    """Bound by dof (n · bodies, dofs)."""
    twists: jax.Array
    """Twist of each dof in the middle (n, dofs, 6)."""
    moves: jax.Array
    """True where a dof moves a body (bodies, dofs)."""
    centers: jax.Array
    """Origins of the bodies (n, bodies, 3)."""
    radii: jax.Array
    """Radius of the ball about the origin of each body's core (n · bodies,)."""

    @classmethod
    def of(
        cls,
        bounds: MotionBounds,
        twists: jax.Array,
        moves: jax.Array,
        centers: jax.Array,
        radii: jax.Array,
    ) -> "BodyMotion":
        """Return the motion of all bodies (n, bodies); for arguments see the fields."""
        dofs = moves.shape[-1]
        return cls(
            displacement=bounds.displacement.reshape(-1, dofs),
            curvature=bounds.curvature.reshape(-1, dofs),
            twists=twists,
            moves=moves,
            centers=centers,
            radii=radii.reshape(-1),
        )

    def loss(self, location: PairLocation, normal: jax.Array) -> jax.Array:
        """Return by how much the distances of pairs may fall on their intervals [m].

        Args:
            location: pairs of bodies.
            normal: of their nearest points, in the middle of the intervals.
        """
        bend = self.relative(self.curvature, location) / 2
        return jnp.minimum(
            self.relative(self.displacement, location),
            self.approach(location, normal) + bend,
        )

    def relative(self, bound: jax.Array, location: PairLocation) -> jax.Array:
        """Return the sum of bounds over the dofs that move one body of each pair."""
        only_a, only_b = self._exclusive(location)
        by_a, by_b = (gather(bound, k) for k in (location.body_a, location.body_b))
        return jnp.sum(jnp.where(only_a, by_a, 0.0) + jnp.where(only_b, by_b, 0.0), -1)

    def approach(self, location: PairLocation, normal: jax.Array) -> jax.Array:
        """Return how fast the planes of a normal that enclose bodies approach.

        Args:
            location: pairs of bodies.
            normal: from body b to body a.
        """
        twists = gather(self.twists, location.row)
        speed = turn = jnp.zeros(len(normal), normal.dtype)
        for only, body, sign in zip(
            self._exclusive(location),
            (location.body_a, location.body_b),
            (1, -1),
            strict=True,
        ):
            twist = jnp.sum(jnp.where(only[..., None], twists, 0.0), 1)
            moment, rotation = twist[:, :3], twist[:, 3:]
            center = gather(self.centers.reshape(-1, 3), body)
            velocity = moment + jnp.cross(rotation, center)
            speed += sign * jnp.sum(normal * velocity, -1)
            across = jnp.sum(jnp.cross(normal, rotation) ** 2, -1)
            turn += sqrt(across) * gather(self.radii, body)
        return jnp.abs(speed) + turn

    def _exclusive(self, location: PairLocation) -> tuple[jax.Array, jax.Array]:
        """Return the dofs that move only a, and those that move only b."""
        a, b = (
            gather(self.moves, k % len(self.moves))
            for k in (location.body_a, location.body_b)
        )
        return a & ~b, b & ~a
