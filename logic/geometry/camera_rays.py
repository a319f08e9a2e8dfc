"""Ray casting through the pixels of a camera."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.annotations.agents import Camera
from posewise.robots.config import Config
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.contact.bounding_boxes import body_boxes
from posewise.robots.contact.ray_casting import ray_hits

from .frame_groups import FrameGroup, has_collision_shape

RAYS_PER_CHUNK = 2048
"""Number of pixels cast together (count); more need more memory."""
RAY_PARTS_PER_CHUNK = 200_000
"""Number of pairs of a ray and a convex part cast together; more take more memory, and
fewer more calls."""
FIRST_CHUNK_SIZE = 128
"""Number of pixels cast first: few decide unless an object is nearly hidden, and more
take longer."""


@dataclass(frozen=True, eq=False)
class CameraRays:
    """A camera at its pose, and the rays through its pixels."""

    C: Config
    camera: Camera
    origin: Float[np.ndarray, "3"]
    """Origin of the camera in the world [m]."""
    rays: Float[np.ndarray, "pixels 3"]
    """Directions in the world, of unit depth, so that ray lengths are depths."""

    @classmethod
    def of(cls, C: Config, camera: Camera) -> "CameraRays":
        """Return the rays of a camera where it is in the world."""
        poses = C.forward_pass().frames
        i = C.index(camera.name)
        return cls(C, camera, poses.p[i], camera.pixel_rays() @ poses.R[i].T)

    def bounding_spheres(self, frames: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return centres relative to the camera, and radii, of spheres around frames.

        The radius of an unbounded frame is inf.
        """
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
        """Return the frames that some of the rays may hit, no deeper than `depth`."""
        centre, radius = self.bounding_spheres(frames)
        unit = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
        axis = unit.mean(0) / np.linalg.norm(unit.mean(0))
        # A sphere is outside of the cone around all rays if the angle to its centre
        # exceeds the half angle of the cone plus that of the sphere.
        half_angle = np.arccos(np.clip((unit @ axis).min(), -1, 1))
        distance = np.maximum(np.linalg.norm(centre, axis=-1), 1e-300)
        angle = np.arccos(np.clip(centre @ axis / distance, -1, 1))
        sphere_angle = np.arcsin(np.minimum(radius / distance, 1.0))
        max_distance = depth * np.linalg.norm(rays, axis=-1).max()
        in_cone = angle <= half_angle + sphere_angle + 1e-6
        near = in_cone & (distance - radius <= max_distance)
        selected = near | (distance <= radius)
        return [i for i, keep in zip(frames, selected, strict=True) if keep]

    def depth(
        self, frames: Sequence[int], rays: Float[np.ndarray, "n 3"]
    ) -> Float[np.ndarray, " n"]:
        """Return depths at which rays first hit frames, between near and far.

        A ray that hits none has depth inf.
        """
        poses = self.C.forward_pass().frames
        nearest = np.full(len(rays), np.inf)
        square = (rays**2).sum(-1)
        spheres = zip(frames, *self.bounding_spheres(frames), strict=True)
        for i, centre, radius in spheres:
            # Only rays that pass the bounding sphere are cast against the parts.
            along = rays @ centre
            off_axis = np.maximum(centre @ centre - along**2 / square, 0)
            passes = (off_axis <= (radius * (1 + 1e-6)) ** 2) & (
                (along > 0) | (centre @ centre <= radius**2)
            )
            rows = np.flatnonzero(passes)
            R = poses.R[i]
            parts = sum(len(group) for group in frame_bodies(self.C.frames[i]))
            step = max(RAY_PARTS_PER_CHUNK // parts, 1)
            for chunk in np.split(rows, [*range(step, len(rows), step)]):
                start = (self.origin - poses.p[i]) @ R
                starts = np.broadcast_to(start, (len(chunk), 3))
                hit = ray_hits(self.C.frames[i], starts, rays[chunk] @ R)
                in_range = (hit >= self.camera.near) & (hit <= self.camera.far)
                first = np.where(in_range, hit, np.inf).min(-1, initial=np.inf)
                nearest[chunk] = np.minimum(nearest[chunk], first)
        return nearest


def visible_pixels(
    group: FrameGroup, camera: Camera
) -> Iterator[Bool[np.ndarray, " n"]]:
    """Yield, for each pixel whose ray hits a group, whether it hits the group first.

    Pixels come in chunks and in random order, so that a caller may stop early.
    """
    C = group.C
    view = CameraRays.of(C, camera)
    depth = view.depth(group.collision_frames, view.rays)
    hit = np.flatnonzero(np.isfinite(depth))
    if not len(hit):
        return
    hit = np.random.default_rng(0).permutation(hit)
    others = frames_of_others(group)
    others = view.frames_in_cone(others, view.rays[hit], float(depth[hit].max()))
    for pixels in np.split(hit, [*range(FIRST_CHUNK_SIZE, len(hit), RAYS_PER_CHUNK)]):
        yield depth[pixels] <= view.depth(others, view.rays[pixels])


def frames_of_others(group: FrameGroup) -> list[int]:
    """Return the frames with collision shapes that do not belong to a group."""
    C, members = group.C, set(group.frames)
    indices = range(len(C.frames))
    return [i for i in indices if i not in members and has_collision_shape(C, i)]
