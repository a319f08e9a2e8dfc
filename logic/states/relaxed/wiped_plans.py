"""How paths wipe things clean: a tool goes over enough particles, some on each slice.

Particles that go on one slice are those that the box about the tool, as it is turned
now, can hold together; the most first, then the next most, until enough are gone. The
tool visits these places on slices in a row, each time from one to the nearest left.
"""

from functools import partial

import numpy as np
from jaxtyping import Bool, Float

from posewise.features import Feature
from posewise.objectives.interval import Slices
from posewise.robots.config import Config

from ...errors import PredicateError
from ...exact.contact import CONTACT_TOLERANCE
from ...geometry.frame_groups import FrameGroup, bounding_box
from ...planning.schedule import (
    Plan,
    Plans,
    Schedule,
    TimedObjectives,
    plans_for_all,
    plans_for_any,
)
from ...relaxed.constraint_terms import Inequality
from ...relaxed.object_features import ObjectPair, with_point
from ...relaxed.rays import in_box_rows
from .contact_plans import tool_parts, touch_rows
from .soaked_plans import soaked_plans
from .wiping_rows import removals_needed

TOOL_BOX_MARGIN = 1e-3
"""By so much a tool's box is taken to be smaller than it is [m]."""


def wiped_plans(C: Config, when: Schedule, name: str, kind: str, share: float) -> Plans:
    """Not more than a share of the particles are left on `when.state_slices`.

    Raises:
        PredicateError: where there is no tool, or no time.
    """
    particles = getattr(C.states[name], kind)
    gone = len(particles.active) - int(particles.active.sum())
    needed = removals_needed(len(particles.active), share) - gone
    if needed <= 0:
        return [Plan()]
    found = tool_parts(C, "cleaningTool", name)
    if not found:
        raise PredicateError(
            f"Nothing can wipe {kind} off {name!r}: give an object with shapes the"
            " ability cleaningTool."
        )
    wipe = partial(_tool_plans, C, when, name, kind, needed)
    return plans_for_any([partial(wipe, owner, part) for owner, part in found])


def _tool_plans(
    C: Config,
    when: Schedule,
    name: str,
    kind: str,
    needed: int,
    owner: str,
    tool: FrameGroup,
) -> Plans:
    """All times at which a tool may wipe."""
    particles = getattr(C.states[name], kind)
    R, p = FrameGroup(C, name, (C.index(name),)).pose(C.index(name))
    low, high = bounding_box(tool)
    where = particles.positions @ R.T + p
    size = np.maximum(high - low - TOOL_BOX_MARGIN, 0.0)
    places = _nearest_first(
        where, group_by_box(where, particles.active, size, needed), low
    )
    first, begin, n = when.state_slices[0], when.action_slices[0], len(places)
    if first + 1 - begin < n:
        raise PredicateError(
            f"Wiping {needed} {kind} particles off {name!r} takes {owner!r} {n} slices,"
            f" and there are {first + 1 - begin}; take more slices, or a larger tool."
        )
    strides = sorted({1, (first - begin) // max(n - 1, 1) or 1}, reverse=True)
    times = [
        tuple(range(s, s + (n - 1) * stride + 1, stride))
        for stride in strides
        for s in range(first - (n - 1) * stride, begin - 1, -1)
    ]
    visit = partial(
        _visit_plans, C, when, name, particles.positions, owner, tool, places
    )
    wet = kind == "dust" or C.states[owner].wetness >= 1
    if wet:
        return plans_for_any([partial(visit, slices) for slices in times])
    soak = lambda k: soaked_plans(C, when.on_slices((k,)), owner, 1, True)
    both = lambda slices: plans_for_all([soak(slices[0]), visit(slices)])
    return plans_for_any([partial(both, slices) for slices in times])


def _visit_plans(
    C: Config,
    when: Schedule,
    name: str,
    positions: Float[np.ndarray, "n 3"],
    owner: str,
    tool: FrameGroup,
    places: list[np.ndarray],
    slices: Slices,
) -> Plans:
    """Particles of each place in the tool's box on a slice, while the tool touches."""
    rows: TimedObjectives = touch_rows(C, when, tool, name, slices)
    pair = ObjectPair(C, FrameGroup(C, name, (C.index(name),)), tool, True)
    for k, group in zip(slices, places, strict=True):
        for i in group.tolist():
            make = lambda i=i: _in_tool_box(pair, positions[i])
            rows += when.on_slices((k,)).constraint_objectives(
                ("wiped", tool.name, name, i), C, make
            )
    title = f"{owner} wipes {name} on slices {slices[0]} to {slices[-1]}"
    return [Plan(title, rows)]


def _in_tool_box(pair: ObjectPair, position: np.ndarray) -> Inequality:
    """A point of a is in b's box along the world's axes, as roll-outs widen it."""
    inside = pair.feature(with_point(in_box_rows(False), position))
    return Inequality(
        Feature(inside.symbol, inside.frames, target=CONTACT_TOLERANCE), 100.0
    )


def group_by_box(
    where: Float[np.ndarray, "n 3"],
    active: Bool[np.ndarray, " n"],
    size: Float[np.ndarray, "3"],
    needed: int,
) -> list[np.ndarray]:
    """Groups of particles, `needed` in all, each within a box of that size.

    Greedy: each time the box, with its lower faces at particles, that holds the most.
    """
    left, groups = active.copy(), []
    while needed > 0:
        at = np.flatnonzero(left)
        corners = np.stack(np.meshgrid(*where[at].T, indexing="ij"), -1).reshape(-1, 3)
        off = where[at] - corners[:, None]
        held = ((off >= 0) & (off <= size)).all(-1)
        group = at[held[held.sum(-1).argmax()]][:needed]
        groups.append(group)
        left[group] = False
        needed -= len(group)
    return groups


def _nearest_first(
    where: Float[np.ndarray, "n 3"], groups: list[np.ndarray], start: np.ndarray
) -> list[np.ndarray]:
    """Each time the nearest group that is left."""
    left, ordered, here = list(groups), [], start
    while left:
        centres = np.array([where[group].min(0) for group in left])
        nearest = int(np.linalg.norm(centres - here, axis=-1).argmin())
        here = centres[nearest]
        ordered.append(left.pop(nearest))
    return ordered
