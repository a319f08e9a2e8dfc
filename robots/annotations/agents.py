"""Cameras and agents of a world."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError
from ..typing import Frames
from ..validation import integer, number

DEFAULT_REACH = 2.0
"""Reach of an agent from its base [m]; a larger one lets it reach more objects."""


@dataclass(frozen=True)
class Camera:
    """A pinhole camera on the frame of its name: x points forward, y left, z up.

    Raises:
        ConfigError: for an argument that does not fit.
    """

    name: str
    vertical_fov: float = np.pi / 2
    """Full angle from the lower to the upper edge [rad]."""
    width: int = 128
    """Number of pixel columns."""
    height: int = 128
    """Number of pixel rows."""
    near: float = 0.1
    """Least visible depth along x [m]."""
    far: float = 100.0
    """Largest visible depth along x [m]."""

    def __post_init__(self) -> None:
        label = f"camera {self.name!r}"
        angle = number(
            f"vertical_fov of {label}",
            self.vertical_fov,
            "an angle in radians, above 0 and below pi (90 degrees: np.pi / 2)",
            lambda x: 0 < x < np.pi,
        )
        object.__setattr__(self, "vertical_fov", angle)
        for side in ("width", "height"):
            value = getattr(self, side)
            pixels = integer(f"{side} of {label}", value, "pixels > 0", lambda n: n > 0)
            object.__setattr__(self, side, pixels)
        near = number(f"near of {label}", self.near, ">= 0 m", lambda x: x >= 0)
        expected = f"more than near, {near} m"
        far = number(f"far of {label}", self.far, expected, lambda x: x > near)
        object.__setattr__(self, "near", near)
        object.__setattr__(self, "far", far)

    def pixel_rays(self) -> Float[np.ndarray, "pixels 3"]:
        """Return directions through all pixel centres, row by row from the top left.

        They are in the camera's frame, and have unit depth.
        """
        high = np.tan(self.vertical_fov / 2)
        wide = high * self.width / self.height
        leftward = wide * (1 - (2 * np.arange(self.width) + 1) / self.width)
        upward = high * (1 - (2 * np.arange(self.height) + 1) / self.height)
        z, y = np.meshgrid(upward, leftward, indexing="ij")
        return np.stack([np.ones(z.size), y.ravel(), z.ravel()], -1)


@dataclass(frozen=True)
class Agent:
    """A robot (or a person) as predicates know it: names of its frames."""

    name: str
    base: str
    """Frame whose pose is that of the agent."""
    camera: str | None = None
    """Name of its camera."""
    hands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Frames of the fingers by the frame of their hand; none: all frames that joints
    hold on the hand."""

    def restricted_to(self, frames: Collection[str]) -> "Agent | None":
        """Return the agent with only these frames; None without its base."""
        if self.base not in frames and self.base != "world":
            return None
        camera = self.camera if self.camera in frames else None
        hands = {
            hand: tuple(f for f in fingers if f in frames)
            for hand, fingers in self.hands.items()
            if hand in frames
        }
        return replace(self, camera=camera, hands=hands)


def parse_hands(
    agent: str, hands: Frames | Mapping[str, Frames]
) -> dict[str, tuple[str, ...]]:
    """Return fingers by hand, from one hand, a list of hands, or fingers by hand."""
    if isinstance(hands, str):
        return {hands: ()}
    named: dict[Any, tuple[str, ...]]
    if isinstance(hands, Mapping):
        named = {k: (v,) if isinstance(v, str) else tuple(v) for k, v in hands.items()}
    elif isinstance(hands, Iterable):
        named = {hand: () for hand in hands}
    else:
        named = {None: ()}
    if not all(isinstance(n, str) for k, v in named.items() for n in (k, *v)):
        raise ConfigError(
            f"hands of agent {agent!r} is {hands!r}, expected frames, e.g."
            " ['panda_hand'], or their fingers too, e.g. {'hand': ['left', 'right']}."
        )
    return named
