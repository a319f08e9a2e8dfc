"""Problem files: a world, predicates about it, and the problem to solve."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from posewise import presets
from posewise.features import FS, Feature
from posewise.logic.formulas.predicate import Predicate
from posewise.objectives import KOMO, OT, MoveItProblem, Placement, Solution
from posewise.objectives.placement import solve_placement
from posewise.objectives.terms.interval import select_interval
from posewise.objectives.terms.objective import Objective
from posewise.objectives.terms.typing import Times
from posewise.robots.config import Config
from posewise.robots.errors import unknown_name
from posewise.robots.loaders.dispatch import Packages
from posewise.robots.validation import number
from posewise.solvers import Options

from .expressions import read_predicate
from .komo_section import read_komo
from .scene import read_scene, set_coordinates
from .target_rows import read_targets
from .yaml_entries import (
    Entry,
    read_entries,
    read_integer,
    read_names,
    shorten,
    to_python,
)

SECTION_KEYS = (
    "scene",
    "q",
    "komo",
    "placement",
    "motion",
    "objectives",
    "predicates",
    "solver",
    "seed",
)
PLACEMENT_KEYS = (
    "movable",
    "starts",
    "region",
    "collisions",
    "count",
    "min_separation",
)
"""Arguments of solve_placement."""
FEATURE_KEYS = (
    "feature",
    "frames",
    "target",
    "targets",
    "scale",
    "order",
    "type",
    "times",
    "name",
    "between",
)
CONTROL_KEYS = ("control", "scale", "target", "times", "joints", "name")
MODE_SWITCH_KEYS = ("mode_switch", "frames", "times", "scale")
OBJECTIVE_KINDS = ("feature", "control", "mode_switch", "preset")
"""Keys of which an objective has exactly one."""
MOVEIT_STARTS = 8
"""Starts of problems of MoveIt (count); more find more paths and take longer."""
PRESETS: Mapping[str, Callable[..., Any]] = {
    name: factory
    for name, factory in vars(presets).items()
    if inspect.isfunction(factory)
    and inspect.signature(factory).return_annotation is presets.Preset
}
"""Functions that make constraint presets, by name."""


@dataclass(frozen=True, eq=False)
class TimedPredicate:
    """Predicate, and the times at which it must hold."""

    predicate: Predicate
    times: Times
    """Times in phases; None for all slices, or for a placement."""
    entry: Entry


@dataclass(frozen=True, eq=False)
class ProblemFile:
    """World and predicates of a problem file, which all commands read."""

    world: Config
    predicates: tuple[TimedPredicate, ...]
    top: Entry
    sections: Mapping[str, Entry]

    moveit: MoveItProblem | None = None
    """The problem in files of MoveIt, in place of sections."""

    @property
    def has_path(self) -> bool:
        """Whether the problem is about a path or a configuration."""
        return self.moveit is not None or "komo" in self.sections

    def section(self, key: str) -> Entry:
        """Return a section, which is empty if the file lacks it."""
        return self.sections.get(key, Entry(None, self.top.file, self.top.line, key))

    @property
    def slices_per_phase(self) -> int:
        """Number of slices in each phase of a path problem."""
        komo = to_python(self.section("komo").mapping("a mapping"))
        return komo.get("slices_per_phase", 1)


def read_problem(file: Path, packages: Packages | None = None) -> ProblemFile:
    """Return the world and the predicates of a problem file.

    Args:
        file: the problem file.
        packages: folders of ROS packages by name, for the models of the scene.

    Raises:
        ProblemError: for invalid input, with file, line and key.
        ImportError: without pyyaml.
    """
    top = read_entries(file)
    sections = top.fields(SECTION_KEYS)
    if "scene" not in sections:
        top.fail("there is no scene; describe the world: `scene: ...`.")
    world = read_scene(sections["scene"], packages)
    if "q" in sections:
        set_coordinates(world, sections["q"])
    problem = ProblemFile(world, (), top, sections)
    entries = problem.section("predicates").items("predicates")
    return replace(problem, predicates=tuple(map(_read_timed_predicate, entries)))


def _read_timed_predicate(entry: Entry) -> TimedPredicate:
    """Return the predicate of an expression, or of a mapping with more keys."""
    if isinstance(entry.value, str):
        return TimedPredicate(read_predicate(entry), None, entry)
    fields = entry.fields(("predicate", "times", "semantics"))
    values = to_python(fields)
    _require_keys(entry, values, ("predicate",))
    expression, semantics = fields["predicate"], None
    if "semantics" in values:
        semantics = fields["semantics"].text("the name of a semantics")
    predicate = read_predicate(expression, semantics)
    return TimedPredicate(predicate, values.get("times"), expression)


def make_path_problem(problem: ProblemFile) -> tuple[KOMO, dict[str, Any]]:
    """Return the path problem, the first one of many, and arguments of its `solve`.

    Raises:
        ProblemError: for invalid input, with file, line and key.
    """
    komo, arguments, _ = make_path_problems(problem)
    return komo, arguments


def make_path_problems(
    problem: ProblemFile,
) -> tuple[KOMO, dict[str, Any], dict[Objective, np.ndarray]]:
    """Return a path problem, arguments of its `solve`, and targets of many problems.

    The targets (problems, D) are those of the objectives with a key `targets`; if there
    are none, the file has one problem.

    Raises:
        ProblemError: for invalid input, with file, line and key.
    """
    if problem.moveit is not None:
        return problem.moveit.komo(), {"starts": MOVEIT_STARTS}, {}
    komo, arguments = read_komo(problem.world, problem.sections["komo"])
    targets: dict[Objective, np.ndarray] = {}
    for entry in problem.section("objectives").items("mappings"):
        with entry.locating_errors():
            targets |= _add_objective(komo, entry)
    for timed in problem.predicates:
        with timed.entry.locating_errors():
            komo.add(timed.predicate, timed.times)
    return komo, {**_solver_arguments(problem), **arguments}, targets


def make_placement_arguments(problem: ProblemFile) -> dict[str, Any]:
    """Return the arguments of `solve_placement`.

    Raises:
        ProblemError: for invalid input, with file, line and key.
    """
    section = problem.sections["placement"]
    fields = section.fields(PLACEMENT_KEYS)
    arguments = to_python(fields)
    if "movable" not in arguments:
        section.fail("there is no key 'movable'; list the frames to place.")
    arguments["movable"] = list(read_names(fields, "movable"))
    for key in {"starts", "count"} & set(arguments):
        arguments[key] = read_integer(fields[key], 1)
    if "collisions" in arguments:
        fields["collisions"].boolean()
    constraints: list[Any] = []
    for entry in problem.section("objectives").items("mappings"):
        with entry.locating_errors():
            constraints.append(_placement_constraint(problem.world, entry))
    for timed in problem.predicates:
        if timed.times is not None:
            timed.entry.fail("has times, but a placement has one moment only.")
        with timed.entry.locating_errors():
            # Both sides raise here, where the line is known, if names do not fit.
            timed.predicate.holds(problem.world)
            timed.predicate.relaxed(problem.world)
        constraints.append(timed.predicate)
    return {"constraints": constraints, **_solver_arguments(problem), **arguments}


def require_one_kind(problem: ProblemFile) -> None:
    """Raise a ProblemError unless there is one problem to solve: path or placement."""
    if problem.moveit is not None:
        return
    kinds = [k for k in ("komo", "placement", "motion") if k in problem.sections]
    if len(kinds) != 1:
        problem.top.fail(
            f"there is {' and '.join(kinds) or 'neither komo nor placement'}; expected"
            " one of the keys komo (configurations and paths), placement (poses of"
            " objects) and motion (steps of a robot)."
        )


def solve_path(problem: ProblemFile) -> tuple[KOMO, Solution]:
    """Return the path problem, and its solution.

    Raises:
        ProblemError: for invalid input, with file, line and key.
    """
    komo, arguments = make_path_problem(problem)
    with problem.sections.get("komo", problem.top).locating_errors():
        return komo, komo.solve(**arguments)


def solve_placements(problem: ProblemFile) -> list[Placement]:
    """Return the placements that were found.

    Raises:
        ProblemError: for invalid input, with file, line and key.
    """
    arguments = make_placement_arguments(problem)
    with problem.sections["placement"].locating_errors():
        return solve_placement(problem.world, **arguments)


def _add_objective(komo: KOMO, entry: Entry) -> dict[Objective, np.ndarray]:
    """Add a feature, a control cost, a mode switch or a preset; return many targets."""
    kind = _objective_kind(entry)
    if kind == "control":
        fields = entry.fields(CONTROL_KEYS)
        values = to_python(fields)
        _require_keys(entry, values, ("control",))
        order = values.pop("control")
        values["joints"] = read_names(fields, "joints")
        komo.add_control_objective(order, **values)
    elif kind == "mode_switch":
        fields = entry.fields(MODE_SWITCH_KEYS)
        values = to_python(fields)
        _require_keys(entry, values, ("frames", "times"))
        mode: Any = fields["mode_switch"].text("stable, stableOn or rigid")
        options = {"scale": values["scale"]} if "scale" in values else {}
        frames = read_names(fields, "frames")
        komo.add_mode_switch(values["times"], mode, frames, **options)
    elif kind == "preset":
        preset, times = _read_preset(entry)
        komo.add(preset, times)
    else:
        feature, objective_type, values = _read_feature(entry)
        objective = komo.add_objective(
            values.get("times"),
            feature,
            type=objective_type,
            name=values.get("name"),
            between=values.get("between"),
        )
        if "targets" in values:
            return {objective: values["targets"]}
    return {}


def _placement_constraint(world: Config, entry: Entry) -> Any:
    """Return a preset or a (feature, type) pair as a constraint of a placement."""
    kind = _objective_kind(entry)
    if kind == "preset":
        preset, times = _read_preset(entry)
        if times is not None:
            entry.fail("has times, but a placement has one moment only.")
        interval = select_interval(None, 1, np.ones(1), "placement")
        if any(feature.order for feature, *_ in preset.objectives(world, interval)):
            entry.fail("constrains velocities, but a placement has one moment only.")
        return preset
    if kind != "feature":
        entry.fail(f"{kind} is for paths; a placement takes features and presets only.")
    feature, objective_type, values = _read_feature(entry)
    if values.get("times") is not None:
        entry.fail("has times, but a placement has one moment only.")
    if values.get("between") is not None:
        entry.fail("has between, but a placement has one moment only.")
    if "targets" in values:
        entry.fail("has targets; only paths and configurations (komo) may be many.")
    feature.check(world)
    return feature, objective_type


def _objective_kind(entry: Entry) -> str:
    """Return the key that says of which kind an objective is."""
    fields = entry.mapping(
        f"a mapping with one of the keys {', '.join(OBJECTIVE_KINDS)}"
    )
    kinds = [k for k in OBJECTIVE_KINDS if k in fields]
    if len(kinds) != 1:
        entry.fail(
            f"has {' and '.join(kinds) or 'none'} of the keys"
            f" {', '.join(OBJECTIVE_KINDS)}, expected one; its keys are"
            f" {', '.join(fields) or 'none'}."
        )
    return kinds[0]


def _read_preset(entry: Entry) -> tuple[Any, Times]:
    """Return the preset and its times; the other keys are the preset's arguments."""
    preset = entry.mapping("a mapping")["preset"]
    name = preset.text("the name of a preset, such as grasp_box")
    if name not in PRESETS:
        preset.fail(unknown_name("preset", name, PRESETS))
    parameters = inspect.signature(PRESETS[name]).parameters
    values = to_python(entry.fields(("preset", "times", *parameters)))
    del values["preset"]
    times = values.pop("times", None)
    required = [k for k, p in parameters.items() if p.default is p.empty]
    _require_keys(entry, values, tuple(required))
    return PRESETS[name](**values), times


def _read_feature(entry: Entry) -> tuple[Feature, OT, dict[str, Any]]:
    """Return the feature, its objective type, and all values of the mapping."""
    symbol_entry = entry.mapping("a mapping")["feature"]
    symbol_name = symbol_entry.text("the name of a feature, such as positionDiff")
    if symbol_name not in FS.__members__:
        symbol_entry.fail(unknown_name("feature", symbol_name, FS.__members__))
    symbol = FS[symbol_name].symbol
    fields = entry.fields((*FEATURE_KEYS, *symbol.options))
    values = to_python(fields)
    type_name = fields["type"].text("eq, ineq or sos") if "type" in values else "eq"
    if type_name not in OT.__members__:
        message = unknown_name("type of objective", type_name, OT.__members__)
        fields["type"].fail(message)
    if "name" in values:
        fields["name"].text("a name for reports")
    # Null does not mean "one problem": likely the rows were forgotten.
    if "targets" in fields:
        if "target" in values:
            entry.fail("has target and targets, expected one of them.")
        values["targets"] = read_targets(fields["targets"])
        values["target"] = values["targets"][0]
    numbers: dict[str, Any] = {k: values.get(k) for k in ("order", "target", "scale")}
    options = {k: values[k] for k in symbol.options if k in values}
    frames = read_names(fields, "frames")
    feature = Feature(FS[symbol_name], frames, **numbers, **options)
    return feature, OT[type_name], values


def _require_keys(
    entry: Entry, values: Mapping[str, Any], keys: tuple[str, ...]
) -> None:
    for key in keys:
        if key not in values:
            entry.fail(f"there is no key {key!r}; got {shorten(entry.to_python())}.")


def _solver_arguments(problem: ProblemFile) -> dict[str, Any]:
    """Return seed, tolerance and options of the solver."""
    options = list(inspect.signature(Options).parameters)
    fields = problem.section("solver").fields(options, "solver option")
    arguments: dict[str, Any] = {}
    for key, entry in fields.items():
        with entry.locating_errors():
            value = entry.to_python()
            arguments[key] = number(key, value, "a number > 0", lambda x: x > 0)
    if "seed" in problem.sections:
        arguments["seed"] = read_integer(problem.sections["seed"], 0)
    return arguments
