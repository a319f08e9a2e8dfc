"""Chain problems with known optima."""

import jax
import jax.numpy as jnp

from posewise.solvers import EQ, INEQ, SOS, ResidualBlock, StepBounds


class Circle:
    """Nearest point to (2, 1) on the unit circle, x >= 0.95 optional."""

    slices, nv, order, shared, is_large = 1, 2, 0, (), False

    def __init__(self, wall: float):
        self.wall = wall

    def shapes(self, data, x):
        return jax.eval_shape(self.evaluate, data, x)

    def evaluate(self, data, x):
        p = x[0]
        cost = ResidualBlock((p - data)[None], jnp.eye(2)[None, None], *_at(SOS))
        ring = ResidualBlock(
            (p @ p - 1)[None, None], (2 * p)[None, None, None], *_at(EQ)
        )
        slope = jnp.array([[[[1.0, 0.0]]]])
        side = ResidualBlock((p[0] - self.wall)[None, None], slope, *_at(INEQ))
        return cost, ring, side

    def retract(self, data, x, step):
        return x + step

    def step_bounds(self, data, x):
        return StepBounds(jnp.full_like(x, -jnp.inf), jnp.full_like(x, jnp.inf))


def _at(kind):
    return jnp.zeros(1, int), jnp.full(1, kind)


class SteepCircle(Circle):
    """A `Circle` whose ring row is a million times stiffer."""

    def evaluate(self, data, x):
        cost, ring, side = super().evaluate(data, x)
        return cost, ring._replace(y=1e3 * ring.y, J=1e3 * ring.J), side
