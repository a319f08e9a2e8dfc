"""Quantities that a path is a function of, as parts of the numbers of its problem."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from posewise.features.bound_feature import cast_floating
from posewise.features.quaternion_targets import traced_unit_target
from posewise.robots.typing import FrameName, VectorLike
from posewise.robots.world.moved_origins import with_origins
from posewise.solvers.sensitivity import replace_leaves

from ..chain.groups import ChainData
from ..chain.modes import original_name
from ..problem.params import objective_index
from ..problem.spec import ProblemSpec, compile_chain, mode_sequence
from ..solution.targets import with_kinematics, with_params, with_target
from ..terms.objective import Objective, ObjectiveError
from .affine_quantities import AffineQuantity, affine_quantity, require_independent
from .stated_quantities import StatedName, stated_quantity

Quantity: TypeAlias = Objective | StatedName
"""An objective: its target. Otherwise "params" of its function, or what its problem is
stated with.
"""


class DataFunction(Protocol):
    """Numbers of a problem as a function of a quantity."""

    @property
    def present(self) -> PyTree:
        """The value in the problem."""

    def __call__(self, data: ChainData, value: Any) -> ChainData:
        """Return the numbers that depend on a value, and None for all others.

        Args:
            data: numbers of the problem, perhaps at other values of other quantities.
            value: the value.
        """


def data_function(spec: ProblemSpec, wrt: Quantity | list[Quantity]) -> DataFunction:
    """Return the numbers of a problem as a function of a quantity, or of several.

    Raises:
        ObjectiveError: for what is no quantity of this problem, or none that its path
            is a differentiable function of.
    """
    if isinstance(wrt, list):
        return _ListData(spec, wrt)
    if isinstance(wrt, Objective):
        return _TargetData(spec, wrt)
    match wrt:
        case ("params", Objective() as objective):
            return _ParamsData(spec, objective)
        case ("origin", str(frame)):
            return _OriginData(spec, frame)
    return affine_quantity(spec, stated_quantity(spec, wrt))


class _ListData:
    """Numbers as a function of the values of several quantities."""

    def __init__(self, spec: ProblemSpec, wrt: list[Quantity]) -> None:
        twice = [q for i, q in enumerate(wrt) if q in wrt[:i]]
        if twice or not wrt:
            got = f"has {twice[0]!r} twice" if twice else "is empty"
            raise ObjectiveError(f"wrt {got}, expected a list of different quantities.")
        self.parts = [data_function(spec, quantity) for quantity in wrt]
        self.present = [part.present for part in self.parts]
        affine = [part for part in self.parts if isinstance(part, AffineQuantity)]
        if len(affine) > 1:
            require_independent(spec, affine)

    def __call__(self, data: ChainData, value: Sequence[Any]) -> ChainData:
        if not isinstance(value, (list, tuple)) or len(value) != len(self.parts):
            got = f"{len(value)} values" if isinstance(value, (list, tuple)) else "one"
            raise ObjectiveError(
                f"The path is a function of {len(self.parts)} quantities, but got"
                f" {got}: expected a list of {len(self.parts)} values, one of each."
            )
        before, structure = jax.tree.flatten(data)
        for part, its_value in zip(self.parts, value, strict=True):
            data = replace_leaves(data, part(data, its_value))
        after = jax.tree.leaves(data)
        varied = [b if b is not a else None for a, b in zip(before, after, strict=True)]
        numbers: ChainData = jax.tree.unflatten(structure, varied)
        return numbers


class _TargetData:
    """Numbers as a function of the target of an objective."""

    def __init__(self, spec: ProblemSpec, wrt: Objective) -> None:
        _, data, locations = compile_chain(spec)
        self.parts = locations[objective_index(spec, wrt, "wrt")]
        self.feature = wrt.feature
        first = self.parts[0]
        self.present = np.asarray(data.batches[first.batch].target)[first.rows[0]]

    def __call__(self, data: ChainData, value: VectorLike) -> ChainData:
        target, expected = jnp.asarray(value, data.prefix.dtype), self.present.shape
        if target.shape != expected:
            raise ObjectiveError(
                f"The target has shape {target.shape}, expected {expected}; for"
                " several targets use jax.vmap."
            )
        phi = self.feature
        target = traced_unit_target(phi.symbol, phi.order, phi.scale, target)
        return with_target(data, self.parts, target)


class _ParamsData:
    """Numbers as a function of the params of an objective's function."""

    def __init__(self, spec: ProblemSpec, wrt: Objective) -> None:
        index = objective_index(spec, wrt, "wrt")
        self.parts = compile_chain(spec).locations[index]
        self.name, self.params = wrt.name, wrt.feature.function_params
        self.present = spec.objectives[index].feature.params

    def __call__(self, data: ChainData, value: PyTree) -> ChainData:
        dtype = data.prefix.dtype
        leaves = {
            name: cast_floating(leaf, dtype)
            for name, leaf in self.params.traced_leaves(self.name, value).items()
        }
        return with_params(data, self.parts, leaves)


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
        self.present = np.asarray(before, float)
        for objective in spec.objectives:
            if objective.feature.symbol.depends_on_origins:
                raise ObjectiveError(
                    f"{objective.name} reads constant poses of the world, so that the"
                    f" path is no differentiable function of the origin of {frame!r}."
                )

    def __call__(self, data: ChainData, value: VectorLike) -> ChainData:
        pose = jnp.asarray(value)
        if pose.shape != (7,):
            raise ObjectiveError(
                f"The origin of {self.frame!r} has shape {pose.shape}, expected a pose"
                " (7,); for several origins use jax.vmap."
            )
        moved = with_origins(self.tree, data.K, dict.fromkeys(self.copies, pose))
        # What does not depend on origins is the same array.
        varied = jax.tree.map(lambda b, a: None if b is a else b, moved, data.K)
        return with_kinematics(data, varied)
