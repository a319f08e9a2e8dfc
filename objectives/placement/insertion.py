"""Starts of placements by insertion, with ruin and recreate.

A joint solve from a random start cannot pass objects through each other, nor choose
another of several places. Here the objects that are not yet placed wait far away, where
their constraints do not count; those that are placed may give way when another one is
put among them. What keeps one out is taken out and put in again later (Schrimpf et al.,
"Record breaking optimization results using the ruin and recreate principle", 2000).

Every step is a solve of the whole problem, with the scale 0 for rows that do not count
yet: it runs the program of the problem itself.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import jax
import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.errors import first_few
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
from posewise.solvers.deadline import passed_deadline

from ..chain.groups import ChainData, FeatureGroup
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
CANDIDATES = 8
"""Number of random poses from which an object is put in. More find rare places, slower.
"""
INSERTIONS_PER_OBJECT = 3
"""Number of insertions, for each object, after which an attempt is given up; more
repair more."""
MAX_ITERATIONS = 50
"""Largest number of iterations of an insertion; more follow longer ways to a place."""
MAX_PARTNERS = 4
"""Largest number of objects with each of which one that found no place is tried by
itself, to tell why. More take longer after a failure."""
MAX_LONE_FAILURES = 3
"""Number of times that an object may find no place though nothing is in its way, before
the search is given up. More take longer where there is no placement."""
ORDER_NOISE = 0.3
"""Standard deviation of the random part of priorities, in rows [1]. More try more
orders, but separate what belongs together."""
LONE_ROW_PRIORITY = 0.1
"""Priority of a row about an object alone, relative to one about it and others that are
in [1]. A larger one begins with what is stated most closely in the world."""
OUSTED_PRIORITY = 0.2
"""Priority for each time that an object was taken out, in rows [1]. A larger one puts
what is hard to place in earlier."""


@dataclass(frozen=True, eq=False)
class Insertion:
    """Movables that are put into a scene one by one."""

    sampler: PlacementSampler
    """Names, region and hints of the movables, and the world, which is not changed."""
    problem: ProblemBatch
    """The problem of placing all of them."""
    settings: SolveSettings
    max_solutions: int | None
    """See `solve_multistart`, whose program is used."""
    rng: np.random.Generator
    _failures: Counter[int] = field(default_factory=Counter)
    """How often each object found no place."""
    _in_the_way: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Objects that were in the way of each object when it last found no place."""

    def end(self) -> Result | None:
        """Return the end of a solve with all objects, put in a few at a time.

        None: an object found no place, or the time is over. The end need not meet all
        constraints: some rows may count only when all objects are in.
        """
        n = len(self.sampler.names)
        placed, removals = np.zeros(n, bool), np.zeros(n)
        x = self._waiting(self.sampler.world.q[None], np.ones(n, bool))
        group_size = 2
        for _ in range(INSERTIONS_PER_OBJECT * n):
            group = self._next(placed, removals, group_size)
            end, inserted = self._insert(x, group, placed)
            is_over = passed_deadline() or end.status == Status.INTERRUPTED
            if is_over or self.is_hopeless:
                return None
            if inserted.all():
                return end
            # More at a time are faster while there is room.
            is_easy = inserted.sum() == placed.sum() + len(group)
            group_size = 2 * len(group) if is_easy else max(len(group) // 2, 1)
            removals[placed & ~inserted] += 1
            x, placed = self._waiting(end.x, ~inserted), inserted
        return None

    def _insert(
        self,
        x: Float[np.ndarray, "1 nq"],
        group: Sequence[int],
        placed: Bool[np.ndarray, " n"],
    ) -> tuple[Result, Bool[np.ndarray, " n"]]:
        """Put objects in; return the end of the solve, and which objects are in then.

        Several objects are in together, or none of them. For a single one others are
        taken out if they are in its way.

        Args:
            x: placement of the others.
            group: indices of the objects.
            placed: which others are in.
        """
        together = placed.copy()
        together[list(group)] = True
        starts = self._candidates(x, group)
        end = self._best_end(starts[:1], together)
        if end.violation <= self.settings.tolerance:
            return end, together
        if len(group) > 1:
            return end._replace(x=x), placed
        end = self._best_end(starts[1:], together)
        if end.violation <= self.settings.tolerance:
            return end, together
        in_the_way = self._involved(end, together) & placed
        self._in_the_way[group[0]] = tuple(np.flatnonzero(in_the_way).tolist())
        fewer = together & ~in_the_way
        if not in_the_way.any():
            self._failures[group[0]] += 1
            return end._replace(x=x), placed
        alone = self._waiting(end.x, in_the_way)
        starts = np.concatenate([alone[None], self._waiting(starts[1:], in_the_way)])
        end = self._best_end(starts, fewer)
        is_in = end.violation <= self.settings.tolerance
        self._failures[group[0]] += not is_in
        return end, fewer if is_in else placed & ~in_the_way

    @property
    def is_hopeless(self) -> bool:
        """Whether an object often found no place though nothing was in its way."""
        return any(
            self._failures[k] >= MAX_LONE_FAILURES
            for k, others in self._in_the_way.items()
            if not others
        )

    def failure(self, starts: int) -> str:
        """Return a sentence on what found no place; it proves nothing.

        The least set of objects is named that were not placed together: one, two, or
        one among all others.

        Args:
            starts: number of starts that were tried besides.
        """
        names = self.sampler.names
        tried = (
            f"Not found from {starts} starts, nor by inserting the objects one by one"
        )
        if not self._failures or passed_deadline():
            return f"{tried}."
        k = max(self._failures, key=lambda k: self._failures[k])
        sets = [(k,), *((k, j) for j in self._in_the_way.get(k, ())[:MAX_PARTNERS])]
        for chosen in sets:
            if violated := self._violated_alone(chosen):
                alone = " and ".join(repr(names[i]) for i in chosen)
                extent = (
                    "with no other movable" if len(chosen) == 1 else "by themselves"
                )
                were = "was" if len(chosen) == 1 else "were"
                return (
                    f"{tried}: {alone} {were} not placed even {extent}; the nearest"
                    f" place violates {violated}."
                )
        return f"{tried}: {names[k]!r} found no place among the others."

    def _violated_alone(self, chosen: Sequence[int]) -> str:
        """Return what is violated by some objects with no others; empty: nothing."""
        n = len(self.sampler.names)
        x = self._waiting(self.sampler.world.q[None], np.ones(n, bool))
        placed = np.isin(np.arange(n), chosen)
        end = self._best_end(self._candidates(x, chosen), placed)
        if end.violation <= self.settings.tolerance:
            return ""
        rows = np.flatnonzero(self._is_violated(end, placed))
        objectives = self.problem.specs[0].objectives
        names = [
            objective.name
            for objective, parts in zip(objectives, self.problem.locations, strict=True)
            if any(np.isin(part.positions, rows).any() for part in parts)
        ]
        return first_few(names)

    def _next(
        self,
        placed: Bool[np.ndarray, " n"],
        removals: Float[np.ndarray, " n"],
        count: int,
    ) -> list[int]:
        """Return the most constrained objects: with most rows about what is in.

        Each of them counts as in for the next one, so that chains stay together.
        """
        together, chosen = placed.copy(), list[int]()
        while len(chosen) < count and not together.all():
            rest = np.flatnonzero(~together)
            scores = OUSTED_PRIORITY * removals[rest]
            scores += ORDER_NOISE * self.rng.normal(size=len(rest))
            others = self._depends[:, ~together].sum(1)
            for i, k in enumerate(rest):
                is_about = self._depends[:, k] & (others == 1)
                has_partner = self._depends[is_about][:, together].any(1)
                scores[i] += np.where(has_partner, 1.0, LONE_ROW_PRIORITY).sum()
            chosen.append(int(rest[np.argmax(scores)]))
            together[chosen[-1]] = True
        return chosen

    def _candidates(
        self, x: Float[np.ndarray, "1 nq"], group: Sequence[int]
    ) -> Float[np.ndarray, "k 1 nq"]:
        """Return placements in which objects have random poses, within their hints."""
        stage = self.sampler.world.copy()
        stage.q = x[0]
        names = [self.sampler.names[k] for k in group]
        hints = {name: self.sampler.hints_of(stage, name) for name in names}
        # One of them is the present state.
        drawn = sample_placements(
            stage, names, self.sampler.region, CANDIDATES + 1, self.rng, hints
        )
        return drawn[(drawn != x).any((1, 2))]

    def _best_end(
        self, starts: Float[np.ndarray, "k 1 nq"], placed: Bool[np.ndarray, " n"]
    ) -> Result:
        """Return the end of least violation, with only the rows of placed objects."""
        options = self.settings.options
        if not placed.all():
            most = min(MAX_ITERATIONS, int(options.max_iterations))
            options = replace(options, max_iterations=most)
        ends = self._solve(starts, self._counts(placed), placed, options)
        return Result(*(a[np.argmin(ends.violation)] for a in ends))

    def _involved(
        self, end: Result, placed: Bool[np.ndarray, " n"]
    ) -> Bool[np.ndarray, " n"]:
        """Return the objects on which violated rows depend."""
        rows = self._is_violated(end, placed)
        involved: np.ndarray = self._depends[rows].any(0) & placed
        return involved

    def _is_violated(
        self, end: Result, placed: Bool[np.ndarray, " n"]
    ) -> Bool[np.ndarray, " rows"]:
        """Return which rows that count are violated."""
        amount = np.where(self._types == EQ, np.abs(end.y), end.y)
        is_violated = (amount > self.settings.tolerance) & (self._types != SOS)
        is_violated &= self._counts(placed)
        return is_violated

    def _counts(self, placed: Bool[np.ndarray, " n"]) -> Bool[np.ndarray, " rows"]:
        """Return which rows depend on placed objects only, or on nothing that is known.

        The latter count when all objects are placed.
        """
        if placed.all():
            return np.ones(len(self._depends), bool)
        counts: np.ndarray = self._depends.any(1) & ~self._depends[:, ~placed].any(1)
        return counts

    def _waiting(
        self, x: Float[np.ndarray, "*batch nq"], which: Bool[np.ndarray, " n"]
    ) -> Float[np.ndarray, "*batch nq"]:
        """Return placements in which some objects wait."""
        x = x.copy()
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
        pairs = zip(
            self.problem.data(0).batches, self.problem.chain.groups, strict=True
        )
        return np.concatenate([np.repeat(b.types, g.num_rows) for b, g in pairs])

    @cached_property
    def _depends(self) -> Bool[np.ndarray, "rows n"]:
        """Which rows depend on each object, however far from the others it is.

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
        """Return the ends of solves with only those rows that count."""
        problem, settings = self.problem, self.settings
        data = _with_rows(problem.data(0), problem.chain.groups, counts)
        limits = np.array(data.limits)
        for k in np.flatnonzero(~placed):
            limits[..., self._columns[k]] = [[[-np.inf]], [[np.inf]]]
        data = data._replace(limits=limits)
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
        return jax.tree.map(np.asarray, ends)


def _with_rows(
    data: ChainData, groups: Sequence[FeatureGroup], counts: Bool[np.ndarray, " rows"]
) -> ChainData:
    """Return the data with scale 0 for rows that do not count."""
    batches, first = [], 0
    for batch, group in zip(data.batches, groups, strict=True):
        size = group.capacity * group.num_rows
        mask = counts[first : first + size].reshape(group.capacity, group.num_rows)
        first += size
        params = batch.params
        if group.symbol.vector_form:
            # Their scale is in the directions, too.
            params = {k: _masked(params[k], mask) for k in params}
        scale = _masked(batch.scale, mask)
        batches.append(batch._replace(scale=scale, params=params))
    return data._replace(batches=tuple(batches))


def _masked(array: Array, mask: Bool[np.ndarray, "n rows"]) -> np.ndarray:
    """Return an array (n, rows, ...) with zeros in some rows."""
    masked: np.ndarray = np.asarray(array)
    return masked * mask.reshape(*mask.shape, *(1,) * (masked.ndim - 2))
