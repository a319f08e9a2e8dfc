"""The play bar: a slider over the slices, play and pause, and the speed."""

from collections.abc import Callable
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    from viser import ViserServer

SPEEDS = ("0.1×", "0.25×", "0.5×", "1×", "2×", "5×")
"""Choices of the speed, relative to real time."""


class Player:
    """Shows slices, chosen by hand or each for its time, in a loop.

    Attributes:
        pauses: Time for which each slice is shown [s].
    """

    def __init__(
        self,
        server: "ViserServer",
        pauses: Float[np.ndarray, " T"],
        show: Callable[[int], None],
    ) -> None:
        self.pauses = pauses
        self._playing, self._stopped = Event(), Event()
        last = max(len(pauses) - 1, 1)
        self._slider: Any = server.gui.add_slider(
            "slice", min=0, max=last, step=1, initial_value=0
        )
        self._button = server.gui.add_button("play")
        self._speed = server.gui.add_dropdown("speed", SPEEDS, initial_value="1×")
        self._slider.on_update(lambda _: show(self.slice))
        self._button.on_click(lambda _: self.toggle())
        self._thread = Thread(target=self._run, name="posewise play bar", daemon=True)
        self._thread.start()

    @property
    def slice(self) -> int:
        """The slice that is shown."""
        return min(int(self._slider.value), len(self.pauses) - 1)

    def toggle(self) -> None:
        """Play, or pause."""
        if self._playing.is_set():
            self._playing.clear()
        else:
            self._playing.set()
        self._button.label = "pause" if self._playing.is_set() else "play"

    def stop(self) -> None:
        """End the thread of the player."""
        self._stopped.set()
        self._playing.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._playing.wait()
            speed = float(self._speed.value[:-1])
            if self._stopped.wait(self.pauses[self.slice] / speed):
                return
            if self._playing.is_set():
                self._slider.value = (self.slice + 1) % len(self.pauses)
