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
from posewise.solvers.sensitivity import polish_with_curvature, solution_tangent

from ..chain.groups import ChainData
from ..problem.params import objective_index
from ..problem.spec import compile_chain, mode_sequence
from ..terms.objective import Objective, ObjectiveError
from .record import SolveRecord
from .targets import with_target

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
    varied, data_rates = _data_rates(record, wrt)
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
        np.asarray(solution_tangent(chain, data, point, varied, rate), float)
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


def _data_rates(
    record: SolveRecord, wrt: Objective | tuple[Literal["pose", "size"], FrameName]
) -> tuple[ChainData, list[ChainData]]:
    """Return the leaves of the data that vary, and their rate by each parameter."""
    if isinstance(wrt, Objective):
        parts = record.locations[objective_index(record.spec, wrt, "wrt")]
        units = np.eye(record.data.batches[parts[0].batch].target.shape[-1])
        zeros = jax.tree.map(jnp.zeros_like, record.data)
        varied = with_target(record.data, parts, None)
        return varied, [with_target(zeros, parts, jnp.asarray(u)) for u in units]
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
        rates.append(jax.tree.map(lambda a, b: (a - b) / (2 * step), above, below))
    return _floating_leaves(record.data), rates


def _rate_in_base(record: SolveRecord, rate: Float[np.ndarray, "T n"]) -> np.ndarray:
    """Return rates of the user's coordinates from rates in the solved world."""
    modes, x = mode_sequence(record.spec), np.asarray(record.x, float)
    if modes.world is modes.base or not np.isfinite(rate).all():
        return rate
    step = 1e-5 / max(1.0, np.abs(rate).max())
    above, below = (modes.path_to_base(x + s * rate) for s in (step, -step))
    return (above - below) / (2 * step)


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


def _floating_leaves(data: ChainData) -> ChainData:
    """Return the leaves that may change smoothly, and None for all others."""

    def leaf(a: Any) -> jax.Array | None:
        is_floating = jnp.issubdtype(jnp.result_type(a), jnp.floating)
        return jnp.asarray(a) if is_floating else None

    return jax.tree.map(leaf, data)
