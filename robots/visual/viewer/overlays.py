"""Overlays over a world: frames, regions, rooms, cameras, reach, collisions.

Each overlay draws its nodes and returns the handles of the uppermost ones. Nodes of
frames are children of the frames' nodes and move with them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np
from jaxtyping import Float

from ...annotations.agents import DEFAULT_REACH
from ...geometry.shapes import Marker, Plane
from ..framing import floor_height, framed_points, grid_cell
from ..labels import label_places
from ..viewable_world import ViewableWorld
from ..visible_shapes import drawn_frames
from .bodies import draw_geometry
from .clearance_curve import nearest_pair
from .scene import AXES_STYLE, node_names

FLOOR_OFFSET = 0.01
"""Height of drawings above the floor [m], because surfaces in one plane flicker."""
CAVITY_COLOR, SUPPORT_COLOR, SIGHT_COLOR = (90, 190, 110), (70, 130, 220), (40, 40, 40)
NEAR_COLOR, OVERLAP_COLOR = (240, 160, 30), (220, 40, 40)
ROOM_COLORS = (
    (230, 120, 90),
    (90, 160, 220),
    (130, 190, 90),
    (220, 190, 70),
    (160, 120, 200),
)
COLLISION_COLOR = (0.95, 0.45, 0.15, 0.45)
LINE_WIDTH = 0.003
"""Width of lines [m]; more hides more of what is behind them."""
MAX_SIGHT_DEPTH = 0.6
"""Depth up to which the view cones of cameras are drawn [m]; more hides more of the
world."""


@dataclass(frozen=True)
class OverlayContext:
    """The scene an overlay is drawn in, and the world it shows."""

    scene: Any
    """`viser.SceneApi`."""
    world: ViewableWorld
    margin: float
    """Distance below which a pair of frames is drawn as near [m]."""

    def node(self, frame: str) -> str:
        """Return the node of a frame."""
        return [*node_names(self.world.frames), "/frames"][self.world.index(frame)]


def draw_frames(context: OverlayContext) -> list[Any]:
    """Draw the axes and the name of each frame."""
    handles = []
    frames = context.world.frames
    for node, frame in zip(node_names(frames), frames, strict=True):
        handles.append(context.scene.add_frame(f"{node}/axes", **AXES_STYLE))
        handles.append(context.scene.add_label(f"{node}/name", frame.name))
    return handles


def draw_grid(context: OverlayContext) -> list[Any]:
    """Draw the floor as a grid."""
    frames, poses = drawn_frames(context.world.frames), context.world.poses()
    points = _framed_points(context.world)
    size = _framed_size(points)
    cell = grid_cell(size)
    # Surfaces in one plane flicker.
    height = floor_height(frames, poses, points) - 1e-3 * size
    grid = context.scene.add_grid(
        "/grid",
        infinite_grid=True,
        fade_distance=8 * size,
        cell_size=cell,
        cell_color=(222, 222, 222),
        section_size=5 * cell,
        section_color=(190, 190, 190),
        shadow_opacity=0.2,
        position=(0.0, 0.0, height),
    )
    return [grid]


def floor_scale(world: ViewableWorld) -> str:
    """Return how large the squares of the floor are."""
    cell = grid_cell(_framed_size(_framed_points(world)))
    unit = f"{cell:g} m" if cell >= 1 else f"{100 * cell:g} cm"
    return f"squares of the floor: {unit}"


def _framed_points(world: ViewableWorld) -> Float[np.ndarray, "n 3"]:
    return framed_points(drawn_frames(world.frames), [world.poses()])


def _framed_size(points: Float[np.ndarray, "n 3"]) -> float:
    return float(np.linalg.norm(points.max(0) - points.min(0)))


def draw_names(context: OverlayContext) -> list[Any]:
    """Draw the name of each body, at its top."""
    handles = []
    for name, top in label_places(context.world, context.world.frame_names).items():
        style = dict(anchor="bottom-center", position=top)
        node = f"/names/{name.replace('/', '|')}"
        handles.append(context.scene.add_label(node, name, **style))
    return handles


def draw_collision_shapes(context: OverlayContext) -> list[Any]:
    """Draw what collides over what is drawn: fitted models, and shapes not visual."""
    handles: list[Any] = []
    frames = context.world.frames
    for node, frame in zip(node_names(frames), frames, strict=True):
        for k, geometry in enumerate(frame.geometries):
            if geometry.collision and not isinstance(geometry.shape, Marker | Plane):
                over = replace(geometry, color=COLLISION_COLOR)
                name = f"{node}/collides {k}"
                handles.append(
                    draw_geometry(context.scene, name, over, COLLISION_COLOR)
                )
    return handles


def draw_clearance(context: OverlayContext) -> list[Any]:
    """Draw the distance of the nearest pair that can collide, of all frames."""
    nearest = nearest_pair(context.world)
    if nearest is None:
        return []
    contact, (a, b) = nearest.contact, nearest.frames
    ends = np.stack([contact.point_a, contact.point_b])
    color = OVERLAP_COLOR if contact.distance < 0 else SUPPORT_COLOR
    line = _add_lines(context.scene, "/clearance", ends[None], color)
    text = f"{a} - {b}: {1000 * contact.distance:.1f} mm"
    context.scene.add_label("/clearance/distance", text, position=ends.mean(0))
    return [line]


def draw_regions(context: OverlayContext) -> list[Any]:
    """Draw cavities (green) and supports (blue) of objects."""
    handles = []
    for region in context.world.annotations.regions:
        node = (
            f"{context.node(region.frame)}/{region.kind} {region.object} {region.name}"
        )
        is_cavity = region.kind == "cavity"
        faces = (
            _hull_triangles(region.corners)
            if is_cavity
            else _fan_triangles(len(region.corners))
        )
        style = dict(
            color=CAVITY_COLOR if is_cavity else SUPPORT_COLOR,
            opacity=0.35,
            side="double",
        )
        handles.append(
            context.scene.add_mesh_simple(node, region.corners, faces, **style)
        )
    return handles


def draw_rooms(context: OverlayContext) -> list[Any]:
    """Draw the cells of each room, just above the plane z = 0, and its name."""
    handles: list[Any] = []
    rooms = context.world.annotations.rooms
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
        handles.append(context.scene.add_mesh_simple(node, points, faces, **style))
        middle = points.mean(0)
        context.scene.add_label(f"{node}/name", room.name, position=middle)
    return handles


def draw_cameras(context: OverlayContext) -> list[Any]:
    """Draw the view cone of each camera, up to a depth of 0.6 m."""
    handles = []
    for camera in context.world.annotations.cameras.values():
        far = min(camera.far, max(MAX_SIGHT_DEPTH, 2 * camera.near))
        z = np.tan(camera.vertical_fov / 2)
        y = z * camera.width / camera.height
        rim = np.array([[1, y, z], [1, -y, z], [1, -y, -z], [1, y, -z]])
        lines = [np.stack([rim * camera.near, rim * far], 1)]
        for depth in (camera.near, far):
            lines.append(depth * np.stack([rim, np.roll(rim, 1, 0)], 1))
        node = f"{context.node(camera.name)}/sight"
        handles.append(
            _add_lines(context.scene, node, np.concatenate(lines), SIGHT_COLOR)
        )
    return handles


def draw_reach(context: OverlayContext) -> list[Any]:
    """Draw the ball within the reach of each agent."""
    style = dict(radius=DEFAULT_REACH, color=SUPPORT_COLOR, wireframe=True)
    return [
        context.scene.add_icosphere(f"{context.node(agent.base)}/reach {name}", **style)
        for name, agent in context.world.annotations.agents.items()
    ]


def draw_collisions(context: OverlayContext) -> list[Any]:
    """Draw witness points of all pairs that overlap (red) or are near (orange).

    Witness points of overlaps lie inside the bodies, so a label, which nothing hides,
    marks them.
    """
    C = context.world
    pairs = C.pairs.indices()
    handles = []
    for k, contact in C.contacts(pairs, context.margin).items():
        a, b = (C.frame_names[i].replace("/", "|") for i in pairs[k])
        ends = np.stack([contact.point_a, contact.point_b])
        color = OVERLAP_COLOR if contact.distance < 0 else NEAR_COLOR
        node = f"/collisions/{a} - {b}"
        handles.append(_add_lines(context.scene, node, ends[None], color))
        dots: dict[str, Any] = dict(
            colors=color, point_size=4 * LINE_WIDTH, point_shape="circle"
        )
        dots |= dict(points=ends, precision="float32")
        context.scene.add_point_cloud(f"{node}/witnesses", **dots)
        if contact.distance < 0:
            text = f"{a} - {b}: {-1000 * contact.distance:.1f} mm deep"
            context.scene.add_label(f"{node}/depth", text, position=ends.mean(0))
    return handles


OVERLAYS: dict[str, Callable[[OverlayContext], list[Any]]] = {
    "grid": draw_grid,
    "names": draw_names,
    "clearance": draw_clearance,
    "collision_shapes": draw_collision_shapes,
    "frames": draw_frames,
    "regions": draw_regions,
    "rooms": draw_rooms,
    "cameras": draw_cameras,
    "reach": draw_reach,
    "collisions": draw_collisions,
}
LIVE_OVERLAYS = frozenset({"names", "clearance", "collisions"})
"""Overlays that are redrawn whenever a frame has moved."""


def _add_lines(
    scene: Any, node: str, ends: Float[np.ndarray, "n 2 3"], color: tuple[int, int, int]
) -> Any:
    return scene.add_line_segments(
        node, points=ends, colors=color, thickness=LINE_WIDTH
    )


def _hull_triangles(corners: np.ndarray) -> np.ndarray:
    """Return the triangles of the convex hull, as indices of the corners."""
    import trimesh

    hull = trimesh.convex.convex_hull(corners)
    # trimesh merges and reorders vertices; find the given corners again.
    index = np.linalg.norm(hull.vertices[:, None] - corners, axis=-1).argmin(1)
    return index[np.asarray(hull.faces)]


def _fan_triangles(count: int) -> np.ndarray:
    """Return the triangles of a convex polygon, as indices of its corners."""
    second = np.arange(1, count - 1)
    return np.stack([np.zeros_like(second), second, second + 1], -1)
