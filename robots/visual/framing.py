"""Framing of a view: the shapes that are drawn, without floors and grounds below."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..geometry import shapes
from ..geometry.local_bounds import local_bounds
from ..kinematics.transforms import quat_to_matrix
from ..world.frame import Frame
from ..world.palette import body_roots

GROUND_RATIO = 3.0
"""Ratio of the size of a body to that of all others together from which it is a ground,
not framed."""
MAX_FLATNESS = 0.05
"""Largest thickness of a floor as a fraction of its shorter side; thicker ones are
framed, so that less is seen of what stands there."""
MIN_FLOOR_WIDTH = 2.0
"""Least length of the shorter side of a floor [m]; narrower boards may be tables."""
MAX_SUNK_DEPTH = 0.03
"""Depth to which what stands on a floor may reach into it [m]; beyond it, the floor is
framed, too."""
MIN_SIZE = 0.1
"""Least size of what is framed [m]; around smaller worlds a cube is."""
MIN_LEVEL_COSINE = 1 - 1e-6
"""Cosine of the inclination of a plane above which it is a floor [1]."""
SIGNS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def bounding_corners(
    frames: Sequence[Frame], poses: Float[np.ndarray, "frames 7"]
) -> list[Float[np.ndarray, "8 3"]]:
    """Return the corners, in the world, of a box about each shape that is drawn.

    Planes have none.

    Args:
        frames: The frames.
        poses: Their poses in the world.
    """
    boxes = []
    for frame, pose in zip(frames, poses, strict=True):
        R = quat_to_matrix(pose[3:])
        for geometry in frame.geometries:
            if geometry.visual and not isinstance(geometry.shape, shapes.Plane):
                low, high = local_bounds(geometry.shape)
                corners = (low + high) / 2 + SIGNS * (high - low) / 2
                corners = corners @ quat_to_matrix(geometry.pose[3:]).T
                boxes.append((corners + geometry.pose[:3]) @ R.T + pose[:3])
    return boxes


def body_boxes(
    frames: Sequence[Frame], poses: Float[np.ndarray, "frames 7"]
) -> dict[int, Float[np.ndarray, "n 3"]]:
    """Return corners about what is drawn of each body, by the index of its root."""
    boxes: dict[int, list[np.ndarray]] = {}
    for i, root in enumerate(body_roots(frames)):
        corners = bounding_corners(frames[i : i + 1], poses[i : i + 1])
        boxes.setdefault(root, []).extend(corners)
    return {root: np.concatenate(parts) for root, parts in boxes.items() if parts}


def framed_points(
    frames: Sequence[Frame],
    poses: Sequence[Float[np.ndarray, "frames 7"]],
    chosen: Sequence[int] | None = None,
) -> Float[np.ndarray, "m 3"]:
    """Return points that a picture should show: what stands on floors, not these.

    A floor is a flat shape that nothing moves, below all that is not flat. Without
    shapes, the points are the origins of the frames.

    Args:
        frames: All frames.
        poses: Their poses in the world, in each slice that is shown.
        chosen: Indices of the frames that count; None: all.
    """
    indices = range(len(frames)) if chosen is None else chosen
    still = {i for i in indices if _stands_still(frames, i)}
    standing: list[np.ndarray] = []
    flat: list[np.ndarray] = []
    for each in poses:
        for i in indices:
            for box in bounding_corners(frames[i : i + 1], each[i : i + 1]):
                (flat if i in still and _is_flat(box) else standing).append(box)
    boxes = standing + flat
    if standing:
        lowest = min(float(box[:, 2].min()) for box in standing)
        limit = lowest + MAX_SUNK_DEPTH
        boxes = standing + [box for box in flat if box[:, 2].max() > limit]
    origins = [each[[*indices], :3] for each in poses]
    return visible_bounds(boxes, np.concatenate(origins))


def visible_bounds(
    boxes: Sequence[Float[np.ndarray, "8 3"]], origins: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, "m 3"]:
    """Return the corners of the boxes without grounds; without boxes, the origins."""
    foreground = [*boxes]
    while len(foreground) > 1:
        sizes = [_diagonal(box) for box in foreground]
        largest = int(np.argmax(sizes))
        others = foreground[:largest] + foreground[largest + 1 :]
        if sizes[largest] < GROUND_RATIO * max(_diagonal(np.concatenate(others)), 1e-9):
            break
        foreground = others
    points = np.concatenate(foreground) if foreground else np.reshape(origins, (-1, 3))
    if not len(points):
        points = np.zeros((1, 3))
    low, high = points.min(0), points.max(0)
    if np.linalg.norm(high - low) < MIN_SIZE:
        points = (low + high) / 2 + SIGNS * MIN_SIZE / 4
    return points


def floor_height(
    frames: Sequence[Frame],
    poses: Float[np.ndarray, "frames 7"],
    points: Float[np.ndarray, "m 3"],
) -> float:
    """Return the height of the highest level plane below points, or of the lowest [m].

    Args:
        frames: Frames, of which some may be planes.
        poses: Their poses in the world.
        points: The points that are framed.
    """
    lowest = float(points[:, 2].min())
    planes = [-np.inf]
    for frame, pose in zip(frames, poses, strict=True):
        R = quat_to_matrix(pose[3:])
        for geometry in frame.geometries:
            if geometry.visual and isinstance(geometry.shape, shapes.Plane):
                up = (R @ quat_to_matrix(geometry.pose[3:]))[:, 2]
                height = float((R @ geometry.pose[:3] + pose[:3])[2])
                if up[2] > MIN_LEVEL_COSINE and height <= lowest + 1e-3:
                    planes.append(height)
    return max(planes) if len(planes) > 1 else lowest


def grid_cell(size: float) -> float:
    """Return the edge of the squares of a floor grid: 1, 2 or 5 times a power of 10.

    Args:
        size: Size of what stands on the floor, of about ten squares [m].
    """
    rough = size / 10
    power = 10.0 ** np.floor(np.log10(rough))
    return float(power * max(step for step in (1, 2, 5) if step * power <= rough))


def _stands_still(frames: Sequence[Frame], i: int) -> bool:
    """Return whether no joint moves a frame."""
    index: int | None = i
    while index is not None:
        joint = frames[index].joint
        if joint is not None and joint.dim > 0:
            return False
        index = frames[index].parent
    return True


def _is_flat(box: Float[np.ndarray, "8 3"]) -> bool:
    """Return whether a box about a shape has the size and proportions of a floor."""
    width, depth, height = np.ptp(box, axis=0)
    side = min(width, depth)
    return bool(side >= MIN_FLOOR_WIDTH and height <= MAX_FLATNESS * side)


def _diagonal(points: np.ndarray) -> float:
    return float(np.linalg.norm(points.max(0) - points.min(0)))
