"""Starts of placements by insertion, with ruin and recreate.

A joint solve from a random start cannot pass objects through each other, nor choose
another of several places. Here the objects that are not yet placed wait far away, where
their constraints do not count; those that are placed may give way when another one is
put among them. What keeps one out is taken out and put in again later (Schrimpf et al.,
"Record breaking optimization results using the ruin and recreate principle", 2000).

Every step runs the program of the whole problem; see `PartialPlacement`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.errors import first_few
from posewise.robots.typing import FrameName
from posewise.solvers import Result
from posewise.solvers.deadline import passed_deadline

from .partial_placement import PartialPlacement
from .sampling import sample_placements

CANDIDATES = 8
"""Number of random poses from which an object is put in. More find rare places, slower.
"""
GROUP_SIZE = 4
"""Number of objects that are put in at once, until this fails (count); later ones come
one at a time. More save solves where there is room, but fail sooner."""
INSERTIONS_PER_OBJECT = 3
"""Number of insertions, for each object, after which an attempt is given up; more
repair more."""
MAX_PARTNERS = 4
"""Largest number of objects with each of which one that found no place is tried by
itself, to tell why. More take longer after a failure."""
MAX_LONE_FAILURES = 3
"""Number of times that an object may find no place though nothing is in its way, before
the search is given up. More take longer where there is no placement."""


@dataclass(frozen=True, eq=False)
class Insertion:
    """Movables that are put into a scene one by one."""

    scene: PartialPlacement
    """The movables, of which some are in and the others wait."""
    supports: Mapping[FrameName, FrameName]
    """Movables that constraints want in or on something, each with its support."""
    _failures: Counter[int] = field(default_factory=Counter)
    """Number of times that each object found no place."""
    _in_the_way: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Objects that were in the way of each object when it last found no place."""

    def end(self) -> Result | None:
        """Return the end of a solve with all objects, put in one by one.

        None: an object found no place. The end need not meet all constraints: some rows
        may count only when all objects are in.
        """
        sampler = self.scene.sampler
        n = len(sampler.names)
        placed = np.zeros(n, bool)
        x = self.scene.waiting(sampler.world.q[None], ~placed)
        size = GROUP_SIZE
        for _ in range(INSERTIONS_PER_OBJECT * n):
            before, group = placed, self._next(placed, size)
            insert = self._insert if len(group) == 1 else self._insert_group
            end, placed = insert(x, group, placed)
            if placed.all():
                return end
            if placed is before:
                size = 1
            if self.is_hopeless:
                break
            x = self.scene.waiting(end.x, ~placed)
        return None

    def _insert_group(
        self,
        x: Float[np.ndarray, "1 nq"],
        group: list[int],
        placed: Bool[np.ndarray, " n"],
    ) -> tuple[Result, Bool[np.ndarray, " n"]]:
        """Put several objects in, or none; arguments and result are as of `_insert`."""
        together = placed.copy()
        together[group] = True
        end = self.scene.best_end(self._candidates(x, group)[:1], together)
        if end.violation <= self.scene.settings.tolerance:
            return end, together
        return end._replace(x=x), placed

    def _insert(
        self,
        x: Float[np.ndarray, "1 nq"],
        group: list[int],
        placed: Bool[np.ndarray, " n"],
    ) -> tuple[Result, Bool[np.ndarray, " n"]]:
        """Put an object in; return the end of the solve, and which objects are in then.

        Others are taken out if they are in its way.

        Args:
            x: placement of the others.
            group: index of the object.
            placed: which others are in.
        """
        (k,) = group
        together = placed.copy()
        together[k] = True
        starts = self._candidates(x, [k])
        # The first one is mostly enough, and more would be solved beside it.
        for some in (starts[:1], starts[1:]):
            end = self.scene.best_end(some, together)
            if end.violation <= self.scene.settings.tolerance:
                return end, together
        in_the_way = self.scene.involved(end, together) & placed
        self._in_the_way[k] = tuple(np.flatnonzero(in_the_way).tolist())
        if not in_the_way.any():
            self._failures[k] += 1
            return end._replace(x=x), placed
        without = self.scene.waiting(end.x, in_the_way)
        others = self.scene.waiting(starts[1:], in_the_way)
        fewer = together & ~in_the_way
        end = self.scene.best_end(np.concatenate([without[None], others]), fewer)
        is_in = end.violation <= self.scene.settings.tolerance
        self._failures[k] += not is_in
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
        if end.violation <= self.scene.settings.tolerance:
            return ""
        return first_few(self.scene.violated_objectives(end, placed))

    def _next(self, placed: Bool[np.ndarray, " n"], count: int) -> list[int]:
        """Return the objects with most rows about them and those that are in.

        So chains are put in one after the other, what carries others before them.
        Equals take turns at random.

        Args:
            placed: which objects are in.
            count: largest number of objects, each in the order of those before it.
        """
        placed, group = placed.copy(), list[int]()
        depends = self.scene.depends
        while len(group) < count and not placed.all():
            waiting = self.scene.rng.permutation(self._ready(placed))
            is_last = depends[:, ~placed].sum(1) == 1
            rows = (depends[:, waiting] & is_last[:, None]).sum(0)
            group.append(int(waiting[np.argmax(rows)]))
            placed[group[-1]] = True
        return group

    def _ready(self, placed: Bool[np.ndarray, " n"]) -> Int[np.ndarray, " k"]:
        """Return the objects that wait for no support; all if they carry each other."""
        names = self.scene.sampler.names
        waiting = {x for x, is_in in zip(names, placed, strict=True) if not is_in}
        ready = [self.supports.get(x) not in waiting for x in names]
        is_ready = ~placed & np.array(ready)
        return np.flatnonzero(is_ready if is_ready.any() else ~placed)

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
            stage, names, sampler.region, CANDIDATES + 1, self.scene.rng, hints
        )
        return drawn[(drawn != x).any((1, 2))]
