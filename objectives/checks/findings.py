"""Findings on a problem, as sentences: on starts and goals, and on what cannot be met.

Starts and joint targets outside of their limits, starts and goals in collision, and
numbers that are very likely in another unit, are told before a solve, which goes on all
the same. What makes a solve fail for certain but takes longer to find, such as a target
out of reach, is told when it has failed.
"""

import warnings
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from posewise.robots.errors import ProblemWarning, first_few

from ..problem.spec import ProblemSpec
from ..terms.objective import Objective
from .axes import axes_of_other_length
from .clearances import (
    clearances_at_fixed_distance,
    collision_at_start,
    doubtful_margins,
    start_within_margins,
)
from .durations import targets_out_of_time
from .goals import goals_in_collision, goals_outside_of_limits
from .limits import start_outside_of_limits
from .outdated import outdated_constraints
from .precision import coarse_coordinates
from .reach import targets_out_of_reach
from .signs import doubtful_signs
from .units import likely_degrees, likely_millimetres, tolerance_below_precision

MAX_FINDINGS = 3
"""Number of findings that the warning of a batch has; more make it longer."""


def find_problems(spec: ProblemSpec, tolerance: float) -> tuple[str, ...]:
    """Return the findings on a problem, without those that need a failed solve.

    Those on its state are kept while problem and state stay; the others while world,
    objectives and tolerance do, so that a solve from another state looks at its state
    only.

    Args:
        spec: the problem.
        tolerance: largest violation that counts as satisfied, in scaled units.
    """
    if spec.sampler is not None:
        # Placements begin anywhere.
        return ()
    C = spec.config
    parts = spec.objectives, spec.switches, spec.helpers, spec.contacts, spec.courses
    numbers = C.structure_key, C.origins_key, *parts, spec.avoidance, (tolerance,)
    advice = spec.cache.advice.get(numbers, lambda: _advice(spec, tolerance))
    state = (*numbers, C.q.tobytes())
    return advice + spec.cache.findings.get(state, lambda: _on_state(spec, tolerance))


def check_problem(spec: ProblemSpec, tolerance: float) -> tuple[str, ...]:
    """Return all findings on a problem, also those that a solve has to fail for."""
    findings = find_problems(spec, tolerance)
    conflicts = () if spec.sampler else certain_conflicts(spec, tolerance)
    return tuple(dict.fromkeys((*findings, *conflicts)))


def warn_of_problems(spec: ProblemSpec, tolerance: float) -> tuple[str, ...]:
    """Return the findings on a problem, after a warning of each."""
    findings = find_problems(spec, tolerance)
    for finding in findings:
        warnings.warn(finding, ProblemWarning, stacklevel=3)
    return findings


def warn_of_outdated_constraints(spec: ProblemSpec) -> None:
    """Warn of each constraint with numbers of a world that has changed since."""
    for finding in outdated_constraints(spec):
        warnings.warn(finding, ProblemWarning, stacklevel=3)


def warn_of_problems_in_batch(
    specs: Sequence[ProblemSpec], targets: Container[Objective], tolerance: float
) -> None:
    """Warn of findings on a problem in several worlds, once for all of them.

    Args:
        specs: the problem in each world.
        targets: objectives whose targets are replaced, so that theirs do not count.
        tolerance: see `find_problems`.
    """
    sentences = []
    for b, spec in enumerate(specs):
        objectives = tuple(o for o in spec.objectives if o not in targets)
        findings = find_problems(replace(spec, objectives=objectives), tolerance)
        place = f"Problem {b}: " if len(specs) > 1 else ""
        sentences += [place + finding for finding in findings]
    if sentences:
        text = first_few(sentences, " ", MAX_FINDINGS)
        warnings.warn(text, ProblemWarning, stacklevel=3)


def _advice(spec: ProblemSpec, tolerance: float) -> tuple[str, ...]:
    """Return what is doubtful about the numbers of a world and its objectives."""
    return tuple(
        chain(
            likely_degrees(spec.config),
            likely_millimetres(spec),
            tolerance_below_precision(tolerance),
            coarse_coordinates(spec.config, tolerance, spec.objectives),
            doubtful_margins(spec),
            doubtful_signs((o.name, o.feature, o.type) for o in spec.objectives),
            axes_of_other_length(spec, tolerance),
        )
    )


def _on_state(spec: ProblemSpec, tolerance: float) -> tuple[str, ...]:
    """Return what is wrong with the start, with goals, and with older constraints."""
    return tuple(
        chain(
            outdated_constraints(spec),
            start_outside_of_limits(spec.config),
            goals_outside_of_limits(spec),
            collision_at_start(spec, tolerance),
            start_within_margins(spec),
            goals_in_collision(spec, tolerance),
        )
    )


def certain_conflicts(spec: ProblemSpec, tolerance: float) -> Iterator[str]:
    """Yield a sentence for each objective that no path can meet, where that is certain.

    Args:
        spec: the problem.
        tolerance: see `find_problems`.
    """
    yield from unreachable_targets(spec)
    yield from clearances_at_fixed_distance(spec, tolerance)


def causes_for_any_start(spec: ProblemSpec) -> Iterator[str]:
    """Yield a sentence for each cause for which no start of a solver finds a path."""
    yield from start_within_margins(spec)
    yield from unreachable_targets(spec)


def unreachable_targets(spec: ProblemSpec) -> Iterator[str]:
    """Yield a sentence for each target that no path can meet, whatever is around."""
    yield from goals_outside_of_limits(spec)
    yield from targets_out_of_reach(spec)
    yield from targets_out_of_time(spec)
