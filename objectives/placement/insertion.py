"""Starts of placements by insertion, with ruin and recreate.

A joint solve from a random start cannot pass objects through each other, nor choose
another of several places. Here the objects that are not yet placed wait far away, where
their constraints do not count; those that are placed may give way when another one is
put among them. What keeps one out is taken out and put in again later (Schrimpf et al.,
"Record breaking optimization results using the ruin and recreate principle", 2000).

Every step runs the program of the whole problem; see `PartialPlacement`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.errors import first_few
from posewise.solvers import Result
from posewise.solvers.deadline import passed_deadline

from ..solve.settings import SolveSettings
from .partial_placement import PartialPlacement
from .sampling import sample_placements

CANDIDATES = 8
"""Number of random poses from which an object is put in. More find rare places, slower.
"""
INSERTIONS_PER_OBJECT = 3
"""Number of insertions, for each object, after which an attempt is given up; more
repair more."""
MAX_PARTNERS = 4
"""Largest number of objects with each of which one that found no place is tried by
itself, to tell why. More take longer after a failure."""
MAX_LONE_FAILURES = 3
"""Number of times that an object may find no place though nothing is in its way, before
the search is given up. More take longer where there is no placement."""
ORDER_NOISE = 0.3
"""Standard deviation of the random part of priorities, in rows [1]. More try more
orders, but separate what belongs together."""
LONE_ROW_WEIGHT = 0.1
"""Priority of a row about an object alone, relative to one about it and others that are
in [1]. A larger one begins with what is stated most closely in the world."""
REMOVAL_WEIGHT = 0.2
"""Priority for each time that an object was taken out, in rows [1]. A larger one puts
what is hard to place in earlier."""


@dataclass(frozen=True, eq=False)
class Insertion:
    """Movables that are put into a scene one by one."""

    scene: PartialPlacement
    """The movables, of which some are in and the others wait."""
    settings: SolveSettings
    rng: np.random.Generator
    _failures: Counter[int] = field(default_factory=Counter)
    """Number of times that each object found no place."""
    _in_the_way: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Objects that were in the way of each object when it last found no place."""

    def end(self) -> Result | None:
        """Return the end of a solve with all objects, put in a few at a time.

        None: an object found no place. The end need not meet all constraints: some rows
        may count only when all objects are in.
        """
        sampler = self.scene.sampler
        n = len(sampler.names)
        placed, removals = np.zeros(n, bool), np.zeros(n)
        x = self.scene.waiting(sampler.world.q[None], np.ones(n, bool))
        group_size = 2
        for _ in range(INSERTIONS_PER_OBJECT * n):
            group = self._next(placed, removals, group_size)
            end, inserted = self._insert(x, group, placed)
            if self.is_hopeless:
                return None
            if inserted.all():
                return end
            # More at a time are faster while there is room.
            is_easy = inserted.sum() == placed.sum() + len(group)
            group_size = 2 * len(group) if is_easy else max(len(group) // 2, 1)
            removals[placed & ~inserted] += 1
            x, placed = self.scene.waiting(end.x, ~inserted), inserted
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
        end = self.scene.best_end(starts[:1], together)
        if end.violation <= self.settings.tolerance:
            return end, together
        if len(group) > 1:
            return end._replace(x=x), placed
        end = self.scene.best_end(starts[1:], together)
        if end.violation <= self.settings.tolerance:
            return end, together
        in_the_way = self.scene.involved(end, together) & placed
        self._in_the_way[group[0]] = tuple(np.flatnonzero(in_the_way).tolist())
        fewer = together & ~in_the_way
        if not in_the_way.any():
            self._failures[group[0]] += 1
            return end._replace(x=x), placed
        alone = self.scene.waiting(end.x, in_the_way)
        starts = np.concatenate(
            [alone[None], self.scene.waiting(starts[1:], in_the_way)]
        )
        end = self.scene.best_end(starts, fewer)
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
        names = self.scene.sampler.names
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
        sampler = self.scene.sampler
        n = len(sampler.names)
        x = self.scene.waiting(sampler.world.q[None], np.ones(n, bool))
        placed = np.isin(np.arange(n), chosen)
        end = self.scene.best_end(self._candidates(x, chosen), placed)
        if end.violation <= self.settings.tolerance:
            return ""
        return first_few(self.scene.violated_objectives(end, placed))

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
            waiting = np.flatnonzero(~together)
            scores = REMOVAL_WEIGHT * removals[waiting]
            scores += ORDER_NOISE * self.rng.normal(size=len(waiting))
            others = self.scene.depends[:, ~together].sum(1)
            for i, k in enumerate(waiting):
                is_about = self.scene.depends[:, k] & (others == 1)
                has_partner = self.scene.depends[is_about][:, together].any(1)
                scores[i] += np.where(has_partner, 1.0, LONE_ROW_WEIGHT).sum()
            chosen.append(int(waiting[np.argmax(scores)]))
            together[chosen[-1]] = True
        return chosen

    def _candidates(
        self, x: Float[np.ndarray, "1 nq"], group: Sequence[int]
    ) -> Float[np.ndarray, "k 1 nq"]:
        """Return placements in which objects have random poses, within their hints."""
        sampler = self.scene.sampler
        stage = sampler.world.copy()
        stage.q = x[0]
        names = [sampler.names[k] for k in group]
        hints = {name: sampler.hints_of(stage, name) for name in names}
        # One of them is the present state.
        drawn = sample_placements(
            stage, names, sampler.region, CANDIDATES + 1, self.rng, hints
        )
        return drawn[(drawn != x).any((1, 2))]
