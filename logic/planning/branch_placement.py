"""Placement over the branches of a formula: its alternatives, tried one by one."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from posewise.objectives.placement import Placement, solve_placement
from posewise.objectives.solve.stops import check_max_time, stop_cause
from posewise.robots.config import Config
from posewise.robots.typing import FrameName, Frames
from posewise.robots.validation import integer
from posewise.solvers.deadline import passed_deadline, time_limit

from ..errors import PredicateError
from ..formulas.predicate import Predicate
from .dnf_search import Branch, branches, object_names


@dataclass(frozen=True, eq=False)
class BranchPlacement:
    """Result of a placement over the branches of a formula."""

    placement: Placement | None
    """Placement of the first branch after which the formula holds exactly.

    None when there is no such branch.
    """
    branch: Branch | None
    """The branch of the placement; its text lists its literals."""
    branches_tried: int
    """Number of branches that were solved for, or known to be impossible."""
    stopped: str = ""
    """A sentence on the time limit or the interrupt that ended the search; empty: none
    did."""

    @property
    def feasible(self) -> bool:
        """Whether there is a placement."""
        return self.placement is not None


def solve_branches(
    C: Config,
    formula: Predicate,
    movable: Frames,
    *,
    limit: int = 16,
    max_time: float | None = None,
    **options: Any,
) -> BranchPlacement:
    """Find poses of frames for which a formula with alternatives holds.

    Each alternative is a conjunction of literals, and so a placement problem. The first
    solution for which the formula holds exactly is returned. Literals about other
    frames than the movable ones must hold already.

    Args:
        C: the world, which is not changed.
        formula: of one moment, e.g. with Or, Exists, ForN, ForPairs or AtLeast.
        movable: names of frames, each with everything attached to it.
        limit: largest number of branches, the cheapest first; see `branches`.
        max_time: wall time [s] after which the search ends; None: no limit. See
            `KOMO.solve`.
        **options: of `solve_placement`.

    Raises:
        PredicateError: when `formula` is not a predicate, a literal has no rows, or
            `limit` is not an integer >= 1.
        ConfigError: for unknown names.
        ObjectiveError: for options that do not fit.
    """
    limit = integer("limit", limit, "an integer >= 1", lambda n: n >= 1, PredicateError)
    tried, stopped = 0, ""
    with time_limit(check_max_time(max_time, PredicateError)):
        for branch in islice(branches(formula, C), limit):
            tried += 1
            moving = [p for p in branch.literals if _is_about(p, movable, C)]
            if not all(p.holds(C) for p in branch.literals if p not in moving):
                continue
            placements = solve_placement(C, moving, movable, **options)
            for placement in placements:
                if placement.feasible and _holds_after(C, formula, placement):
                    return BranchPlacement(placement, branch, tried)
            if any(p.solution.stopped for p in placements) or passed_deadline():
                stopped = f"{stop_cause()} in branch {tried}."
                break
    return BranchPlacement(None, None, tried, stopped)


def _is_about(literal: Predicate, movable: Frames, C: Config) -> bool:
    """Return whether the truth of a literal may depend on the movable frames."""
    names = object_names(literal)
    roots: Iterable[FrameName] = [movable] if isinstance(movable, str) else movable
    frames = {frame for root in roots for frame in (root, *_descendants(C, root))}
    return not names or bool(frames & set(names))


def _descendants(C: Config, name: FrameName) -> list[str]:
    """Return the names of all frames below a frame."""
    frames = list(C.children(name))
    for child in frames:
        frames += C.children(child)
    return frames


def _holds_after(C: Config, formula: Predicate, placement: Placement) -> bool:
    """Return whether a formula holds in the world of a placement."""
    world = C.copy()
    placement.apply(world)
    return formula.holds(world)
