"""A world along a path: where it is, and in what states, at each time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.validation import float_array
from posewise.robots.world.object_states import ObjectState, states_at

from ..errors import PredicateError


@dataclass(frozen=True, eq=False)
class StateTrajectory:
    """Configurations of a world at increasing times; see `state_trajectory`."""

    C: Config
    """A copy of its own, which `at` moves."""
    path: Float[np.ndarray, "T nq"]
    times: Float[np.ndarray, " T"]
    states: Mapping[str, ObjectState] | None

    def world_at(self, k: int) -> Config:
        """The world at slice k, until `at` is asked again."""
        self.C.q = self.path[k]
        if self.states is not None:
            self.C.states = states_at(self.states, k)
        return self.C

    def slices(self, times: tuple[float, ...], what: str) -> tuple[int, ...]:
        """Slices that times select, by the rule of `KOMO.add_objective`.

        None: all; t: the nearest one; a, b: all from that nearest to a to that nearest
        to b; more: the nearest to each. A negative time is the last slice; an interval
        is clipped to the path.

        Raises:
            PredicateError: when no slice is selected, with the times that exist.
        """
        last = len(self.times) - 1
        found = [last if t < 0 else self._nearest(t) for t in times] or [0, last]
        if len(found) == 2:
            low, high = max(found[0], 0), min(found[1], last)
            found = list(range(low, high + 1))
        if not found or min(found) < 0 or max(found) > last:
            raise PredicateError(
                f"{what}: times {list(times)} select no slice; those of the path lie at"
                f" {self.times[0]:g} to {self.times[-1]:g}."
            )
        return tuple(dict.fromkeys(found))

    def _nearest(self, time: float) -> int:
        """The nearest slice, beyond the path where that is more than half a step."""
        if len(self.times) == 1:
            return int((time - self.times[0] + 0.500001) // 1)
        k = int(np.searchsorted(self.times, time)) - 1
        k = min(max(k, 0), len(self.times) - 2)
        start, end = self.times[k : k + 2]
        return k + int(((time - start) / (end - start) + 0.500001) // 1)


def state_trajectory(
    C: Config, path: Any, times: Any, states: Mapping[str, ObjectState] | None = None
) -> StateTrajectory:
    """A world along a path.

    Args:
        C: the world; it is not changed.
        path: configurations (T, nq).
        times: one for each (T,), increasing, not negative.
        states: of the objects, by `rollout(C, path)`; None: those of C throughout.

    Raises:
        PredicateError: for arguments that do not fit each other.
    """
    path = float_array("path", path, f"(T, {C.nq}) numbers", PredicateError)
    if path.ndim != 2 or path.shape[1] != C.nq or not len(path):
        raise PredicateError(
            f"path has shape {path.shape}, expected (T, {C.nq}) with T >= 1: one"
            " configuration for each time."
        )
    expected = f"({len(path)},) increasing numbers >= 0: one for each slice"
    times = float_array("times", times, expected, PredicateError)
    good = times.shape == (len(path),) and np.isfinite(times).all()
    if not good or times[0] < 0 or (np.diff(times) <= 0).any():
        raise PredicateError(f"times are {times.tolist()}, expected {expected}.")
    if not np.isfinite(path).all():
        k = int(np.argmin(np.isfinite(path).all(-1)))
        raise PredicateError(f"path has a NaN or infinite entry in slice {k}.")
    for name, state in (states or {}).items():
        if np.shape(state.temperature)[:1] != (len(path),):
            raise PredicateError(
                f"states of {name!r} have {len(np.atleast_1d(state.temperature))}"
                f" steps, the path has {len(path)}; make them by logic.rollout(C,"
                " path)."
            )
    return StateTrajectory(C.copy(), path, times, states)


def check_times(what: str, times: Any) -> tuple[float, ...]:
    """Times of a statement: none, one, two (from, to) or more.

    Raises:
        PredicateError: for what are no finite numbers, and intervals that end early.
    """
    expected = "none, [t], [from, to] or a list of times"
    given = float_array(
        f"{what}: times", [] if times is None else times, expected, PredicateError
    )
    values = tuple(np.atleast_1d(given).tolist())
    early = len(values) == 2 and 0 <= values[1] < values[0]
    if given.ndim > 1 or not np.isfinite(given).all() or early:
        raise PredicateError(f"{what}: times are {times!r}, expected {expected}.")
    return values
