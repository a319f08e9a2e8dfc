"""Recorded traces of grasps: positions of bodies, and contacts between them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from posewise.robots.errors import unknown_name
from posewise.robots.validation import CONVERSION_ERRORS, float_array, integer, number

from .errors import TraceError

OBJECT, FLOOR = "obj", "floor"
"""Names of the object and of the floor in contacts."""


@dataclass(frozen=True, eq=False)
class TraceContact:
    """Contact of two bodies at one point, at one stored instant.

    Args:
        k: index of the instant.
        a: "obj", a robot body, or "floor".
        b: the other body.
        pa: contact point on `a` [m, world].
        pb: contact point on `b` [m, world].
        f: force that `a` exerts on `b` [N, world].
    """

    k: int
    a: str
    b: str
    pa: Float[np.ndarray, "3"]
    pb: Float[np.ndarray, "3"]
    f: Float[np.ndarray, "3"]


@dataclass(frozen=True, eq=False, init=False)
class Trace:
    """Stored instants of a robot and an object; the first one is before the first step.

    Step i of the simulation starts at time i·dt, and its result is stored at instant
    i + 1. All values are in the world frame, whose y axis points up as in rostok. NaN
    stands for "not measured". Contacts at instant 0 are ignored.

    Args:
        dt: length of a step [s].
        robot_ids: names of the robot's bodies, the palm (base) first.
        obj_pos: positions of the object's center of mass (K, 3) [m].
        obj_vel: velocities of the object's center of mass (K, 3) [m/s].
        robot_pos: positions (K, 3) of each robot body [m].
        contacts: `TraceContact`s, or mappings with the same entries.

    Raises:
        TraceError: for wrong shapes, infinite numbers, or unknown bodies.
    """

    dt: float
    robot_ids: tuple[str, ...]
    obj_pos: Float[np.ndarray, "K 3"]
    obj_vel: Float[np.ndarray, "K 3"]
    robot_pos: dict[str, Float[np.ndarray, "K 3"]]
    contacts: tuple[TraceContact, ...]

    def __init__(
        self,
        dt: float,
        robot_ids: Sequence[str],
        obj_pos: ArrayLike,
        obj_vel: ArrayLike,
        robot_pos: Mapping[str, ArrayLike],
        contacts: Iterable[TraceContact | Mapping[str, Any]],
    ) -> None:
        step = number("dt", dt, "> 0 s", lambda x: x > 0, TraceError)
        names = _check_robot_ids(robot_ids)
        position = _check_positions("obj_pos", obj_pos)
        K = len(position)
        if K < 2:
            raise TraceError(
                f"obj_pos has {K} rows, expected 2 or more: the initial state and one"
                " for each step."
            )
        velocity = _check_positions("obj_vel", obj_vel, K)
        bodies = (OBJECT, FLOOR, *names)
        records = _to_list("contacts", contacts, "a list of contacts")
        fields = {
            "dt": step,
            "robot_ids": names,
            "obj_pos": position,
            "obj_vel": velocity,
            "robot_pos": _check_robot_positions(robot_pos, names, K),
            "contacts": tuple(
                _check_contact(j, record, K, bodies) for j, record in enumerate(records)
            ),
        }
        for name, value in fields.items():
            # The class is frozen, so that only object's own setter can fill it.
            object.__setattr__(self, name, value)

    @property
    def n_steps(self) -> int:
        """Number of steps, which is the number of stored instants minus one."""
        return len(self.obj_pos) - 1


def _check_robot_positions(
    robot_pos: Any, names: tuple[str, ...], K: int
) -> dict[str, np.ndarray]:
    if not isinstance(robot_pos, Mapping):
        raise TraceError(
            f"robot_pos is {type(robot_pos).__name__}, expected a mapping from each"
            " robot body to its positions."
        )
    for name in robot_pos:
        if name not in names:
            raise TraceError(unknown_name("robot body", name, names))
    missing = [name for name in names if name not in robot_pos]
    if missing:
        raise TraceError(
            f"robot_pos has no positions of {missing}; add them, with NaN where they"
            " were not measured."
        )
    return {
        name: _check_positions(f"robot_pos[{name!r}]", robot_pos[name], K)
        for name in names
    }


def _to_list(label: str, value: Any, expected: str) -> list[Any]:
    if isinstance(value, str | bytes | Mapping):
        raise TraceError(f"{label} is {value!r}, expected {expected}.")
    try:
        return list(value)
    except TypeError:
        raise TraceError(f"{label} is {value!r}, expected {expected}.") from None


def _check_robot_ids(value: Any) -> tuple[str, ...]:
    names = _to_list("robot_ids", value, "names of bodies, the palm first")
    wrong = [n for n in names if not isinstance(n, str) or n in (OBJECT, FLOOR)]
    if wrong or not names or len(set(names)) < len(names):
        raise TraceError(
            f"robot_ids is {names}, expected one or more different names, the palm"
            f" first, none of them {OBJECT!r} or {FLOOR!r}."
        )
    return tuple(names)


def _check_positions(
    label: str, value: Any, K: int | None = None
) -> Float[np.ndarray, "K 3"]:
    expected = f"({'K' if K is None else K}, 3)"
    array = float_array(label, value, f"numbers {expected}", TraceError)
    if array.ndim != 2 or array.shape[1] != 3 or K not in (None, len(array)):
        raise TraceError(f"{label} has shape {array.shape}, expected {expected}.")
    return _read_only_copy(label, array)


def _check_vector(label: str, value: Any) -> Float[np.ndarray, "3"]:
    array = float_array(label, value, "three numbers", TraceError)
    if array.shape != (3,):
        raise TraceError(f"{label} is {value!r}, expected three numbers.")
    return _read_only_copy(label, array)


def _read_only_copy(label: str, array: np.ndarray) -> np.ndarray:
    if np.isinf(array).any():
        raise TraceError(
            f"{label} has infinite entries, expected finite numbers, or NaN for"
            " values that were not measured."
        )
    array = array.copy()
    array.setflags(write=False)
    return array


def _check_contact(
    j: int, record: Any, K: int, bodies: tuple[str, ...]
) -> TraceContact:
    label = f"contacts[{j}]"
    if isinstance(record, TraceContact):
        record = vars(record)
    names = tuple(TraceContact.__dataclass_fields__)
    if not isinstance(record, Mapping) or set(record) != set(names):
        raise TraceError(
            f"{label} is {record!r}, expected the entries {', '.join(names)}."
        )
    for side in "ab":
        if record[side] not in bodies:
            raise TraceError(f"{label}: {unknown_name('body', record[side], bodies)}")
    if record["a"] == record["b"]:
        raise TraceError(
            f"{label} is a contact of {record['a']!r} with itself, expected two bodies."
        )
    k = integer(
        f"{label}: k", record["k"], f"0 to {K - 1}", lambda k: 0 <= k < K, TraceError
    )
    pa, pb, force = _contact_vectors(label, record)
    return TraceContact(k, record["a"], record["b"], pa, pb, force)


def _contact_vectors(label: str, record: Mapping[str, Any]) -> Float[np.ndarray, "3 3"]:
    """Return the points and the force of a contact, checked."""
    names = ("pa", "pb", "f")
    # One conversion of all three is fast; single ones follow only to name the culprit.
    try:
        rows = np.array([record[n] for n in names], float)
    except CONVERSION_ERRORS:
        rows = np.empty(0)
    if rows.shape != (3, 3) or np.isinf(rows).any():
        return np.array([_check_vector(f"{label}: {n}", record[n]) for n in names])
    rows.setflags(write=False)
    return rows
