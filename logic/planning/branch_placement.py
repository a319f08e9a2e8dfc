"""Placement over alternatives: the ways to make a formula true, tried one by one."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from posewise.objectives.placement import Placement, solve_placement
from posewise.robots.config import Config
from posewise.robots.validation import integer

from ..errors import PredicateError
from ..formulas.predicate import Predicate
from .dnf_search import Branch, branches, object_names


@dataclass(frozen=True, eq=False)
class BranchPlacement:
    """What came of a placement over the branches of a formula."""

    placement: Placement | None
    """Of the first branch where the formula then holds, exactly; None: there is none.
    """
    branch: Branch | None
    """The one that won; its text is what it demands."""
    branches_tried: int
    """How many branches were solved for, or known to be impossible."""

    @property
    def feasible(self) -> bool:
        """Whether a branch won."""
        return self.placement is not None


def solve_branches(
    C: Config, formula: Any, movable: Any, *, limit: Any = 16, **options: Any
) -> BranchPlacement:
    """Find poses of frames for which a formula with alternatives holds.

    Each way to make it true is a conjunction, a problem of placement by itself; the
    first one solved wins, when the formula holds exactly. Literals that do not speak of
    movable frames are as they are.

    Args:
        C: the world; it stays as it is.
        formula: of one moment, e.g. with Or, Exists, ForN, ForPairs or AtLeast.
        movable: names of frames, each with all that is attached to it.
        limit: how many branches are tried, the cheapest first; see `branches`.
        **options: of `solve_placement`.

    Raises:
        PredicateError: for what is no predicate, literals that cannot be solved for,
            and a limit that is no integer >= 1.
        ConfigError: for unknown names.
        ObjectiveError: for options that do not fit.
    """
    limit = integer("limit", limit, "an integer >= 1", lambda n: n >= 1, PredicateError)
    tried = 0
    for branch in islice(branches(formula, C), limit):
        tried += 1
        moving = [p for p in branch.literals if _speaks_of(p, movable, C)]
        if not all(p.holds(C) for p in branch.literals if p not in moving):
            continue
        for found in solve_placement(C, moving, movable, **options):
            if found.feasible and _holds(C, formula, found):
                return BranchPlacement(found, branch, tried)
    return BranchPlacement(None, None, tried)


def _speaks_of(literal: Predicate, movable: Any, C: Config) -> bool:
    """Whether its truth may depend on where the movables are."""
    names = object_names(literal)
    chosen = [movable] if isinstance(movable, str) else movable
    parts = {part for name in chosen for part in (name, *_below(C, name))}
    return not names or bool(parts & set(names))


def _below(C: Config, name: str) -> list[str]:
    found = list(C.children(name))
    for child in found:
        found += C.children(child)
    return found


def _holds(C: Config, formula: Predicate, found: Placement) -> bool:
    world = C.copy()
    found.apply(world)
    return formula.holds(world)
