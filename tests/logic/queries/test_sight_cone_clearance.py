"""Clearances of the cone of sight: finite everywhere, with right derivatives.

The truth of derivatives is differences of values.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from posewise import collision
from posewise.compilation.precision import full_matmul_precision
from posewise.logic.queries.sight_cone_clearance import sight_clearances

SIGNS = np.stack(np.meshgrid(*[(-1.0, 1.0)] * 3, indexing="ij"), -1).reshape(8, 3)
CORES = {
    "box": collision.Box(np.array([[0.1, 0.2, 0.05]])),
    "ball": collision.Box(np.zeros((1, 3))),
    "can": collision.BoxPlusEllipsoid(
        np.array([[0.0, 0.0, 0.1]]), np.array([[0.05, 0.05, 0.0]])
    ),
    "hull": collision.Hull(np.random.default_rng(0).normal(0, 0.1, (1, 12, 3))),
}


@cache
def clearance_of(name: str, dtype: type = np.float64):
    """The clearance as a function of the box, the part's pose, and its radius."""
    core = jax.tree.map(dtype, CORES[name])

    def clearance(middle, half, R_box, R, p, radius):
        corners = (SIGNS * half) @ R_box.T + middle
        hull = jnp.concatenate([jnp.zeros_like(corners[:1]), corners])[None]
        body = collision.Body(core, radius[None], R[None], p[None])
        return sight_clearances(hull, R_box.T[None], body)[0, 0]

    with_slopes = full_matmul_precision(jax.grad(clearance, range(6)))
    return jax.jit(full_matmul_precision(clearance)), jax.jit(with_slopes)


@pytest.mark.parametrize("name", CORES)
def test_derivatives(name) -> None:
    clearance, derivative = clearance_of(name)
    rng = np.random.default_rng(0)
    for _ in range(100):
        R_box, R = Rotation.random(2, random_state=rng).as_matrix()
        box = rng.normal(size=3), rng.uniform(0.02, 0.3, 3), R_box
        scene = [*box, R, rng.normal(0, 0.7, 3), np.array(0.05)]
        for k, slope in enumerate(derivative(*scene)):
            if k in (2, 3):  # not of a rotation any more
                continue
            step = 1e-6 * rng.normal(size=np.shape(scene[k]))
            ends = ([*scene[:k], scene[k] + s * step, *scene[k + 1 :]] for s in (1, -1))
            change = np.subtract(*(clearance(*end) for end in ends)) / 2
            assert np.sum(slope * step) == pytest.approx(change, abs=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("half", [[0.25, 0.125, 0.5], [0.0, 0.0, 0.0]])
@pytest.mark.parametrize("middle", [0.0, 1.0])
@pytest.mark.parametrize("x", [0.0, 0.5])
def test_degenerate_scenes_have_values_and_derivatives(x, middle, half, dtype) -> None:
    """The camera in the middle of the box or the part, boxes that are points."""
    scene = [np.array([middle, 0, 0]), np.array(half), np.eye(3), np.eye(3)]
    scene = [dtype(a) for a in (*scene, [x, 0, 0], 0.02)]
    for name in CORES:
        clearance, derivative = clearance_of(name, dtype)
        assert np.isfinite(clearance(*scene))
        assert all(np.isfinite(slope).all() for slope in derivative(*scene))
