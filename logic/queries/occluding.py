"""Occluding: what hides some of a thing from a camera."""

from dataclasses import dataclass, field
from typing import Any

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name

from ..formulas.predicate import Predicate
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from .frame_owners import frames_by_owner
from .line_of_sight import unoccluded_feature
from .pixel_visibility import PixelCounts, count_pixels
from .query_arguments import check_names, with_camera


@dataclass(frozen=True)
class Occluding(Predicate):
    """Something comes first in a pixel that would show the object, were it alone.

    `found` lists the things, those that hide more first; things behind other hiding
    ones are not among them. Pixels are those of `Visible`, and so is "legacy".

    Args:
        object: an object or frame with a shape.
        camera: a camera, or an agent that has one.
        by: only this thing counts, as `found` names it; None: any.
        legacy: PyCRAM's rule, see `Visible`.

    Raises:
        PredicateError: for names that are no strings.
        ConfigError: on asking, for unknown names, an agent without a camera, and an
            object without shapes.
    """

    object: Any
    camera: Any
    by: Any = field(default=None, kw_only=True)
    legacy: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_names(self)

    def occluders(self, C: Config) -> list[str]:
        """Names of what hides it, those that hide more first."""
        return self._listed(C, self._look(C))

    def holds(self, C: Config) -> bool:
        """See `Predicate`."""
        return bool(self.occluders(C))

    def explain(self, C: Config) -> str:
        """See `Predicate`."""
        look = self._look(C)
        found = self._listed(C, look)
        if not found:
            what = "Nothing hides any" if self.by is None else f"{self.by} hides none"
            return f"{what} of {self.object} from {self.camera}."
        listed = ", ".join(f"{k} ({look.occluded_by[k]} pixels)" for k in found)
        whole = f"{look.unoccluded} that would show {self.object} in {self.camera}"
        return f"Of {whole}, some are hidden by {listed}."

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """That it is false: nothing between the camera and any of the object."""
        if truth or self.legacy:
            return super().relaxed(C, truth)
        frames = [i for x in self._things(C).values() for i in x]
        return Inequality(unoccluded_feature(C, self.object, self.camera, frames))

    def _look(self, C: Config) -> PixelCounts:
        return count_pixels(C, self.object, self.camera, self.legacy)

    def _listed(self, C: Config, look: PixelCounts) -> list[str]:
        known, hidden = self._things(C), look.occluded_by
        return sorted((k for k in hidden if k in known), key=lambda k: -hidden[k])

    def _things(self, C: Config) -> dict[str, tuple[int, ...]]:
        things = {name: thing.frames for name, thing in frames_by_owner(C).items()}
        if self.by is None:
            return things
        if self.by not in things:
            raise ConfigError(unknown_name("thing with a shape", self.by, things))
        return {self.by: things[self.by]}


def occluding(
    C: Config,
    object: Any,
    camera: Any,
    front_facing_axis: Any = None,
    *,
    legacy: bool = False,
) -> list[str]:
    """Names of what hides an object, see `Occluding`; also from a pose.

    Args:
        C: the world.
        object: an object or frame with a shape.
        camera: a camera, an agent, or a pose (7,) in the world.
        front_facing_axis: of a pose, the axis (3,) that looks forward; None: x.
        legacy: PyCRAM's rule.

    Raises:
        PredicateError: see `Occluding`, and for an axis of a camera that has its own.
        ConfigError: see `Occluding`.
    """
    world, name = with_camera(C, camera, front_facing_axis)
    return Occluding(object, name, legacy=legacy).occluders(world)
