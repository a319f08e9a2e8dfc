"""Kinds of feature symbols: functions of poses, of joint values, of stacks of frames.

A row's *wrench* on a frame is its derivative with respect to a spatial twist of that
frame about the world's origin: (moment, force); see `evaluate`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from posewise.robots.config import Config
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.typing import Array

from .errors import FeatureError
from .linearized_feature import FeatureInputs, LinearizedFeature
from .symbol import (
    PERIOD,
    PairSumParams,
    Pose,
    Resolved,
    Symbol,
    TracedArrays,
    ValueAndWrenches,
)
from .vectors import VectorForm


@dataclass(frozen=True, eq=False)
class PoseSymbol(Symbol):
    """A function of a few poses: `fn(pose_1, …, pose_m, **params)`.

    With a window it gets a tuple of poses for each slice.
    """

    uses_quaternions: bool = False
    """Whether `fn` reads the quaternions of its poses."""
    quaternion_rows: slice | None = None
    """Rows that are a quaternion, whose sign is free."""
    vector_form: VectorForm | None = None
    """`fn` in the form of `vectors.py`, in which many symbols are one computation."""
    shares_params: bool = False
    """Whether params are large, so that those that are equal are kept once."""
    unprojected: "Symbol | None" = None
    """The feature before a built-in projection, used when scale or target have its
    dimension."""

    def evaluate(
        self, x: FeatureInputs, params: TracedArrays, K: Kinematics | None
    ) -> jax.Array:
        """Return φ of the poses in one window."""
        slices = [
            tuple(Pose(*pose) for pose in zip(*poses, strict=True))
            for poses in zip(x.R, x.p, x.quaternion, strict=True)
        ]
        inputs = slices if self.window else slices[0]
        return jnp.atleast_1d(self.fn(*inputs, **self._time(x.tau), **params))

    def differentiate(
        self, x: FeatureInputs, params: TracedArrays, K: Kinematics | None
    ) -> tuple[jax.Array, ...]:
        """Return φ and its derivatives by R, p and, if it reads them, quaternions."""
        return _by_poses(self, x, params, K)

    def as_wrenches(
        self, x: FeatureInputs, y: jax.Array, *slopes: jax.Array
    ) -> LinearizedFeature:
        """Return derivatives by poses as wrenches."""
        return _wrenches_of_poses(x, y, *slopes)


@dataclass(frozen=True, eq=False)
class JointSymbol(Symbol):
    """A function of joint values: `fn(q, **params)`, q (n,).

    With a window it gets the values of each slice, one after the other.
    """

    takes_joints: ClassVar[bool] = True

    coordinates: Callable[[Config, Sequence[str]], np.ndarray] | None = None
    """Selects the entries of q that `fn` reads; None: those of the named joints."""
    uses_kinematics: bool = False
    """Whether `fn` gets the world's `Kinematics` as `K`."""
    rows_per_coordinate: int = 0
    """Number of rows that depend on one coordinate only, in the order of coordinates;
    0: rows depend on several coordinates."""
    is_periodic: bool = False
    """Whether each row is a coordinate, so that of a joint that turns without end its
    difference to a target is modulo a full turn."""

    def resolve_in(
        self, C: Config, frames: Sequence[str], order: int, options: Mapping[str, Any]
    ) -> Resolved:
        """Return the symbol with the indices of the coordinates that it reads."""
        if self.coordinates is None:
            coordinates = C.joints.coordinates(frames or C.joint_names)
        else:
            coordinates = self.coordinates(C, frames)
        params = self._arrays(C, frames, options)
        if self.is_periodic and order == 0:
            periods = C.joints.periods[coordinates]
            if np.isfinite(periods).any():
                params = {**params, PERIOD: np.where(np.isinf(periods), 0, periods)}
        return Resolved(self, np.zeros(0, int), params, coordinates)

    def evaluate(
        self, x: FeatureInputs, params: TracedArrays, K: Kinematics | None
    ) -> jax.Array:
        """Return φ of the joint values in one window."""
        arguments: dict[str, Any] = {k: v for k, v in params.items() if k != PERIOD}
        if self.uses_kinematics:
            arguments["K"] = K
        return jnp.atleast_1d(self.fn(*x.q, **self._time(x.tau), **arguments))

    def differentiate(
        self, x: FeatureInputs, params: TracedArrays, K: Kinematics | None
    ) -> tuple[jax.Array, ...]:
        """Return φ and its derivative by joint values."""

        def fn(q: jax.Array) -> tuple[jax.Array, jax.Array]:
            y = self.evaluate(x._replace(q=q), params, K)
            return y, y

        slope, y = jax.jacrev(fn, has_aux=True)(x.q)
        return y, slope

    def as_wrenches(
        self, x: FeatureInputs, y: jax.Array, *slopes: jax.Array
    ) -> LinearizedFeature:
        """Return the derivative by joint values; no frame has a wrench."""
        no_wrench = _zeros(y, x.p, 3)
        return LinearizedFeature(y, no_wrench, no_wrench, slopes[0])


def uses_kinematics(symbol: Symbol) -> bool:
    """Return whether the function of a symbol gets the world's kinematics."""
    return isinstance(symbol, JointSymbol) and symbol.uses_kinematics


@dataclass(frozen=True, eq=False)
class StackSymbol(Symbol):
    """A function of all its frames at once: `fn(R, p, **params)`, R (m, 3, 3).

    It has no window, and reads no quaternions.
    """

    shares_params: ClassVar[bool] = True

    reads_nodes: bool = False
    """Whether `fn` gets the nodes of the tree and the world as its frames, and arrays
    of bodies on the frames of the world; see `pairs.tables.on_nodes`."""
    value_and_wrenches: Callable[..., ValueAndWrenches] | None = None
    """`fn` with derivatives: `(R, p, **params)` to y (D,), force and moment (D, m, 3).
    If None, `fn` is differentiated. For many instances R and p have a leading axis, and
    all params may have one too."""
    pair_sum: PairSumParams | None = None
    """For a symbol with `value_and_wrenches` and without smoothing: the types of its
    pairs, and a function from its params to those of `sum_near_pairs`."""

    def evaluate(
        self, x: FeatureInputs, params: TracedArrays, K: Kinematics | None
    ) -> jax.Array:
        """Return φ of the frames in one slice."""
        y: jax.Array = self.fn(x.R[0], x.p[0], **params)
        return y

    def differentiate(
        self, x: FeatureInputs, params: TracedArrays, K: Kinematics | None
    ) -> tuple[jax.Array, ...]:
        """Return φ, and its wrenches if it knows them, or derivatives by R and p."""
        if self.value_and_wrenches is None:
            return _by_poses(self, x, params, K)
        y, force, moment = self.value_and_wrenches(x.R[0], x.p[0], **params)
        return y, force[:, None], moment[:, None]

    def as_wrenches(
        self, x: FeatureInputs, y: jax.Array, *slopes: jax.Array
    ) -> LinearizedFeature:
        """Return derivatives as wrenches."""
        if self.value_and_wrenches is None:
            return _wrenches_of_poses(x, y, *slopes)
        force, moment = slopes
        return LinearizedFeature(y, moment, force, _zeros(y, x.q, 2))


@dataclass(frozen=True, eq=False)
class WorldSymbol(Symbol):
    """A symbol that has its function only in a given world, such as of its shapes.

    `fn` is what documents it.
    """

    resolve: Callable[..., Resolved] = field(kw_only=True)
    """`(C, frames, **options)` to the symbol to use in a world, with its frames and
    params."""
    pair_margins: Callable[[Config, np.ndarray], np.ndarray] | None = None
    """The required distance of each pair of frame indices [m], for a symbol over all
    pairs whose margins are no options."""

    @property
    def depends_on_origins(self) -> bool:
        """Whether resolving reads constant poses of frames."""
        return self.reads_origins

    def resolve_in(
        self, C: Config, frames: Sequence[str], order: int, options: Mapping[str, Any]
    ) -> Resolved:
        """Return the symbol of this world."""
        return self.resolve(C, frames, **options)

    def evaluate(
        self, x: FeatureInputs, params: TracedArrays, K: Kinematics | None
    ) -> NoReturn:
        """Raise an error.

        Raises:
            FeatureError: always.
        """
        raise FeatureError(
            f"{self.name} has a function only in a given world; use Feature.eval or"
            " KOMO."
        )

    differentiate = evaluate

    def as_wrenches(
        self, x: FeatureInputs, y: jax.Array, *slopes: jax.Array
    ) -> NoReturn:
        """Raise an error; see `evaluate`."""
        self.evaluate(x, {}, None)


def _by_poses(
    symbol: Symbol, x: FeatureInputs, params: TracedArrays, K: Kinematics | None
) -> tuple[jax.Array, ...]:
    """Return φ and its derivatives by R, p and, if it reads them, quaternions."""

    def fn(R: jax.Array, p: jax.Array, quat: jax.Array) -> tuple[jax.Array, jax.Array]:
        y = symbol.evaluate(x._replace(R=R, p=p, quaternion=quat), params, K)
        return y, y

    # Derivatives with respect to inputs that the function does not read would be arrays
    # of zeros, which later steps would read and add nevertheless.
    argnums = (0, 1, 2) if symbol.uses_quaternions else (0, 1)
    slopes, y = jax.jacrev(fn, argnums, has_aux=True)(x.R, x.p, x.quaternion)
    return y, *slopes


def _wrenches_of_poses(
    x: FeatureInputs,
    y: jax.Array,
    dR: jax.Array,
    dp: jax.Array,
    dquat: jax.Array | None = None,
) -> LinearizedFeature:
    """Return derivatives by poses as wrenches, of one or many instances."""
    # The new axis is that of the rows, which share the poses.
    R, p = x.R[..., None, :, :, :, :], x.p[..., None, :, :, :]
    moment = _moment_from_pose_derivative(R, p, dR, dp)
    if dquat is not None:
        quat = x.quaternion[..., None, :, :, :]
        moment = moment + _moment_from_quaternion_derivative(quat, dquat)
    # A translation of the frame changes p alone, so that the force is dφ/dp.
    return LinearizedFeature(y, moment, dp, _zeros(y, x.q, 2))


def _zeros(y: jax.Array, inputs: Array, axes: int) -> jax.Array:
    """Return derivatives that are zero, by the last axes of inputs."""
    return jnp.zeros((*y.shape, *inputs.shape[-axes:]), y.dtype)


def _moment_from_pose_derivative(
    R: Array, p: Array, dR: jax.Array, dp: jax.Array
) -> jax.Array:
    """Return the derivative with respect to a rotation about the world's origin."""
    # A rotation ω changes R by [ω]× R and p by [ω]× p, so the moment is the vector of
    # M - Mᵀ with M = dR Rᵀ + dp pᵀ: (M₂₁ - M₁₂, M₀₂ - M₂₀, M₁₀ - M₀₁).
    M = dR @ jnp.swapaxes(R, -1, -2) + dp[..., :, None] * p[..., None, :]
    M = M - jnp.swapaxes(M, -1, -2)
    return jnp.stack([M[..., 2, 1], M[..., 0, 2], M[..., 1, 0]], -1)


def _moment_from_quaternion_derivative(quat: Array, dquat: jax.Array) -> jax.Array:
    """Return the part of the moment that acts through quaternions."""
    # A rotation ω changes q by ½ (0, ω) ⊗ q; each tuple is a column of that product.
    w, x, y, z = (quat[..., i] for i in range(4))
    columns = [(-x, w, -z, y), (-y, z, w, -x), (-z, -y, x, w)]
    components = [jnp.sum(dquat * jnp.stack(c, -1), -1) / 2 for c in columns]
    return jnp.stack(components, -1)
