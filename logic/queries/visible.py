"""Visible: enough of a thing is seen through a camera."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.validation import number

from ..errors import PredicateError
from ..formulas.predicate import Predicate
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from .line_of_sight import visibility_feature
from .pixel_visibility import PixelCounts, count_pixels
from .query_arguments import check_names, with_camera
from .visibility_sampling import sees_box

DEFAULT_THRESHOLD = 0.8


@dataclass(frozen=True)
class Visible(Predicate):
    """Of the pixels that would show the object alone, at least that share shows it.

    And at least one does. All collision shapes hide what is behind them, the robot's
    too, but not the convex parts that the camera is in. The image is the camera's own;
    the part of it that bounds the object is looked at by 256 x 256 rays, in a few
    tenths of a second.

    "legacy", PyCRAM's rule: more than that share, which is not 0; of 256 x 256 pixels
    of a camera with 90 degrees of view, near 0.2 m and far 100 m, upright, wherever
    this one stands and looks; the robot that carries the camera is there also when the
    object is looked at alone, so what it hides does not count.

    Args:
        object: an object or frame with a shape.
        camera: a camera, or an agent that has one.
        threshold: of the share, 0 to 1.
        legacy: PyCRAM's rule.

    Raises:
        PredicateError: for a threshold out of range.
        ConfigError: on asking, for unknown names, an agent without a camera, and an
            object without shapes.
    """

    object: Any
    camera: Any
    threshold: Any = field(default=DEFAULT_THRESHOLD, kw_only=True)
    legacy: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_names(self)
        number(
            "Visible: threshold",
            self.threshold,
            "a share from 0 to 1",
            lambda x: 0 <= x <= 1,
            PredicateError,
        )

    def holds(self, C: Config) -> bool:
        """See `Predicate`."""
        return self._judge(self.pixel_counts(C))

    def explain(self, C: Config) -> str:
        """See `Predicate`."""
        look = self.pixel_counts(C)
        if not look.unoccluded:
            where = "it is out of view, too near, too far or too small"
            return f"No pixel of {self.camera} would show {self.object}: {where}."
        share = f"{look.visible_fraction:.0%} of {self.object} shows in {self.camera}"
        what = "more than" if self.legacy else "at least"
        verdict = "is" if self._judge(look) else "is not"
        listed = sorted(look.occluded_by, key=lambda name: -look.occluded_by[name])
        hides = f"; hidden by {', '.join(listed)}" if listed else ""
        return f"{share}, which {verdict} {what} {self.threshold:.0%}{hides}."

    def pixel_counts(self, C: Config) -> PixelCounts:
        """How many pixels show the object, and what hides it in how many others."""
        return count_pixels(C, self.object, self.camera, self.legacy)

    def admits_poses(
        self, C: Config, name: str, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        """See `Predicate`: where a few rays meet it."""
        if name != self.object:
            return super().admits_poses(C, name, poses)
        return sees_box(C, name, self.camera, poses)

    def _judge(self, look: PixelCounts) -> bool:
        if self.legacy:
            return look.visible_fraction > self.threshold > 0
        return look.visible > 0 and look.visible_fraction >= self.threshold

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """All of it is in the picture, and nothing before it; see `sightlines`."""
        if self.legacy or not truth:
            return super().relaxed(C, truth)
        return Inequality(
            visibility_feature(C, self.object, self.camera, self.threshold)
        )


def visible(
    C: Config,
    object: Any,
    camera: Any,
    front_facing_axis: Any = None,
    threshold: Any = DEFAULT_THRESHOLD,
    *,
    legacy: bool = False,
) -> bool:
    """Whether an object is visible, see `Visible`; also from a pose without a camera.

    Args:
        C: the world.
        object: an object or frame with a shape.
        camera: a camera, an agent, or a pose (7,) in the world.
        front_facing_axis: of a pose, the axis (3,) that looks forward; None: x.
        threshold: of the share.
        legacy: PyCRAM's rule.

    Raises:
        PredicateError: see `Visible`, and for an axis of a camera that has its own.
        ConfigError: see `Visible`.
    """
    world, name = with_camera(C, camera, front_facing_axis)
    return Visible(object, name, threshold=threshold, legacy=legacy).holds(world)
