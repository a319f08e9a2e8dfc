"""What events and criteria read of a trace: rostok's two sensors and its storage."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from posewise.robots.errors import unknown_name

from .thresholds import MIN_CONTACT_FORCE
from .trace import OBJECT, Trace, TraceError

MISSING_VALUE = 9999.0
"""What rostok puts where a position or a velocity was not measured."""


@dataclass(frozen=True, eq=False)
class Sensor:
    """All series of one group of bodies: the robot's, or the object alone.

    As in rostok the object's key is 0. Positions and velocities are in the world.

    With `legacy` everything is as rostok stores it: positions and velocities rounded to
    4 decimals, with 9999 for NaN, and the same sign of a force on both bodies of a
    contact. Otherwise nothing is rounded, a force acts with opposite signs on the two
    bodies, and a contact with a NaN, being no data, is left out.
    """

    positions: dict[Any, Float[np.ndarray, "K 3"]]
    velocities: dict[Any, Float[np.ndarray, "K 3"]]
    forces: dict[Any, list[Float[np.ndarray, "_ 2 3"]]]
    """For each instant the contacts of a body: point [m] and force on it [N]."""
    external_contacts: dict[Any, list[Float[np.ndarray, "_ 2 3"]]]
    """Those whose partner is not in this group."""
    legacy: bool

    @cached_property
    def n_contacts(self) -> dict[Any, Int[np.ndarray, " K"]]:
        """Number of outer contact points."""
        return {
            b: np.array([len(c) for c in s]) for b, s in self.external_contacts.items()
        }

    @cached_property
    def n_fingers(self) -> Int[np.ndarray, " K"]:
        """Number of bodies but the first that have outer contacts."""
        counts = np.array(list(self.n_contacts.values()))
        return (counts[1:] > 0).sum(0)

    def force_center(self, body: Any, k: int) -> Float[np.ndarray, "3"] | None:
        """Where the outer contacts act on a body [m, world]; None without contact.

        The mean of the points, weighted by their forces; legacy: unweighted.
        """
        contacts = self.external_contacts[body][k]
        if not len(contacts):
            return None
        if self.legacy:
            return np.nan_to_num(contacts[:, 0].mean(0), nan=MISSING_VALUE)
        weights = np.linalg.norm(contacts[:, 1], axis=1)
        return weights @ contacts[:, 0] / weights.sum()


@dataclass(frozen=True, eq=False)
class SensorReading:
    """A sensor at one instant, with rostok's names: what `event_check` is given."""

    sensor: Sensor
    k: int

    @property
    def legacy(self) -> bool:
        """Whether this is read as rostok does."""
        return self.sensor.legacy

    @property
    def n_fingers(self) -> int:
        """Number of bodies but the first that have outer contacts."""
        return int(self.sensor.n_fingers[self.k])

    def get_body_trajectory_point(self) -> dict[Any, Float[np.ndarray, "3"]]:
        """Position of each body [m, world]."""
        return {b: p[self.k] for b, p in self.sensor.positions.items()}

    def get_velocity(self) -> dict[Any, Float[np.ndarray, "3"]]:
        """Velocity of each body [m/s, world]; the object's alone are recorded."""
        return {b: v[self.k] for b, v in self.sensor.velocities.items()}

    def get_amount_contacts(self) -> dict[Any, int]:
        """Number of outer contact points of each body."""
        return {b: int(n[self.k]) for b, n in self.sensor.n_contacts.items()}


@dataclass(frozen=True, eq=False)
class DataStorage:
    """The series of a sensor over the instants of a run, with rostok's names."""

    sensor: Sensor
    length: int

    def get_data(self, name: str) -> dict[Any, list[Any]]:
        """One series: for each body a list over the instants.

        Args:
            name: "COG" (position [m]), "forces" (contacts (n, 2, 3): point [m], force
                [N]), "n_contacts" (outer ones) or "force_center" ([m]; NaN: none).

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
        found = (self.sensor.force_center(body, k) for k in range(self.length))
        return [np.nan if c is None else c for c in found]


def environment_sensor(trace: Trace, legacy: bool) -> Sensor:
    """The object alone, under the key 0."""
    velocities = {0: _series(trace.obj_vel, legacy)}
    return _sensor(trace, {OBJECT: 0}, {0: trace.obj_pos}, velocities, legacy)


def robot_sensor(trace: Trace, legacy: bool) -> Sensor:
    """All robot bodies, the palm first."""
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
    at = np.array([c.k for c in contacts], int)
    vectors = np.array([[c.pa, c.pb, c.f] for c in contacts]).reshape(-1, 3, 3)
    points, force = vectors[:, :2], vectors[:, 2:]
    forces = np.concatenate([-force, -force if legacy else force], 1)
    records = np.stack([points, forces], 2)
    counts = (at > 0) & ~(np.linalg.norm(force[:, 0], axis=-1) < MIN_CONTACT_FORCE)
    if not legacy:
        counts &= ~np.isnan(vectors).any((1, 2))
    inner = np.array([c.a in keys and c.b in keys for c in contacts], bool)
    every, outer = {}, {}
    for body, key in keys.items():
        sides = np.array([[c.a == body, c.b == body] for c in contacts], bool)
        sides = sides.reshape(-1, 2) & counts[:, None]
        own, where = records[sides], at[sides.any(1)]
        every[key] = _by_instant(np.nan_to_num(own), where, trace)
        out = ~inner[sides.any(1)]
        outer[key] = _by_instant(own[out], where[out], trace)
    rounded = {b: _series(p, legacy) for b, p in positions.items()}
    return Sensor(rounded, velocities, every, outer, legacy)


def _by_instant(
    records: Float[np.ndarray, "n 2 3"], instants: Int[np.ndarray, " n"], trace: Trace
) -> list[Float[np.ndarray, "_ 2 3"]]:
    """Records of each instant, in their order."""
    order = np.argsort(instants, kind="stable")
    ends = np.searchsorted(instants[order], np.arange(1, len(trace.obj_pos)))
    return np.split(records[order], ends)


def _series(values: np.ndarray, legacy: bool) -> np.ndarray:
    if not legacy:
        return values
    rounded = [[round(x, 4) for x in row] for row in values.tolist()]
    return np.nan_to_num(np.array(rounded), nan=MISSING_VALUE)
