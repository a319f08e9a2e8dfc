"""Quantities that a path is a function of, as parts of the numbers of its problem."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree

from posewise.features.bound_feature import cast_floating
from posewise.features.quaternion_targets import traced_unit_target
from posewise.robots.config import Config
from posewise.robots.geometry.shape_sizes import sizes_of, with_sizes
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.typing import FrameName, VectorLike
from posewise.robots.world.moved_origins import MOVED_ARRAYS, with_origins

from ..chain.groups import ChainData
from ..chain.modes import original_name
from ..checks.outdated import outdated_constraints
from ..problem.params import objective_index
from ..problem.spec import ProblemCache, ProblemSpec, compile_chain, mode_sequence
from ..solution.targets import with_kinematics, with_params, with_target
from ..terms.objective import Objective, ObjectiveError
from .affine_data import AffineData, affine_data

Quantity: TypeAlias = (
    Objective | tuple[Literal["origin", "size"], FrameName] | tuple[str, Objective]
)
"""An objective: its target. Otherwise "params" of its function, its "scale", or an
option such as "margin"; the origin of a frame in its parent, or the sizes of its shape.
"""


class DataFunction(Protocol):
    """Numbers of a problem as a function of a quantity."""

    def __call__(self, value: Any) -> ChainData:
        """Return the numbers that depend on a value, and None for all others."""


def data_function(spec: ProblemSpec, wrt: Quantity) -> DataFunction:
    """Return the numbers of a problem as a function of a quantity.

    Raises:
        ObjectiveError: for what is no quantity of this problem, or none that its path
            is a differentiable function of.
    """
    if isinstance(wrt, Objective):
        return _TargetData(spec, wrt)
    match wrt:
        case ("params", Objective() as objective):
            return _ParamsData(spec, objective)
        case ("origin", str(frame)):
            return _OriginData(spec, frame)
        case ("size", str(frame)):
            return _data_of_size(spec, frame)
        case (str(name), Objective() as objective):
            return _data_of_option(spec, name, objective)
    raise ObjectiveError(
        f"wrt is {wrt!r}, expected an objective, as add_objective returned it;"
        ' ("params", objective), ("scale", objective) or one of its options, such as'
        ' ("margin", objective); or ("origin", frame) or ("size", frame).'
    )


class _TargetData:
    """Numbers as a function of the target of an objective."""

    def __init__(self, spec: ProblemSpec, wrt: Objective) -> None:
        _, self.data, locations = compile_chain(spec)
        self.parts = locations[objective_index(spec, wrt, "wrt")]
        self.feature = wrt.feature
        self.dim = int(self.data.batches[self.parts[0].batch].target.shape[-1])

    def __call__(self, value: VectorLike) -> ChainData:
        target = jnp.asarray(value, self.data.prefix.dtype)
        if target.shape != (self.dim,):
            raise ObjectiveError(
                f"The target has shape {target.shape}, expected ({self.dim},); for"
                " several targets use jax.vmap."
            )
        phi = self.feature
        target = traced_unit_target(phi.symbol, phi.order, phi.scale, target)
        return with_target(self.data, self.parts, target)


class _ParamsData:
    """Numbers as a function of the params of an objective's function."""

    def __init__(self, spec: ProblemSpec, wrt: Objective) -> None:
        _, self.data, locations = compile_chain(spec)
        self.parts = locations[objective_index(spec, wrt, "wrt")]
        self.name, self.params = wrt.name, wrt.feature.function_params

    def __call__(self, value: PyTree) -> ChainData:
        dtype = self.data.prefix.dtype
        leaves = {
            name: cast_floating(leaf, dtype)
            for name, leaf in self.params.traced_leaves(self.name, value).items()
        }
        return with_params(self.data, self.parts, leaves)


class _OriginData:
    """Numbers as a function of the constant pose of a frame in its parent."""

    def __init__(self, spec: ProblemSpec, frame: FrameName) -> None:
        tree = mode_sequence(spec).world.tree
        before = spec.world.frame(frame).origin
        self.frame, self.tree = frame, tree
        # Copies of what is carried keep their origins on what carries them.
        self.copies = [
            f.name
            for f in tree.model.frames
            if original_name(f.name) == frame and np.array_equal(f.origin, before)
        ]
        self.data = compile_chain(spec).data
        for objective in spec.objectives:
            if objective.feature.symbol.depends_on_origins:
                raise ObjectiveError(
                    f"{objective.name} reads constant poses of the world, so that the"
                    f" path is no differentiable function of the origin of {frame!r}."
                )

    def __call__(self, value: VectorLike) -> ChainData:
        pose = jnp.asarray(value)
        if pose.shape != (7,):
            raise ObjectiveError(
                f"The origin of {self.frame!r} has shape {pose.shape}, expected a pose"
                " (7,); for several origins use jax.vmap."
            )
        moved = with_origins(self.tree, self.data.K, dict.fromkeys(self.copies, pose))
        others: Any = {
            name: None
            for name in Kinematics.__dataclass_fields__
            if name not in (*MOVED_ARRAYS, "tree", "names")
        }
        return with_kinematics(self.data, replace(moved, **others))


def _data_of_option(
    spec: ProblemSpec, name: str, objective: Objective
) -> "_CheckedAffineData":
    """Return numbers as a function of an objective's scale, or of an option."""
    index = objective_index(spec, objective, "wrt")
    feature = spec.objectives[index].feature
    options: Mapping[str, Any] = {**feature.symbol.options, **feature.options}
    if name != "scale" and name not in options:
        params = [] if feature.params is None else ["params"]
        known = ", ".join(["target", *params, "scale", *options])
        raise ObjectiveError(
            f"wrt is ({name!r}, {objective.name!r}), but {feature.symbol.name} has no"
            f" {name!r}, expected one of: {known}."
        )
    present = feature.scale if name == "scale" else options[name]
    if present is None and name != "scale":
        raise ObjectiveError(
            f"wrt is ({name!r}, {objective.name!r}), which is None in this problem,"
            " expected a number that varies."
        )
    values = np.asarray(1.0 if present is None else present, float)

    def changed(value: Float[np.ndarray, "..."]) -> ProblemSpec:
        old = spec.objectives[index]
        new = replace(old, feature=old.feature.with_number(name, value))
        every = (*spec.objectives[:index], new, *spec.objectives[index + 1 :])
        cache = ProblemCache(modes=spec.cache.modes)
        return replace(spec, objectives=every, cache=cache)

    label = f"{name} of {objective.name}"
    return _CheckedAffineData(label, affine_data(spec, values, changed, label))


def _data_of_size(spec: ProblemSpec, frame: FrameName) -> "_CheckedAffineData":
    """Return numbers as a function of the sizes of a frame's shape."""
    C, label = spec.config, f"size of {frame!r}"
    solid = [g for g in C.frame(frame).geometries if g.collision]
    if len(solid) != 1:
        raise ObjectiveError(
            f"wrt is ('size', {frame!r}), but the frame has {len(solid)} shapes for"
            " collision, expected one."
        )
    (shape,) = (g.shape for g in solid)
    values = sizes_of(shape, frame)

    def changed(value: Float[np.ndarray, " sizes"]) -> ProblemSpec:
        world: Config = C.copy()
        other = with_sizes(shape, value)
        world.replace_frame(
            frame,
            geometries=tuple(
                replace(g, shape=other) if g.shape is shape else g
                for g in C.frame(frame).geometries
            ),
        )
        return spec.in_world(world)

    for sentence in outdated_constraints(changed(2 * values)):
        raise ObjectiveError(f"The path is no function of the {label}: {sentence}")
    data = affine_data(spec, values, changed, label)
    return _CheckedAffineData(label, data, is_size=True)


@dataclass(frozen=True)
class _CheckedAffineData:
    """Numbers as an affine function of a few values, whose shape is checked."""

    label: str
    data: AffineData
    is_size: bool = False
    """Whether values are sizes, so that none is negative."""

    def __call__(self, value: VectorLike) -> ChainData:
        x, expected = jnp.asarray(value, float), self.data.shape
        if x.size == 1 and expected in ((), (1,)):
            x = x.reshape(expected)
        if x.shape != expected:
            raise ObjectiveError(
                f"The {self.label} has shape {x.shape}, expected {expected}; for"
                " several values use jax.vmap."
            )
        is_known = not isinstance(x, jax.core.Tracer)
        if self.is_size and is_known and bool((x < 0).any()):
            raise ObjectiveError(
                f"The {self.label} is {x.tolist()}, expected sizes >= 0 [m]."
            )
        return self.data.at(x)
