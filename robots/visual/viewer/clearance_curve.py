"""The clearance of a path over time, with the slice that is shown."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ...contact.proximity import Contact
from ..viewable_world import ViewableWorld
from .animation import Animation

if TYPE_CHECKING:
    from viser import ViserServer

CURVE_COLOR, MARK_COLOR = "rgb(70, 130, 220)", "rgb(220, 40, 40)"
ASPECT_RATIO = 1.6
"""Ratio of the plot's width to its height; a larger one makes it lower."""


class NearestPair(NamedTuple):
    """The nearest pair of frames that can collide."""

    frames: tuple[str, str]
    contact: Contact


def nearest_pair(world: ViewableWorld) -> NearestPair | None:
    """Return the nearest pair of frames that can collide; None: no pair can."""
    pairs = world.pairs.indices()
    contacts = world.contacts(pairs)
    if not contacts:
        return None
    k = min(contacts, key=lambda k: contacts[k].distance)
    a, b = (world.frame_names[i] for i in pairs[k])
    return NearestPair((a, b), contacts[k])


class ClearanceCurve:
    """A plot of the distance of the nearest pair in each slice of an animation."""

    def __init__(self, server: "ViserServer", animation: Animation) -> None:
        self._distances = _distances(animation)
        self._times = _times(animation)
        self._plot: Any = server.gui.add_uplot(
            self._data(0),
            (
                {},
                dict(label="clearance", stroke=CURVE_COLOR, width=2),
                dict(label="shown", stroke=MARK_COLOR, width=1.5),
            ),
            title="clearance [mm] over time [s]",
            scales=dict(x=dict(time=False)),
            legend=dict(show=False),
            aspect=ASPECT_RATIO,
        )

    def mark(self, t: int) -> None:
        """Mark a slice."""
        self._plot.data = self._data(t)

    def replace(self, animation: Animation) -> None:
        """Show the curve of another animation."""
        self._distances, self._times = _distances(animation), _times(animation)

    def remove(self) -> None:
        """Remove the plot."""
        self._plot.remove()

    def _data(self, t: int) -> tuple[np.ndarray, ...]:
        """Return times [s], distances [mm] and the mark, a line up from contact at 0.

        The page cannot plot gaps, so that the mark is a line along 0 that rises to the
        curve and falls again within the time of the slice.
        """
        again = np.sort(np.append(np.arange(len(self._times)), [t, t]))
        mark = np.zeros(len(again))
        mark[t + 1] = self._distances[t]
        return self._times[again], self._distances[again], mark


def _distances(animation: Animation) -> Float[np.ndarray, " T"]:
    """Return the distance of the nearest pair in each slice [mm]; 0 without pairs."""
    pairs = [nearest_pair(animation.world(t)) for t in range(len(animation.poses))]
    return np.array([1e3 * p.contact.distance if p else 0.0 for p in pairs])


def _times(animation: Animation) -> Float[np.ndarray, " T"]:
    """Return when each slice is shown [s]."""
    return np.append(0.0, np.cumsum(animation.pauses)[:-1])
