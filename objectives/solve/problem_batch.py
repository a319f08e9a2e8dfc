"""Batches of problems that differ only in numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Int, PyTree

from posewise.compilation.capacity import make_tables
from posewise.features.functions.custom_symbol import tracing_once
from posewise.features.quaternion_targets import unit_target
from posewise.robots.validation import float_array, require_finite

from ..chain.builder import RowLocation
from ..chain.groups import ChainData
from ..chain.problem import Chain
from ..problem.params import objective_index, param_rows
from ..problem.spec import (
    CompiledProblem,
    LastResult,
    ProblemSpec,
    compile_chain,
    mode_sequence,
    program_purpose,
)
from ..terms.objective import Objective, ObjectiveError


@dataclass(frozen=True, eq=False)
class ProblemBatch:
    """Problems of one structure, each in its world and with its targets."""

    count: int
    specs: Sequence[ProblemSpec]
    """One specification for all problems, or one for each."""
    chain: Chain
    tree: Any
    """Structure of the data, as a JAX tree."""
    leaves: list[Any]
    """Arrays of the data."""
    varied: list[bool]
    """Whether each array has a leading axis, because it differs between problems."""
    locations: list[list[RowLocation]]
    initial: Sequence[np.ndarray] | None = None
    """Initial path (T, nq) of each problem; None: those of the specifications."""

    def world_index(
        self, which: Sequence[int] | Int[np.ndarray, " k"]
    ) -> Int[np.ndarray, " k"]:
        """Return the index in `specs` of some problems."""
        return np.asarray(which) % len(self.specs)

    def world_spec(self, b: int) -> ProblemSpec:
        """Return the specification in the world of problem b; one for each world."""
        return self.specs[b % len(self.specs)]

    def spec(self, b: int) -> ProblemSpec:
        """Return the specification of problem b, without its targets."""
        spec = self.world_spec(b)
        return spec if self.initial is None else spec.from_path(self.initial[b])

    def data(self, b: int) -> ChainData:
        """Return the data of problem b."""
        pairs = zip(self.leaves, self.varied, strict=True)
        return jax.tree.unflatten(self.tree, [a[b] if v else a for a, v in pairs])

    def leaves_of(self, which: Sequence[int]) -> list[Any]:
        """Return the arrays; those that vary have the rows of some problems."""
        pairs = zip(self.leaves, self.varied, strict=True)
        rows = np.asarray(which)
        return [a[rows] if v else a for a, v in pairs]

    @property
    def dtype(self) -> Any:
        """Type of the coordinates."""
        return self.data(0).prefix.dtype


@tracing_once()
def make_problem_batch(
    specs: Sequence[ProblemSpec],
    targets: Mapping[Objective, Any],
    initial: Sequence[np.ndarray] | None = None,
    params: Mapping[Objective, PyTree] | None = None,
) -> ProblemBatch:
    """Return a batch of a problem in one or several worlds, with several targets.

    Args:
        specs: the same problem in each world.
        targets: see `KOMO.solve_batch`.
        initial: the initial path (T, nq) of each problem; None: those of `specs`.
        params: see `KOMO.solve_batch`.

    Raises:
        ObjectiveError: for worlds, targets or a number of paths that do not fit.
    """
    if not specs:
        raise ObjectiveError("worlds is empty, but there are targets or initial paths.")
    compiled = _compile_alike(specs)
    first = compiled[0]
    leaves, varied = _stack_leaves([problem.data for problem in compiled])
    count = _set_targets(first, leaves, varied, targets, specs)
    count = _set_params(first, leaves, varied, params or {}, specs[0], count)
    if initial is not None:
        count = len(initial) if count == 1 and not targets else count
        if len(initial) != count:
            raise ObjectiveError(
                f"initial_paths has {len(initial)} paths, expected {count}: one for"
                " each problem."
            )
    return ProblemBatch(
        count,
        specs,
        first.chain,
        jax.tree.structure(first.data),
        leaves,
        varied,
        first.locations,
        initial,
    )


def _compile_alike(specs: Sequence[ProblemSpec]) -> list[CompiledProblem]:
    """Return problems of one structure, with room for what is in each world.

    Raises:
        ObjectiveError: for worlds that differ in more than what is data.
    """

    def compile_again() -> list[CompiledProblem]:
        for spec in specs:
            spec.cache.compiled = LastResult()
        return [compile_chain(spec) for spec in specs]

    compiled = _with_equal_frames(specs, [compile_chain(spec) for spec in specs])
    if _odd_one(compiled) is None:
        return compiled
    together = make_tables(program_purpose(specs[0]), compile_again)
    compiled = _with_equal_frames(specs, together)
    if (odd := _odd_one(compiled)) is not None:
        raise ObjectiveError(
            f"Problem {odd} of the batch has another structure than the first one: a"
            " world with other joints, or objectives that have other rows; only"
            " numbers, and the bodies around the robot, may differ."
        )
    return compiled


def _with_equal_frames(
    specs: Sequence[ProblemSpec], compiled: Sequence[CompiledProblem]
) -> list[CompiledProblem]:
    """Return problems whose kinematics have room for the frames of each of them."""
    room = {problem.data.K.first_node_frame for problem in compiled}
    if len(room) == 1:
        return list(compiled)
    return [
        problem._replace(
            data=problem.data._replace(
                K=mode_sequence(spec).world.tree.model.program_kinematics(max(room))
            )
        )
        for spec, problem in zip(specs, compiled, strict=True)
    ]


def _odd_one(compiled: Sequence[CompiledProblem]) -> int | None:
    """Return the first problem of another structure than the first; None: none."""
    first = compiled[0]
    shapes = [np.shape(a) for a in jax.tree.leaves(first.data)]
    for b, other in enumerate(compiled):
        others = [np.shape(a) for a in jax.tree.leaves(other.data)]
        if other.chain != first.chain or others != shapes:
            return b
    return None


def _stack_leaves(every: Sequence[ChainData]) -> tuple[list[Any], list[bool]]:
    """Return the arrays of all problems, and which have a leading axis."""
    if len(every) == 1:
        leaves = jax.tree.leaves(every[0])
        return leaves, [False] * len(leaves)
    rows = [[np.asarray(a) for a in jax.tree.leaves(data)] for data in every]
    columns = list(zip(*rows, strict=True))
    varied = [any((a != c[0]).any() for a in c) for c in columns]
    stacked = [np.stack(c) if v else c[0] for c, v in zip(columns, varied, strict=True)]
    return stacked, varied


def _set_targets(
    compiled: CompiledProblem,
    leaves: list[Any],
    varied: list[bool],
    targets: Mapping[Objective, Any],
    specs: Sequence[ProblemSpec],
) -> int:
    """Write the targets of each problem into the arrays; return how many there are."""
    if not isinstance(targets, Mapping):
        raise ObjectiveError(
            f"targets is {targets!r}, expected a mapping of objectives, as"
            " add_objective returned them, to the targets of all problems."
        )
    count = len(specs)
    data_leaves = jax.tree.leaves(compiled.data)
    for objective, values in targets.items():
        parts = compiled.locations[
            objective_index(specs[0], objective, "a key of targets")
        ]
        label = f"targets of {objective.name}"
        goals = float_array(label, values, "numbers (problems, D)", ObjectiveError)
        D = compiled.data.batches[parts[0].batch].target.shape[-1]
        goals = goals[:, None] if goals.ndim == 1 else goals
        if count == 1:
            count = len(goals)
        require_finite(label, goals, ObjectiveError)
        if goals.shape not in ((count, D), (count, 1)):
            raise ObjectiveError(
                f"{label} have shape {np.shape(values)}, expected ({count}, {D})."
            )
        feature = objective.feature
        goals = unit_target(feature.symbol, feature.order, feature.scale, goals)
        for part in parts:
            array = compiled.data.batches[part.batch].target
            k = next(i for i, leaf in enumerate(data_leaves) if leaf is array)
            target = np.array(leaves[k])
            if not varied[k]:
                target = np.tile(target, (count, 1, 1))
            target[:, part.rows] = goals[:, None]
            leaves[k], varied[k] = target, True
    return count


def _set_params(
    compiled: CompiledProblem,
    leaves: list[Any],
    varied: list[bool],
    params: Mapping[Objective, PyTree],
    spec: ProblemSpec,
    count: int,
) -> int:
    """Write the params of each problem into the arrays; return how many there are."""
    if not isinstance(params, Mapping):
        raise ObjectiveError(
            f"params is {params!r}, expected a mapping of objectives, as add_objective"
            " returned them, to the params of all problems."
        )
    data_leaves = jax.tree.leaves(compiled.data)
    for objective, tree in params.items():
        index = objective_index(spec, objective, "a key of params")
        known = spec.objectives[index].feature.function_params
        number, values = known.stacked(f"params of {objective.name}", tree)
        count = number if count == 1 else count
        if number != count:
            raise ObjectiveError(
                f"params of {objective.name} are those of {number} problems, expected"
                f" {count}."
            )
        for part in compiled.locations[index]:
            batch = compiled.data.batches[part.batch]
            rows = param_rows(batch, part)
            for name, value in values.items():
                array = batch.params[name]
                k = next(i for i, leaf in enumerate(data_leaves) if leaf is array)
                new = np.array(leaves[k])
                if not varied[k]:
                    new = np.repeat(new[None], count, 0)
                new[:, rows] = value[:, None]
                leaves[k], varied[k] = new, True
    return count
