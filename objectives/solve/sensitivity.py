"""Derivatives of solved paths by targets, poses and sizes."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.geometry import shapes
from posewise.robots.kinematics.transforms import quat_exp, quat_multiply
from posewise.robots.typing import FrameName
from posewise.solvers import Options
from posewise.solvers.sensitivity import (
    is_floating,
    polish_with_curvature,
    solution_tangent,
    solve_differentiably,
)

from ..chain.builder import RowLocation
from ..chain.groups import ChainData
from ..objective import Objective, ObjectiveError
from ..problem_spec import ProblemSpec, compile_chain, initial_paths, mode_sequence
from .record import SolveRecord

FrameEdit: TypeAlias = Callable[[Config, str, np.ndarray], None]
"""Changes a frame of a world by a vector of parameters."""

SIZE_FIELDS = {
    shapes.Sphere: ("radius",),
    shapes.Capsule: ("length", "radius"),
    shapes.Box: ("size",),
    shapes.Cylinder: ("length", "radius"),
    shapes.Ellipsoid: ("radii",),
}
"""Outer sizes of each type of shape, in the order of its arguments."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivative of a solution by D parameters."""

    path: np.ndarray
    """Derivative of the coordinates of each slice by each parameter, (T, nq, D)."""
    regular: bool
    """Whether the solution is locally unique and differentiable."""
    message: str
    """Why the solution is not regular; "" if it is."""


def solution_sensitivity(
    record: SolveRecord, wrt: Objective | tuple[Literal["pose", "size"], FrameName]
) -> Sensitivity:
    """Return the derivative of a solution; see `Solution.sensitivity`."""
    chain, data = record.chain, jax.tree.map(jnp.asarray, record.data)
    record = record._replace(data=data)
    data_rates = _data_rates(record, wrt)
    x, multipliers = jax.tree.map(jnp.asarray, (record.x, record.multipliers))
    point, curvature = polish_with_curvature(chain, data, x, multipliers)
    eps = float(jnp.finfo(x.dtype).eps)
    if not float(point.residual) <= eps**0.5:
        raise ObjectiveError(
            "This solution has no sensitivity: no point near it satisfies the"
            f" optimality conditions (smallest residual {float(point.residual):.1e})."
            " Solve to convergence, and check the solution's status."
        )
    rates = [
        np.asarray(solution_tangent(chain, data, point, rate), float)
        for rate in data_rates
    ]
    path = np.stack([_rate_in_base(record, rate) for rate in rates], -1)
    if not np.isfinite(path).all():
        raise ObjectiveError(
            "This solution has no sensitivity: it is stationary but no strict minimum"
            " (the Lagrangian curves down along the constraints). Start from another"
            " path."
        )
    flaws = []
    if not float(curvature) > 0.1 * eps**0.6:
        flaws.append(
            "The cost is flat along the constraints: the solution is not unique, and"
            " this is the derivative of least norm; add a control objective to make it"
            " unique."
        )
    if bool(point.is_degenerate):
        flaws.append(
            "A limit or an inequality is active with a zero multiplier: this is the"
            " one-sided derivative, with the rows that are active now."
        )
    return Sensitivity(path, not flaws, " ".join(flaws))


def target_function(
    spec: ProblemSpec, wrt: Objective, options: Options
) -> Callable[[Float[jax.Array, " D"]], Float[jax.Array, "T nq"]]:
    """Return the path as a function of a target; see `KOMO.function`."""
    chain, data, locations = compile_chain(spec)
    parts = locations[_objective_index(spec, wrt)]
    start = jnp.asarray(initial_paths(spec, 0, 1)[0], data.prefix.dtype)
    modes = mode_sequence(spec)
    in_world, in_base = modes.coordinates
    if len(in_base) < spec.config.nq:
        carried = set(spec.config.joint_names) - set(modes.world.joint_names)
        raise ObjectiveError(
            f"function() has no value for {', '.join(sorted(carried))}: mode switches"
            " attach the frame of this joint. Lock it: C.lock(joint)."
        )

    def path(target: Float[jax.Array, " D"]) -> Float[jax.Array, "T nq"]:
        target = jnp.asarray(target, start.dtype)
        targeted = _with_target(data, parts, target)
        x = solve_differentiably(chain, targeted, start, options)
        base = jnp.zeros((len(x), len(in_base)), x.dtype)
        return base.at[:, in_base].set(x[:, in_world])

    return path


def _data_rates(
    record: SolveRecord, wrt: Objective | tuple[Literal["pose", "size"], FrameName]
) -> list[list[jax.Array]]:
    """Return the derivatives of the floating leaves of the data by each parameter."""
    if isinstance(wrt, Objective):
        index = _objective_index(record.spec, wrt)
        return _target_rates(record, record.locations[index])
    edit: FrameEdit
    match wrt:
        case ("pose", str(frame)):
            edit, count = _move_origin, 6
        case ("size", str(frame)):
            edit, count = _resize, len(_size(record.spec.config, frame))
        case _:
            raise ObjectiveError(
                f"wrt is {wrt!r}, expected an objective that add_objective returned,"
                " ('pose', frame) or ('size', frame)."
            )
    _check_frame(record.spec.config, frame)
    # eps^(1/3) balances truncation and rounding of central differences
    # (Nocedal and Wright 2006, section 8.1).
    step = float(jnp.finfo(record.x.dtype).eps ** (1 / 3))
    rates = []
    for d in step * np.eye(count):
        above, below = (
            _floating_leaves(_data_of_edited(record, edit, frame, x)) for x in (d, -d)
        )
        rates.append([(a - b) / (2 * step) for a, b in zip(above, below, strict=True)])
    return rates


def _rate_in_base(record: SolveRecord, rate: Float[np.ndarray, "T n"]) -> np.ndarray:
    """Return rates of the user's coordinates from rates in the solved world."""
    modes, x = mode_sequence(record.spec), np.asarray(record.x, float)
    if modes.world is modes.base or not np.isfinite(rate).all():
        return rate
    step = 1e-5 / max(1.0, np.abs(rate).max())
    above, below = (modes.path_to_base(x + s * rate) for s in (step, -step))
    return (above - below) / (2 * step)


def _target_rates(
    record: SolveRecord, parts: list[RowLocation]
) -> list[list[jax.Array]]:
    """Return the derivatives of the data by each number of a target."""
    zeros = jax.tree.map(jnp.zeros_like, record.data)
    units = np.eye(record.data.batches[parts[0].batch].target.shape[-1])
    return [
        _floating_leaves(_with_target(zeros, parts, jnp.asarray(unit)))
        for unit in units
    ]


def _with_target(
    data: ChainData, parts: list[RowLocation], target: jax.Array
) -> ChainData:
    """Return the data with another target of one objective."""
    batches = list(data.batches)
    for part in parts:
        b = batches[part.batch]
        batches[part.batch] = b._replace(target=b.target.at[part.rows].set(target))
    return data._replace(batches=tuple(batches))


def _data_of_edited(
    record: SolveRecord, edit: FrameEdit, frame: str, change: np.ndarray
) -> ChainData:
    """Return the data of the same problem in a slightly different world."""
    world = record.spec.config.copy()
    edit(world, frame, change)
    chain, data, _ = compile_chain(record.spec.in_world(world))
    if chain != record.chain:
        raise ObjectiveError(
            "This parameter changes which rows there are, so there is no derivative."
        )
    return data


def _move_origin(C: Config, frame: str, twist: np.ndarray) -> None:
    """Shift and rotate a frame's constant origin, in its parent's axes."""
    i = C.index(frame)
    origin = np.asarray(C.frames[i].origin, float)
    p = origin[:3] + twist[:3]
    turned = quat_multiply(quat_exp(twist[3:]), origin[3:])
    C.replace_frame(frame, origin=np.concatenate([p, turned]))


def _resize(C: Config, frame: str, change: np.ndarray) -> None:
    """Change the outer sizes of a frame's only shape."""
    i = C.index(frame)
    geometry = C.frames[i].geometries[0]
    size = _size(C, frame) + change
    arguments = {
        f.name: getattr(geometry.shape, f.name) for f in fields(geometry.shape)
    }
    for name in SIZE_FIELDS[type(geometry.shape)]:
        count = np.size(arguments[name])
        part, size = size[:count], size[count:]
        arguments[name] = part if np.ndim(arguments[name]) else part[0]
    resized = replace(geometry, shape=type(geometry.shape)(**arguments))
    C.replace_frame(frame, geometries=(resized,))


def _size(C: Config, frame: str) -> np.ndarray:
    """Return the outer sizes of a frame's only shape."""
    _check_frame(C, frame)
    geometries = C.frame(frame).geometries
    if len(geometries) != 1 or type(geometries[0].shape) not in SIZE_FIELDS:
        kinds = ", ".join(kind.__name__ for kind in SIZE_FIELDS)
        names = ", ".join(type(g.shape).__name__ for g in geometries) or "no shape"
        raise ObjectiveError(
            f"wrt=('size', {frame!r}): the frame has {names}, expected one shape of"
            f" {kinds}."
        )
    shape = geometries[0].shape
    sizes = [np.ravel(getattr(shape, name)) for name in SIZE_FIELDS[type(shape)]]
    return np.concatenate(sizes).astype(float)


def _check_frame(C: Config, frame: str) -> None:
    """Raise an ObjectiveError for the world itself."""
    if C.index(frame) == len(C.frames):
        raise ObjectiveError("The world itself cannot be varied; name a frame.")


def _objective_index(spec: ProblemSpec, wrt: Any) -> int:
    """Return the index of an objective among those of a problem."""
    for i, objective in enumerate(spec.objectives):
        if objective is wrt:
            return i
    raise ObjectiveError(
        f"wrt is {wrt!r}, expected one of this problem's objectives, as add_objective"
        " returned it."
    )


def _floating_leaves(data: ChainData) -> list[jax.Array]:
    return [jnp.asarray(leaf) for leaf in jax.tree.leaves(data) if is_floating(leaf)]
