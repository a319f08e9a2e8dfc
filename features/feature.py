"""Features: a symbol on frames with order, target and scale; value and Jacobian."""

import copy
import warnings
from collections.abc import Callable, Mapping
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree

from posewise.compilation.capacity import table_attempt
from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning
from posewise.robots.kinematics.forward import Kinematics, frame_quaternions
from posewise.robots.kinematics.rounding import (
    TOLERANCE,
    is_coarse,
    rounding_sentence,
    rounding_step,
)
from posewise.robots.typing import Array, Frames, VectorLike
from posewise.robots.validation import float_array, integer, number

from .bound_feature import (
    BoundFeature,
    assemble_jacobian,
    cast_floating,
    compiled_linearization,
    infer_dim,
)
from .errors import FeatureError, require_slices
from .evaluate import evaluate_symbol, make_quaternions_continuous
from .functions.custom_symbol import CustomSymbol, custom_symbol, traced_symbol
from .functions.function_params import FunctionParams
from .linearized_feature import FeatureInputs
from .quaternion_targets import unit_target
from .scaling import apply_scale_and_target
from .symbol import PERIOD, Arrays, Symbol
from .symbol_kinds import PoseSymbol, uses_kinematics
from .typing import (
    Coordinates,
    HasSymbol,
    Order,
    PoseFunction,
    ScaleLike,
    SymbolLike,
    TargetLike,
)


class Feature:
    """`y = scale · (φ_k(x) - target)` for a symbol φ on frames, at order k.

    Args:
        symbol: an entry of `FS`, or any function of poses: it gets one `Pose` (with
            `.R`, `.p`, `.quaternion`) for each frame and returns an array (D,). All
            else that it reads has the value of when it is evaluated, or a solve begins.
        frames: names of frames; of joints for joint features (none: all of them).
        order: 0 value, 1 velocity, 2 acceleration, 3 jerk (of `FS.jerkBounds`);
            default: the symbol's own.
        target: value of φ_k at which y is zero: one number, or D numbers. Coordinates
            that turn without end are compared up to full turns, see
            `Config.joints.periods`; only inequalities of a `KOMO` count turns.
        scale: one number, D numbers, or a matrix (out, D) that projects.
        params: numbers of a function of poses, any tree of arrays such as the weights
            of a network, which the function gets as its last argument. New values
            (`with_params`, `KOMO.set_params`) compile nothing.
        **options: numbers of the symbol, such as `margin`.

    Raises:
        FeatureError: for a wrong number of frames, order or option.
    """

    def __init__(
        self,
        symbol: SymbolLike,
        frames: Frames = (),
        *,
        order: Order | None = None,
        target: TargetLike | None = None,
        scale: ScaleLike | None = None,
        params: PyTree | None = None,
        **options: float | VectorLike,
    ) -> None:
        names = _as_names(frames)
        self._params = None
        if params is not None:
            label = getattr(symbol, "__name__", None) or str(symbol)
            self._params = FunctionParams.of(label, params)
        phi = _as_symbol(symbol, len(names), self._params)
        for option in options:
            if option not in phi.options:
                known = ", ".join(phi.options) or "none"
                raise FeatureError(
                    f"{phi.name}: no option {option!r}; its options: {known}."
                )
        low, high = phi.frames
        if len(names) < low or (high is not None and len(names) > high):
            count = f"{low}" if low == high else f"{low} or more"
            raise FeatureError(
                f"{phi.name}: got {len(names)} frames {list(names)}, expected {count}."
            )
        # Differences over time reach order 2; order 3 is that of jerks alone.
        highest = max(phi.window, 2)
        k = integer(
            f"{phi.name}: order",
            phi.window if order is None else order,
            " or ".join(map(str, range(phi.window, highest + 1))),
            lambda k: phi.window <= k <= highest,
            FeatureError,
        )
        for option, value in options.items():
            if isinstance(phi.options[option], tuple):
                options[option] = tuple(_as_array(phi, option, value, 1).tolist())
            else:
                number(f"{phi.name}: {option}", value, error=FeatureError)
        self.scale = None if scale is None else _as_array(phi, "scale", scale, 2)
        self.target = None if target is None else _as_array(phi, "target", target, 1)
        self.symbol = _unprojected(phi, self.scale, self.target)
        self.frames = names
        self.order = cast(Order, k)
        self.options = dict(options)
        self._bound: tuple[object, BoundFeature, object | None] | None = None

    def __repr__(self) -> str:
        order = f", order={self.order}" if self.order else ""
        return f"Feature({self.symbol.name}, {list(self.frames)}{order})"

    def with_frames(self, frames: tuple[str, ...]) -> "Feature":
        """Return the same feature on other frames."""
        # A copy, because callers rename frames of a feature that has passed the checks
        # of the constructor; only what is bound to the old frames is dropped.
        new = copy.copy(self)
        new.frames, new._bound = frames, None
        return new

    @property
    def params(self) -> PyTree | None:
        """Params of a user's function; None: it has none."""
        if self._params is None:
            return None
        return jax.tree.unflatten(self._params.structure, self._params.leaves.values())

    def with_params(self, params: PyTree) -> "Feature":
        """Return the same feature with other params, which compiles nothing.

        Args:
            params: of the structure and shapes of those that it was made with.

        Raises:
            FeatureError: for another structure or shape, or a feature without params.
        """
        new = copy.copy(self)
        new._params = self.function_params.with_leaves_of(self.symbol.name, params)
        new._bound = None
        return new

    @property
    def function_params(self) -> FunctionParams:
        """Params of a user's function in parts.

        Raises:
            FeatureError: for a feature without params.
        """
        if self._params is None:
            raise FeatureError(
                f"{self.symbol.name} has no params; a feature of a function has them if"
                " it is made with them: Feature(fn, frames, params=...)."
            )
        return self._params

    def with_number(self, name: str, value: Float[np.ndarray, "..."]) -> "Feature":
        """Return the same feature with another scale or option.

        Args:
            name: "scale", or that of an option that the feature has.
            value: numbers of the shape of those that it has.
        """
        new = copy.copy(self)
        new._bound = None
        if name == "scale":
            new.scale = np.atleast_1d(value)
        else:
            number = tuple(value.tolist()) if value.ndim else float(value)
            new.options = {**self.options, name: number}
        return new

    def with_unit_target(self) -> "Feature":
        """Return the same feature, a quaternion in its target with length 1.

        Raises:
            FeatureError: for a quaternion of zeros.
        """
        if self.target is None:
            return self
        target = unit_target(self.symbol, self.order, self.scale, self.target)
        if target is self.target:
            return self
        new = copy.copy(self)
        new.target, new._bound = target, None
        return new

    def bind(self, C: Config) -> BoundFeature:
        """Look up the indices and arrays of this feature in a world.

        Raises:
            ConfigError: for unknown frames, with near matches.
            FeatureError: for a target or scale of the wrong dimension.
        """
        # Binding reads shapes and trees but not q, so it stays valid until the
        # structure of the world changes, or a pose that the symbol's params read.
        symbol = self.present_symbol()
        origins = C.origins_key if symbol.depends_on_origins else None
        key = C.structure_key, origins, symbol
        # Sizes of tables are those of one program.
        attempt = table_attempt()
        last = self._bound
        if last is None or last[0] != key or attempt not in (None, last[2]):
            last = self._bound = key, self._bind(C, symbol), attempt
        return last[1]

    def present_symbol(self) -> Symbol:
        """Return the symbol, with all numbers that a user's function reads now.

        Raises:
            FeatureError: for a function that fails, or returns no rows.
        """
        if isinstance(self.symbol, CustomSymbol):
            return traced_symbol(self.symbol, len(self.frames), self._leaves)
        return self.symbol

    def _bind(self, C: Config, symbol: Symbol) -> BoundFeature:
        options = {**symbol.options, **self.options}
        resolved = symbol.resolve_in(C, self.frames, self.order, options)
        symbol, frames, params, coordinates = resolved
        params = {**params, **self._leaves}
        D = symbol.dim
        if D is None:
            D = infer_dim(symbol, len(frames), len(coordinates), params, C)
        target = np.zeros(1) if self.target is None else self.target
        if target.size not in (1, D):
            raise FeatureError(
                f"{symbol.name} on {list(self.frames)}: target has {target.size}"
                f" numbers, expected 1 or {D}."
            )
        scale = np.ones(1) if self.scale is None else self.scale
        if scale.shape[-1] != D and (scale.ndim == 2 or scale.size != 1):
            raise FeatureError(
                f"{symbol.name} on {list(self.frames)}: scale has shape"
                f" {scale.shape}, expected one number, {D} numbers, or a matrix"
                f" (out, {D})."
            )
        if scale.ndim == 1:
            scale = np.broadcast_to(scale, (D,))
        return BoundFeature(
            symbol,
            self.order,
            frames,
            coordinates,
            params,
            np.array(scale, float),
            np.array(np.broadcast_to(target, (D,)), float),
        )

    @property
    def _leaves(self) -> Arrays:
        return {} if self._params is None else self._params.leaves

    def check(self, C: Config) -> None:
        """Raise the errors of `bind`."""
        self.bind(C)

    def dim(self, C: Config) -> int:
        """Return the number of rows of y in a world."""
        return self.bind(C).dim

    def eval(
        self,
        C: Config,
        q: VectorLike | None = None,
        tau: float | VectorLike = 1.0,
        coordinates: Coordinates = "q",
    ) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, "D ..."]]:
        """Compute value and Jacobian.

        Args:
            C: the world.
            q: coordinates (nq,); for order k: (k + 1, nq), oldest slice first.
                Default: the world's state (order 0 only).
            tau: time between slices [s]: one number, or one for each of k steps.
            coordinates: "q", or "tangent" for columns of the tangent space.

        Returns:
            y (D,) and J (D, nq); for order k, J (D, k + 1, nq).
        """
        if coordinates not in ("q", "tangent"):
            raise FeatureError(
                f"coordinates is {coordinates!r}, expected 'q' or 'tangent'."
            )
        g = self.bind(C)
        slices = self.order + 1
        if q is None:
            if slices > 1:
                raise FeatureError(
                    f"{self.symbol.name} of order {self.order} looks at {slices}"
                    f" slices: give q of shape ({slices}, {C.nq}), or use KOMO."
                )
            w, q = C.forward_pass(), C.q
            frames, twists = jax.tree.map(lambda x: x[None], w)
        else:
            q = float_array("q", q, f"{slices * C.nq} numbers", FeatureError)
            if q.reshape(-1).size != slices * C.nq or q.ndim > 2:
                raise FeatureError(
                    f"q has shape {q.shape}, expected"
                    f" ({C.nq},)" + f" or ({slices}, {C.nq})." * (slices > 1)
                )
            if not np.isfinite(q).all():
                raise FeatureError("q has NaN or infinite entries.")
            w = C.forward_pass(q.reshape(slices, C.nq))
            frames, twists = w
        Q = q.reshape(slices, -1)
        R, p = g.poses(C.tree.model.kinematics, frames, Q)
        self._warn_if_coarse(p, Q[:, g.coordinates])
        quats = np.zeros((*p.shape[:2], 4))
        # Quaternions need a second pass over the tree, which few symbols pay for.
        if g.symbol.uses_quaternions:
            quats = make_quaternions_continuous(C.joints.quaternions_at(Q)[:, g.frames])
        x = FeatureInputs(R, p, quats, Q[:, g.coordinates], self._time_steps(tau))
        K = C.kinematics().for_programs() if uses_kinematics(g.symbol) else None
        params = self._params_of_value(g, C.tree.model.kinematics)
        out = compiled_linearization(g.symbol, g.order)(x, params, g.scale, g.target, K)
        out = np.asarray(out, float)
        J = assemble_jacobian(C, g, Q, twists, out[:, 1:], coordinates)
        return out[:, 0], J[0] if slices == 1 else np.moveaxis(J, 0, 1)

    def _warn_if_coarse(self, p: np.ndarray, q: np.ndarray) -> None:
        """Warn of positions and joint values that JAX's numbers round too much."""
        largest = float(max(np.abs(p).max(initial=0.0), np.abs(q).max(initial=0.0)))
        if is_coarse(largest):
            parts = f"{self.symbol.name} of {list(self.frames)} at {largest:.4g}"
            sentence = rounding_sentence(parts, rounding_step(largest), TOLERANCE)
            warnings.warn(sentence, ProblemWarning, stacklevel=4)

    def function(
        self, C: Config, tau: float | VectorLike = 1.0
    ) -> Callable[..., Float[jax.Array, " rows"]]:
        """Return a pure JAX function from q to y (D,).

        q is (nq,), or (k + 1, nq) with the oldest slice first, and `tau` is that of
        `eval`. The function works under `jit`, `vmap`, `grad`, `jacfwd`, `jacrev` and
        `hessian`. Of a feature with params these are its second argument, by default
        those of the feature; it is differentiable by them, too. So it is by another
        `kinematics=` of the same tree, `C.kinematics(origins)`, and thereby by offsets
        of links and places of obstacles.

        Raises:
            FeatureError: when it is called, for q of another shape, kinematics of
                another tree, and those of a symbol that reads more of the world.
        """
        g = self.bind(C)
        of_world = C.kinematics()
        slices, steps = self.order + 1, self._time_steps(tau)

        def phi(
            q: Float[Array, "*slices nq"],
            params: PyTree | None = None,
            kinematics: Kinematics | None = None,
        ) -> Float[jax.Array, " rows"]:
            K = of_world if kinematics is None else kinematics
            if kinematics is not None:
                self._check_kinematics(kinematics, of_world)
            require_slices(self.symbol.name, q, slices, K.nq)
            Q = jnp.asarray(q).reshape(slices, K.nq)
            # The trace of a user's function is of one precision.
            is_untraced = isinstance(self.symbol, CustomSymbol)
            is_traced = not is_untraced or Q.dtype == jnp.result_type(float)
            symbol = g.symbol if is_traced else self.symbol
            R, p = g.poses(K, K.forward_pass(Q).frames, Q)
            quats = jnp.zeros((*p.shape[:2], 4), Q.dtype)
            if symbol.uses_quaternions:
                quats = make_quaternions_continuous(
                    frame_quaternions(K, Q)[:, g.frames]
                )
            time = jnp.asarray(steps, Q.dtype)
            x = FeatureInputs(R, p, quats, Q[:, g.coordinates], time)
            scale = jnp.asarray(g.scale, Q.dtype)
            target = jnp.asarray(g.target, Q.dtype)
            arrays = {**self._params_of_value(g, K)}
            if params is not None:
                leaves = self.function_params.traced_leaves(symbol.name, params)
                arrays |= leaves
            numbers = {k: cast_floating(v, Q.dtype) for k, v in arrays.items()}
            raw = evaluate_symbol(symbol, g.order, x, numbers, K)
            period: Any = numbers.get(PERIOD)
            y, _ = apply_scale_and_target(symbol, raw, scale, target, period)
            return y

        return phi

    def _check_kinematics(self, K: Kinematics, of_world: Kinematics) -> None:
        """Raise a FeatureError unless the feature is a function of these kinematics."""
        if K.tree != of_world.tree or len(K.frame_nodes) != len(of_world.frame_nodes):
            raise FeatureError(
                "kinematics are those of another tree, expected C.kinematics(origins)"
                " of the world C that the function is of."
            )
        if self.symbol.depends_on_origins:
            raise FeatureError(
                f"{self.symbol.name} reads constant poses when it is bound to a world,"
                " so that it is no function of other kinematics."
            )

    def _params_of_value(self, g: BoundFeature, K: Kinematics) -> Mapping[str, Array]:
        """Return the params for a single value: without a target, no period counts."""
        # Those of home differences do: the home is a target already.
        if self.target is None and g.symbol.params is None:
            return {name: v for name, v in g.params_of(K).items() if name != PERIOD}
        return g.params_of(K)

    def _time_steps(self, tau: float | VectorLike) -> Float[np.ndarray, " steps"]:
        """Return the time of each step [s]."""
        expected = f"seconds > 0: one number, or {self.order}"
        steps = float_array("tau", tau, expected, FeatureError)
        if steps.shape not in ((), (self.order,)) or not (steps > 0).all():
            raise FeatureError(f"tau is {tau!r}, expected {expected}.")
        return np.broadcast_to(steps, self.order)


def _as_symbol(
    symbol: SymbolLike, frame_count: int, params: FunctionParams | None
) -> Symbol:
    entry: HasSymbol | PoseFunction | Symbol = symbol
    known = getattr(entry, "symbol", entry)
    if isinstance(known, Symbol):
        if params is not None:
            raise FeatureError(
                f"{known.name} takes no params; they are for functions of poses. Its"
                f" options: {', '.join(known.options) or 'none'}."
            )
        return known
    if not callable(entry):
        if isinstance(symbol, str):
            raise FeatureError(
                f"symbol is {symbol!r}, a string; expected an entry of FS, without"
                f" quotes: FS.{symbol.removeprefix('FS.')}."
            )
        raise FeatureError(
            f"symbol is {symbol!r}, expected an entry of FS or a function."
        )
    return custom_symbol(entry, frame_count, params)


def _unprojected(
    symbol: Symbol, scale: np.ndarray | None, target: np.ndarray | None
) -> Symbol:
    """Return the symbol without its projection if scale or target address that."""
    wide = symbol.unprojected if isinstance(symbol, PoseSymbol) else None
    if wide is None or wide.dim is None:
        return symbol
    widths = {
        None if scale is None else scale.shape[-1],
        None if target is None else target.size,
    }
    is_matrix = scale is not None and scale.ndim == 2
    addressed = wide.dim in widths and (is_matrix or target is not None)
    return wide if addressed else symbol


def _as_names(frames: Any) -> tuple[str, ...]:
    if isinstance(frames, str):
        return (frames,)
    try:
        names = tuple(frames)
    except TypeError:
        names = (None,)
    if not all(isinstance(name, str) for name in names):
        raise FeatureError(f"frames is {frames!r}, expected a list of names.")
    return names


def _as_array(symbol: Symbol, what: str, value: Any, ndim: int) -> np.ndarray:
    array = float_array(f"{symbol.name}: {what}", value, "numbers", FeatureError)
    if array.size == 0 or array.ndim > ndim or not np.isfinite(array).all():
        raise FeatureError(
            f"{symbol.name}: {what} is {array.tolist()}, expected finite numbers, at"
            f" most {ndim}-dimensional."
        )
    return np.atleast_1d(array)
