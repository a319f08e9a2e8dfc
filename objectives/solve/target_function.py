"""The path of a problem as a JAX function of a target, or of a function's params."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int, PyTree

from posewise.features.bound_feature import cast_floating
from posewise.features.quaternion_targets import traced_unit_target
from posewise.robots.typing import VectorLike
from posewise.solvers.differentiable import Starts, solve_differentiably

from ..chain.groups import ChainData
from ..problem.params import objective_index
from ..problem.spec import ProblemSpec, compile_chain, initial_paths, mode_sequence
from ..solution.targets import with_params, with_target
from ..terms.objective import Objective, ObjectiveError
from .alternatives import resolve_alternatives
from .settings import SolveSettings

Path: TypeAlias = Float[jax.Array, "T nq"]
PathAndStatus: TypeAlias = tuple[Path, Int[jax.Array, ""]]
TargetFunction: TypeAlias = Callable[[VectorLike], Path]
TargetFunctionWithStatus: TypeAlias = Callable[[VectorLike], PathAndStatus]
ParamsFunction: TypeAlias = Callable[[PyTree], Path]
ParamsFunctionWithStatus: TypeAlias = Callable[[PyTree], PathAndStatus]
ParamsOf: TypeAlias = tuple[Literal["params"], Objective]
"""The params of the function of an objective."""


def target_dim(spec: ProblemSpec, wrt: Objective) -> int:
    """Return the number of entries D of an objective's target.

    Args:
        spec: the problem.
        wrt: one of its objectives.

    Raises:
        ObjectiveError: for an objective of another problem.
    """
    spec = resolve_alternatives(spec)[0]
    _, data, locations = compile_chain(spec)
    part = locations[objective_index(spec, wrt, "wrt")][0]
    return int(data.batches[part.batch].target.shape[-1])


def target_function(
    spec: ProblemSpec, wrt: Objective, settings: SolveSettings
) -> TargetFunctionWithStatus:
    """Return the path and its status as a function of a target; see `KOMO.function`."""
    _, data, locations = compile_chain(spec)
    parts = locations[objective_index(spec, wrt, "wrt")]
    phi = wrt.feature
    dtype, D = data.prefix.dtype, data.batches[parts[0].batch].target.shape[-1]
    solve = _solve_function(spec, settings)

    def path_and_status(target: VectorLike) -> PathAndStatus:
        target = jnp.asarray(target, dtype)
        if target.shape != (D,):
            raise ObjectiveError(
                f"The target has shape {target.shape}, expected ({D},); for several"
                " targets use jax.vmap."
            )
        target = traced_unit_target(phi.symbol, phi.order, phi.scale, target)
        return solve(with_target(data, parts, target))

    return path_and_status


def params_function(
    spec: ProblemSpec, wrt: Objective, settings: SolveSettings
) -> ParamsFunctionWithStatus:
    """Return the path and its status as a function of params; see `KOMO.function`."""
    _, data, locations = compile_chain(spec)
    index = objective_index(spec, wrt, "wrt")
    solve, params = _solve_function(spec, settings), wrt.feature.function_params

    def path_and_status(tree: PyTree) -> PathAndStatus:
        leaves = {
            name: cast_floating(leaf, data.prefix.dtype)
            for name, leaf in params.traced_leaves(wrt.name, tree).items()
        }
        return solve(with_params(data, locations[index], leaves))

    return path_and_status


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
