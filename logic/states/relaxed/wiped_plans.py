"""Plans in which a tool wipes enough particles off an object, some on each slice.

The particles removed on one slice fit together into the axis-aligned box about the
tool, as it is turned now: the largest group first, then the next, until enough are
removed. The tool visits the groups on slices at equal strides, each time the nearest
group left.
"""

import math
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.features import Feature
from posewise.objectives.terms.interval import Slices
from posewise.robots.config import Config

from ...errors import PredicateError
from ...exact.contact import CONTACT_TOLERANCE
from ...formulas.schedule import Plan, Plans, Schedule, plans_for_all, plans_for_any
from ...geometry.frame_groups import FrameGroup, bounding_box
from ...relaxed.constraint_terms import Inequality
from ...relaxed.containment import in_box_rows
from ...relaxed.object_features import ObjectPair, with_point
from ..dirt_rules import DRY_SUBSTANCES, PERMANENT_SUBSTANCES
from .contact_plans import tool_parts, touch_rows
from .soaked_plans import soaked_plans

TOOL_BOX_MARGIN = 1e-3
"""Length by which edges of a tool's box are taken to be shorter [m].

Larger needs more groups, and leaves the solver more room.
"""


def removals_needed(count: int, threshold: float) -> int:
    """Return the least number of particles to remove for at most a share to remain.

    Args:
        count: number of all particles.
        threshold: the share (0 to 1).
    """
    return count - math.floor(count * threshold)


def wiped_plans(
    C: Config, schedule: Schedule, name: str, kind: str, share: float
) -> Plans:
    """Return plans in which at most a share of an object's particles remains.

    Args:
        C: the world.
        schedule: slices; the truth is that of its `state_slices`.
        name: of the object.
        kind: their substance.
        share: of all particles that ever were on the object (0 to 1).

    Raises:
        PredicateError: if there is no tool, or no time.
    """
    particles = C.annotations.states[name].particles(kind)
    removed = len(particles.active) - int(particles.active.sum())
    needed = removals_needed(len(particles.active), share) - removed
    if needed <= 0:
        return [Plan()]
    if kind in PERMANENT_SUBSTANCES:
        raise PredicateError(f"Nothing wipes {kind} off {name!r}: no tool removes it.")
    tools = tool_parts(C, "cleaningTool", name)
    if not tools:
        raise PredicateError(
            f"Nothing can wipe {kind} off {name!r}: give an object with shapes the"
            " ability cleaningTool."
        )
    wipe = partial(_tool_plans, C, schedule, name, kind, needed)
    return plans_for_any([partial(wipe, owner, part) for owner, part in tools])


def _tool_plans(
    C: Config,
    schedule: Schedule,
    name: str,
    kind: str,
    needed: int,
    owner: str,
    tool: FrameGroup,
) -> Plans:
    """Return plans for all times at which a tool may wipe.

    Args:
        C: the world.
        schedule: slices.
        name: of the dirty object.
        kind: their substance.
        needed: number of particles to remove.
        owner: name of the tool.
        tool: its working part.
    """
    particles = C.annotations.states[name].particles(kind)
    R, p = FrameGroup(C, name, (C.index(name),)).pose(C.index(name))
    low, high = bounding_box(tool)
    positions = particles.positions @ R.T + p
    size = np.maximum(high - low - TOOL_BOX_MARGIN, 0.0)
    groups = group_by_box(positions, particles.active, size, needed)
    groups = _nearest_first(positions, groups, low)
    first, begin, n = schedule.state_slices[0], schedule.action_slices[0], len(groups)
    if first + 1 - begin < n:
        raise PredicateError(
            f"Wiping {needed} {kind} particles off {name!r} takes {owner!r} {n} slices,"
            f" and there are {first + 1 - begin}; take more slices, or a larger tool."
        )
    # The widest stride first: it asks for the slowest motion of the tool.
    strides = sorted({1, (first - begin) // max(n - 1, 1) or 1}, reverse=True)
    times = [
        tuple(range(s, s + (n - 1) * stride + 1, stride))
        for stride in strides
        for s in range(first - (n - 1) * stride, begin - 1, -1)
    ]
    visit = partial(
        _visit_plans, C, schedule, name, particles.positions, owner, tool, groups
    )
    if kind in DRY_SUBSTANCES or C.annotations.states[owner].wetness >= 1:
        return plans_for_any([partial(visit, slices) for slices in times])

    def soak_and_visit(slices: Slices) -> Plans:
        """Return plans that soak the tool before its first slice, then wipe."""
        soak = soaked_plans(C, schedule.on_slices(slices[:1]), owner, 1, True)
        return plans_for_all([soak, visit(slices)])

    return plans_for_any([partial(soak_and_visit, slices) for slices in times])


def _visit_plans(
    C: Config,
    schedule: Schedule,
    name: str,
    positions: Float[np.ndarray, "n 3"],
    owner: str,
    tool: FrameGroup,
    groups: list[Int[np.ndarray, " _"]],
    slices: Slices,
) -> Plans:
    """Return the plan in which the touching tool's box holds a group on each slice.

    Args:
        C: the world.
        schedule: slices.
        name: of the dirty object.
        positions: of all its particles, in its frame [m].
        owner: name of the tool.
        tool: its working part.
        groups: indices of particles, one group for each slice.
        slices: at which the groups are wiped.
    """
    rows = touch_rows(C, schedule, tool, name, slices)
    pair = ObjectPair(C, FrameGroup(C, name, (C.index(name),)), tool, True)
    for k, group in zip(slices, groups, strict=True):
        for i in group.tolist():
            term = partial(_in_tool_box, pair, positions[i])
            key = ("wiped", tool.name, name, i)
            rows += schedule.on_slices((k,)).constraint_objectives(key, C, term)
    title = f"{owner} wipes {name} on slices {slices[0]} to {slices[-1]}"
    return [Plan(title, rows)]


def _in_tool_box(pair: ObjectPair, position: Float[np.ndarray, "3"]) -> Inequality:
    """Return the rows of a point of a in b's axis-aligned box."""
    inside = pair.feature(with_point(in_box_rows(False), position))
    # Roll-outs widen the box by the same tolerance.
    widened = Feature(inside.symbol, inside.frames, target=CONTACT_TOLERANCE)
    return Inequality(widened, 100.0)


def group_by_box(
    positions: Float[np.ndarray, "n 3"],
    active: Bool[np.ndarray, " n"],
    size: Float[np.ndarray, "3"],
    needed: int,
) -> list[Int[np.ndarray, " _"]]:
    """Return groups of particles, `needed` in all, that each fit into a box.

    Greedy, as for set cover: each time the box with its lower faces at particles that
    holds the most.

    Args:
        positions: of all particles [m].
        active: which particles remain.
        size: edges of the box [m].
        needed: number of particles.
    """
    remaining, groups = active.copy(), []
    while needed > 0:
        indices = np.flatnonzero(remaining)
        corners = np.meshgrid(*positions[indices].T, indexing="ij")
        offset = positions[indices] - np.stack(corners, -1).reshape(-1, 1, 3)
        inside = ((offset >= 0) & (offset <= size)).all(-1)
        group = indices[inside[inside.sum(-1).argmax()]][:needed]
        groups.append(group)
        remaining[group] = False
        needed -= len(group)
    return groups


def _nearest_first(
    positions: Float[np.ndarray, "n 3"],
    groups: list[Int[np.ndarray, " _"]],
    start: Float[np.ndarray, "3"],
) -> list[Int[np.ndarray, " _"]]:
    """Return groups in the order in which each is the nearest one left."""
    remaining, ordered, corner = list(groups), [], start
    while remaining:
        corners = np.array([positions[group].min(0) for group in remaining])
        nearest = int(np.linalg.norm(corners - corner, axis=-1).argmin())
        corner = corners[nearest]
        ordered.append(remaining.pop(nearest))
    return ordered
