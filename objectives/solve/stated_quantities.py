"""Quantities that a problem is stated with, and the same problem with others.

They are options and scales of objectives, numbers of predicates, sizes of shapes and
constant poses of frames. Paths are functions of them, and problems of a batch differ
in them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.geometry.shape_sizes import sizes_of, with_sizes
from posewise.robots.typing import FrameName, MatrixLike, VectorLike
from posewise.robots.validation import float_array, require_finite
from posewise.robots.world.argument_parsing import parse_pose

from ..checks.outdated import outdated_constraints
from ..problem.params import objective_index
from ..problem.spec import ProblemCache, ProblemSpec
from ..terms.interval import SupportsObjectives
from ..terms.objective import Objective, ObjectiveError
from .constraint_numbers import ConstraintNumber, constraint_of

StatedName: TypeAlias = (
    tuple[Literal["origin", "size"], FrameName]
    | tuple[str, Objective | SupportsObjectives]
)
"""The "scale" of an objective, or an option such as its "margin"; a number of a
predicate, such as "nearness"; the origin of a frame in its parent, or the sizes of its
shape."""


@dataclass(frozen=True)
class StatedQuantity:
    """Values of a quantity in a problem, and how it is stated with others."""

    label: str
    present: Float[np.ndarray, "..."]
    changed: Callable[[ProblemSpec, Float[np.ndarray, "..."]], ProblemSpec]
    """Returns a problem with other values."""
    check: Callable[[Float[np.ndarray, "..."]], None] = lambda values: None
    """Raises for values that cannot be."""
    restates: bool = False
    """Whether `changed` makes all of some objectives again, scales among it."""


def stated_quantity(spec: ProblemSpec, name: StatedName) -> StatedQuantity:
    """Return a quantity of a problem by its name.

    Raises:
        ObjectiveError: for what is no quantity of this problem.
        ConfigError: for an unknown frame, or a shape without sizes.
    """
    match name:
        case ("origin", str(frame)):
            return _origin(spec, frame)
        case ("size", str(frame)):
            return _size(spec, frame)
        case (str(option), Objective() as objective):
            return _option(spec, option, objective)
        case (str(number), SupportsObjectives() as constraint):
            return _number(spec, number, constraint)
    raise ObjectiveError(
        f"The quantity is {name!r}, expected an objective, as add_objective returned"
        ' it; ("params", objective), ("scale", objective) or one of its options, such'
        ' as ("margin", objective); ("nearness", predicate) or another number of a'
        ' predicate; or ("origin", frame) or ("size", frame).'
    )


def with_quantities(
    specs: Sequence[ProblemSpec], values: Mapping[StatedName, VectorLike | MatrixLike]
) -> list[ProblemSpec]:
    """Return the problem of each world, or one for all, with values of each problem.

    Args:
        specs: the problem in one world, or in that of each problem.
        values: of each quantity, with a first axis of problems.

    Raises:
        ObjectiveError: for what is no quantity, or values that do not fit.
    """
    if not isinstance(values, Mapping):
        raise ObjectiveError(
            f"quantities is {values!r}, expected a mapping of quantities, such as"
            ' ("margin", objective), to their values in all problems.'
        )
    if not values or not specs:
        return list(specs)
    for name in values:
        match name:
            case Objective() | ("params", Objective()):
                raise ObjectiveError(
                    f"quantities has {name!r}, expected other quantities: targets are"
                    " given as targets={objective: …}, params as params=…."
                )
    every = [[stated_quantity(spec, name) for name in values] for spec in specs]
    count = len(specs)
    columns: list[np.ndarray] = []
    for quantity, rows in zip(every[0], values.values(), strict=True):
        columns.append(_values_of_problems(quantity, rows, count))
        count = len(columns[-1])
    problems = []
    for b in range(count):
        spec = specs[b % len(specs)]
        stated = zip(every[b % len(specs)], columns, strict=True)
        # Other changes of an objective would be lost if it were made again after them.
        for quantity, column in sorted(stated, key=lambda pair: not pair[0].restates):
            quantity.check(column[b])
            spec = quantity.changed(spec, column[b])
        problems.append(spec)
    return problems


def _values_of_problems(
    quantity: StatedQuantity, rows: VectorLike | MatrixLike, count: int
) -> Float[np.ndarray, "problems ..."]:
    """Return the checked values of a quantity in all problems; count 1: any number."""
    label, shape = f"quantities, {quantity.label}:", quantity.present.shape
    values = float_array(label, rows, "numbers (problems, …)", ObjectiveError)
    got = values.shape
    if values.ndim == 1 and shape == (1,):
        values = values[:, None]
    number = len(values) if values.ndim and count == 1 else count
    if not number or values.shape != (number, *shape):
        expected = ", ".join(
            str(n) for n in (count if count > 1 else "problems", *shape)
        )
        raise ObjectiveError(
            f"{label} got values of shape {got}, expected ({expected}): those of each"
            " problem along the first axis."
        )
    require_finite(label, values, ObjectiveError)
    return values


def _option(spec: ProblemSpec, name: str, objective: Objective) -> StatedQuantity:
    """Return an objective's scale, or an option.

    A name that is neither may be that of a number of the predicate that the objective
    comes from.
    """
    index = objective_index(spec, objective, "the quantity's objective")
    feature = spec.objectives[index].feature
    options: Mapping[str, Any] = {**feature.symbol.options, **feature.options}
    if name != "scale" and name not in options:
        constraint = constraint_of(spec, spec.objectives[index], name)
        if constraint is not None:
            return _number(spec, name, constraint)
        params = [] if feature.params is None else ["params"]
        known = ", ".join(["target", *params, "scale", *options])
        raise ObjectiveError(
            f"The quantity is ({name!r}, {objective.name!r}), but"
            f" {feature.symbol.name or 'it'} has no {name!r}, expected one of: {known}."
        )
    present = feature.scale if name == "scale" else options[name]
    if present is None and name != "scale":
        raise ObjectiveError(
            f"The quantity is ({name!r}, {objective.name!r}), which is None in this"
            " problem, expected a number that varies."
        )
    values = np.asarray(1.0 if present is None else present, float)

    def changed(spec: ProblemSpec, value: Float[np.ndarray, "..."]) -> ProblemSpec:
        old = spec.objectives[index]
        new = replace(
            old,
            feature=old.feature.with_number(name, value),
            source=old.source or old,
        )
        every = (*spec.objectives[:index], new, *spec.objectives[index + 1 :])
        cache = ProblemCache(modes=spec.cache.modes)
        return replace(spec, objectives=every, cache=cache)

    return StatedQuantity(f"{name} of {objective.name}", values, changed)


def _number(
    spec: ProblemSpec, name: str, constraint: SupportsObjectives
) -> StatedQuantity:
    """Return a number of a predicate."""
    number = ConstraintNumber(spec, name, constraint)
    return StatedQuantity(
        number.label,
        np.array(number.present),
        lambda spec, value: number.changed(spec, float(value)),
        lambda value: number.check(float(value)),
        restates=True,
    )


def _size(spec: ProblemSpec, frame: FrameName) -> StatedQuantity:
    """Return the sizes of a frame's shape."""
    label = f"size of {frame!r}"
    solid = [g for g in spec.config.frame(frame).geometries if g.collision]
    if len(solid) != 1:
        raise ObjectiveError(
            f"The quantity is ('size', {frame!r}), but the frame has {len(solid)}"
            " shapes for collision, expected one."
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
    return StatedQuantity(label, values, changed, check)


def _origin(spec: ProblemSpec, frame: FrameName) -> StatedQuantity:
    """Return the constant pose of a frame in its parent, before its joint."""

    def changed(spec: ProblemSpec, pose: Float[np.ndarray, "7"]) -> ProblemSpec:
        world: Config = spec.config.copy()
        origin = parse_pose(f"origin of {frame!r}", None, None, pose)
        world.replace_frame(frame, origin=origin)
        return spec.in_world(world)

    present = np.asarray(spec.world.frame(frame).origin, float)
    return StatedQuantity(f"origin of {frame!r}", present, changed)
