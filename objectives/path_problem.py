"""A problem over the slices of a path: objectives, initial path, and what is solved.

What the solver sees is made from the world as it is then, and kept while nothing that
it is made of has changed.
"""

import copy
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.validation import float_array, integer, number

from .chain.builder import RowLocation, build_chain
from .chain.contact_forces import ActiveContact
from .chain.groups import ChainData
from .chain.modes import HelperFrame, ModeSequence, ModeSwitch, build_modes
from .chain.problem import Chain
from .objective import Objective, ObjectiveError
from .solve.alternatives import Choice
from .solve.starts import sample_initial_paths
from .solve.waypoints import waypoint_path

MAX_SLICES = 1_000_000
"""Slices of a path."""


class PathProblem:
    """Objectives over `phases × slices_per_phase` copies of a world's coordinates.

    See `KOMO`, which adds objectives and solves.
    """

    def __init__(
        self,
        C: Any,
        phases: Any = 1,
        slices_per_phase: Any = 1,
        k_order: Any = 0,
        duration_per_phase: Any = 1.0,
    ) -> None:
        if not isinstance(C, Config):
            raise ObjectiveError(f"C is {type(C).__name__}, expected a Config.")
        slices = _integer(
            "slices_per_phase", slices_per_phase, "an integer >= 1", lambda n: n >= 1
        )
        order = _integer("k_order", k_order, "0, 1 or 2", lambda k: 0 <= k <= 2)
        phases = _positive("phases", phases, "a number > 0")
        if C.nq == 0:
            raise ObjectiveError(
                "The world has no moving joint; add one, or unlock some."
            )
        if not phases * slices <= MAX_SLICES:
            raise ObjectiveError(
                f"phases x slices_per_phase is {phases:g} x {slices:g}, expected at"
                f" most {MAX_SLICES} slices; use fewer."
            )
        self.config: Config = C
        self.slices_per_phase = slices
        self.T = max(int(np.ceil(phases * slices - 1e-9)), 1)
        self.k_order = order
        self.tau = _steps(duration_per_phase, slices, self.T)
        self._objectives: list[Objective] = []
        self.choices: tuple[Choice, ...] = ()
        self.alternatives: tuple[str, ...] = ()
        self.switches: tuple[ModeSwitch, ...] = ()
        self.helpers: tuple[HelperFrame, ...] = ()
        self.contacts: tuple[ActiveContact, ...] = ()
        self._initial: np.ndarray | None = None
        self._modes: tuple[Any, ModeSequence] | None = None
        self._starts: tuple[Any, np.ndarray] | None = None
        self._chain: tuple[Any, tuple[Chain, ChainData, list[list[RowLocation]]]] | None
        self._chain = None

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """All objectives, in order."""
        return tuple(self._objectives)

    def initialize(self, path: Any) -> None:
        """Set the initial path: (T, nq), or one configuration (nq,) for all slices.

        Raises:
            ObjectiveError: for a wrong shape or entries that are not finite.
        """
        T, n = self.T, self.config.nq
        path = float_array(
            "path", path, f"({T}, {n}) or ({n},) numbers", ObjectiveError
        )
        if path.shape not in ((T, n), (n,)):
            raise ObjectiveError(
                f"path has shape {path.shape}, expected ({T}, {n}) or ({n},)."
            )
        if not np.isfinite(path).all():
            raise ObjectiveError("path has NaN or infinite entries.")
        self._initial = np.array(np.broadcast_to(path, (T, n)))

    def initialize_waypoints(self, waypoints: Any, linear: bool = False) -> None:
        """Set the initial path: through one configuration at the end of each phase.

        It starts from the present state, and is clipped to the limits.

        Args:
            waypoints: (phases, nq).
            linear: at constant speed between waypoints; otherwise at rest at each.

        Raises:
            ObjectiveError: for a wrong shape or entries that are not finite.
        """
        C, S = self.config, self.slices_per_phase
        shape = -(-self.T // S), C.nq
        points = float_array("waypoints", waypoints, f"{shape} numbers", ObjectiveError)
        if points.shape != shape or not np.isfinite(points).all():
            raise ObjectiveError(
                f"waypoints have shape {points.shape}, expected {shape}: finite"
                " coordinates at the end of each phase."
            )
        path = waypoint_path(C.q, points, S, self.T, C.quaternions, linear)
        self.initialize(np.clip(path, *C.limits))

    @property
    def initialized(self) -> bool:
        """An initial path was given."""
        return self._initial is not None

    @property
    def initial(self) -> Float[np.ndarray, "T nq"]:
        """The initial path; where none was given, the world's state in all slices.

        Raises:
            ObjectiveError: when the world's joints have changed since it was given.
        """
        T, n = self.T, self.config.nq
        if self._initial is None:
            return np.tile(self.config.q, (T, 1))
        if self._initial.shape != (T, n):
            raise ObjectiveError(
                f"The initial path has shape {self._initial.shape}, expected"
                f" ({T}, {n}): the world's joints have changed; initialize again."
            )
        return self._initial

    def frozen(self) -> "PathProblem":
        """The problem as it is now, with a copy of the world."""
        other = self.within(self.config.copy())
        other._objectives = list(self._objectives)
        return other

    def within(self, world: Any) -> "PathProblem":
        """The same problem in another world."""
        if not isinstance(world, Config):
            raise ObjectiveError(
                f"worlds has a {type(world).__name__}, expected Configs: copies of the"
                " problem's world, C.copy(), with other numbers."
            )
        other = copy.copy(self)
        other.config, other._modes, other._chain = world, None, None
        return other

    def __copy__(self) -> "PathProblem":
        # each solve makes one; copy.copy's own way takes longer
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    @property
    def world(self) -> Config:
        """The world, with a copy of it where there are helper frames or contacts."""
        return self.modes().named

    def modes(self) -> ModeSequence:
        """The world with the copies that mode switches make; see `objectives.modes`."""
        C = self.config
        values = C.q.tobytes() if self.switches else b""
        parts = self.switches, self.helpers, self.contacts
        key = (C.structure_key, *parts, values)
        if self._modes is None or not _same(self._modes[0], key):
            self._modes = key, build_modes(C, *parts)
        return self._modes[1]

    def chain(self) -> tuple[Chain, ChainData, list[list[RowLocation]]]:
        """The problem as the solver sees it; see `objectives.chain`."""
        modes = self.modes()
        key = (modes, tuple(self._objectives))
        if self._chain is None or not _same(self._chain[0], key):
            made = build_chain(modes, self._objectives, self.k_order, self.tau)
            self._chain = key, made
        chain, data, placed = self._chain[1]
        if self.k_order:
            now: Any = modes.widen(self.config.q)[None]
            prefix = now.repeat(self.k_order, 0).astype(data.prefix.dtype)
            if prefix.tobytes() != data.prefix.tobytes():
                data = data._replace(prefix=prefix)
                self._chain = self._chain[0], (chain, data, placed)
        return chain, data, placed

    def starts(self, seed: int, count: int) -> np.ndarray:
        """Initial paths (count, T, nq): the initial path, then random ones.

        With mode switches, nq is that of their world; see `objectives.starts`.
        """
        modes = self.modes()
        q = self.config.q
        given = b"" if self._initial is None else self._initial.tobytes()
        key = modes, q.tobytes(), given, (seed, count)
        if self._starts is None or not _same(self._starts[0], key):
            wide = modes.widen(q), modes.widen(self.initial)
            self._starts = key, sample_initial_paths(modes, *wide, seed, count)
            self._starts[1].flags.writeable = False
        return self._starts[1]


def _integer(what: str, value: Any, expected: str, holds: Any) -> int:
    return integer(what, value, expected, holds, ObjectiveError)


def _positive(what: str, value: Any, expected: str) -> float:
    return number(what, value, expected, lambda x: x > 0, ObjectiveError)


def _steps(duration: Any, slices_per_phase: int, T: int) -> Float[np.ndarray, " T"]:
    """Time from the slice before to each slice, from the duration of each phase."""
    phases = -(-T // slices_per_phase)
    expected = f"seconds > 0: one number, or {phases}, one for each phase"
    given = float_array("duration_per_phase", duration, expected, ObjectiveError)
    good = np.isfinite(given).all() and (given > 0).all()
    if given.shape not in ((), (phases,)) or not good:
        raise ObjectiveError(
            f"duration_per_phase is {duration!r}, expected {expected}."
        )
    each = np.broadcast_to(given / slices_per_phase, phases)
    return np.repeat(each, min(slices_per_phase, T))[:T]


def _same(old: tuple, new: tuple) -> bool:
    """The same objects and equal bytes; nothing is compared by value else."""
    for a, b in zip(old, new, strict=True):
        if a is not b and not (isinstance(a, (tuple, bytes)) and a == b):
            return False
    return True
