"""Features by rai's conventions."""

from typing import Literal, Protocol, runtime_checkable

import numpy as np

import posewise as pw
from posewise.features.typing import Order, ScaleLike, TargetLike
from posewise.robots.typing import Frames


@runtime_checkable
class HasWorld(Protocol):
    """Configuration with its posewise world."""

    C: pw.Config


def make_feature(
    world: pw.Config,
    symbol: pw.FS,
    frames: Frames,
    scale: ScaleLike,
    target: TargetLike,
    order: Order | Literal[-1],
) -> pw.Feature:
    """Return a feature by rai's conventions.

    Args:
        world: world of the frames.
        symbol: feature symbol.
        frames: names of frames. For accumulatedCollisions: "ALL", no names for all
            frames, or names that select all frames added between them.
        scale: scale, or nothing for the default.
        target: target, or nothing for the default.
        order: order, or -1 for the default.
    """
    if symbol is pw.FS.accumulatedCollisions:
        names = [frames] if isinstance(frames, str) else list(frames)
        indices = [] if names == ["ALL"] else [world.index(name) for name in names]
        frames = ()
        if indices:
            frames = world.frame_names[min(indices) : max(indices) + 1]
    return symbol.on(
        frames,
        scale=scale if np.size(scale) else None,
        target=target if np.size(target) else None,
        order=None if order == -1 else order,
    )


class Feature:
    """Feature on frames, returned by `Config.feature`."""

    def __init__(self, feature: pw.Feature) -> None:
        self.feature = feature

    def eval(self, C: HasWorld) -> tuple[np.ndarray, np.ndarray]:
        """Return value (D,) and Jacobian (D, n) at the state of a configuration."""
        return self.feature.eval(C.C)
