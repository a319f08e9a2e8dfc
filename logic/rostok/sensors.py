"""rostok's two sensors and its data storage, which events and criteria read."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from posewise.robots.errors import unknown_name

from .errors import TraceError
from .thresholds import MIN_CONTACT_FORCE
from .trace import OBJECT, Trace

MISSING_VALUE_CODE = 9999.0
"""Value that rostok stores for positions and velocities that were not measured [m,
m/s]; it is larger than any measured one."""


@dataclass(frozen=True, eq=False)
class Sensor:
    """Series of one group of bodies: the robot's bodies, or the object alone.

    As in rostok the object's key is 0. Positions and velocities are in the world frame.

    With `legacy` all values are as rostok stores them: positions and velocities are
    rounded to 4 decimals, with 9999 for NaN, and a contact force has the same sign on
    both bodies. Otherwise nothing is rounded, the force has opposite signs on the two
    bodies, and contacts with a NaN are left out because they were not measured.
    """

    positions: dict[Any, Float[np.ndarray, "K 3"]]
    velocities: dict[Any, Float[np.ndarray, "K 3"]]
    forces: dict[Any, list[Float[np.ndarray, "_ 2 3"]]]
    """For each instant the contacts of a body: point [m] and force on the body [N]."""
    external_contacts: dict[Any, list[Float[np.ndarray, "_ 2 3"]]]
    """Contacts whose other body is not in this group."""
    legacy: bool

    @cached_property
    def n_contacts(self) -> dict[Any, Int[np.ndarray, " K"]]:
        """Number of external contact points of each body at each instant."""
        return {
            b: np.array([len(c) for c in s]) for b, s in self.external_contacts.items()
        }

    @cached_property
    def n_fingers(self) -> Int[np.ndarray, " K"]:
        """Number of bodies, without the first, that have external contacts."""
        counts = np.array(list(self.n_contacts.values()))
        return (counts[1:] > 0).sum(0)

    def force_center(self, body: Hashable, k: int) -> Float[np.ndarray, "3"] | None:
        """Return the center of a body's external contacts [m, world], or None.

        The center is the mean of the points weighted by their forces; with `legacy` it
        is unweighted.
        """
        contacts = self.external_contacts[body][k]
        if not len(contacts):
            return None
        if self.legacy:
            return np.nan_to_num(contacts[:, 0].mean(0), nan=MISSING_VALUE_CODE)
        weights = np.linalg.norm(contacts[:, 1], axis=1)
        return weights @ contacts[:, 0] / weights.sum()


@dataclass(frozen=True, eq=False)
class SensorReading:
    """Reading of a sensor at one instant, with rostok's names, for `event_check`."""

    sensor: Sensor
    k: int

    @property
    def legacy(self) -> bool:
        """Whether the values are exactly those of rostok."""
        return self.sensor.legacy

    @property
    def n_fingers(self) -> int:
        """Number of bodies, without the first, that have external contacts."""
        return int(self.sensor.n_fingers[self.k])

    def get_body_trajectory_point(self) -> dict[Any, Float[np.ndarray, "3"]]:
        """Return the position of each body [m, world]."""
        return {b: p[self.k] for b, p in self.sensor.positions.items()}

    def get_velocity(self) -> dict[Any, Float[np.ndarray, "3"]]:
        """Return velocities [m/s, world]; traces record them for the object only."""
        return {b: v[self.k] for b, v in self.sensor.velocities.items()}

    def get_amount_contacts(self) -> dict[Any, int]:
        """Return the number of external contact points of each body."""
        return {b: int(n[self.k]) for b, n in self.sensor.n_contacts.items()}


@dataclass(frozen=True, eq=False)
class DataStorage:
    """Series of a sensor over the instants of a run, with rostok's names."""

    sensor: Sensor
    length: int

    def get_data(self, name: str) -> dict[Any, list[Any]]:
        """Return one series: for each body a list over the instants.

        Args:
            name: "COG" (positions [m]), "forces" (contacts (n, 2, 3): point [m], force
                [N]), "n_contacts" (external contacts) or "force_center" ([m], NaN
                without contact).

        Raises:
            TraceError: for another name.
        """
        known = ("COG", "forces", "n_contacts", "force_center")
        if name not in known:
            raise TraceError(unknown_name("series", name, known))
        if name == "force_center":
            return {b: self._centers(b) for b in self.sensor.external_contacts}
        sources: dict[str, dict[Any, Any]] = {
            "COG": self.sensor.positions,
            "forces": self.sensor.forces,
            "n_contacts": self.sensor.n_contacts,
        }
        return {b: list(s[: self.length]) for b, s in sources[name].items()}

    def _centers(self, body: Any) -> list[Any]:
        centers = (self.sensor.force_center(body, k) for k in range(self.length))
        return [np.nan if center is None else center for center in centers]


def environment_sensor(trace: Trace, legacy: bool) -> Sensor:
    """Return the sensor of the object, whose key is 0."""
    velocities = {0: _series(trace.obj_vel, legacy)}
    return _sensor(trace, {OBJECT: 0}, {0: trace.obj_pos}, velocities, legacy)


def robot_sensor(trace: Trace, legacy: bool) -> Sensor:
    """Return the sensor of all robot bodies, the palm first."""
    keys = {b: b for b in trace.robot_ids}
    return _sensor(trace, keys, trace.robot_pos, {}, legacy)


def _sensor(
    trace: Trace,
    keys: dict[str, Any],
    positions: dict[Any, np.ndarray],
    velocities: dict[Any, np.ndarray],
    legacy: bool,
) -> Sensor:
    contacts = trace.contacts
    instants = np.array([c.k for c in contacts], int)
    vectors = np.array([[c.pa, c.pb, c.f] for c in contacts]).reshape(-1, 3, 3)
    points, force = vectors[:, :2], vectors[:, 2:]
    # f acts on body b, so that body a feels -f; rostok stores -f for both bodies.
    forces = np.concatenate([-force, -force if legacy else force], 1)
    records = np.stack([points, forces], 2)
    # A NaN force fails "<" and so counts, as in rostok; it is dropped below otherwise.
    is_strong = ~(np.linalg.norm(force[:, 0], axis=-1) < MIN_CONTACT_FORCE)
    counts = (instants > 0) & is_strong
    if not legacy:
        counts &= ~np.isnan(vectors).any((1, 2))
    is_internal = np.array([c.a in keys and c.b in keys for c in contacts], bool)
    all_contacts, external_contacts = {}, {}
    for body, key in keys.items():
        sides = np.array([[c.a == body, c.b == body] for c in contacts], bool)
        sides = sides.reshape(-1, 2) & counts[:, None]
        of_body = sides.any(1)
        body_records, body_instants = records[sides], instants[of_body]
        all_contacts[key] = _by_instant(
            np.nan_to_num(body_records), body_instants, trace
        )
        is_external = ~is_internal[of_body]
        external_contacts[key] = _by_instant(
            body_records[is_external], body_instants[is_external], trace
        )
    return Sensor(
        positions={b: _series(p, legacy) for b, p in positions.items()},
        velocities=velocities,
        forces=all_contacts,
        external_contacts=external_contacts,
        legacy=legacy,
    )


def _by_instant(
    records: Float[np.ndarray, "n 2 3"], instants: Int[np.ndarray, " n"], trace: Trace
) -> list[Float[np.ndarray, "_ 2 3"]]:
    """Return the records of each instant, in the order of the trace."""
    order = np.argsort(instants, kind="stable")
    ends = np.searchsorted(instants[order], np.arange(1, len(trace.obj_pos)))
    return np.split(records[order], ends)


def _series(values: np.ndarray, legacy: bool) -> np.ndarray:
    """Return a series as it is stored: rounded if `legacy`."""
    if not legacy:
        return values
    rounded = [[round(x, 4) for x in row] for row in values.tolist()]
    return np.nan_to_num(np.array(rounded), nan=MISSING_VALUE_CODE)
