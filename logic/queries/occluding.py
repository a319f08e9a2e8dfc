"""Occluding: objects that hide a part of another from a camera."""

from dataclasses import dataclass, field

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.typing import FrameName, PoseLike, VectorLike

from ..formulas.predicate import Predicate
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from .frame_owners import frames_by_owner
from .line_of_sight import unoccluded_feature
from .pixel_visibility import PixelCounts, count_pixels
from .query_arguments import check_names, with_camera


@dataclass(frozen=True)
class Occluding(Predicate):
    """Another object is hit first in a pixel that would show the object.

    `occluders` lists these, those that hide more first; what is behind another occluder
    is not among them. Pixels, and "legacy", are those of `Visible`.

    Args:
        object: an object or frame with a shape.
        camera: a camera, or an agent that has one.
        by: the only occluder that counts, as `occluders` names it; None: any.
        legacy: whether PyCRAM's rule applies, see `Visible`.

    Raises:
        PredicateError: when names are not strings.
        ConfigError: when evaluated, for unknown names, an agent without a camera, and
            an object without shapes.
    """

    object: FrameName
    camera: str
    by: str | None = field(default=None, kw_only=True)
    legacy: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_names(self)

    def occluders(self, C: Config) -> list[str]:
        """Return names of what hides the object, those that hide more first."""
        return self._sorted_occluders(C, self._pixel_counts(C))

    def holds(self, C: Config) -> bool:
        return bool(self.occluders(C))

    def explain(self, C: Config) -> str:
        counts = self._pixel_counts(C)
        occluders = self._sorted_occluders(C, counts)
        if not occluders:
            subject = (
                "Nothing hides any" if self.by is None else f"{self.by} hides none"
            )
            return f"{subject} of {self.object} from {self.camera}."
        hidden = counts.occluded_by
        listed = ", ".join(f"{name} ({hidden[name]} pixels)" for name in occluders)
        whole = f"{counts.unoccluded} that would show {self.object} in {self.camera}"
        return f"Of {whole}, some are hidden by {listed}."

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the negation: nothing between the camera and the object."""
        if truth or self.legacy:
            return super().relaxed(C, truth)
        frames = [i for indices in self._candidates(C).values() for i in indices]
        return Inequality(unoccluded_feature(C, self.object, self.camera, frames))

    def _pixel_counts(self, C: Config) -> PixelCounts:
        return count_pixels(C, self.object, self.camera, self.legacy)

    def _sorted_occluders(self, C: Config, counts: PixelCounts) -> list[str]:
        known, hidden = self._candidates(C), counts.occluded_by
        names = (name for name in hidden if name in known)
        return sorted(names, key=lambda name: -hidden[name])

    def _candidates(self, C: Config) -> dict[str, tuple[int, ...]]:
        """Return the frames of all owners that count."""
        groups = frames_by_owner(C.visible_copy())
        owners = {name: group.frames for name, group in groups.items()}
        if self.by is None:
            return owners
        if self.by not in owners:
            raise ConfigError(unknown_name("owner of a shape", self.by, owners))
        return {self.by: owners[self.by]}


def occluding(
    C: Config,
    object: FrameName,
    camera: str | PoseLike,
    front_facing_axis: VectorLike | None = None,
    *,
    legacy: bool = False,
) -> list[str]:
    """Return names of what hides an object from a camera or pose; see `Occluding`.

    Args:
        C: the world.
        object: an object or frame with a shape.
        camera: a camera, an agent, or a pose (7,) in the world.
        front_facing_axis: axis (3,) of a pose that looks forward; None: x.
        legacy: whether PyCRAM's rule applies.

    Raises:
        PredicateError: see `Occluding`, and for an axis of a named camera.
        ConfigError: see `Occluding`.
    """
    world, name = with_camera(C, camera, front_facing_axis)
    return Occluding(object, name, legacy=legacy).occluders(world)
