"""One thing placed so that literals hold: tried on free spots, checked exactly."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from posewise.objectives.placement import solve_placement
from posewise.robots.config import Config
from posewise.robots.contact.gjk_numpy import min_distance
from posewise.robots.contact.proximity import nearest_contacts
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply

from ..errors import PredicateError
from ..exact.contact import CONTACT_TOLERANCE
from ..formulas.predicate import Predicate
from ..planning.dnf_search import object_names
from .aabb_queries import AxisAlignedBoxes, world_boxes
from .placement_candidates import PlacementCandidates, posed_frames, solid_frames

NO_LITERALS: Mapping[str, Sequence[Predicate]] = MappingProxyType({})


def place_object(
    C: Config,
    name: str,
    literals: Sequence[Predicate],
    absent: Collection[str] = (),
    staying: Collection[str] = (),
    *,
    pending_literals: Mapping[str, Sequence[Predicate]] = NO_LITERALS,
    seed: int = 0,
    prefer_adjacent: bool = False,
) -> bool:
    """Move a thing, with all that it carries, to a free spot where literals hold.

    Things stay upright as they are, turned by quarters. They meet nothing there, and
    rest on something.

    Args:
        C: the world, which is changed; where there is no such spot it stays as it is.
        name: of the thing.
        literals: that are to hold.
        absent: things that do not count, since they will be moved themselves.
        staying: things that stay where they are, even if they are on it.
        pending_literals: literals of the absent objects that come beside it or on it
            later; if possible each of these objects keeps a free pose.
        seed: of the spots.
        prefer_adjacent: whether spots beside others are tried first.

    Returns:
        Whether such a spot was found.
    """
    mover = _candidates(C, name, absent, staying)
    before = C.pose(name)
    stood = {rider: C.pose(rider) for rider in mover.carried}

    def move(pose: Float[np.ndarray, "7"]) -> None:
        moved = pose_multiply(pose, pose_inverse(before))
        C.set_pose(name, pose)
        for rider, old in stood.items():
            C.set_pose(rider, pose_multiply(moved, old))

    def has_spot(other: str) -> bool:
        stay = (*staying, name, *mover.carried)
        return any(
            True
            for _ in spots(_candidates(C, other, absent, stay), pending_literals[other])
        )

    spots = lambda of, asked: of.poses(
        asked, np.random.default_rng(seed), prefer_adjacent
    )
    cramped: np.ndarray | None = None
    for pose in spots(mover, literals):
        move(pose)
        if all(p.holds(C) for p in literals):
            if all(map(has_spot, pending_literals)):
                return True
            cramped = pose if cramped is None else cramped
    if cramped is not None:
        move(cramped)
        return True
    for moved, old in {name: before, **stood}.items():
        C.set_pose(moved, old)
    return False


def _candidates(
    C: Config, name: str, absent: Collection[str], staying: Collection[str]
) -> PlacementCandidates:
    riders = carried_objects(C, name, (*absent, *staying))
    return PlacementCandidates(C, name, tuple(riders), tuple(absent))


def optimize_placement(
    C: Config, name: str, literals: Sequence[Predicate], *, seed: int = 0
) -> bool:
    """The same by optimization, in any orientation; what it carries stays behind.

    Args:
        C: the world, which is changed if a placement is found.
        name: of the thing.
        literals: that are to hold.
        seed: of the random starts.
    """
    involved = {name, *(n for p in literals for n in object_names(p))}
    try:
        placements = solve_placement(
            _reduced_world(C, involved), list(literals), [name], starts=16, seed=seed
        )
    except PredicateError:
        return False
    before = C.pose(name)
    for found in placements:
        if found.feasible:
            found.apply(C)
            if all(p.holds(C) for p in literals) and not _is_penetrating(C, name):
                return True
    C.set_pose(name, before)
    return False


def _reduced_world(C: Config, involved: Collection[str]) -> Config:
    """A copy with just these objects, so that alike ones are programs compiled once."""
    world = C.copy()
    for other in C.objects:
        gone = other not in world.objects
        if not gone and not {other, *world.objects[other].parts} & set(involved):
            world.remove(other)
    return world


def _is_penetrating(C: Config, name: str) -> bool:
    """Whether a thing penetrates another by more than what counts as contact."""
    boxes, own = world_boxes(C), solid_frames(C, [name])
    low, high = boxes.owned_by(name).bounds
    room = -CONTACT_TOLERANCE
    for other in set(boxes.owners) - {name}:
        (foot, head), theirs = boxes.owned_by(other).bounds, solid_frames(C, [other])
        if (np.minimum(high, head) - np.maximum(low, foot) > room).all():
            pairs = [(i, j) for i in own for j in theirs]
            found = nearest_contacts(C.tree, pairs, 0.0)
            if any(float(c.distance) < -CONTACT_TOLERANCE for c in found.values()):
                return True
    return False


def carried_objects(C: Config, name: str, absent: Collection[str] = ()) -> list[str]:
    """Loose things that stand on a thing, or in it, and on these, and so on."""
    boxes = world_boxes(C)
    found = [name]
    for below in found:
        found += [
            other
            for other in C.objects
            if other not in (*found, *absent) and _is_carried(C, boxes, other, below)
        ]
    return found[1:]


def _is_carried(C: Config, boxes: AxisAlignedBoxes, rider: str, below: str) -> bool:
    """Whether a loose thing touches another one, and its middle is above its foot."""
    joint = C.frame(rider).joint
    own, other = boxes.owned_by(rider), boxes.owned_by(below)
    if joint is None or joint.type != "free" or not own.owners or not other.owners:
        return False
    (low, high), (foot, head) = own.bounds, other.bounds
    middle = (low + high)[:2] / 2
    above = (foot[:2] <= middle) & (middle <= head[:2])
    if not above.all() or low[2] <= foot[2] or low[2] > head[2] + CONTACT_TOLERANCE:
        return False
    a, b = (posed_frames(C, solid_frames(C, [x])) for x in (rider, below))
    return min_distance(a, b, CONTACT_TOLERANCE) is not None
