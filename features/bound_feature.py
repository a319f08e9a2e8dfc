"""Features in a given world: indices, arrays, and their compiled evaluation."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from textwrap import shorten
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from posewise.compilation.arrays import Array
from posewise.compilation.program import compile_program
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.kinematics.forward import (
    FramePoses,
    Kinematics,
    fold_dofs,
    forward_pass_nodes,
)
from posewise.robots.kinematics.manifold import (
    coordinates_to_tangent,
    tangent_to_coordinates,
)

from .errors import FeatureError
from .evaluate import evaluate_symbol, linearize
from .linearized_feature import FeatureInputs
from .pairs.tables import on_nodes
from .scaling import apply_scale_and_target_to_linearization
from .symbol import PERIOD, Arrays, Symbol, TracedArrays
from .symbol_kinds import uses_kinematics

MAX_SYMBOLS = 512
"""Number of symbols and orders whose programs are kept in a process, the last used
(count). Fewer are compiled or read again more often."""


# No `__eq__`: arrays compare by element, and have no truth value.
@dataclass(frozen=True, eq=False)
class BoundFeature:
    """A feature in a given world, as indices and arrays that are ready to evaluate."""

    symbol: Symbol
    order: int
    frames: np.ndarray
    """Indices (m,) into the world's frames, and that after the last one is the origin;
    for a symbol that reads nodes into these, after which comes the world."""
    coordinates: np.ndarray
    """Indices (n,) into q."""
    params: dict[str, np.ndarray]
    scale: np.ndarray
    """(D,) or (out, D)."""
    target: np.ndarray
    """(D,)."""

    def poses(self, K: Kinematics, poses: FramePoses, q: Array) -> FramePoses:
        """Return the poses of the feature's frames in slices.

        Args:
            K: kinematics of the world.
            poses: of all frames in the slices.
            q: coordinates (slices, nq).
        """
        if self.symbol.reads_nodes:
            return forward_pass_nodes(K, q)[0]
        return FramePoses(poses.R[:, self.frames], poses.p[:, self.frames])

    def params_of(self, K: Kinematics) -> Mapping[str, Array]:
        """Return the params in a world."""
        return on_nodes(K, self.params) if self.symbol.reads_nodes else self.params

    @property
    def dim(self) -> int:
        """Return the number of rows after scaling."""
        dim: int = self.scale.shape[0]
        return dim


@lru_cache(maxsize=MAX_SYMBOLS)
def compiled_linearization(symbol: Symbol, order: int) -> Callable[..., Any]:
    """Compile one small program for each symbol and order.

    Each row of its result has y, then the derivatives by slice (coordinates), or by
    slice and frame (force, moment).
    """

    def run(
        x: FeatureInputs,
        params: TracedArrays,
        scale: Array,
        target: Array,
        K: Kinematics | None,
    ) -> jax.Array:
        # Bound features hold 64-bit NumPy arrays; the program runs in JAX's precision.
        dtype = jnp.result_type(float)
        x = FeatureInputs(*(jnp.asarray(a, dtype) for a in x))
        scale, target = jnp.asarray(scale, dtype), jnp.asarray(target, dtype)
        params = {k: cast_floating(v, dtype) for k, v in params.items()}
        out = apply_scale_and_target_to_linearization(
            symbol,
            linearize(symbol, order, x, params, K),
            scale,
            target,
            params.get(PERIOD),
        )
        if symbol.takes_joints:
            derivatives = out.dq
        else:
            derivatives = jnp.concatenate([out.force, out.moment], -1)
        # One array leaves the program, so that the caller waits for one transfer.
        rows, *trailing_shape = derivatives.shape
        flat = derivatives.reshape(rows, math.prod(trailing_shape))
        return jnp.concatenate([out.y[:, None], flat], 1)

    return compile_program(run, num_static=0, fetches=True)


def assemble_jacobian(
    C: Config,
    g: BoundFeature,
    Q: np.ndarray,
    twists: np.ndarray,
    derivatives: np.ndarray,
    coordinates: str,
) -> np.ndarray:
    """Return the Jacobian (slices, rows, columns) of derivatives and joint twists."""
    K: Kinematics = C.tree.model.kinematics
    slices, rows = len(Q), len(derivatives)
    if g.symbol.takes_joints:
        J: np.ndarray = np.zeros((slices, rows, K.nq))
        dq = derivatives.reshape(rows, slices, len(g.coordinates))
        J[:, :, g.coordinates] = dq.swapaxes(0, 1)
        return coordinates_to_tangent(K.tree, Q, J) if coordinates != "q" else J
    # A dof moves a frame with a spatial twist, so a row changes by wrench · twist.
    wrenches = derivatives.reshape(rows, slices, len(g.frames), 6)
    wrenches = wrenches.transpose(1, 2, 0, 3)
    J = wrenches @ twists.swapaxes(-1, -2)[:, None]
    # A frame moves only with the dofs between it and the root, so that others are
    # masked; a dof that moves several of the feature's frames adds up their parts.
    moves = K.tree.node_dof_mask if g.symbol.reads_nodes else K.dof_mask[g.frames]
    J = fold_dofs(K, (J * moves[:, None]).sum(1))
    if coordinates == "q":
        J = tangent_to_coordinates(K.tree, Q, J)
    return J


def infer_dim(symbol: Symbol, m: int, n: int, params: Arrays, C: Config) -> int:
    """Return the number of rows, found by tracing the function once for its inputs."""
    if uses_kinematics(symbol):
        return _traced_dim(symbol, m, n, params, C.kinematics().for_programs())
    shapes = {k: jax.ShapeDtypeStruct(np.shape(v), v.dtype) for k, v in params.items()}
    return _known_dim(symbol, m, n, tuple(shapes.items()))


@lru_cache(maxsize=MAX_SYMBOLS)
def _known_dim(
    symbol: Symbol, m: int, n: int, shapes: tuple[tuple[str, jax.ShapeDtypeStruct], ...]
) -> int:
    """Return the number of rows for params of some shapes."""
    return _traced_dim(symbol, m, n, dict(shapes), None)


def _traced_dim(
    symbol: Symbol,
    m: int,
    n: int,
    params: Mapping[str, np.ndarray | jax.ShapeDtypeStruct],
    K: Kinematics | None,
) -> int:
    k = symbol.window + 1
    eye = np.broadcast_to(np.eye(3), (k, m, 3, 3))
    zeros = (np.zeros((k, m, 3)), np.zeros((k, m, 4)), np.zeros((k, n)))
    x = FeatureInputs(eye, *zeros, np.ones(symbol.window))
    try:
        # Abstract evaluation costs no compilation, and nothing is computed with the
        # zero quaternions.
        shape = jax.eval_shape(
            lambda x, params: evaluate_symbol(symbol, symbol.window, x, params, K),
            x,
            params,
        ).shape
    except (ConfigError, FeatureError):
        raise
    except Exception as error:
        # Errors of JAX may be pages long; the whole one is the cause of this one.
        reason = shorten(str(error), 600, placeholder=" …")
        raise FeatureError(
            f"{symbol.name}: the function failed on {m} poses: {reason}"
        ) from error
    if len(shape) != 1:
        raise FeatureError(
            f"{symbol.name}: the function returned shape {shape}, expected (D,)."
        )
    return int(shape[0])


def cast_floating(v: Array, dtype: DTypeLike) -> Array:
    """Cast an array of floats to a dtype, and leave others as integers or bools."""
    return jnp.asarray(v, dtype) if np.issubdtype(v.dtype, np.floating) else v
