"""Visible: a sufficient fraction of an object is seen through a camera."""

from dataclasses import dataclass, field

from posewise.robots.config import Config
from posewise.robots.typing import FrameName, PoseLike, VectorLike
from posewise.robots.validation import number

from ..errors import PredicateError
from ..formulas.predicate import Predicate
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from .line_of_sight import VIEW_ERROR, visibility_feature
from .pixel_visibility import PixelCounts, count_pixels
from .query_arguments import check_names, with_camera

DEFAULT_THRESHOLD = 0.8
"""Least fraction of an object that makes it visible [1]; with a smaller one objects may
be hidden more."""


@dataclass(frozen=True)
class Visible(Predicate):
    """At least a fraction of the pixels that would show the object alone show it.

    At least one pixel must. All shapes that are drawn hide what is behind them, those
    of the robot included (see `InFoVOfAgent` for the shapes that count), but not
    the convex parts that contain the camera. The image is the camera's own; the
    part of it that bounds the object is sampled by 256 x 256 rays, which takes a
    few tenths of a second.

    "legacy", PyCRAM's rule: more than the fraction, which is not 0; of 256 x 256 pixels
    of a camera with 90 degrees of view, near 0.2 m and far 100 m, upright, at the place
    and in the direction of the given one; the robot that carries the camera is also
    there when the object is seen alone, so what it hides does not count.

    Args:
        object: an object or frame with a shape.
        camera: a camera, or an agent that has one.
        threshold: the fraction, 0 to 1.
        legacy: whether PyCRAM's rule applies.

    Raises:
        PredicateError: for a threshold out of range.
        ConfigError: when evaluated, for unknown names, an agent without a camera, and
            an object without shapes.
    """

    object: FrameName
    camera: str
    threshold: float = field(default=DEFAULT_THRESHOLD, kw_only=True)
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
        return self._is_enough(self.pixel_counts(C))

    def explain(self, C: Config) -> str:
        counts = self.pixel_counts(C)
        if not counts.unoccluded:
            where = "it is out of view, too near, too far or too small"
            return f"No pixel of {self.camera} would show {self.object}: {where}."
        shown = f"{counts.visible_fraction:.0%} of {self.object} shows in {self.camera}"
        limit = "more than" if self.legacy else "at least"
        verdict = "is" if self._is_enough(counts) else "is not"
        hidden = counts.occluded_by
        listed = sorted(hidden, key=lambda name: -hidden[name])
        hides = f"; hidden by {', '.join(listed)}" if listed else ""
        return f"{shown}, which {verdict} {limit} {self.threshold:.0%}{hides}."

    def pixel_counts(self, C: Config) -> PixelCounts:
        """Return how many pixels show the object, and what hides it in the others."""
        return count_pixels(C, self.object, self.camera, self.legacy)

    def _is_enough(self, counts: PixelCounts) -> bool:
        if self.legacy:
            return counts.visible_fraction > self.threshold > 0
        return counts.visible > 0 and counts.visible_fraction >= self.threshold

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the object being in view, with nothing in between.

        See `line_of_sight`.
        """
        if self.legacy or not truth:
            return super().relaxed(C, truth)
        return Inequality(
            visibility_feature(C, self.object, self.camera, self.threshold),
            error=VIEW_ERROR,
        )


def visible(
    C: Config,
    object: FrameName,
    camera: str | PoseLike,
    front_facing_axis: VectorLike | None = None,
    threshold: float = DEFAULT_THRESHOLD,
    *,
    legacy: bool = False,
) -> bool:
    """Return whether an object is visible from a camera or pose; see `Visible`.

    Args:
        C: the world.
        object: an object or frame with a shape.
        camera: a camera, an agent, or a pose (7,) in the world.
        front_facing_axis: axis (3,) of a pose that looks forward; None: x.
        threshold: the fraction.
        legacy: whether PyCRAM's rule applies.

    Raises:
        PredicateError: see `Visible`, and for an axis of a named camera.
        ConfigError: see `Visible`.
    """
    world, name = with_camera(C, camera, front_facing_axis)
    return Visible(object, name, threshold=threshold, legacy=legacy).holds(world)
