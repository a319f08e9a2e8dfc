"""How a solved path moves with targets, poses and sizes."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.geometry import shapes
from posewise.robots.kinematics.transforms import quat_exp, quat_multiply
from posewise.solvers import Options
from posewise.solvers.sensitivity import (
    is_floating,
    polish_with_curvature,
    solution_tangent,
    solve_differentiably,
)

from ..chain.builder import RowLocation
from ..chain.groups import ChainData
from ..chain.problem import Chain
from ..objective import Objective, ObjectiveError
from ..path_problem import PathProblem

_SIZES = {
    shapes.Sphere: ("radius",),
    shapes.Capsule: ("length", "radius"),
    shapes.Box: ("size",),
    shapes.Cylinder: ("length", "radius"),
    shapes.Ellipsoid: ("radii",),
}


class SolveRecord(NamedTuple):
    """A problem as it was solved, and where the solver ended."""

    komo: PathProblem
    """With its own copy of the world."""
    chain: Chain
    data: ChainData
    placed: list[list[RowLocation]]
    x: Any
    y: Any
    """Of all rows, in line."""
    multipliers: Any

    def rows(self) -> list[tuple[Objective, np.ndarray]]:
        """Of each objective the scaled rows (slices, rows)."""
        y = np.asarray(self.y, float)
        of = lambda at: np.maximum(y[at.line], at.floor)
        values = [np.concatenate([of(at) for at in every]) for every in self.placed]
        return list(zip(self.komo.objectives, values, strict=True))


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivative of a solution by some parameters."""

    path: np.ndarray
    """(T, nq, D): how the coordinates of each slice move with each parameter."""
    regular: bool
    """The solution is unique near here and moves smoothly."""
    message: str
    """What is wrong where it is not regular."""


def solution_sensitivity(solved: SolveRecord | None, wrt: Any) -> Sensitivity:
    """See `Solution.sensitivity`."""
    if solved is None:
        raise ObjectiveError("This solution was not made by KOMO; solve to get one.")
    chain, data = solved.chain, jax.tree.map(jnp.asarray, solved.data)
    solved = solved._replace(data=data)
    changes = _changes(solved, wrt)
    x, multipliers = jax.tree.map(jnp.asarray, (solved.x, solved.multipliers))
    at, curvature = polish_with_curvature(chain, data, x, multipliers)
    eps = float(jnp.finfo(x.dtype).eps)
    if not float(at.residual) <= eps**0.5:
        raise ObjectiveError(
            "This solution has no sensitivity: near it no point fulfils the"
            f" optimality conditions (the best misses by {float(at.residual):.1e})."
            " Solve to convergence, and check the solution's status."
        )
    rates = [np.asarray(solution_tangent(chain, data, at, c), float) for c in changes]
    path = np.stack([_narrowed(solved, rate) for rate in rates], -1)
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
            " this is its least motion; add a control objective to make it unique."
        )
    if bool(at.is_degenerate):
        flaws.append(
            "A limit or an inequality is just touched without force: this is the"
            " derivative on one side, with the rows that push now."
        )
    return Sensitivity(path, not flaws, " ".join(flaws))


def target_function(
    komo: PathProblem, wrt: Any, options: Options
) -> Callable[[Float[jax.Array, " D"]], Float[jax.Array, "T nq"]]:
    """See `KOMO.function`."""
    chain, data, placed = komo.chain()
    places = placed[_place(komo, wrt)]
    start = jnp.asarray(komo.starts(0, 1)[0], data.prefix.dtype)
    modes = komo.modes()
    of_world, own = modes.coordinates
    if len(own) < komo.config.nq:
        carried = set(komo.config.joint_names) - set(modes.world.joint_names)
        raise ObjectiveError(
            f"function() has no place for {', '.join(sorted(carried))}: mode switches"
            " attach what moves on this joint. Lock it: C.lock(joint)."
        )

    def path(target: Float[jax.Array, " D"]) -> Float[jax.Array, "T nq"]:
        target = jnp.asarray(target, start.dtype)
        x = solve_differentiably(chain, _aimed(data, places, target), start, options)
        return jnp.zeros((len(x), len(own)), x.dtype).at[:, own].set(x[:, of_world])

    return path


def _changes(solved: SolveRecord, wrt: Any) -> list[list[jax.Array]]:
    """For each parameter, the rates of the floating leaves of the data."""
    if isinstance(wrt, Objective):
        return _target_change(solved, solved.placed[_place(solved.komo, wrt)])
    edit: Callable[[Config, str, np.ndarray], None]
    match wrt:
        case ("pose", str(frame)):
            edit, count = _moved, 6
        case ("size", str(frame)):
            edit, count = _resized, len(_size(solved.komo.config, frame))
        case _:
            raise ObjectiveError(
                f"wrt is {wrt!r}, expected an objective that add_objective returned,"
                " ('pose', frame) or ('size', frame)."
            )
    _check_frame(solved.komo.config, frame)
    step = float(jnp.finfo(solved.x.dtype).eps ** (1 / 3))
    rates = []
    for d in step * np.eye(count):
        ahead, back = (_floats(_edited(solved, edit, frame, x)) for x in (d, -d))
        rates.append([(a - b) / (2 * step) for a, b in zip(ahead, back, strict=True)])
    return rates


def _narrowed(solved: SolveRecord, rate: Float[np.ndarray, "T n"]) -> np.ndarray:
    """Rates of the world's coordinates from those of the world with its copies."""
    modes, x = solved.komo.modes(), np.asarray(solved.x, float)
    if modes.world is modes.base or not np.isfinite(rate).all():
        return rate
    step = 1e-5 / max(1.0, np.abs(rate).max())
    ahead, back = (modes.narrow_path(x + s * rate) for s in (step, -step))
    return (ahead - back) / (2 * step)


def _target_change(
    solved: SolveRecord, places: list[RowLocation]
) -> list[list[jax.Array]]:
    data = solved.data
    still = jax.tree.map(jnp.zeros_like, data)
    units = np.eye(data.batches[places[0].batch].target.shape[-1])
    return [_floats(_aimed(still, places, jnp.asarray(unit))) for unit in units]


def _aimed(data: ChainData, places: list[RowLocation], target: jax.Array) -> ChainData:
    """The data with another target of one objective."""
    batches = list(data.batches)
    for at in places:
        b = batches[at.batch]
        batches[at.batch] = b._replace(target=b.target.at[at.rows].set(target))
    return data._replace(batches=tuple(batches))


def _edited(
    solved: SolveRecord,
    edit: Callable[[Config, str, np.ndarray], None],
    frame: str,
    change: np.ndarray,
) -> ChainData:
    """The data of the same problem in a world that is a little different."""
    world = solved.komo.config.copy()
    edit(world, frame, change)
    chain, data, _ = solved.komo.within(world).chain()
    if chain != solved.chain:
        raise ObjectiveError(
            "This parameter changes which rows there are, so there is no derivative."
        )
    return data


def _moved(C: Config, frame: str, twist: np.ndarray) -> None:
    """Shift and turn a frame's constant origin, in its parent's axes."""
    i = C.index(frame)
    origin = np.asarray(C.frames[i].origin, float)
    p = origin[:3] + twist[:3]
    turned = quat_multiply(quat_exp(twist[3:]), origin[3:])
    C.replace_frame(frame, origin=np.concatenate([p, turned]))


def _resized(C: Config, frame: str, change: np.ndarray) -> None:
    i = C.index(frame)
    geometry = C.frames[i].geometries[0]
    size = _size(C, frame) + change
    given = {f.name: getattr(geometry.shape, f.name) for f in fields(geometry.shape)}
    for name in _SIZES[type(geometry.shape)]:
        count = np.size(given[name])
        part, size = size[:count], size[count:]
        given[name] = part if np.ndim(given[name]) else part[0]
    made = replace(geometry, shape=type(geometry.shape)(**given))
    C.replace_frame(frame, geometries=(made,))


def _size(C: Config, frame: str) -> np.ndarray:
    _check_frame(C, frame)
    found = C.frame(frame).geometries
    if len(found) != 1 or type(found[0].shape) not in _SIZES:
        kinds = ", ".join(kind.__name__ for kind in _SIZES)
        names = ", ".join(type(g.shape).__name__ for g in found) or "no shape"
        raise ObjectiveError(
            f"wrt=('size', {frame!r}): the frame has {names}, expected one shape of"
            f" {kinds}."
        )
    shape = found[0].shape
    sizes = [np.ravel(getattr(shape, name)) for name in _SIZES[type(shape)]]
    return np.concatenate(sizes).astype(float)


def _check_frame(C: Config, frame: str) -> None:
    if C.index(frame) == len(C.frames):
        raise ObjectiveError("The world itself cannot be varied; name a frame.")


def _place(komo: PathProblem, wrt: Any) -> int:
    """Which of the problem's objectives it is."""
    for i, objective in enumerate(komo.objectives):
        if objective is wrt:
            return i
    raise ObjectiveError(
        f"wrt is {wrt!r}, expected one of this problem's objectives, as add_objective"
        " returned it."
    )


def _floats(data: ChainData) -> list[jax.Array]:
    return [jnp.asarray(leaf) for leaf in jax.tree.leaves(data) if is_floating(leaf)]
