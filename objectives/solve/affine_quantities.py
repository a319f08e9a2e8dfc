"""Quantities that enter the numbers of a problem affinely: options, sizes, predicates'.

See `affine_data`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.geometry.shape_sizes import sizes_of, with_sizes
from posewise.robots.typing import FrameName, VectorLike
from posewise.solvers.sensitivity import replace_leaves

from ..chain.groups import ChainData
from ..checks.outdated import outdated_constraints
from ..problem.params import objective_index
from ..problem.spec import ProblemCache, ProblemSpec, compile_chain
from ..terms.interval import SupportsObjectives
from ..terms.objective import Objective, ObjectiveError
from .affine_data import AffineData, affine_data, exact_steps, require_sum
from .constraint_numbers import ConstraintNumber, constraint_of


@dataclass(frozen=True)
class AffineQuantity:
    """Numbers as an affine function of a few values, whose shape is checked."""

    label: str
    changed: Callable[[ProblemSpec, Float[np.ndarray, "..."]], ProblemSpec]
    """Returns a problem with other values."""
    check: Callable[[Float[np.ndarray, "..."]], None]
    """Raises for values that cannot be."""
    data: AffineData
    restates: bool = False
    """Whether `changed` makes all of some objectives again, scales among it."""

    @property
    def present(self) -> Float[np.ndarray, "..."]:
        """The values in the problem."""
        return self.data.present.reshape(self.data.shape)

    def __call__(self, data: ChainData, value: VectorLike) -> ChainData:
        x, expected = jnp.asarray(value, float), self.data.shape
        if x.size == 1 and expected in ((), (1,)):
            x = x.reshape(expected)
        if x.shape != expected:
            raise ObjectiveError(
                f"The {self.label} has shape {x.shape}, expected {expected}; for"
                " several values use jax.vmap."
            )
        if not isinstance(x, jax.core.Tracer):
            self.check(np.asarray(x))
        return self.data.at(data, x)


def quantity_of_option(
    spec: ProblemSpec, name: str, objective: Objective
) -> AffineQuantity:
    """Return numbers as a function of an objective's scale, or of an option.

    A name that is neither may be that of a number of the predicate that the objective
    comes from.
    """
    index = objective_index(spec, objective, "wrt")
    feature = spec.objectives[index].feature
    options: Mapping[str, Any] = {**feature.symbol.options, **feature.options}
    if name != "scale" and name not in options:
        constraint = constraint_of(spec, spec.objectives[index], name)
        if constraint is not None:
            return quantity_of_constraint(spec, name, constraint)
        params = [] if feature.params is None else ["params"]
        known = ", ".join(["target", *params, "scale", *options])
        raise ObjectiveError(
            f"wrt is ({name!r}, {objective.name!r}), but"
            f" {feature.symbol.name or 'it'} has no {name!r}, expected one of: {known}."
        )
    present = feature.scale if name == "scale" else options[name]
    if present is None and name != "scale":
        raise ObjectiveError(
            f"wrt is ({name!r}, {objective.name!r}), which is None in this problem,"
            " expected a number that varies."
        )
    values = np.asarray(1.0 if present is None else present, float)

    def changed(spec: ProblemSpec, value: Float[np.ndarray, "..."]) -> ProblemSpec:
        old = spec.objectives[index]
        new = replace(old, feature=old.feature.with_number(name, value))
        every = (*spec.objectives[:index], new, *spec.objectives[index + 1 :])
        cache = ProblemCache(modes=spec.cache.modes)
        return replace(spec, objectives=every, cache=cache)

    return _affine_quantity(spec, f"{name} of {objective.name}", values, changed)


def quantity_of_constraint(
    spec: ProblemSpec, name: str, constraint: SupportsObjectives
) -> AffineQuantity:
    """Return numbers as a function of a number of a predicate."""
    number = ConstraintNumber(spec, name, constraint)
    quantity = _affine_quantity(
        spec,
        number.label,
        np.array(number.present),
        lambda spec, value: number.changed(spec, float(value)),
        lambda value: number.check(float(value)),
    )
    return replace(quantity, restates=True)


def quantity_of_size(spec: ProblemSpec, frame: FrameName) -> AffineQuantity:
    """Return numbers as a function of the sizes of a frame's shape."""
    label = f"size of {frame!r}"
    solid = [g for g in spec.config.frame(frame).geometries if g.collision]
    if len(solid) != 1:
        raise ObjectiveError(
            f"wrt is ('size', {frame!r}), but the frame has {len(solid)} shapes for"
            " collision, expected one."
        )
    (shape,) = (g.shape for g in solid)
    values = sizes_of(shape, frame)

    def changed(spec: ProblemSpec, value: Float[np.ndarray, " sizes"]) -> ProblemSpec:
        world: Config = spec.config.copy()
        other = with_sizes(shape, value)
        world.replace_frame(
            frame,
            geometries=tuple(
                replace(g, shape=other) if g.shape is shape else g
                for g in spec.config.frame(frame).geometries
            ),
        )
        return spec.in_world(world)

    def check(value: Float[np.ndarray, " sizes"]) -> None:
        if (value < 0).any():
            raise ObjectiveError(
                f"The {label} is {value.tolist()}, expected sizes >= 0 [m]."
            )

    for sentence in outdated_constraints(changed(spec, 2 * values)):
        raise ObjectiveError(f"The path is no function of the {label}: {sentence}")
    return _affine_quantity(spec, label, values, changed, check)


def require_independent(spec: ProblemSpec, parts: Sequence[AffineQuantity]) -> None:
    """Raise an ObjectiveError if numbers depend on products of quantities."""
    data: ChainData = compile_chain(spec).data
    every = spec
    # Other changes of an objective would be lost if it were made again after them.
    for part in sorted(parts, key=lambda part: not part.restates):
        value = part.present + exact_steps(part.present)
        data = replace_leaves(data, part(data, value))
        every = part.changed(every, value)
    label = " and the ".join(part.label for part in parts)
    require_sum(data, compile_chain(every).data, label)


def _affine_quantity(
    spec: ProblemSpec,
    label: str,
    values: Float[np.ndarray, "..."],
    changed: Callable[[ProblemSpec, Float[np.ndarray, "..."]], ProblemSpec],
    check: Callable[[Float[np.ndarray, "..."]], None] = lambda values: None,
) -> AffineQuantity:
    """Return numbers as a function of values, by building the problem with others.

    Raises:
        ObjectiveError: see `affine_data`.
    """
    data = affine_data(spec, values, lambda value: changed(spec, value), label)
    return AffineQuantity(label, changed, check, data)
