"""Who looks and grasps in a world: cameras and agents."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError
from ..validation import integer, number

DEFAULT_REACH = 2.0
"""How far an agent reaches from its base unless told otherwise [m]."""


@dataclass(frozen=True)
class Camera:
    """A pinhole camera on the frame of its name: x is forward, y left, z up."""

    name: Any
    vertical_fov: Any = np.pi / 2
    """Full angle from the lower to the upper edge [rad]."""
    width: Any = 128
    height: Any = 128
    near: Any = 0.1
    """Nothing at less depth along x is seen [m]."""
    far: Any = 100.0
    """Nothing at more depth along x is seen [m]."""

    def __post_init__(self) -> None:
        what = f"camera {self.name!r}"
        angle = number(
            f"vertical_fov of {what}",
            self.vertical_fov,
            "an angle in radians, above 0 and below pi (90 degrees: np.pi / 2)",
            lambda x: 0 < x < np.pi,
        )
        object.__setattr__(self, "vertical_fov", angle)
        for side in ("width", "height"):
            text = f"{side} of {what}"
            pixels = integer(text, getattr(self, side), "pixels > 0", lambda n: n > 0)
            object.__setattr__(self, side, pixels)
        near = number(f"near of {what}", self.near, ">= 0 m", lambda x: x >= 0)
        beyond = lambda x: x > near
        far = number(f"far of {what}", self.far, f"more than near, {near} m", beyond)
        object.__setattr__(self, "near", near)
        object.__setattr__(self, "far", far)

    def pixel_rays(self) -> Float[np.ndarray, "pixels 3"]:
        """Directions through the centres of all pixels, row by row from the top left.

        In the camera's frame, of unit depth.
        """
        high = np.tan(self.vertical_fov / 2)
        wide = high * self.width / self.height
        left = wide * (1 - (2 * np.arange(self.width) + 1) / self.width)
        up = high * (1 - (2 * np.arange(self.height) + 1) / self.height)
        z, y = np.meshgrid(up, left, indexing="ij")
        return np.stack([np.ones(z.size), y.ravel(), z.ravel()], -1)


@dataclass(frozen=True)
class Agent:
    """A robot (or a person) as predicates know it; all by name."""

    name: str
    base: str
    """The frame that says where the agent is."""
    camera: str | None = None
    """What it sees with."""
    hands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The frame of each hand, and the frames of its fingers; none named: whatever
    joints hold on the hand."""

    def restricted_to(self, frames: Collection[str]) -> "Agent | None":
        """What is left of it when there are only these frames; None without a base."""
        if self.base not in frames and self.base != "world":
            return None
        camera = self.camera if self.camera in frames else None
        hands = {
            hand: tuple(f for f in fingers if f in frames)
            for hand, fingers in self.hands.items()
            if hand in frames
        }
        return replace(self, camera=camera, hands=hands)


def parse_hands(agent: str, hands: Any) -> dict[str, tuple[str, ...]]:
    """Fingers by hand, from a hand's name, a list of them, or a mapping to fingers."""
    if isinstance(hands, str):
        return {hands: ()}
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
