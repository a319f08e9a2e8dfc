"""The path of a problem as a JAX function of some of its quantities."""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int, PyTree

from posewise.solvers.differentiable import Starts, solve_differentiably

from ..chain.groups import ChainData
from ..problem.spec import ProblemSpec, compile_chain, initial_paths, mode_sequence
from ..terms.objective import ObjectiveError
from .alternatives import resolve_alternatives
from .quantities import Quantity, data_function
from .settings import SolveSettings

Path: TypeAlias = Float[jax.Array, "T nq"]
PathAndStatus: TypeAlias = tuple[Path, Int[jax.Array, ""]]
PathFunction: TypeAlias = Callable[[Any], Path]
"""Function of numbers, of a tree of arrays where the quantity is params, or of a list
of such values."""
PathFunctionWithStatus: TypeAlias = Callable[[Any], PathAndStatus]


def present_values(spec: ProblemSpec, wrt: Quantity | list[Quantity]) -> PyTree:
    """Return the values of a quantity in a problem, a list of them for a list.

    Raises:
        ObjectiveError: see `KOMO.function`.
    """
    return data_function(resolve_alternatives(spec)[0], wrt).present


def path_function(
    spec: ProblemSpec, wrt: Quantity | list[Quantity], settings: SolveSettings
) -> PathFunctionWithStatus:
    """Return the path and its status as a function of `wrt`; see `KOMO.function`."""
    numbers, solve = data_function(spec, wrt), _solve_function(spec, settings)
    data = compile_chain(spec).data
    return lambda value: solve(numbers(data, value))


def _solve_function(
    spec: ProblemSpec, settings: SolveSettings
) -> Callable[[ChainData], PathAndStatus]:
    """Return the path and its status as a function of what varies in the data.

    Raises:
        ObjectiveError: for mode switches that attach a frame with a joint.
    """
    chain, data, _ = compile_chain(spec)
    dtype = data.prefix.dtype
    paths = initial_paths(spec, settings.seed, settings.starts)
    penalties = [settings.initial_penalty(k) for k in range(settings.starts)]
    starts = Starts(jnp.asarray(paths, dtype), jnp.asarray(penalties, dtype))
    modes = mode_sequence(spec)
    in_world, in_base = modes.coordinates
    if len(in_base) < spec.config.nq:
        carried = set(spec.config.joint_names) - set(modes.world.joint_names)
        raise ObjectiveError(
            f"function() has no value for {', '.join(sorted(carried))}: mode switches"
            " attach the frame of this joint. Lock it: C.lock(joint)."
        )

    def path_and_status(varied: ChainData) -> PathAndStatus:
        x, status = solve_differentiably(chain, data, varied, starts, settings.options)
        base = jnp.zeros((len(x), len(in_base)), x.dtype)
        return base.at[:, in_base].set(x[:, in_world]), status

    return path_and_status
