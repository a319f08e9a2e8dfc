"""A problem file as a world, statements about it, and how it is to be solved."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from posewise import presets
from posewise.features import FS, Feature
from posewise.logic.formulas.predicate import Predicate
from posewise.objectives import KOMO, OT
from posewise.objectives.interval import select_interval
from posewise.objectives.placement import solve_placement
from posewise.robots.config import Config
from posewise.robots.errors import unknown_name
from posewise.robots.validation import integer, number
from posewise.solvers import Options

from .expressions import read_predicate
from .scene import read_scene, set_coordinates
from .yaml_entries import Entry, read_entries, shorten

SECTION_KEYS = (
    "scene",
    "q",
    "komo",
    "placement",
    "objectives",
    "predicates",
    "solver",
    "seed",
)
KOMO_ARGUMENTS: Mapping[str, str] = {
    "phases": "phases",
    "slices": "slices_per_phase",
    "order": "k_order",
    "duration": "duration_per_phase",
}
"""Arguments of KOMO by their keys."""
PLACEMENT_KEYS = ("movable", "starts", "region", "collisions", "enough", "apart")
FEATURE_KEYS = (
    "feature",
    "frames",
    "target",
    "scale",
    "order",
    "type",
    "times",
    "name",
)
CONTROL_KEYS = ("control", "scale", "target", "times", "joints", "name")
MODE_SWITCH_KEYS = ("switch", "frames", "times", "scale")
OBJECTIVE_KINDS = ("feature", "control", "switch", "preset")
PRESETS: Mapping[str, Callable[..., Any]] = {
    name: factory
    for name, factory in vars(presets).items()
    if inspect.isfunction(factory)
    and inspect.signature(factory).return_annotation is presets.Preset
}
"""Constraint presets by name."""


@dataclass(frozen=True, eq=False)
class TimedPredicate:
    """A predicate, and when it shall hold."""

    predicate: Predicate
    times: Any
    entry: Entry


@dataclass(frozen=True, eq=False)
class ProblemFile:
    """What all commands read from a problem file."""

    world: Config
    predicates: tuple[TimedPredicate, ...]
    top: Entry
    sections: Mapping[str, Entry]

    def section(self, key: str) -> Entry:
        """A section; one that is not there is empty."""
        return self.sections.get(key, Entry(None, self.top.file, self.top.line, key))

    @property
    def slices_per_phase(self) -> int:
        """Of a path problem."""
        given = self.section("komo").mapping("a mapping")
        return _to_python(given).get("slices", 1)


def read_problem(file: Path) -> ProblemFile:
    """The world and the predicates of a problem file.

    Raises:
        ProblemError: with file, line and key of what does not fit.
        ImportError: without pyyaml.
    """
    top = read_entries(file)
    sections = top.fields(SECTION_KEYS)
    if "scene" not in sections:
        top.fail("there is no scene; say what the world is made of: `scene: ...`.")
    world = read_scene(sections["scene"])
    if "q" in sections:
        set_coordinates(world, sections["q"])
    read = ProblemFile(world, (), top, sections)
    listed = read.section("predicates").items("predicates")
    return replace(read, predicates=tuple(map(_read_timed_predicate, listed)))


def _read_timed_predicate(entry: Entry) -> TimedPredicate:
    """`OnTopOf(mug, table)`, or a mapping with that and times or semantics."""
    if isinstance(entry.value, str):
        return TimedPredicate(read_predicate(entry), None, entry)
    found = entry.fields(("predicate", "times", "semantics"))
    given = _to_python(found)
    _require_keys(entry, given, ("predicate",))
    text, semantics = found["predicate"], None
    if "semantics" in given:
        semantics = found["semantics"].text("the name of a semantics")
    return TimedPredicate(read_predicate(text, semantics), given.get("times"), text)


def make_path_problem(problem: ProblemFile) -> tuple[KOMO, dict[str, Any]]:
    """The path problem, and the arguments of its `solve`.

    Raises:
        ProblemError: with file, line and key of what does not fit.
    """
    section = problem.sections["komo"]
    found = section.fields((*KOMO_ARGUMENTS, "starts"))
    given = _to_python(found)
    numbers = {KOMO_ARGUMENTS[k]: v for k, v in given.items() if k in KOMO_ARGUMENTS}
    with section.locating_errors():
        komo = KOMO(problem.world, **numbers)
    for entry in problem.section("objectives").items("mappings"):
        with entry.locating_errors():
            _add_objective(komo, entry)
    for statement in problem.predicates:
        with statement.entry.locating_errors():
            komo.add(statement.predicate, statement.times)
    arguments = _solver_arguments(problem)
    if "starts" in given:
        arguments["starts"] = _read_integer(found["starts"], 1)
    return komo, arguments


def make_placement_arguments(problem: ProblemFile) -> dict[str, Any]:
    """The arguments of `solve_placement`.

    Raises:
        ProblemError: with file, line and key of what does not fit.
    """
    section = problem.sections["placement"]
    given = section.fields(PLACEMENT_KEYS)
    if "movable" not in _to_python(given):
        section.fail("there is no key 'movable': the names of what is to be placed.")
    arguments = _to_python(given)
    arguments["movable"] = list(_read_names(given, "movable"))
    for key in {"starts", "enough"} & set(arguments):
        arguments[key] = _read_integer(given[key], 1)
    if "collisions" in arguments:
        given["collisions"].boolean()
    what: list[Any] = []
    for entry in problem.section("objectives").items("mappings"):
        with entry.locating_errors():
            what.append(_placement_constraint(problem.world, entry))
    for statement in problem.predicates:
        if statement.times is not None:
            statement.entry.fail("has times; a placement has one moment only.")
        with statement.entry.locating_errors():
            statement.predicate.holds(problem.world)
            statement.predicate.relaxed(problem.world)
        what.append(statement.predicate)
    return {"what": what, **_solver_arguments(problem), **arguments}


def solve(problem: ProblemFile) -> Any:
    """The solution of a path problem, or the placements that were found.

    Raises:
        ProblemError: with file, line and key of what does not fit.
    """
    kinds = [k for k in ("komo", "placement") if k in problem.sections]
    if len(kinds) != 1:
        problem.top.fail(
            f"there is {' and '.join(kinds) or 'neither komo nor placement'}; expected"
            " one of the keys komo (configurations and paths) and placement (poses of"
            " objects)."
        )
    section = problem.sections[kinds[0]]
    if kinds == ["komo"]:
        komo, arguments = make_path_problem(problem)
        with section.locating_errors():
            return komo.solve(**arguments)
    arguments = make_placement_arguments(problem)
    with section.locating_errors():
        return solve_placement(problem.world, **arguments)


def _add_objective(komo: KOMO, entry: Entry) -> None:
    """A feature, a control cost, a mode switch or a preset."""
    kind = _objective_kind(entry)
    if kind == "control":
        found = entry.fields(CONTROL_KEYS)
        given = _to_python(found)
        _require_keys(entry, given, ("control",))
        komo.add_control_objective(
            given.pop("control"), **given | {"joints": _read_names(found, "joints")}
        )
    elif kind == "switch":
        found = entry.fields(MODE_SWITCH_KEYS)
        given = _to_python(found)
        _require_keys(entry, given, ("frames", "times"))
        mode = found["switch"].text("stable, stableOn or rigid")
        scale = {"scale": given["scale"]} if "scale" in given else {}
        frames = _read_names(found, "frames")
        komo.add_mode_switch(given["times"], mode, frames, **scale)
    elif kind == "preset":
        made, times = _read_preset(entry)
        komo.add(made, times)
    else:
        feature, type_, given = _read_feature(entry)
        komo.add_objective(
            given.get("times"), feature, type=type_, name=given.get("name")
        )


def _placement_constraint(world: Config, entry: Entry) -> Any:
    """What a placement shall meet."""
    kind = _objective_kind(entry)
    if kind == "preset":
        made, times = _read_preset(entry)
        if times is not None:
            entry.fail("has times; a placement has one moment only.")
        span = select_interval(None, 1, np.ones(1), "placement")
        if any(feature.order for feature, *_ in made.objectives(world, span)):
            entry.fail("speaks of velocities; a placement has one moment only.")
        return made
    if kind != "feature":
        entry.fail(f"{kind} is for paths: placements have features and presets only.")
    feature, type_, given = _read_feature(entry)
    if given.get("times") is not None:
        entry.fail("has times; a placement has one moment only.")
    feature.check(world)
    return feature, type_


def _objective_kind(entry: Entry) -> str:
    found = entry.mapping(
        f"a mapping with one of the keys {', '.join(OBJECTIVE_KINDS)}"
    )
    kinds = [k for k in OBJECTIVE_KINDS if k in found]
    if len(kinds) != 1:
        entry.fail(
            f"has {' and '.join(kinds) or 'none'} of the keys"
            f" {', '.join(OBJECTIVE_KINDS)}, expected one; its keys are"
            f" {', '.join(found) or 'none'}."
        )
    return kinds[0]


def _read_preset(entry: Entry) -> tuple[Any, Any]:
    """The preset, and its times; arguments under the names of its own."""
    named = entry.mapping("a mapping")["preset"]
    name = named.text("the name of a preset, e.g. grasp_box")
    if name not in PRESETS:
        named.fail(unknown_name("preset", name, PRESETS))
    arguments = inspect.signature(PRESETS[name]).parameters
    given = _to_python(entry.fields(("preset", "times", *arguments)))
    del given["preset"]
    times = given.pop("times", None)
    needed = [k for k, p in arguments.items() if p.default is p.empty]
    _require_keys(entry, given, tuple(needed))
    return PRESETS[name](**given), times


def _read_feature(entry: Entry) -> tuple[Feature, OT, dict[str, Any]]:
    """The feature, what it means, and times and name."""
    named = entry.mapping("a mapping")["feature"]
    name = named.text("the name of a feature, e.g. positionDiff")
    if name not in FS.__members__:
        named.fail(unknown_name("feature", name, FS.__members__))
    symbol = FS[name].symbol
    found = entry.fields((*FEATURE_KEYS, *symbol.options))
    given = _to_python(found)
    type_ = found["type"].text("eq, ineq or sos") if "type" in given else "eq"
    if type_ not in OT.__members__:
        found["type"].fail(unknown_name("type of objective", type_, OT.__members__))
    if "name" in given:
        found["name"].text("a name for reports")
    numbers: dict[str, Any] = {k: given.get(k) for k in ("order", "target", "scale")}
    options = {k: given[k] for k in symbol.options if k in given}
    made = Feature(FS[name], _read_names(found, "frames"), **numbers, **options)
    return made, OT[type_], given


def _read_names(found: Mapping[str, Entry], key: str) -> tuple[str, ...]:
    """One name or a list of them."""
    if key not in found or found[key].value is None:
        return ()
    if isinstance(found[key].value, str):
        return (found[key].value,)
    return tuple(e.text("a name") for e in found[key].items("names"))


def _require_keys(
    entry: Entry, given: Mapping[str, Any], keys: tuple[str, ...]
) -> None:
    for key in keys:
        if key not in given:
            entry.fail(f"there is no key {key!r}; got {shorten(entry.to_python())}.")


def _solver_arguments(problem: ProblemFile) -> dict[str, Any]:
    """Seed, tolerance and options of the solver."""
    options = list(inspect.signature(Options).parameters)
    given = problem.section("solver").fields(options, "solver option")
    arguments: dict[str, Any] = {}
    for key, entry in given.items():
        expected: tuple[str, Callable[[float], bool]]
        expected = "a number > 0", lambda x: x > 0
        with entry.locating_errors():
            arguments[key] = number(key, entry.to_python(), *expected)
    if "seed" in problem.sections:
        arguments["seed"] = _read_integer(problem.sections["seed"], 0)
    return arguments


def _read_integer(entry: Entry, least: int) -> int:
    with entry.locating_errors():
        name = entry.key.rpartition(".")[2]
        expected = f"an integer >= {least}"
        return integer(name, entry.to_python(), expected, lambda n: n >= least)


def _to_python(found: Mapping[str, Entry]) -> dict[str, Any]:
    """Python's types; null is as if it were not given."""
    return {
        k: entry.to_python() for k, entry in found.items() if entry.value is not None
    }
