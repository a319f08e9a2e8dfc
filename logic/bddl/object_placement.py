"""Placement of an object so that literals hold: free poses, checked exactly."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from posewise.objectives.placement import solve_placement
from posewise.objectives.solve.stops import pass_on_stop
from posewise.robots.config import Config
from posewise.robots.config.posed_frames import posed_frames
from posewise.robots.contact.gjk_numpy import min_distance
from posewise.robots.contact.proximity import nearest_contacts
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply

from ..errors import PredicateError
from ..exact.contact import CONTACT_TOLERANCE
from ..formulas.predicate import Predicate
from ..planning.dnf_search import object_names
from .aabb_queries import AxisAlignedBoxes, world_boxes
from .placement_candidates import PlacementCandidates, solid_frames

NO_LITERALS: Mapping[str, Sequence[Predicate]] = MappingProxyType({})


def place_object(
    C: Config,
    name: str,
    literals: Sequence[Predicate],
    ignored: Collection[str] = (),
    staying: Collection[str] = (),
    *,
    pending_literals: Mapping[str, Sequence[Predicate]] = NO_LITERALS,
    seed: int = 0,
    prefer_adjacent: bool = False,
) -> bool:
    """Move an object, with all that it carries, to a free pose where literals hold.

    The object stays upright, turned by quarters. It meets no other object there, and
    rests on a surface.

    Args:
        C: the world, which is changed; without such a pose it stays unchanged.
        name: of the object.
        literals: that are to hold.
        ignored: names of objects that are absent, because they will be moved, too.
        staying: names of objects that are not moved, even if they are on the object.
        pending_literals: literals of the ignored objects that come beside it or on it
            later; if possible each of these objects keeps a free pose.
        seed: of the poses.
        prefer_adjacent: whether poses beside other objects are tried first.

    Returns:
        Whether such a pose was found.
    """
    candidates = _candidates(C, name, ignored, staying)
    before = C.pose(name)
    carried = {other: C.pose(other) for other in candidates.carried}

    def move(pose: Float[np.ndarray, "7"]) -> None:
        """Move the object and its load."""
        motion = pose_multiply(pose, pose_inverse(before))
        C.set_pose(name, pose)
        for other, old in carried.items():
            C.set_pose(other, pose_multiply(motion, old))

    def has_pose(other: str) -> bool:
        """Return whether a pending object has a free pose now."""
        fixed = (*staying, name, *candidates.carried)
        later = _candidates(C, other, ignored, fixed)
        rng = np.random.default_rng(seed)
        poses = later.poses(pending_literals[other], rng, prefer_adjacent)
        return any(True for _ in poses)

    cramped: np.ndarray | None = None
    rng = np.random.default_rng(seed)
    for pose in candidates.poses(literals, rng, prefer_adjacent):
        move(pose)
        if all(p.holds(C) for p in literals):
            if all(map(has_pose, pending_literals)):
                return True
            cramped = pose if cramped is None else cramped
    # The first pose without room for the pending objects is better than none.
    if cramped is not None:
        move(cramped)
        return True
    for moved, old in {name: before, **carried}.items():
        C.set_pose(moved, old)
    return False


def _candidates(
    C: Config, name: str, ignored: Collection[str], staying: Collection[str]
) -> PlacementCandidates:
    """Return the candidate poses of an object and its load.

    Args:
        C: the world.
        name: of the object.
        ignored: names of objects that are absent.
        staying: names of objects that are not moved.
    """
    carried = carried_objects(C, name, (*ignored, *staying))
    return PlacementCandidates(C, name, tuple(carried), tuple(ignored))


def optimize_placement(
    C: Config, name: str, literals: Sequence[Predicate], *, seed: int = 0
) -> bool:
    """Place an object by optimization, in any orientation; its load stays behind.

    Args:
        C: the world, which is changed if a placement is found.
        name: of the object.
        literals: that are to hold.
        seed: of the random starts.

    Returns:
        Whether a placement was found.
    """
    involved = {name, *(n for p in literals for n in object_names(p))}
    try:
        placements = solve_placement(
            _reduced_world(C, involved), list(literals), [name], starts=16, seed=seed
        )
    except PredicateError:
        # A literal without a sound relaxation cannot be optimized.
        return False
    pass_on_stop([placement.solution for placement in placements])
    before = C.pose(name)
    for placement in placements:
        if placement.feasible:
            placement.apply(C)
            if all(p.holds(C) for p in literals) and not _is_penetrating(C, name):
                return True
    C.set_pose(name, before)
    return False


def _reduced_world(C: Config, involved: Collection[str]) -> Config:
    """Return a copy with only some objects.

    Problems of the same structure then share one compiled program.
    """
    world = C.copy()
    for other in C.objects:
        # Removing an object also removes those attached to it.
        if other not in world.objects:
            continue
        if not {other, *world.objects[other].parts} & set(involved):
            world.remove(other)
    return world


def _is_penetrating(C: Config, name: str) -> bool:
    """Return whether an object penetrates another one, deeper than in contact."""
    boxes, parts = world_boxes(C), solid_frames(C, [name])
    low, high = boxes.owned_by(name).bounds
    for other in set(boxes.owners) - {name}:
        other_low, other_high = boxes.owned_by(other).bounds
        overlap = np.minimum(high, other_high) - np.maximum(low, other_low)
        if (overlap > -CONTACT_TOLERANCE).all():
            pairs = [(i, j) for i in parts for j in solid_frames(C, [other])]
            contacts = nearest_contacts(C.tree, pairs, 0.0)
            if any(float(c.distance) < -CONTACT_TOLERANCE for c in contacts.values()):
                return True
    return False


def carried_objects(C: Config, name: str, ignored: Collection[str] = ()) -> list[str]:
    """Return the loose objects on or in an object, and on or in these, transitively.

    Args:
        C: the world.
        name: of the object.
        ignored: names of objects that are absent.
    """
    boxes = world_boxes(C)
    stack = [name]
    for below in stack:
        stack += [
            other
            for other in C.objects
            if other not in (*stack, *ignored) and _is_carried(C, boxes, other, below)
        ]
    return stack[1:]


def _is_carried(C: Config, boxes: AxisAlignedBoxes, upper: str, lower: str) -> bool:
    """Return whether a loose object touches another one and is centred above it.

    Args:
        C: the world.
        boxes: about all bodies.
        upper: name of the loose object.
        lower: name of the other one.
    """
    joint = C.frame(upper).joint
    upper_boxes, lower_boxes = boxes.owned_by(upper), boxes.owned_by(lower)
    if (
        joint is None
        or joint.type != "free"
        or not upper_boxes.owners
        or not lower_boxes.owners
    ):
        return False
    (low, high), (other_low, other_high) = upper_boxes.bounds, lower_boxes.bounds
    centre = (low + high)[:2] / 2
    above = (other_low[:2] <= centre) & (centre <= other_high[:2])
    if not above.all() or low[2] <= other_low[2]:
        return False
    if low[2] > other_high[2] + CONTACT_TOLERANCE:
        return False
    a, b = (posed_frames(C, solid_frames(C, [x])) for x in (upper, lower))
    return min_distance(a, b, CONTACT_TOLERANCE) is not None
