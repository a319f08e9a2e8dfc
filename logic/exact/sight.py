"""In view: a pixel whose ray meets an object before anything else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.contact.ray_casting import ray_hits
from posewise.robots.errors import ConfigError
from posewise.robots.geometry.bounding_boxes import body_boxes
from posewise.robots.world.agents import Camera

from ..geometry.frame_groups import (
    FrameGroup,
    find_object,
    has_collision_shape,
    require_shapes,
)
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from ..relaxed.object_features import feature_on_frames
from ..relaxed.sight import out_of_view_rows, visible_rows
from .agents import find_agent
from .verdict import SemanticPredicate, Verdict

RAYS_PER_CHUNK = 2048
"""Pixels that are looked at together."""
RAY_PARTS_PER_CHUNK = 200_000
"""Pairs of a ray and a convex part that are looked at together."""
MAX_START_DEPTH = 2.0
"""Things start no deeper in view than this [m]."""
FIRST_CHUNK = 128
"""Pixels that are looked at first: where a thing is not hidden, few will do."""


@dataclass(frozen=True)
class InFoVOfAgent(SemanticPredicate):
    """At least one pixel of the agent's camera shows a.

    A pixel shows what the ray through its centre meets first, of all collision shapes
    of the world: the agent's own too, but not the convex parts that the camera is in.
    What is less deep than the camera's `near`, or deeper than its `far`, is not seen
    and hides nothing. All semantics agree.

    The default is "posewise", as everywhere.

    Args:
        a: an object or frame with a shape.
        agent: of `C.add_agent`, with a camera; or a camera.

    Raises:
        ConfigError: on asking, for unknown names, an agent without a camera, and a
            without a shape.
    """

    a: Any
    agent: Any

    def verdict(self, C: Config) -> Verdict:
        """See `SemanticPredicate`."""
        camera, a = self._camera(C), require_shapes(find_object(C, self.a))
        truth = any(seen.any() for seen in visible_pixels(a, camera))

        def reason() -> str:
            parts = list(visible_pixels(a, camera))
            seen, met = sum(int(x.sum()) for x in parts), sum(len(x) for x in parts)
            shown = f"{seen} of {camera.width * camera.height} pixels of {camera.name}"
            if seen:
                return f"{shown} show {self.a}; {met - seen} more would, unhidden."
            why = f"all {met} are hidden" if met else "it is out of view or too small"
            return f"{shown} show {self.a}: {why}."

        return Verdict(truth, reason)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """An ellipsoid in a part of a that is in view, larger than a pixel and clear.

        That it is false: all parts out of view; what is hidden is not told.
        """
        camera, a = self._camera(C), require_shapes(find_object(C, self.a))
        eye, error = (
            FrameGroup(C, camera.name, (C.index(camera.name),)),
            0.5 * self.bound,
        )
        if not truth:
            feature = feature_on_frames([a, eye], out_of_view_rows(camera, error))
            return Inequality(feature, error=error)
        rest = [
            i
            for i in range(len(C.frames))
            if has_collision_shape(C, i) and i not in a.frames
        ]
        others = FrameGroup(C, "", tuple(rest))
        feature = feature_on_frames([a, eye, others], visible_rows(camera, error))
        return Inequality(feature, error=error)

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`: about what the camera sees, no farther than 2 m."""
        camera = self._camera(C)
        if name != self.a:
            return None
        high = np.tan(camera.vertical_fov / 2)
        edges = np.array([1.0, high * camera.width / camera.height, high])
        corners = np.array([[1, y, z] for y in (-1, 1) for z in (-1, 1)]) * edges
        depths = np.array(
            [camera.near, max(min(camera.far, MAX_START_DEPTH), camera.near)]
        )
        points = (depths[:, None, None] * corners).reshape(-1, 3)
        poses, i = C.forward_pass().frames, C.index(camera.name)
        points = points @ poses.R[i].T + poses.p[i]
        return np.array([points.min(0), points.max(0)])

    def _camera(self, C: Config) -> Camera:
        agent = find_agent(C, self.agent)
        if agent.camera is None:
            raise ConfigError(
                f"Agent {self.agent!r} has no camera; C.add_camera('eyes', ...), then"
                f" C.add_agent({self.agent!r}, base=..., camera='eyes')."
            )
        return C.cameras[agent.camera]


def visible_pixels(a: FrameGroup, camera: Camera) -> Iterator[Bool[np.ndarray, " n"]]:
    """For each pixel whose ray meets a thing, whether that comes first; in parts."""
    C = a.C
    view = CameraRays.of(C, camera)
    own = view.depth(a.collision_frames, view.rays)
    met = np.flatnonzero(np.isfinite(own))
    if not len(met):
        return
    met = np.random.default_rng(0).permutation(met)
    rest = [
        i
        for i in range(len(C.frames))
        if has_collision_shape(C, i) and i not in a.frames
    ]
    rest = view.frames_in_cone(rest, view.rays[met], float(own[met].max()))
    for pixels in np.split(met, [*range(FIRST_CHUNK, len(met), RAYS_PER_CHUNK)]):
        yield own[pixels] <= view.depth(rest, view.rays[pixels])


@dataclass(frozen=True, eq=False)
class CameraRays:
    """A camera where it stands."""

    C: Config
    camera: Camera
    origin: Float[np.ndarray, "3"]
    rays: Float[np.ndarray, "pixels 3"]
    """In the world, of unit depth."""

    @classmethod
    def of(cls, C: Config, camera: Camera) -> "CameraRays":
        poses = C.forward_pass().frames
        i = C.index(camera.name)
        return cls(C, camera, poses.p[i], camera.pixel_rays() @ poses.R[i].T)

    def bounding_spheres(self, frames: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Centres, seen from the camera, and radii of balls about frames' shapes."""
        poses = self.C.forward_pass().frames
        boxes = [body_boxes(self.C.frames[i], poses.R[i], poses.p[i]) for i in frames]
        low = np.array([lo.min(0) for lo, _ in boxes]).reshape(-1, 3)
        high = np.array([hi.max(0) for _, hi in boxes]).reshape(-1, 3)
        bounded = np.isfinite(high - low).all(-1, keepdims=True)
        low, high = (np.where(bounded, x, 0.0) for x in (low, high))
        radius = np.linalg.norm(high - low, axis=-1) / 2
        return (low + high) / 2 - self.origin, np.where(bounded[:, 0], radius, np.inf)

    def frames_in_cone(
        self, frames: Sequence[int], rays: Float[np.ndarray, "n 3"], depth: float
    ) -> list[int]:
        """The frames that may be met by some of these rays, no deeper than that."""
        centre, radius = self.bounding_spheres(frames)
        unit = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
        axis = unit.mean(0) / np.linalg.norm(unit.mean(0))
        spread = np.arccos(np.clip((unit @ axis).min(), -1, 1))
        away = np.maximum(np.linalg.norm(centre, axis=-1), 1e-300)
        angle = np.arccos(np.clip(centre @ axis / away, -1, 1))
        width = np.arcsin(np.minimum(radius / away, 1.0))
        far = depth * np.linalg.norm(rays, axis=-1).max()
        near = (angle <= spread + width + 1e-6) & (away - radius <= far)
        kept = near | (away <= radius)
        return [i for i, keep in zip(frames, kept, strict=True) if keep]

    def depth(
        self, frames: Sequence[int], rays: Float[np.ndarray, "n 3"]
    ) -> Float[np.ndarray, " n"]:
        """How deep rays meet frames first, between near and far; inf: nowhere."""
        poses = self.C.forward_pass().frames
        nearest = np.full(len(rays), np.inf)
        square = (rays**2).sum(-1)
        for i, centre, radius in zip(
            frames, *self.bounding_spheres(frames), strict=True
        ):
            along = rays @ centre
            off = np.maximum(centre @ centre - along**2 / square, 0)
            may = (off <= (radius * (1 + 1e-6)) ** 2) & (
                (along > 0) | (centre @ centre <= radius**2)
            )
            rows = np.flatnonzero(may)
            R = poses.R[i]
            parts = sum(len(group) for group in frame_bodies(self.C.frames[i]))
            step = max(RAY_PARTS_PER_CHUNK // parts, 1)
            for part in np.split(rows, [*range(step, len(rows), step)]):
                start = np.broadcast_to((self.origin - poses.p[i]) @ R, (len(part), 3))
                hit = ray_hits(self.C.frames[i], start, rays[part] @ R)
                seen = (hit >= self.camera.near) & (hit <= self.camera.far)
                first = np.where(seen, hit, np.inf).min(-1, initial=np.inf)
                nearest[part] = np.minimum(nearest[part], first)
        return nearest
