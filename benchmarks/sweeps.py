"""Heuristic choices at a third and at three times their values: success and time.

    python benchmarks/sweeps.py motion [--only GraspSampling ...]

Each mechanism's choices are the fields of one frozen dataclass. Its own small problems
are solved with each field changed, alone. Each cell: the share that succeeds in
percent, seconds of the processor, and the mean of a figure that the group names.
Integers are rounded, and stay at least 1; what is below 1 and has no unit stays below
1. Programs are compiled before. The tables are in docs/evidence.md.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, NamedTuple

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging.file_sweep_problems import (  # noqa: E402
    hands_judged,
    slices_found,
    speeds_judged,
)
from staging.path_sweep_problems import (  # noqa: E402
    bounded_chains,
    costly_configurations,
    costly_paths,
    exchanged_paths,
    log_cost,
    moved_blocks,
    paths_with_goals,
    planned_ways,
    slices,
    solved,
    undecided_paths,
    ways_of_arms,
    ways_on_globe,
    ways_round_walls,
)
from staging.settling_sweep_problems import settled  # noqa: E402
from staging.sweep_problems import (  # noqa: E402
    Outcome,
    doubted,
    placed_stably,
    places,
    planned,
    played,
    rates_judged,
    told_stable,
)

from posewise.cli import motion_check, path_file, rates_by_positions  # noqa: E402
from posewise.logic.motion import (  # noqa: E402
    articulation,
    course,
    goal_poses,
    grasp,
    handover,
    keyframes,
    manoeuvre,
    planner,
    push,
    replay_doubts,
    segment,
)
from posewise.logic.motion.replay import REPLAY_DRIVE  # noqa: E402
from posewise.logic.relaxed import stack_equilibrium  # noqa: E402
from posewise.objectives.placement import settling  # noqa: E402
from posewise.objectives.solve import (  # noqa: E402
    alternative_search,
    alternatives,
    avoidance_rows,
    goal_configurations,
    penalties,
    planned_path,
    refinement,
    settings,
)

FACTORS = (1 / 3, 3.0)


Problems = Callable[[], Sequence[Outcome]]


class Sweep(NamedTuple):
    """Choices of one mechanism, and what they are tried on."""

    choices: Any
    """The instance of a frozen dataclass with slots that the mechanism reads."""
    problems: Problems
    names: tuple[str, ...] = ()
    """Fields that are varied; none named: all."""
    compiles: bool = False
    """Whether other values of these fields compile other programs."""
    fractions: frozenset[str] = frozenset()
    """Fields that stay below 1."""

    def fields(self) -> list[str]:
        """Return the names of the fields that are varied."""
        return [*(self.names or (field.name for field in fields(self.choices)))]


def varied(value: Any, factor: float, is_fraction: bool) -> Any:
    """Return a choice, or each of several, times a factor, of the same kind."""
    if isinstance(value, tuple):
        scaled = (varied(v, factor, is_fraction) for v in value)
        return tuple(dict.fromkeys(scaled))
    if isinstance(value, int):
        return max(1, round(value * factor))
    return min(value * factor, 0.95) if is_fraction else value * factor


@contextmanager
def changed(choices: Any, name: str, value: Any) -> Iterator[None]:
    """Change one field of an instance for a while, for all modules that share it.

    Raises:
        AttributeError: for a name that is no field.
    """
    before = getattr(choices, name)
    # frozen for all others
    object.__setattr__(choices, name, value)
    try:
        yield
    finally:
        object.__setattr__(choices, name, before)


GROUPS: Mapping[str, tuple[Sweep, ...]] = {
    "motion": (
        Sweep(grasp.GRASP_SAMPLING, planned("gantry", "shelf")),
        Sweep(
            keyframes.KEYFRAME_SEARCH,
            planned("shelf"),
            (
                "margin",
                "position_scale",
                "rotation_scale",
                "change_scale",
                "max_iterations",
            ),
        ),
        Sweep(keyframes.KEYFRAME_SEARCH, planned("gantry"), ("batch_size",), True),
        Sweep(segment.PATH_SEARCH, planned("gantry", "until"), compiles=True),
        Sweep(
            segment.PATH_DURATIONS,
            planned("line"),
            ("default_speed", "mean_speed_fraction", "least"),
            fractions=frozenset({"mean_speed_fraction"}),
        ),
        Sweep(segment.PATH_DURATIONS, planned("door"), ("least_at_door",)),
        Sweep(goal_poses.GOAL_POSE_SAMPLING, places),
        Sweep(manoeuvre.STAND_SAMPLING, planned("mobile")),
        Sweep(manoeuvre.HAND_ROOM, planned("gantry")),
        Sweep(course.COURSE_ROWS, planned("door")),
        Sweep(
            articulation.OPENING_SEARCH,
            planned("door"),
            fractions=frozenset({"fractions"}),
        ),
        Sweep(push.PUSH_SEARCH, planned("line")),
        Sweep(handover.MEETING_SAMPLING, planned("bar", "bar again")),
        Sweep(planner.SEARCH_LIMITS, planned("bar again")),
        Sweep(REPLAY_DRIVE, played),
        Sweep(replay_doubts.DOUBT_LIMITS, doubted),
    ),
    "settling": (Sweep(settling.SETTLING_CHOICES, settled),),
    "stacks": (
        Sweep(
            stack_equilibrium.STANDING_TOLERANCES,
            told_stable,
            fractions=frozenset(
                {"remote_weight", "settling_share", "settling_friction"}
            ),
        ),
        Sweep(
            stack_equilibrium.STANDING_TOLERANCES,
            placed_stably,
            ("remote_weight", "remote_decay_length", "row_scale"),
        ),
    ),
    "solve": (
        Sweep(avoidance_rows.ROW_EXCHANGE, solved(exchanged_paths)),
        Sweep(
            refinement.SLICE_REFINEMENT, solved(bounded_chains, slices), compiles=True
        ),
        Sweep(
            goal_configurations.GOAL_SEARCH,
            solved(paths_with_goals, starts=2),
            ("nearness_scale",),
        ),
        Sweep(
            goal_configurations.GOAL_SEARCH,
            solved(paths_with_goals, starts=2),
            ("candidates",),
            compiles=True,
        ),
        Sweep(
            planned_path.PLAN_SEARCH,
            planned_ways(ways_round_walls),
            ("shortcut_rounds", "attempts", "added_distance"),
        ),
        Sweep(
            goal_configurations.GOAL_SEARCH,
            planned_ways(ways_of_arms),
            ("nearness_scale",),
        ),
        Sweep(
            goal_configurations.GOAL_SEARCH,
            planned_ways(ways_of_arms),
            ("candidates",),
            compiles=True,
        ),
        Sweep(
            planned_path.PLAN_SEARCH,
            planned_ways(ways_on_globe),
            ("max_constrained_rounds", "constrained_shortcut_rounds"),
        ),
        Sweep(penalties.FIRST_PENALTIES, solved(costly_paths, log_cost, starts=2)),
        Sweep(
            penalties.FIRST_PENALTIES,
            solved(costly_configurations, log_cost, starts=2),
            ("least", "cost_factor"),
        ),
        Sweep(
            settings.PATH_OPTIONS,
            solved(costly_paths, log_cost),
            ("early_exit_factor",),
        ),
        Sweep(settings.PATH_OPTIONS, solved(moved_blocks), ("contact_max_step",)),
        Sweep(
            alternatives.ALTERNATIVE_SEARCH,
            solved(undecided_paths, log_cost),
        ),
        Sweep(
            alternative_search.SEARCH_EFFORT,
            solved(undecided_paths, log_cost),
        ),
    ),
    "rates": (
        Sweep(
            rates_by_positions.RATE_TOLERANCES,
            rates_judged,
            fractions=frozenset({"small_part", "few_part", "acceleration_part"}),
        ),
    ),
    "files": (
        Sweep(path_file.FILE_TOLERANCES, slices_found),
        Sweep(path_file.FILE_TOLERANCES, speeds_judged, ("rounding_part",)),
        Sweep(motion_check.MOTION_TOLERANCES, hands_judged),
    ),
}
"""Sweeps by group. The figure beside the success is, of motion: seconds that a motion
takes, of places and doubts how many there are, of replays the error in mrad; of stacks:
states wrongly told stable in percent, or iterations; of rates and files: right files
that are refused, in percent; of solves: iterations, slices, the length of a path, or
the common logarithm of its cost."""


def measured(problems: Problems) -> str:
    """Return a cell of the table: success, seconds of the processor, and the figure."""
    started = time.process_time()
    outcomes = problems()
    seconds = time.process_time() - started
    successes = [o.success for o in outcomes if o.success is not None]
    figures = [o.figure for o in outcomes if np.isfinite(o.figure)]
    success = 100 * float(np.mean(successes))
    figure = f"{np.mean(figures):.3g}" if figures else "—"
    return f"{success:.3g} %, {seconds:.1f} s, {figure}"


def rows(sweep: Sweep) -> Iterator[list[str]]:
    """Yield the cells of each field: name, value, and results at three values."""
    sweep.problems()
    before = measured(sweep.problems)
    for name in sweep.fields():
        value, cells = getattr(sweep.choices, name), []
        for factor in FACTORS:
            other = varied(value, factor, name in sweep.fractions)
            with changed(sweep.choices, name, other):
                if sweep.compiles:
                    sweep.problems()
                cells.append(measured(sweep.problems))
        title = f"`{type(sweep.choices).__name__}.{name}`"
        yield [title, str(value), cells[0], before, cells[1]]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("group", choices=list(GROUPS))
    parser.add_argument("--only", nargs="+", metavar="CLASS")
    options = parser.parse_args()
    print("| choice | value | a third | as it is | three times |")
    print("|---|---|---|---|---|")
    for sweep in GROUPS[options.group]:
        if options.only and type(sweep.choices).__name__ not in options.only:
            continue
        for cells in rows(sweep):
            print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
