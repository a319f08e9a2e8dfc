"""Features, predicates and solves as differentiable functions of PyTorch tensors.

Axes of a tensor before those of one input are batch axes, any number of them. Values
pass between PyTorch and JAX by DLPack, on the device of the tensor and in its dtype:
float32, or float64 after `jax.config.update("jax_enable_x64", True)`. Each function
compiles once for each number of inputs in a batch. Only first derivatives exist; a
second one is an error.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Unpack

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from .features import Feature, FeatureError
from .logic import Predicate
from .objectives import KOMO, Objective
from .objectives.solve.path_function import present_values
from .objectives.solve.quantities import Quantity
from .robots import Config
from .robots.typing import VectorLike
from .solvers import Status
from .solvers.options import SolverOptions

try:
    import torch
except ImportError as error:
    raise ImportError(
        'posewise.torch needs PyTorch: pip install "posewise[torch]".'
    ) from error


def feature_function(
    feature: Feature, C: Config, tau: float | VectorLike = 1.0
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a feature as a function of coordinates, from q (…, nq) to y (…, D).

    The value is that of `Feature.function`; for order k, q is (…, k + 1, nq) with the
    oldest slice first. The function raises `FeatureError` for anything but a float
    tensor of such a shape.

    Args:
        feature: with its frames, order, target and scale.
        C: the world.
        tau: time between slices [s], as in `Feature.eval`.
    """
    slices = (feature.order + 1,) if feature.order else ()
    bridge = _Bridge("q", (*slices, C.nq), _map(feature.function(C, tau)))
    return lambda q: bridge(q)[0]


def predicate_function(
    predicate: Predicate, C: Config
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a predicate's rows as a function, from q (…, nq) to rows (…, R).

    They are those of `Predicate.function`: all at most 0 only where the predicate
    holds, so that `rows.amax(-1)` is the violation, and `rows.relu().sum(-1)` a loss
    without gradient where all rows hold. The function raises `FeatureError` for
    anything but a float tensor of such a shape.

    Args:
        predicate: one that has rows for a solver.
        C: the world.

    Raises:
        PredicateError: when the predicate has no rows.
    """
    bridge = _Bridge("q", (C.nq,), _map(predicate.function(C)))
    return lambda q: bridge(q)[0]


def path_function(
    komo: KOMO,
    wrt: Quantity | list[Quantity],
    *,
    seed: int = 0,
    starts: int = 1,
    tolerance: float = 1e-3,
    **options: Unpack[SolverOptions],
) -> Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """Return a solve as a function of an objective's target, or of other quantities.

    The function takes targets (…, D) and returns paths (…, T, nq) and a status (…) of
    each, an integer of `posewise.Status`; see `KOMO.function`. Of other quantities, and
    of a list of them, it takes all their numbers (…, D) in one row: one value after the
    other, each in the order of its memory, and trees of params in that of
    `jax.tree.leaves`. `torch.cat` makes such rows. Where the status is
    CONVERGED, the path is exact and has the derivative of the implicit function.
    Elsewhere, as for a target out of reach or one that is not finite, the path is the
    solver's best point, and **its gradient is zero**: such elements pull no parameter
    anywhere, and spoil no other's gradient. (JAX gives NaN there.) Look at the status,
    and give these elements another loss. Solves run in JAX's precision, and
    paths have the dtype of the targets.

    The function raises `FeatureError` for anything but a float tensor (…, D).

    Args:
        komo: the problem.
        wrt: the objective, as `add_objective` returned it, or what `KOMO.function`
            takes besides.
        seed: of the random starts.
        starts: number of starts of each solve.
        tolerance: see `KOMO.solve`.
        **options: see `KOMO.solve`.

    Raises:
        ObjectiveError: see `KOMO.function`.
    """
    solve = komo.function(
        wrt,
        with_status=True,
        seed=seed,
        starts=starts,
        tolerance=tolerance,
        **options,
    )
    row, unravel = ravel_pytree(present_values(komo.spec, wrt))

    def solve_row(values: jax.Array) -> tuple[jax.Array, jax.Array]:
        return solve(unravel(values.astype(row.dtype)))

    # On a CPU the lanes of a vmap would all wait for the slowest solve of the batch.
    is_cpu = jax.default_backend() == "cpu"
    solve_all = partial(jax.lax.map, solve_row) if is_cpu else jax.vmap(solve_row)
    name = "targets" if isinstance(wrt, Objective) else "values"
    return _Bridge(name, row.shape, solve_all)


class _Bridge:
    """A JAX function of a batch as a function of tensors with any batch axes."""

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        fn: Callable[[jax.Array], tuple[jax.Array, jax.Array | None]],
    ) -> None:
        """Compile nothing yet.

        Args:
            name: of the input, for messages.
            shape: of one input.
            fn: from a batch of inputs to their values, and their statuses or None.
        """

        def in_own_dtype(x: jax.Array) -> tuple[jax.Array, jax.Array | None]:
            y, status = fn(x)
            return y.astype(x.dtype), status

        self.name, self.shape = name, shape
        self.value = jax.jit(in_own_dtype)
        self.value_and_pullback = jax.jit(
            lambda x: jax.vjp(in_own_dtype, x, has_aux=True)
        )

    def __call__(self, x: torch.Tensor) -> Any:
        """Return the value for each input of a batch, and its status or None."""
        _check(self.name, self.shape, x)
        batch = x.shape[: x.ndim - len(self.shape)]
        flat = x.reshape(batch.numel(), *self.shape)
        if x.requires_grad and torch.is_grad_enabled():
            y, status = _WithGradient.apply(flat, self)
        else:
            y, status = map(_to_torch, self.value(_to_jax(self.name, flat)))
        if status is not None:
            status = status.reshape(batch)
        return y.reshape(*batch, *y.shape[1:]), status


class _WithGradient(torch.autograd.Function):
    """A bridge's value, with the pullback of `jax.vjp` as its backward pass."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, bridge: _Bridge) -> Any:
        y, pullback, status = bridge.value_and_pullback(_to_jax(bridge.name, x))
        # The pullback may hold the memory of x. Saved here, PyTorch refuses a backward
        # pass after x has been changed in place.
        ctx.save_for_backward(x)
        ctx.pullback, ctx.status = pullback, status
        if status is None:
            return _to_torch(y), None
        its_status = _to_torch(status)
        ctx.mark_non_differentiable(its_status)
        return _to_torch(y), its_status

    @staticmethod
    def backward(ctx: Any, cotangent: torch.Tensor, *_: Any) -> Any:
        (x,) = ctx.saved_tensors
        return _Pullback.apply(x, cotangent, ctx.pullback, ctx.status), None


class _Pullback(torch.autograd.Function):
    """The product of a cotangent with a Jacobian; its derivative is an error."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, cotangent: torch.Tensor, pullback: Any, status: Any
    ) -> torch.Tensor:
        # x is an argument only so that a second derivative arrives at the error below.
        return _to_torch(_pull(pullback, _to_jax("gradient", cotangent), status))

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(
            "posewise.torch has first derivatives only, and a second one is asked for"
            " (create_graph=True). Leave it out, or take second derivatives in JAX:"
            " jax.hessian of Feature.function."
        )


@jax.jit
def _pull(pullback: Any, cotangent: jax.Array, status: jax.Array | None) -> jax.Array:
    """Return the cotangent of the input, zero where there is no derivative."""
    if status is not None:
        # A cotangent of zero gives zero, even where the derivative is NaN.
        axes = (-1,) + (1,) * (cotangent.ndim - 1)
        is_exact = (status == int(Status.CONVERGED)).reshape(axes)
        cotangent = jnp.where(is_exact, cotangent, 0.0)
    return pullback(cotangent)[0]


def _map(
    fn: Callable[[jax.Array], jax.Array],
) -> Callable[[jax.Array], tuple[jax.Array, None]]:
    """Return a function of one input as one of a batch, without a status."""
    return lambda x: (jax.vmap(fn)(x), None)


def _check(name: str, shape: tuple[int, ...], x: object) -> None:
    """Raise unless x is a batch of inputs that JAX takes without rounding."""
    axes = ", ".join(("…", *map(str, shape)))
    if not isinstance(x, torch.Tensor):
        raise FeatureError(
            f"{name} is of type {type(x).__name__}, expected a torch.Tensor ({axes});"
            " torch.as_tensor makes one."
        )
    if x.dtype not in (torch.float32, torch.float64) or x.layout != torch.strided:
        raise FeatureError(
            f"{name} is a tensor of {x.dtype} and {x.layout}, expected torch.float32 or"
            f" torch.float64, and dense: {name}.float(), {name}.to_dense()."
        )
    in_jax = jax.dtypes.canonicalize_dtype(float)
    if x.dtype == torch.float64 and in_jax == jnp.float32:
        raise FeatureError(
            f"{name} is torch.float64, but JAX would round it to float32: call"
            ' jax.config.update("jax_enable_x64", True) before all else, or pass'
            f" {name}.float()."
        )
    if x.ndim < len(shape) or x.shape[x.ndim - len(shape) :] != shape:
        raise FeatureError(
            f"{name} has shape {tuple(x.shape)}, expected ({axes}), with any batch axes"
            " before."
        )


def _to_jax(name: str, x: torch.Tensor) -> jax.Array:
    """Return the tensor's memory as an array, on the same device."""
    try:
        return jax.dlpack.from_dlpack(x.detach().contiguous())
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        devices = ", ".join(map(str, jax.devices()))
        raise FeatureError(
            f"{name} is on the device {x.device}, which JAX cannot read; it has"
            f" {devices}. Move the tensor, or install JAX for that device."
        ) from error


def _to_torch(y: jax.Array | None) -> torch.Tensor | None:
    """Return a copy, as JAX relies on arrays that never change."""
    return None if y is None else torch.from_dlpack(y).clone()
