"""What can be laid over a world: frames, regions, rooms, sights, reach, contacts.

Each overlay draws its nodes and returns the handles of the uppermost. Those of frames
are children of the frames' nodes and go along with them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ...world.agents import DEFAULT_REACH
from .scene import AXES_LENGTH, node_names

if TYPE_CHECKING:
    from ...config import Config

FLOOR_OFFSET = 0.01
"""Of what would lie in a plane of the world, and flicker [m]."""
CAVITY_COLOR, SUPPORT_COLOR, SIGHT_COLOR = (90, 190, 110), (70, 130, 220), (40, 40, 40)
NEAR_COLOR, OVERLAP_COLOR = (240, 160, 30), (220, 40, 40)
ROOM_COLORS = (
    (230, 120, 90),
    (90, 160, 220),
    (130, 190, 90),
    (220, 190, 70),
    (160, 120, 200),
)
LINE_WIDTH = 0.003
"""Width of lines [m]."""
MAX_SIGHT_DEPTH = 0.6
"""Sights of cameras are drawn up to this depth [m]."""


@dataclass(frozen=True)
class OverlayContext:
    """What an overlay is drawn from, and on."""

    scene: Any
    world: "Config"
    margin: float
    """Pairs of frames nearer than this are in contact [m]."""

    def node(self, frame: str) -> str:
        """The node of a frame."""
        return [*node_names(self.world.frames), "/frames"][self.world.index(frame)]


def draw_frames(stage: OverlayContext) -> list[Any]:
    """Axes and name of each frame."""
    handles = []
    frames = stage.world.frames
    for node, frame in zip(node_names(frames), frames, strict=True):
        axes = dict(axes_length=AXES_LENGTH, axes_radius=AXES_LENGTH / 25)
        handles.append(stage.scene.add_frame(f"{node}/axes", **axes))
        handles.append(stage.scene.add_label(f"{node}/name", frame.name))
    return handles


def draw_regions(stage: OverlayContext) -> list[Any]:
    """Cavities (green) and supports (blue) of objects."""
    handles = []
    for region in stage.world.regions:
        node = f"{stage.node(region.frame)}/{region.kind} {region.object} {region.name}"
        cavity = region.kind == "cavity"
        faces = (
            _hull_triangles(region.corners)
            if cavity
            else _fan_triangles(len(region.corners))
        )
        style = dict(
            color=CAVITY_COLOR if cavity else SUPPORT_COLOR, opacity=0.35, side="double"
        )
        handles.append(
            stage.scene.add_mesh_simple(node, region.corners, faces, **style)
        )
    return handles


def draw_rooms(stage: OverlayContext) -> list[Any]:
    """The cells of each room, just above the plane z = 0, and its name."""
    handles: list[Any] = []
    rooms = stage.world.rooms
    if rooms is None:
        return handles
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    for k, (room, color) in enumerate(
        zip(rooms.rooms, cycle(ROOM_COLORS), strict=False)
    ):
        cells = np.argwhere(rooms.labels == k) - np.array(rooms.labels.shape) / 2
        if not len(cells):
            continue
        corners = (cells[:, None] + square).reshape(-1, 2) * rooms.resolution
        points = np.pad(
            corners, ((0, 0), (0, 1)), constant_values=((0, 0), (0, FLOOR_OFFSET))
        )
        first = 4 * np.arange(len(cells))[:, None, None]
        faces = (first + [[0, 1, 2], [0, 2, 3]]).reshape(-1, 3)
        style = dict(color=color, opacity=0.4, side="double")
        node = f"/rooms/{room.name}"
        handles.append(stage.scene.add_mesh_simple(node, points, faces, **style))
        middle = points.mean(0)
        stage.scene.add_label(f"{node}/name", room.name, position=middle)
    return handles


def draw_cameras(stage: OverlayContext) -> list[Any]:
    """What each camera sees, up to a depth of 0.6 m."""
    handles = []
    for camera in stage.world.cameras.values():
        far = min(camera.far, max(MAX_SIGHT_DEPTH, 2 * camera.near))
        up = np.tan(camera.vertical_fov / 2)
        left = up * camera.width / camera.height
        rim = np.array([[1, left, up], [1, -left, up], [1, -left, -up], [1, left, -up]])
        lines = [np.stack([rim * camera.near, rim * far], 1)]
        for depth in (camera.near, far):
            lines.append(depth * np.stack([rim, np.roll(rim, 1, 0)], 1))
        node = f"{stage.node(camera.name)}/sight"
        handles.append(
            _add_lines(stage.scene, node, np.concatenate(lines), SIGHT_COLOR)
        )
    return handles


def draw_reach(stage: OverlayContext) -> list[Any]:
    """The ball within which things are in reach of each agent."""
    style = dict(radius=DEFAULT_REACH, color=SUPPORT_COLOR, wireframe=True)
    return [
        stage.scene.add_icosphere(f"{stage.node(agent.base)}/reach {name}", **style)
        for name, agent in stage.world.agents.items()
    ]


def draw_collisions(stage: OverlayContext) -> list[Any]:
    """Witness points of all pairs that overlap (red) or are near (orange).

    Those of overlaps are within the bodies: a label, which nothing hides, tells where.
    """
    C = stage.world
    pairs = C.collision_indices()
    handles = []
    for k, contact in C.contacts(pairs, stage.margin).items():
        a, b = (C.frame_names[i].replace("/", "|") for i in pairs[k])
        ends = np.stack([contact.point_a, contact.point_b])
        color = OVERLAP_COLOR if contact.distance < 0 else NEAR_COLOR
        node = f"/collisions/{a} - {b}"
        handles.append(_add_lines(stage.scene, node, ends[None], color))
        dots: dict[str, Any] = dict(
            colors=color, point_size=4 * LINE_WIDTH, point_shape="circle"
        )
        dots |= dict(points=ends, precision="float32")
        stage.scene.add_point_cloud(f"{node}/witnesses", **dots)
        if contact.distance < 0:
            deep = f"{a} - {b}: {-1000 * contact.distance:.1f} mm deep"
            stage.scene.add_label(f"{node}/depth", deep, position=ends.mean(0))
    return handles


OVERLAYS: dict[str, Callable[[OverlayContext], list[Any]]] = {
    "frames": draw_frames,
    "regions": draw_regions,
    "rooms": draw_rooms,
    "cameras": draw_cameras,
    "reach": draw_reach,
    "collisions": draw_collisions,
}
LIVE_OVERLAYS = frozenset({"collisions"})
"""Overlays that are drawn anew whenever something has moved."""


def _add_lines(
    scene: Any, node: str, ends: Float[np.ndarray, "n 2 3"], color: Any
) -> Any:
    return scene.add_line_segments(
        node, points=ends, colors=color, thickness=LINE_WIDTH
    )


def _hull_triangles(corners: np.ndarray) -> np.ndarray:
    """Triangles of the convex hull of corners."""
    import trimesh

    hull = trimesh.convex.convex_hull(corners)
    place = np.linalg.norm(hull.vertices[:, None] - corners, axis=-1).argmin(1)
    return place[np.asarray(hull.faces)]


def _fan_triangles(count: int) -> np.ndarray:
    """Triangles of a convex polygon."""
    second = np.arange(1, count - 1)
    return np.stack([np.zeros_like(second), second, second + 1], -1)
