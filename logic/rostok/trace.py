"""A recorded trace of a grasp: where the bodies were, and what touched what."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.errors import PosewiseError, unknown_name
from posewise.robots.validation import CONVERSION_ERRORS, float_array, integer, number

OBJECT, FLOOR = "obj", "floor"


class TraceError(PosewiseError):
    """A recorded trace that is incomplete or contradicts itself."""


@dataclass(frozen=True, eq=False)
class Contact:
    """Two bodies that touch at one stored instant, at one point.

    Args:
        k: index of the instant.
        a: "obj", a robot body, or "floor".
        b: the other body.
        pa: the point on `a` [m, world].
        pb: the point on `b` [m, world].
        f: the reaction [N, world]: what `a` exerts on `b`.
    """

    k: Any
    a: Any
    b: Any
    pa: Any
    pb: Any
    f: Any


@dataclass(frozen=True, eq=False)
class Trace:
    """K stored instants of a robot and an object, the first before the first step.

    Step i of the simulation starts at time i·dt and is seen at instant i + 1. All is in
    the world frame, of which y is up, as in rostok. NaN stands for "not measured".
    Contacts at instant 0 are ignored.

    Args:
        dt: length of a step [s].
        robot_ids: names of the robot's bodies, the palm (base) first.
        obj_pos: the object's centre of mass (K, 3) [m].
        obj_vel: its velocity (K, 3) [m/s].
        robot_pos: for each robot body its position (K, 3) [m].
        contacts: `Contact`s, or mappings with the same entries.

    Raises:
        TraceError: for wrong shapes, infinite numbers, unknown bodies.
    """

    dt: Any
    robot_ids: Any
    obj_pos: Any
    obj_vel: Any
    robot_pos: Any
    contacts: Any

    def __post_init__(self) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)
        put("dt", number("dt", self.dt, "> 0 s", lambda x: x > 0, TraceError))
        put("robot_ids", _check_robot_ids(self.robot_ids))
        position = _check_positions("obj_pos", self.obj_pos)
        K = len(position)
        if K < 2:
            raise TraceError(
                f"obj_pos has {K} rows, expected 2 or more: the initial state and one"
                " for each step."
            )
        put("obj_pos", position)
        put("obj_vel", _check_positions("obj_vel", self.obj_vel, K))
        put("robot_pos", self._positions(K))
        bodies = (OBJECT, FLOOR, *self.robot_ids)
        contacts = _to_list("contacts", self.contacts, "a list of contacts")
        made = (_check_contact(j, c, K, bodies) for j, c in enumerate(contacts))
        put("contacts", tuple(made))

    def _positions(self, K: int) -> dict[str, np.ndarray]:
        given = self.robot_pos
        if not isinstance(given, Mapping):
            raise TraceError(
                f"robot_pos is {type(given).__name__}, expected a mapping from each"
                " robot body to its positions."
            )
        for name in given:
            if name not in self.robot_ids:
                raise TraceError(unknown_name("robot body", name, self.robot_ids))
        missing = [b for b in self.robot_ids if b not in given]
        if missing:
            raise TraceError(f"robot_pos has no positions of {missing}.")
        return {
            b: _check_positions(f"robot_pos[{b!r}]", given[b], K)
            for b in self.robot_ids
        }

    @property
    def n_steps(self) -> int:
        """Number of steps: one less than the stored instants."""
        return len(self.obj_pos) - 1


def _to_list(what: str, value: Any, expected: str) -> list[Any]:
    if isinstance(value, str | bytes | Mapping):
        raise TraceError(f"{what} is {value!r}, expected {expected}.")
    try:
        return list(value)
    except TypeError:
        raise TraceError(f"{what} is {value!r}, expected {expected}.") from None


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
    what: str, value: Any, K: int | None = None
) -> Float[np.ndarray, "K 3"]:
    expected = f"({'K' if K is None else K}, 3)"
    array = float_array(what, value, f"numbers {expected}", TraceError)
    if array.ndim != 2 or array.shape[1] != 3 or K not in (None, len(array)):
        raise TraceError(f"{what} has shape {array.shape}, expected {expected}.")
    return _read_only_copy(what, array)


def _check_vector(what: str, value: Any) -> Float[np.ndarray, "3"]:
    array = float_array(what, value, "three numbers", TraceError)
    if array.shape != (3,):
        raise TraceError(f"{what} is {value!r}, expected three numbers.")
    return _read_only_copy(what, array)


def _read_only_copy(what: str, array: np.ndarray) -> np.ndarray:
    if np.isinf(array).any():
        raise TraceError(f"{what} is infinite somewhere; NaN stands for 'no data'.")
    array = array.copy()
    array.setflags(write=False)
    return array


def _check_contact(j: int, given: Any, K: int, bodies: tuple[str, ...]) -> Contact:
    what = f"contacts[{j}]"
    if isinstance(given, Contact):
        given = vars(given)
    names = tuple(Contact.__dataclass_fields__)
    if not isinstance(given, Mapping) or set(given) != set(names):
        raise TraceError(f"{what} is {given!r}, expected {', '.join(names)}.")
    for side in "ab":
        if given[side] not in bodies:
            raise TraceError(f"{what}: {unknown_name('body', given[side], bodies)}")
    if given["a"] == given["b"]:
        raise TraceError(f"{what} is of {given['a']!r} with itself.")
    inside = lambda k: 0 <= k < K
    k = integer(f"{what}: k", given["k"], f"0 to {K - 1}", inside, TraceError)
    return Contact(k, given["a"], given["b"], *_contact_vectors(what, given))


def _contact_vectors(what: str, given: Mapping[str, Any]) -> Float[np.ndarray, "3 3"]:
    """Points and force of a contact: checked together, which is fast, or one by one."""
    names = ("pa", "pb", "f")
    try:
        rows = np.array([given[n] for n in names], float)
    except CONVERSION_ERRORS:
        rows = np.empty(0)
    if rows.shape != (3, 3) or np.isinf(rows).any():
        return np.array([_check_vector(f"{what}: {n}", given[n]) for n in names])
    rows.setflags(write=False)
    return rows
