"""Vectors between two frames, seen in a third: many features by one formula.

u = x_a - x_b, where x is a frame's origin, or one of its axes. Rows are E Rᵀ u + o with
R the rotation of the frame that looks. A dof that turns with ω and moves the world's
origin with v changes x by ω × x, and by v where x is an origin; where it moves the
frame that looks, it changes what that sees of u by -ω × u.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.compilation.materialize import materialize
from posewise.robots.typing import Array


class VectorForm(NamedTuple):
    """A symbol's rows in these terms; frames are places among the symbol's own."""

    a: int
    b: int | None = None
    """None: x_b is zero."""
    observer: int | None = None
    """The frame that looks, None: the world."""
    axes: tuple[int, int] | None = None
    """x is the frame's axis, of a and of b; None: its origin."""
    projection: Sequence[Sequence[float]] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    """E (D, 3)."""
    offset: Callable[..., Any] | None = None
    """Of the params, o (*batch, D); None: zero."""

    def select_frames(
        self, frames: Int[np.ndarray, "*batch m"], world: int
    ) -> np.ndarray:
        """Of a symbol's frames: a, b and the one that looks (*batch, 3)."""
        none = np.full(frames.shape[:-1], world)
        pick = lambda i: none if i is None else frames[..., i]
        return np.stack([pick(self.a), pick(self.b), pick(self.observer)], -1)

    def origin_signs(self) -> np.ndarray:
        """(2,): what x_a and -x_b have of the frames' origins,"""
        return np.array([1.0, 0.0 if self.b is None else -1.0]) * (self.axes is None)

    def axis_signs(self) -> np.ndarray:
        """(2, 3): and of their axes."""
        found = np.zeros((2, 3))
        if self.axes is not None:
            found[0, self.axes[0]] = 1.0
            found[1, self.axes[1]] = 0.0 if self.b is None else -1.0
        return found


def row_directions(
    form: VectorForm, order: int, scale: np.ndarray, params: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Of n instances rows after scale: of each its `direction`, and its `shift`.

    Args:
        form: of all.
        order: of a difference over time, which has no offset.
        scale: (n, D) or (n, rows, D).
        params: of the symbol.
    """
    E = np.asarray(form.projection, float)
    scale = scale if scale.ndim == 3 else scale[..., None] * np.eye(len(E))
    none = np.zeros((len(scale), len(E)))
    offset = form.offset(**params) if form.offset and order == 0 else none
    return {
        "direction": scale @ E,
        "shift": (scale @ np.asarray(offset, float)[..., None])[..., 0],
    }


class LinearizedVectors(NamedTuple):
    """Of n instances u, and how each dof changes it, less what that changes r by."""

    u: Float[jax.Array, "n slices 3"]
    du: Float[jax.Array, "n slices dofs 3"]


def linearize_vectors(
    forms: Sequence[VectorForm],
    R: Float[Array, "n slices 3 3 3"],
    p: Float[Array, "n slices 3 3"],
    moves: Float[Array, "n slices 3 dofs"],
    twists: Float[Array, "n slices dofs 6"],
) -> LinearizedVectors:
    """Of all instances.

    Args:
        forms: of each instance.
        R: rotations of a, b and the frame that looks.
        p: their positions.
        moves: 1 where a dof moves one of these frames.
        twists: of dofs, v and then ω.
    """
    origins = np.stack([form.origin_signs() for form in forms]).astype(p.dtype)
    axes = np.stack([form.axis_signs() for form in forms]).astype(p.dtype)

    def arms(R: Array, p: Array) -> jax.Array:
        """x_a, -x_b and -u."""
        turned = sum(R[:, :, :2, :, k] * axes[:, None, :, k, None] for k in range(3))
        x = origins[:, None, :, None] * p[:, :, :2] + turned
        return jnp.concatenate([x, -jnp.sum(x, 2, keepdims=True)], 2)

    x = materialize(arms, R, p)
    of = lambda moves, x, m: moves[:, :, m, :, None] * x[:, :, m, None]
    arm = materialize(lambda moves, x: sum(of(moves, x, m) for m in range(3)), moves, x)
    drawn = sum(moves[:, :, m] * origins[:, None, m, None] for m in range(2))
    v, turn = twists[..., :3], twists[..., 3:]
    return LinearizedVectors(-x[:, :, 2], _cross(turn, arm) + drawn[..., None] * v)


def _cross(a: Array, b: Array) -> jax.Array:
    following = lambda v: jnp.roll(v, -1, -1)
    return following(a * following(b) - following(a) * b)
