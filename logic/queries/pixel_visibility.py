"""How a thing looks through a camera: alone, and behind all others."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.world.agents import Camera

from ..geometry.agents import find_agent
from ..geometry.camera_rays import CameraRays
from ..geometry.frame_groups import FrameGroup, find_object, part_boxes, require_shapes
from .frame_owners import agent_with_camera, frames_by_owner, robot_frames

RASTER_PIXELS = 256
"""Rows and columns of a raster."""
PYCRAM_CAMERA: dict[str, Any] = dict(
    vertical_fov=np.pi / 2,
    width=RASTER_PIXELS,
    height=RASTER_PIXELS,
    near=0.2,
    far=100.0,
)
"""PyCRAM's camera."""


@dataclass(frozen=True)
class PixelCounts:
    """How many pixels show a thing."""

    unoccluded: int
    """Those that would, were nothing else there."""
    visible: int
    """Those that do."""
    occluded_by: dict[str, int]
    """By the things that come first, those that do not."""

    @property
    def visible_fraction(self) -> float:
        """Of the pixels that would show it, how many do; 0 where none would."""
        return self.visible / self.unoccluded if self.unoccluded else 0.0


def count_pixels(C: Config, name: str, camera: str, legacy: bool) -> PixelCounts:
    """How a thing looks through a camera, by 256 x 256 rays.

    Rays are spread evenly over the part of the image that bounds the thing, so that it
    does not matter how small it looks; as in PyCRAM: over the whole image of PyCRAM's
    own camera, with its z axis upright, and the robot that holds the camera is there
    too when nothing else is.

    Args:
        C: the world.
        name: of an object or frame with a shape.
        camera: of a camera, or of an agent that has one.
        legacy: as in PyCRAM.

    Raises:
        ConfigError: for unknown names, an agent without a camera, and a thing without
            shapes.
    """
    a = find_visible_object(C, name)
    made = find_camera(C, camera)
    view = _pycram_view(C, made) if legacy else _close_up(a, made)
    others = {k: x.frames for k, x in frames_by_owner(C).items()}
    others = {k: tuple(i for i in x if i not in a.frames) for k, x in others.items()}
    depth = view.depth(a.collision_frames, view.rays)
    agent = agent_with_camera(C, made.name)
    if legacy and agent is not None:
        robot = [i for i in robot_frames(C, agent.base) if i not in a.frames]
        solid = set(robot).intersection(*[sum(others.values(), ())])
        depth[depth > view.depth(sorted(solid), view.rays)] = np.inf
    met = np.flatnonzero(np.isfinite(depth))
    if not len(met):
        return PixelCounts(0, 0, {})
    first, hider = _first_occluders(view, others, met, depth[met])
    seen = depth[met] <= first
    count = np.bincount(hider[~seen], minlength=len(others))
    hidden = {k: int(n) for k, n in zip(others, count, strict=True) if n}
    return PixelCounts(len(met), int(seen.sum()), hidden)


def find_visible_object(C: Config, name: str) -> FrameGroup:
    """The thing of that name, which has a shape for collision.

    Raises:
        ConfigError: for an unknown name, and a thing that no ray can meet.
    """
    a = require_shapes(find_object(C, name))
    if not a.collision_frames:
        raise ConfigError(
            f"{name!r} has no shape for collision, which rays could meet; give it one,"
            f" e.g. C.set_shape({name!r}, Box([.1, .1, .1]))."
        )
    return a


def find_camera(C: Config, name: Any) -> Camera:
    """The camera of that name, or that of an agent.

    Raises:
        ConfigError: for an unknown name, or an agent without a camera.
    """
    if name in C.cameras:
        return C.cameras[name]
    if name not in C.agents:
        known = [*C.cameras, *C.agents]
        raise ConfigError(
            unknown_name("camera or agent", name, known)
            + f" (To make a camera: C.add_camera({name!r}, ...).)"
        )
    agent = find_agent(C, name)
    if agent.camera is None:
        raise ConfigError(
            f"Agent {name!r} has no camera; C.add_camera('eyes', ...), then"
            f" C.add_agent({name!r}, base=..., camera='eyes')."
        )
    return C.cameras[agent.camera]


def _first_occluders(
    view: CameraRays,
    others: dict[str, tuple[int, ...]],
    met: Int[np.ndarray, " n"],
    own: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """For some pixels, how deep the first other thing is, and which it is."""
    rays = view.rays[met]
    every = [i for frames in others.values() for i in frames]
    near = set(view.frames_in_cone(every, rays, float(own.max())))
    depth, first = np.full(len(met), np.inf), np.zeros(len(met), int)
    for k, frames in enumerate(others.values()):
        may = [i for i in frames if i in near]
        if may:
            hit = view.depth(may, rays)
            first[hit < depth] = k
            depth = np.minimum(depth, hit)
    return depth, first


def _pycram_view(C: Config, camera: Camera) -> CameraRays:
    """PyCRAM's camera where this one is, upright; straight up or down, as it stands."""
    view = CameraRays.of(C, replace(camera, **PYCRAM_CAMERA))
    R = C.forward_pass().frames.R[C.index(camera.name)]
    left = np.cross([0.0, 0, 1], R[:, 0])
    if np.linalg.norm(left) < 1e-9:
        return view
    left /= np.linalg.norm(left)
    upright = np.stack([R[:, 0], left, np.cross(R[:, 0], left)], -1)
    return replace(view, rays=view.camera.pixel_rays() @ upright.T)


def _close_up(a: FrameGroup, camera: Camera) -> CameraRays:
    """Rays over the part of the image that bounds a thing; over all, where it is beside
    the camera.
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
    """All corners of boxes."""
    pick = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), -1)
    pick = pick.reshape(-1, 1, 3)
    return np.where(pick == 0, low, high).reshape(-1, 3)
