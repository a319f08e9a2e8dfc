"""The section `komo` of problem files: a path problem, before its objectives."""

from typing import Any

import numpy as np

from posewise.objectives import KOMO
from posewise.objectives.problem.builder import make_avoidance
from posewise.objectives.terms.typing import Times
from posewise.robots.config import Config

from .yaml_entries import Entry, read_integer, read_names, shorten, to_python

KOMO_KEYS = ("phases", "slices_per_phase", "k_order", "duration_per_phase")
"""Arguments of KOMO."""
METHOD_KEYS = {
    "free_durations": ("min", "max"),
    "time_objective": ("scale",),
    "motion_limits": ("velocity", "acceleration", "jerk", "joints", "times", "scale"),
    "avoid_collisions": ("margin", "self_margin", "between", "allow"),
}
"""Keys that stand for a call of a method of KOMO, with its arguments, in the order of
the calls: durations are free before any objective may count in seconds."""


def read_komo(C: Config, section: Entry) -> tuple[KOMO, dict[str, Any]]:
    """Return a path problem without the file's objectives, and arguments of its solve.

    Raises:
        ProblemError: for invalid input, with file, line and key.
    """
    fields = section.fields((*KOMO_KEYS, "starts", "start_velocity", *METHOD_KEYS))
    values = to_python(fields)
    with section.locating_errors():
        komo = KOMO(C, **{k: values[k] for k in KOMO_KEYS if k in values})
    if "start_velocity" in values:
        entry = fields["start_velocity"]
        with entry.locating_errors():
            komo.set_start(velocity=_read_velocity(C, entry))
    for key in METHOD_KEYS:
        if key in fields and fields[key].value is not False:
            with fields[key].locating_errors():
                _call_method(komo, key, fields[key])
    if "starts" in values:
        return komo, {"starts": read_integer(fields["starts"], 1)}
    return komo, {}


def _call_method(komo: KOMO, key: str, entry: Entry) -> None:
    """Call the method of a key; without a value, or with `true`, by its defaults."""
    fields = {} if entry.value is True else entry.fields(METHOD_KEYS[key])
    match key:
        case "free_durations":
            komo.free_durations(**to_python(fields))
        case "time_objective":
            komo.add_time_objective(**to_python(fields))
        case "motion_limits":
            komo.add_motion_limits(**_limit_arguments(komo.config, fields))
        case "avoid_collisions":
            komo.avoid_collisions(**_avoidance_arguments(komo, fields))


def _avoidance_arguments(komo: KOMO, fields: dict[str, Entry]) -> dict[str, Any]:
    """Return the arguments of `KOMO.avoid_collisions`."""
    arguments = to_python(fields)
    if "between" in arguments:
        fields["between"].boolean()
    if "allow" in arguments:
        entries = fields["allow"].items("contacts: [frame, frame, times]")
        arguments["allow"] = [_read_contact(komo, entry) for entry in entries]
    return arguments


def _read_contact(komo: KOMO, entry: Entry) -> tuple[str, str, Times]:
    """Return two frames that may touch, and when; errors are those of its line."""
    expected = "[frame, frame, times], with times null for the whole path"
    parts = entry.value
    if not isinstance(parts, list) or len(parts) != 3:
        entry.fail(f"got {shorten(entry.to_python())}, expected {expected}.")
    a, b = (part.text("the name of a frame or object") for part in parts[:2])
    contact = a, b, parts[2].to_python()
    with entry.locating_errors():
        make_avoidance(komo.spec, 0.0, None, False, [contact])
    return contact


def _limit_arguments(C: Config, fields: dict[str, Entry]) -> dict[str, Any]:
    """Return the arguments of `KOMO.add_motion_limits`."""
    arguments = to_python(fields)
    for kind in ("velocity", "acceleration", "jerk"):
        if isinstance(arguments.get(kind), dict):
            limits = np.full(C.nq, np.inf)
            with fields[kind].locating_errors():
                for joint, value in fields[kind].mapping("").items():
                    limits[C.joints.coordinates(joint)] = _number(value)
            arguments[kind] = limits
    arguments["joints"] = read_names(fields, "joints")
    return arguments


def _read_velocity(C: Config, entry: Entry) -> Any:
    """Return the velocity at the start, of all degrees of freedom, or by joint."""
    if not isinstance(entry.value, dict):
        return entry.to_python()
    columns = list(C.tree.model.layout.tree.column_coordinate)
    velocity = np.zeros(C.nv)
    for joint, value in entry.value.items():
        coordinates = C.joints.coordinates(joint).tolist()
        if len(coordinates) > 1:
            value.fail(
                f"the joint {joint!r} has several coordinates; give the velocities of"
                f" all {C.nv} degrees of freedom as a list instead."
            )
        velocity[columns.index(coordinates[0])] = _number(value)
    return velocity


def _number(entry: Entry) -> float:
    value = entry.to_python()
    if isinstance(value, bool) or not isinstance(value, int | float):
        entry.fail(f"got {shorten(value)}, expected a number.")
    return float(value)
