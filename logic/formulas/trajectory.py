"""Trajectories: the configuration and extended states of a world over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.objectives.terms.typing import Times
from posewise.robots.annotations.object_states import ObjectState, states_at
from posewise.robots.config import Config
from posewise.robots.typing import MatrixLike, VectorLike
from posewise.robots.validation import float_array

from ..errors import PredicateError


@dataclass(frozen=True, eq=False)
class StateTrajectory:
    """Configurations, and optionally states, of a world at increasing times."""

    C: Config
    """A private copy of the world, which `world_at` changes."""
    path: Float[np.ndarray, "T nq"]
    times: Float[np.ndarray, " T"]
    states: Mapping[str, ObjectState] | None
    """States of all objects, with time as the leading axis; None: those of C."""

    def world_at(self, k: int) -> Config:
        """Return the world at slice k, valid until the next call."""
        self.C.q = self.path[k]
        if self.states is not None:
            self.C.annotations.states = states_at(self.states, k)
        return self.C

    def select_slices(self, times: Sequence[float], label: str) -> tuple[int, ...]:
        """Return the slices that times select, by the rule of `KOMO.add_objective`.

        No time selects all slices; one time the nearest slice; two times all slices
        from the nearest one to the first time to that of the second; more times the
        nearest slice each. A negative time is the last slice. An interval is clipped to
        the path.

        Raises:
            PredicateError: when no slice is selected, with the times of the path.
        """
        last = len(self.times) - 1
        slices = [last if t < 0 else self._nearest(t) for t in times] or [0, last]
        if len(slices) == 2:
            low, high = max(slices[0], 0), min(slices[1], last)
            slices = list(range(low, high + 1))
        if not slices or min(slices) < 0 or max(slices) > last:
            raise PredicateError(
                f"{label}: times {list(times)} select no slice; those of the path lie"
                f" at {self.times[0]:g} to {self.times[-1]:g}."
            )
        return tuple(dict.fromkeys(slices))

    def _nearest(self, time: float) -> int:
        """Return the nearest slice; outside the path beyond half a step of its ends."""
        # Half a step is rounded up with a tolerance, because times such as 1/3 phases
        # are not exact in floating point.
        if len(self.times) == 1:
            return int((time - self.times[0] + 0.500001) // 1)
        k = int(np.searchsorted(self.times, time)) - 1
        k = min(max(k, 0), len(self.times) - 2)
        start, end = self.times[k : k + 2]
        return k + int(((time - start) / (end - start) + 0.500001) // 1)


def state_trajectory(
    C: Config,
    path: MatrixLike,
    times: VectorLike,
    states: Mapping[str, ObjectState] | None = None,
) -> StateTrajectory:
    """Return the trajectory of a world along a path.

    Args:
        C: the world, which is not changed.
        path: configurations (T, nq).
        times: one for each configuration (T,), increasing and not negative.
        states: states of the objects, from `rollout(C, path)`; None: those of C at all
            times.

    Raises:
        PredicateError: when the arguments do not fit each other.
    """
    q = float_array("path", path, f"(T, {C.nq}) numbers", PredicateError)
    if q.ndim != 2 or q.shape[1] != C.nq or not len(q):
        raise PredicateError(
            f"path has shape {q.shape}, expected (T, {C.nq}) with T >= 1: one"
            " configuration for each time."
        )
    expected = f"({len(q)},) increasing numbers >= 0: one for each slice"
    t = float_array("times", times, expected, PredicateError)
    good = t.shape == (len(q),) and np.isfinite(t).all()
    if not good or t[0] < 0 or (np.diff(t) <= 0).any():
        raise PredicateError(f"times are {t.tolist()}, expected {expected}.")
    if not np.isfinite(q).all():
        k = int(np.argmin(np.isfinite(q).all(-1)))
        raise PredicateError(f"path has a NaN or infinite entry in slice {k}.")
    for name, state in (states or {}).items():
        if np.shape(state.temperature)[:1] != (len(q),):
            raise PredicateError(
                f"states of {name!r} have {len(np.atleast_1d(state.temperature))}"
                f" steps, the path has {len(q)}; make them by logic.rollout(C, path)."
            )
    return StateTrajectory(C.copy(), q, t, states)


def check_times(label: str, times: Times) -> tuple[float, ...]:
    """Return the times of a statement as a tuple: none, one, two (from, to) or more.

    Raises:
        PredicateError: for entries that are not finite numbers, and intervals that end
            before they begin.
    """
    expected = "none, [t], [from, to] or a list of times"
    array = float_array(
        f"{label}: times", [] if times is None else times, expected, PredicateError
    )
    values = tuple(np.atleast_1d(array).tolist())
    is_reversed = len(values) == 2 and 0 <= values[1] < values[0]
    if array.ndim > 1 or not np.isfinite(array).all() or is_reversed:
        raise PredicateError(f"{label}: times are {times!r}, expected {expected}.")
    return values
