"""Vectors between two frames, expressed in a third: many features by one formula.

u = x_a - x_b, where x is a frame's origin, or one of its axes. Rows are E Rᵀ u + o with
R the rotation of the observing frame. A dof with the spatial twist (v, ω) changes x by
ω × x, plus v if x is an origin; if it moves the observer, it changes Rᵀ u by
-Rᵀ (ω × u).
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
    """Rows of a symbol in this form; frames are indices among those of the symbol."""

    a: int
    b: int | None = None
    """Second frame; None: x_b is zero."""
    observer: int | None = None
    """The frame in which u is expressed; None: the world."""
    axes: tuple[int, int] | None = None
    """Axes of a and of b that are x_a and x_b; None: the origins."""
    projection: Sequence[Sequence[float]] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    """E (D, 3)."""
    offset: Callable[..., Any] | None = None
    """Function from the params to o (*batch, D); None: zero."""

    def select_frames(
        self, frames: Int[np.ndarray, "*batch m"], world: int
    ) -> np.ndarray:
        """Return a, b and the observer (*batch, 3) of a symbol's frames."""
        # The world stands in for frames that a form lacks; no dof moves it, so that
        # forms with one, two or three frames are one computation.
        fixed = np.full(frames.shape[:-1], world)
        selected = [self.a, self.b, self.observer]
        columns = [fixed if i is None else frames[..., i] for i in selected]
        return np.stack(columns, -1)

    def origin_signs(self) -> np.ndarray:
        """Return the coefficients (2,) of the frames' origins in x_a and -x_b."""
        return np.array([1.0, 0.0 if self.b is None else -1.0]) * (self.axes is None)

    def axis_signs(self) -> np.ndarray:
        """Return the coefficients (2, 3) of the frames' axes in x_a and -x_b."""
        signs = np.zeros((2, 3))
        if self.axes is not None:
            signs[0, self.axes[0]] = 1.0
            signs[1, self.axes[1]] = 0.0 if self.b is None else -1.0
        return signs


def row_directions(
    form: VectorForm, order: int, scale: np.ndarray, params: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the `direction` and `shift` of the scaled rows of n instances.

    A row is `direction` · Rᵀ u + `shift`.

    Args:
        form: of all instances.
        order: of the feature; differences over time have no offset.
        scale: (n, D) or (n, rows, D).
        params: arrays of the symbol.
    """
    E = np.asarray(form.projection, float)
    scale = scale if scale.ndim == 3 else scale[..., None] * np.eye(len(E))
    no_offset = np.zeros((len(scale), len(E)))
    # A constant offset cancels in differences of slices.
    offset = form.offset(**params) if form.offset and order == 0 else no_offset
    return {
        "direction": scale @ E,
        "shift": (scale @ np.asarray(offset, float)[..., None])[..., 0],
    }


class LinearizedVectors(NamedTuple):
    """The vector u of n instances, and its change with each dof.

    The change of the observer's axes is taken off, so that the derivative of a row is
    r · du with the row's direction r in the world.
    """

    u: Float[jax.Array, "n slices 3"]
    du: Float[jax.Array, "n slices dofs 3"]


def linearize_vectors(
    forms: Sequence[VectorForm],
    R: Float[Array, "n slices 3 3 3"],
    p: Float[Array, "n slices 3 3"],
    moves: Float[Array, "n slices 3 dofs"],
    twists: Float[Array, "n slices dofs 6"],
) -> LinearizedVectors:
    """Return u and du of all instances.

    Args:
        forms: the form of each instance.
        R: rotations of a, b and the observer.
        p: positions of a, b and the observer.
        moves: 1 where a dof moves one of these frames.
        twists: spatial twists of dofs, v and then ω.
    """
    origins = np.stack([form.origin_signs() for form in forms]).astype(p.dtype)
    axes = np.stack([form.axis_signs() for form in forms]).astype(p.dtype)

    def arms(R: Array, p: Array) -> jax.Array:
        """Return x_a, -x_b and -u, which ω turns for a, b and the observer."""
        # Coefficients 0, 1 and -1 select the axes, so that instances of different forms
        # need no branch.
        rotated = sum(R[:, :, :2, :, k] * axes[:, None, :, k, None] for k in range(3))
        x = origins[:, None, :, None] * p[:, :, :2] + rotated
        return jnp.concatenate([x, -jnp.sum(x, 2, keepdims=True)], 2)

    x = materialize(arms, R, p)

    def moved_arms(moves: Array, x: Array) -> jax.Array:
        """Return for each dof the sum of the arms of the frames that it moves."""
        moved: jax.Array = sum(
            moves[:, :, m, :, None] * x[:, :, m, None] for m in range(3)
        )
        return moved

    arm = materialize(moved_arms, moves, x)
    translation = sum(moves[:, :, m] * origins[:, None, m, None] for m in range(2))
    # ω turns every arm that the dof moves, in one product; v shifts only origins. A dof
    # that moves both a and b shifts u by nothing, as their coefficients cancel.
    v, omega = twists[..., :3], twists[..., 3:]
    return LinearizedVectors(
        -x[:, :, 2], _cross(omega, arm) + translation[..., None] * v
    )


def _cross(a: Array, b: Array) -> jax.Array:
    """Return a × b by rolls, each of which is one operation on all components."""

    def roll(v: Array) -> jax.Array:
        return jnp.roll(v, -1, -1)

    return roll(a * roll(b) - roll(a) * b)
