"""Placements of some of the movables: the others wait far away and do not count.

They are solved by the program of the whole problem, see `select_rows`. A row counts if
all objects on which it depends are placed, which is seen from samples.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.typing import Array
from posewise.solvers import (
    EQ,
    SOS,
    BatchInputs,
    Options,
    Result,
    Status,
    solve_multistart,
)
from posewise.solvers.deadline import check_deadline

from ..chain.row_selection import row_types, select_rows
from ..solve.problem_batch import ProblemBatch
from ..solve.settings import SolveSettings
from .sampler import PlacementSampler
from .sampling import sample_placements

WAITING_DISTANCE = 1.0
"""Distance between objects that wait, in diagonals of the region [1]. Constraints about
neighbours might count for nearer ones, and distances of farther ones are cut off."""
DEPENDENCE_SAMPLES = 3
"""Number of random placements at which it is seen which rows depend on an object. More
see dependences that seldom show."""
ROW_CHANGE = 1e-5
"""Change of a row that shows a dependence, relative to its size; smaller ones are taken
for rounding [1]."""
MAX_ITERATIONS = 50
"""Largest number of iterations of an insertion; more follow longer ways to a place."""


@dataclass(frozen=True, eq=False)
class PartialPlacement:
    """A problem of which some movables are placed."""

    sampler: PlacementSampler
    """Names, region and hints of the movables, and the world, which is not changed."""
    problem: ProblemBatch
    """The problem of placing all of them."""
    settings: SolveSettings
    max_solutions: int | None
    """Number of feasible ends that are wanted; see `solve_multistart`."""
    rng: np.random.Generator
    """Source of randomness."""

    def best_end(
        self, starts: Float[np.ndarray, "k 1 nq"], placed: Bool[np.ndarray, " n"]
    ) -> Result:
        """Return the end of least violation, with only the rows of placed objects."""
        options = self.settings.options
        if not placed.all():
            most = min(MAX_ITERATIONS, int(options.max_iterations))
            options = replace(options, max_iterations=most)
        ends = self._solve(starts, self._counts(placed), placed, options)
        return Result(*(a[np.argmin(ends.violation)] for a in ends))

    def involved(
        self, end: Result, placed: Bool[np.ndarray, " n"]
    ) -> Bool[np.ndarray, " n"]:
        """Return the objects on which violated rows depend."""
        rows = self._is_violated(end, placed)
        return np.asarray(self.depends[rows].any(0) & placed)

    def _is_violated(
        self, end: Result, placed: Bool[np.ndarray, " n"]
    ) -> Bool[np.ndarray, " rows"]:
        """Return which rows that count are violated."""
        amount = np.where(self._types == EQ, np.abs(end.y), end.y)
        is_violated = (amount > self.settings.tolerance) & (self._types != SOS)
        return np.asarray(is_violated & self._counts(placed))

    def violated_objectives(
        self, end: Result, placed: Bool[np.ndarray, " n"]
    ) -> list[str]:
        """Return the names of objectives with violated rows that count."""
        rows = np.flatnonzero(self._is_violated(end, placed))
        objectives = self.problem.specs[0].objectives
        pairs = zip(objectives, self.problem.locations, strict=True)
        return [
            objective.name
            for objective, parts in pairs
            if any(np.isin(part.positions, rows).any() for part in parts)
        ]

    def _counts(self, placed: Bool[np.ndarray, " n"]) -> Bool[np.ndarray, " rows"]:
        """Return which rows depend on placed objects only, or on nothing that is known.

        The latter count when all objects are placed.
        """
        if placed.all():
            return np.ones(len(self.depends), bool)
        on_others = self.depends[:, ~placed].any(1)
        return np.asarray(self.depends.any(1) & ~on_others)

    def waiting(
        self, x: Float[Array, "*batch nq"], which: Bool[np.ndarray, " n"]
    ) -> Float[np.ndarray, "*batch nq"]:
        """Return placements in which some objects wait."""
        x = np.array(x)
        for k in np.flatnonzero(which).tolist():
            x[..., self._columns[k][:3]] = self._waiting_place(k)
        return x

    def _waiting_place(self, k: int) -> Float[np.ndarray, "3"]:
        """Return the place in a cubic lattice beside the region where an object waits.

        All are near enough that no distance is cut off.
        """
        low, high = self.sampler.region
        edge = int(np.ceil(np.cbrt(len(self.sampler.names))))
        cell = np.array(np.unravel_index(k, (edge,) * 3)) + 1
        place: np.ndarray = high + WAITING_DISTANCE * np.linalg.norm(high - low) * cell
        return place

    @cached_property
    def _columns(self) -> list[np.ndarray]:
        return [
            self.sampler.world.joints.coordinates([name]) for name in self.sampler.names
        ]

    @cached_property
    def _types(self) -> np.ndarray:
        """Type of each row."""
        return row_types(self.problem.chain, self.problem.data(0))

    @cached_property
    def depends(self) -> Bool[np.ndarray, "rows n"]:
        """Dependence of rows on objects, however far from the others they are.

        Rows on neighbours of an object depend on what is near, whatever that is; these
        dependences do not show.
        """
        n = len(self.sampler.names)
        # Nothing counts as feasible, so that no start is left out.
        options = replace(
            self.settings.options, max_iterations=1, feasibility_tolerance=-1.0
        )
        depends = np.zeros((len(self._types), n), bool)
        samples = sample_placements(
            self.sampler.world,
            self.sampler.names,
            self.sampler.region,
            DEPENDENCE_SAMPLES + 1,
            self.rng,
        )[1:]
        for q in samples:
            far, farther = [], []
            for k, columns in enumerate(self._columns):
                one = q.copy()
                one[:, columns[:3]] = self._waiting_place(k)
                other = one.copy()
                other[:, columns[:3]] += self.rng.normal(size=3)
                other[:, columns[3:]] = self.rng.normal(size=4)
                other[:, columns[3:]] /= np.linalg.norm(other[:, columns[3:]])
                far.append(one)
                farther.append(other)
            every = np.ones(len(self._types), bool)
            rows = self._solve(
                np.stack([*far, *farther]), every, np.zeros(n, bool), options
            ).y
            a, b = rows[:n], rows[n:]
            depends |= (np.abs(a - b) > ROW_CHANGE * (1 + np.abs(a))).T
        return depends

    def _solve(
        self,
        starts: Float[np.ndarray, "k 1 nq"],
        counts: Bool[np.ndarray, " rows"],
        placed: Bool[np.ndarray, " n"],
        options: Options,
    ) -> Result:
        """Return the ends of solves with only those rows that count.

        Raises:
            KeyboardInterrupt: if an interrupt or a deadline ended them.
        """
        problem, settings = self.problem, self.settings
        data = select_rows(problem.chain, problem.data(0), counts)
        limits = np.array(data.limits)
        for k in np.flatnonzero(~placed):
            limits[..., self._columns[k]] = [[[-np.inf]], [[np.inf]]]
        data = data._replace(limits=jnp.asarray(limits))
        leaves, structure = jax.tree.flatten(data)
        dtype = data.prefix.dtype
        inputs = BatchInputs(
            problem.chain,
            structure,
            leaves,
            [False] * len(leaves),
            problem_index=np.zeros(len(starts), int),
            initial_paths=starts.astype(dtype),
            penalties=np.full(len(starts), settings.initial_penalty(1), dtype),
        )
        ends, _ = solve_multistart(
            inputs,
            options,
            max_solutions=self.max_solutions,
            program_size=settings.starts,
        )
        if (np.asarray(ends.status) == Status.INTERRUPTED).any():
            check_deadline()
            raise KeyboardInterrupt
        return jax.tree.map(np.asarray, ends)
