"""Force exchanges of a problem: in which slices they act, and where they start."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.geometry.bounding_boxes import body_boxes
from posewise.robots.world.contact_forces import ContactForceVariable

from ..objective import ObjectiveError

if TYPE_CHECKING:
    from .modes import ModeSequence

NUM_PROJECTIONS = 20
"""Projections onto the two frames' boxes, to and fro."""


@dataclass(frozen=True)
class ActiveContact:
    """An exchange, and the slices in which there is a force."""

    variable: ContactForceVariable
    slices: tuple[int, ...]
    """In ascending order."""

    @property
    def change_slices(self) -> set[int]:
        """Slices in which it begins to act, or does so no more."""
        return set(self.slices) ^ {t + 1 for t in self.slices}


@dataclass(frozen=True, eq=False)
class ContactForce:
    """A contact in one slice of a solution."""

    frames: tuple[str, str]
    slice: int
    point: Float[np.ndarray, "3"]
    """Point of attack in the world [m]."""
    force: Float[np.ndarray, "3"]
    """What the second frame exerts on the first, in the world [N]."""


def activate_contact(
    known: Sequence[ActiveContact], a: str, b: str, unit: float, slices: Sequence[int]
) -> tuple[tuple[ActiveContact, ...], ActiveContact]:
    """All exchanges with one more, and that; another interval of a pair extends it.

    Raises:
        ConfigError: for a frame and itself.
        ObjectiveError: for slices in which the pair exchanges a force already.
    """
    if a == b:
        raise ConfigError(f"{a!r} cannot push itself; name two frames.")
    for k, old in enumerate(known):
        if {a, b} == set(old.variable.names):
            if twice := set(slices) & set(old.slices):
                raise ObjectiveError(
                    f"{a!r} and {b!r} are in contact in slice {min(twice)} already; for"
                    " a second point of contact attach a frame with a shape to one of"
                    " them, and name that."
                )
            made = replace(old, slices=tuple(sorted({*old.slices, *slices})))
            return (*known[:k], made, *known[k + 1 :]), made
    pair = f"{a}-{b}"
    made = ActiveContact(
        ContactForceVariable(a, b, f"{pair} point", f"{pair} force", unit),
        tuple(slices),
    )
    return (*known, made), made


def contact_forces_along_path(
    modes: "ModeSequence", x: Float[np.ndarray, "T nq"]
) -> tuple[ContactForce, ...]:
    """Contacts of all slices of a path of the problem's world, slice by slice."""
    found = []
    for acting in modes.contacts:
        e, world = acting.variable, modes.world
        point, force = (x[:, world.coordinates(n)] for n in (e.point, e.force))
        for t in acting.slices:
            found.append(ContactForce(e.names, t, point[t], e.unit * force[t]))
    return tuple(sorted(found, key=lambda f: f.slice))


def initialize_contacts(
    modes: "ModeSequence", paths: Float[np.ndarray, "count T nq"]
) -> Float[np.ndarray, "count T nq"]:
    """Paths whose points of attack lie between the frames, which push each other apart.

    Each with one unit of force: without any, there is no friction to begin with, and
    what lies on a slope leaves before it is held.
    """
    if not modes.contacts:
        return paths
    paths, C = paths.copy(), modes.world
    for acting in modes.contacts:
        e = acting.variable
        point, force = C.coordinates(e.point), C.coordinates(e.force)
        paths[..., np.append(point, force)] = 0.0
        for t in acting.slices:
            names = [modes.at(t).real(name) for name in e.names]
            paths[:, t, point], away = _touching(C, names, paths[:, t])
            length = np.linalg.norm(away, axis=1, keepdims=True)
            paths[:, t, force] = away / np.maximum(length, 1e-9)
    return paths


def _touching(
    C: Config, names: list[str], q: Float[np.ndarray, "n nq"]
) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n 3"]]:
    """Points between the boxes around two frames' bodies, or in both of them.

    And from there the way to the middle of the first one's box.
    """
    frames = C.forward_pass(q).frames
    boxes = []
    for name in names:
        i = C.index(name)
        low, high = body_boxes(C.frame(name), np.eye(3), np.zeros(3))
        boxes.append((frames.R[:, i], frames.p[:, i], low.min(0), high.max(0)))
    R, p, low, high = boxes[0]
    middle = p + R @ (low + high) / 2
    x = p
    for _ in range(NUM_PROJECTIONS):
        y = _nearest(x, *boxes[1])
        x = _nearest(y, *boxes[0])
    between = (x + y) / 2
    return between, middle - between


def _nearest(
    x: Float[np.ndarray, "n 3"],
    R: Float[np.ndarray, "n 3 3"],
    p: Float[np.ndarray, "n 3"],
    low: Float[np.ndarray, "3"],
    high: Float[np.ndarray, "3"],
) -> Float[np.ndarray, "n 3"]:
    """The points of boxes nearest to points."""
    inside = np.clip(np.einsum("nji,nj->ni", R, x - p), low, high)
    return p + np.einsum("nij,nj->ni", R, inside)
