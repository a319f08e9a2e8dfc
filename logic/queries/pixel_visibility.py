"""Pixel counts: how many pixels show an object, alone and among all others."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from posewise.robots.annotations.agents import Camera
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.typing import FrameName

from ..geometry.agents import find_agent
from ..geometry.camera_rays import CameraRays
from ..geometry.frame_groups import (
    FrameGroup,
    find_object,
    part_boxes,
    require_shapes,
)
from .frame_owners import agent_with_camera, frames_by_owner, robot_frames

RASTER_PIXELS = 256
"""Number of rows and of columns of a raster; with more of them thin parts count, and
rendering takes longer."""
PYCRAM_CAMERA: dict[str, Any] = dict(
    vertical_fov=np.pi / 2,
    width=RASTER_PIXELS,
    height=RASTER_PIXELS,
    near=0.2,
    far=100.0,
)
"""Properties of PyCRAM's camera."""


@dataclass(frozen=True)
class PixelCounts:
    """Numbers of pixels that show an object, or would."""

    unoccluded: int
    """Number of pixels that would show it without other objects."""
    visible: int
    """Number of pixels that show it."""
    occluded_by: dict[str, int]
    """For each other owner, the number of pixels in which it is hit first."""

    @property
    def visible_fraction(self) -> float:
        """Visible pixels as a fraction of unoccluded ones; 0 if there are none."""
        return self.visible / self.unoccluded if self.unoccluded else 0.0


def count_pixels(C: Config, name: FrameName, camera: str, legacy: bool) -> PixelCounts:
    """Count the pixels that show an object, by 256 x 256 rays.

    The rays are evenly spaced over the part of the image that bounds the object, so
    that its size in the image does not matter. With `legacy` they are those of PyCRAM's
    own camera, with its z axis upright, and the robot that carries the camera hides the
    object even when nothing else does.

    Args:
        C: the world.
        name: of an object or frame with a shape.
        camera: a camera, or an agent that has one.
        legacy: whether PyCRAM's rule applies.

    Raises:
        ConfigError: for unknown names, an agent without a camera, and an object without
            shapes.
    """
    C = C.visible_copy()
    a = find_visible_object(C, name)
    found_camera = find_camera(C, camera)
    if legacy:
        view = _pycram_view(C, found_camera)
    else:
        view = _close_up(a, found_camera)
    others = {
        owner: tuple(i for i in group.frames if i not in a.frames)
        for owner, group in frames_by_owner(C).items()
    }
    depth = view.depth(a.collision_frames, view.rays)
    agent = agent_with_camera(C, found_camera.name)
    if legacy and agent is not None:
        robot = [i for i in robot_frames(C, agent.base) if i not in a.frames]
        with_shapes = set(robot).intersection(*[sum(others.values(), ())])
        depth[depth > view.depth(sorted(with_shapes), view.rays)] = np.inf
    hit = np.flatnonzero(np.isfinite(depth))
    if not len(hit):
        return PixelCounts(0, 0, {})
    first, occluder = _first_occluders(view, others, hit, depth[hit])
    visible = depth[hit] <= first
    counts = np.bincount(occluder[~visible], minlength=len(others))
    occluded_by = {k: int(n) for k, n in zip(others, counts, strict=True) if n}
    return PixelCounts(len(hit), int(visible.sum()), occluded_by)


def find_visible_object(C: Config, name: FrameName) -> FrameGroup:
    """Return an object, with the shapes that are seen.

    Raises:
        ConfigError: for an unknown name, and an object that no ray can hit.
    """
    C = C.visible_copy()
    a = require_shapes(find_object(C, name))
    if not a.collision_frames:
        raise ConfigError(
            f"{name!r} has no shape that rays of light could hit; give it one,"
            f" e.g. C.set_shape({name!r}, Box([.1, .1, .1]))."
        )
    return a


def find_camera(C: Config, name: str) -> Camera:
    """Return a camera, or the camera of an agent.

    Raises:
        ConfigError: for an unknown name, or an agent without a camera.
    """
    if name in C.annotations.cameras:
        return C.annotations.cameras[name]
    if name not in C.annotations.agents:
        known = [*C.annotations.cameras, *C.annotations.agents]
        raise ConfigError(
            unknown_name("camera or agent", name, known)
            + f" (To make a camera: C.annotations.add_camera({name!r}, ...).)"
        )
    agent = find_agent(C, name)
    if agent.camera is None:
        raise ConfigError(
            f"Agent {name!r} has no camera; C.annotations.add_camera('eyes', ...), then"
            f" C.annotations.add_agent({name!r}, base=..., camera='eyes')."
        )
    return C.annotations.cameras[agent.camera]


def _first_occluders(
    view: CameraRays,
    others: dict[str, tuple[int, ...]],
    pixels: Int[np.ndarray, " n"],
    depth: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """Return for pixels the depth of the first other owner, and its index.

    Args:
        view: the rays.
        others: frames of the other owners.
        pixels: indices of rays.
        depth: depths at which these rays hit the object.
    """
    rays = view.rays[pixels]
    every = [i for frames in others.values() for i in frames]
    near = set(view.frames_in_cone(every, rays, float(depth.max())))
    first_depth = np.full(len(pixels), np.inf)
    first = np.zeros(len(pixels), int)
    for k, frames in enumerate(others.values()):
        candidates = [i for i in frames if i in near]
        if candidates:
            hit = view.depth(candidates, rays)
            first[hit < first_depth] = k
            first_depth = np.minimum(first_depth, hit)
    return first_depth, first


def _pycram_view(C: Config, camera: Camera) -> CameraRays:
    """Return PyCRAM's camera at the place of a camera, upright.

    A camera that looks straight up or down keeps its orientation.
    """
    view = CameraRays.of(C, replace(camera, **PYCRAM_CAMERA))
    R = C.forward_pass().frames.R[C.index(camera.name)]
    leftward = np.cross([0.0, 0, 1], R[:, 0])
    if np.linalg.norm(leftward) < 1e-9:
        return view
    leftward /= np.linalg.norm(leftward)
    upright = np.stack([R[:, 0], leftward, np.cross(R[:, 0], leftward)], -1)
    return replace(view, rays=view.camera.pixel_rays() @ upright.T)


def _close_up(a: FrameGroup, camera: Camera) -> CameraRays:
    """Return rays over the part of the image that bounds an object.

    If a part of the object is beside or behind the camera, they cover the whole image.
    """
    C = a.C
    R, p = (x[C.index(camera.name)] for x in C.forward_pass().frames)
    high = np.tan(camera.vertical_fov / 2)
    edge = np.array([high * camera.width / camera.height, high])
    low, up = -edge, edge
    corners = box_corners(*part_boxes(a, R)) - p @ R
    if (corners[:, 0] > 0).all():
        image = corners[:, 1:] / corners[:, :1]
        low, up = np.maximum(low, image.min(0)), np.minimum(up, image.max(0))
    step = (np.arange(RASTER_PIXELS) + 0.5) / RASTER_PIXELS
    y, z = (lo + step * max(hi - lo, 0.0) for lo, hi in zip(low, up, strict=True))
    y, z = np.meshgrid(y, z)
    rays = np.stack([np.ones(y.size), y.ravel(), z.ravel()], -1)
    if (low >= up).any():
        rays = rays[:0]
    return CameraRays(C, camera, p, rays @ R.T)


def box_corners(
    low: Float[np.ndarray, "n 3"], high: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, "corners 3"]:
    """Return the corners of boxes: the first corner of all, then the second, ..."""
    pick = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), -1)
    pick = pick.reshape(-1, 1, 3)
    return np.where(pick == 0, low, high).reshape(-1, 3)
