"""Hints of predicates for the starts of placements; they need not be exact."""

import numpy as np
from jaxtyping import Bool, Float

from posewise.objectives.placement.hints import (
    admits_poses,
    holds_when_settled,
    improve_starts,
    start_region,
    suits_poses,
)
from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import FrameName

from ..exact.containment import cavities, contains_points
from ..exact.floors import room_of_floor
from ..exact.footing import carried_shares_at
from ..exact.grasps import agent_with_hands
from ..exact.protrusion import MAX_PROTRUSION, protrusions_at
from ..exact.sight import agent_camera
from ..exact.support import supports, vertical_distances
from ..geometry.agents import find_agent
from ..geometry.frame_groups import (
    bounding_box,
    centre_of_mass,
    centres_of_mass_at,
    find_object,
    region_around,
    require_shapes,
)
from ..geometry.free_joints import free_root
from ..geometry.hands import fingers
from ..geometry.regions import above_support, in_cavity, regions_box
from ..geometry.rooms import room_map, rooms_named, rooms_region
from ..relaxed.stack_equilibrium import STANDING_TOLERANCES
from ..relaxed.support_graph import find_stack
from .attachment import Attached
from .contact import InContactWith
from .containment import InsideOf
from .floors import OnFloor
from .grasps import InHandOfAgent
from .next_to import NextTo
from .reach import InReachOfAgent
from .rooms import InRoom, InSameRoomAsAgent
from .settle_poses import are_clear, lower_onto_support, rests_on_face
from .sight import InFoVOfAgent
from .stable import Stable
from .support import OnTopOf, Under
from .upright import Upright

MAX_START_DEPTH = 2.0
"""Largest depth of random starts in the view frustum [m]; a larger one spreads them out
to where objects cannot be put."""
LEAST_HEIGHT_SHARE = 0.3
"""Least height of a centre above its support, as a share of the least extent (1).

Half of it would be exact; starts overlap a little.
"""
MIN_LEVEL_SHARE = 0.15
"""Least share of what is below an object that is level, for starts [1]; a larger one
leaves out places at edges and corners."""


@start_region.register(Attached)
@start_region.register(InContactWith)
def region_of_touching(
    predicate: Attached | InContactWith, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return a box around the other object, with room for this one."""
    return _region_beside(predicate, C, name, 1.0)


@start_region.register(NextTo)
def region_of_neighbours(
    predicate: NextTo, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return a larger box around the other object than that of contact."""
    return _region_beside(predicate, C, name, 1.5)


def _region_beside(
    predicate: Attached | InContactWith | NextTo,
    C: Config,
    name: FrameName,
    sizes: float,
) -> Float[np.ndarray, "2 3"] | None:
    """Return a box around the partner of an object, enlarged by some of its sizes."""
    if name not in (predicate.a, predicate.b):
        return None
    other = predicate.b if name == predicate.a else predicate.a
    return region_around(C, name, other, -sizes, sizes)


@start_region.register(InsideOf)
def region_inside(
    predicate: InsideOf, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return the box of the cavities, or of the object without any."""
    if name != predicate.a:
        return None
    b = find_object(C, predicate.b, predicate.a)
    regions = cavities(b, predicate.semantics)
    return regions_box(b, regions) if regions else region_around(C, name, predicate.b)


@admits_poses.register(InsideOf)
def poses_inside(
    predicate: InsideOf, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses the centre of mass is inside."""
    if name != predicate.a:
        return np.ones(len(poses), bool)
    igibson = predicate.semantics == "igibson"
    a = find_object(C, predicate.a, predicate.b)
    b = require_shapes(find_object(C, predicate.b, predicate.a))
    centres = centres_of_mass_at(a, poses, root_only=igibson)
    if regions := cavities(b, predicate.semantics):
        return np.any([in_cavity(b, r, centres) for r in regions], axis=0)
    return contains_points(b, centres, igibson)


@suits_poses.register(InsideOf)
def poses_wholly_inside(
    predicate: InsideOf, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses no side of the object sticks out."""
    if name != predicate.a:
        return np.ones(len(poses), bool)
    protrusions = protrusions_at(C, predicate.a, predicate.b, poses)
    return np.asarray(protrusions <= MAX_PROTRUSION)


@start_region.register(OnTopOf)
def region_on_top(
    predicate: OnTopOf, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return the box above the supports, or above the object without any.

    It is as wide as a floor, which may have no end.
    """
    if name != predicate.a:
        return None
    a = find_object(C, predicate.a, predicate.b)
    b = find_object(C, predicate.b, predicate.a)
    height = np.ptp(bounding_box(a), axis=0)[2] * np.array([0.0, 0.0, 1.0])
    if regions := supports(b, predicate.semantics):
        return regions_box(b, regions) + np.stack([0 * height, height])
    low, high = bounding_box(b)
    if np.isinf(low[2]):
        # A level floor without end.
        low = np.array([*low[:2], high[2]])
    return np.stack([low, high + height]) if np.isfinite(high[2]) else None


@admits_poses.register(OnTopOf)
def poses_on_top(
    predicate: OnTopOf, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses the other object, or its support, is straight below."""
    if name != predicate.a:
        return np.ones(len(poses), bool)
    upper, lower = predicate.a, predicate.b
    up, down = vertical_distances(C, upper, lower, poses, predicate.semantics)
    a, b = find_object(C, upper, lower), find_object(C, lower, upper)
    low, high = bounding_box(a, a.pose(a.frames[0])[0])
    is_above = np.isfinite(up)
    is_high = down >= LEAST_HEIGHT_SHARE * (high - low).min()
    is_below = np.isfinite(down) & is_high
    if regions := supports(b, predicate.semantics):
        centres = centres_of_mass_at(a, poses)
        over = [above_support(b, r, centres) for r in regions]
        return is_below & ~is_above & np.any(over, axis=0)
    return is_below & (is_above == (predicate.semantics == "document"))


@suits_poses.register(OnTopOf)
def poses_on_much(
    predicate: OnTopOf, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses what is below the object is no knob or handle."""
    if name != predicate.a:
        return np.ones(len(poses), bool)
    shares = carried_shares_at(C, predicate.a, predicate.b, poses)
    return np.asarray(shares >= MIN_LEVEL_SHARE)


@start_region.register(Under)
def region_under(
    predicate: Under, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return the box below the other object."""
    if name != predicate.a:
        return None
    down = np.array([0.0, 0.0, 2.0])
    return region_around(C, name, predicate.b, -down, 0.0)


@admits_poses.register(Under)
def poses_under(
    predicate: Under, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses the other object is straight above."""
    if name != predicate.a:
        return np.ones(len(poses), bool)
    distances = vertical_distances(
        C, predicate.a, predicate.b, poses, predicate.semantics
    )
    is_above, is_below = np.isfinite(distances)
    return is_above & (is_below == (predicate.semantics == "document"))


@start_region.register(OnFloor)
def region_on_floor(
    predicate: OnFloor, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return the box above the floor, in its room."""
    if name != predicate.a:
        return None
    room = room_of_floor(C, predicate.floor_or_room)
    low, high = bounding_box(find_object(C, predicate.floors(C)[0], name))
    size = np.ptp(bounding_box(find_object(C, name)), axis=0)
    box = np.array([[*low[:2], high[2]], [*high[:2], high[2] + size[2]]])
    if C.annotations.rooms is not None and room is not None:
        around = rooms_region(C.annotations.rooms, [room])
        if around is not None:
            corners = np.maximum(box[0], around[0]), np.minimum(box[1], around[1])
            box = np.array(corners)
    is_usable = np.isfinite(box[:, 2]).all() and (box[0] <= box[1]).all()
    return box if is_usable else None


@start_region.register(InHandOfAgent)
def region_in_hand(
    predicate: InHandOfAgent, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return the box around all fingers."""
    if name != predicate.a:
        return None
    hands = agent_with_hands(C, predicate.agent).hands.items()
    every = [f for hand, named in hands for f in fingers(C, hand, named)]
    boxes = np.array([bounding_box(f) for f in every]).reshape(-1, 2, 3)
    if not len(boxes) or not np.isfinite(boxes).all():
        return None
    return np.array([boxes[:, 0].min(0), boxes[:, 1].max(0)])


@start_region.register(InReachOfAgent)
def region_in_reach(
    predicate: InReachOfAgent, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return the box around the ball of the reach."""
    if name != predicate.a:
        return None
    base = C.pose(find_agent(C, predicate.agent).base)[:3]
    return base + predicate.reach * np.array([[-1.0], [1.0]])


@start_region.register(InRoom)
def region_in_room(
    predicate: InRoom, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return the box around the rooms."""
    rooms = room_map(C)
    if name != predicate.a:
        return None
    return rooms_region(rooms, rooms_named(rooms, predicate.room))


@start_region.register(InSameRoomAsAgent)
def region_in_same_room(
    predicate: InSameRoomAsAgent, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return the box around the room in which the other one is."""
    base, rooms = find_agent(C, predicate.agent).base, room_map(C)
    if name not in (predicate.a, base):
        return None
    if name == predicate.a:
        other = C.pose(base)[:3]
    else:
        other = centre_of_mass(find_object(C, predicate.a))
    room = rooms.room_at(other)
    return None if room is None else rooms_region(rooms, [room])


@start_region.register(InFoVOfAgent)
def region_in_view(
    predicate: InFoVOfAgent, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return the box around the near part of the view frustum."""
    camera = agent_camera(C, predicate.agent)
    if name != predicate.a:
        return None
    high = np.tan(camera.vertical_fov / 2)
    edges = np.array([1.0, high * camera.width / camera.height, high])
    corners = np.array([[1, y, z] for y in (-1, 1) for z in (-1, 1)]) * edges
    far = max(min(camera.far, MAX_START_DEPTH), camera.near)
    depths = np.array([camera.near, far])
    points = (depths[:, None, None] * corners).reshape(-1, 3)
    poses, i = C.forward_pass().frames, C.index(camera.name)
    points = points @ poses.R[i].T + poses.p[i]
    return np.array([points.min(0), points.max(0)])


@admits_poses.register(Upright)
def poses_upright(
    predicate: Upright, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses the object is upright."""
    group = find_object(C, predicate.a)
    if C.frames[group.frames[0]].name != name:
        return np.ones(len(poses), bool)
    up = quat_to_matrix(poses[:, 3:])[:, 2, 2]
    return np.asarray(up >= np.cos(predicate.tilt))


@admits_poses.register(Stable)
def poses_on_faces(
    predicate: Stable, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses the object stands on a face, clear of what it touches."""
    if free_root(C, predicate.a) != name:
        return np.ones(len(poses), bool)
    stack = find_stack(C, name)
    members = [C.index(stack.frame_names[i]) for i in stack.object_of(name)]
    shift = STANDING_TOLERANCES.centre_shift
    stands = rests_on_face(C, name, members, shift, poses)
    return stands & are_clear(C, stack, name, poses)


@holds_when_settled.register(Stable)
def is_of_rest(predicate: Stable) -> bool:
    """Return True: a tower stands if each object's load is above its support."""
    return not predicate.legacy


@improve_starts.register(Stable)
def starts_on_supports(
    predicate: Stable, C: Config, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n nq"]:
    """Return starts in which the object is moved onto what is below it."""
    root = free_root(C, predicate.a)
    if root is None or not C.tree.joint(C.index(root)).active:
        return q
    return lower_onto_support(C, find_stack(C, root), root, q)
