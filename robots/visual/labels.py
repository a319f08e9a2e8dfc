"""Names of bodies in pictures: of what, where, and apart from each other."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from ..typing import FrameName
from ..world.frame import Frame
from ..world.palette import body_roots, robot_bodies
from .framing import body_boxes, bounding_corners
from .viewable_world import ViewableWorld
from .visible_shapes import drawn_frames

SEPARATORS = r"[/_.:-]"
"""Characters that end the first part of a link's name, as a pattern."""
MAX_SHIFTS = 40
"""Largest number of heights that are tried for a label on each side; more keep more
labels apart."""


def label_places(
    world: ViewableWorld, names: Iterable[FrameName]
) -> dict[str, Float[np.ndarray, "3"]]:
    """Return a point on top of each body that is drawn, by its label.

    A robot has its label over its base: the name of its agent, or the first part that
    the names of all its moving links share, such as "panda"; without either, none.
    """
    frames, poses = drawn_frames(world.frames), world.poses()
    roots, robots = body_roots(frames), robot_bodies(frames)
    shown = {roots[world.index(name)] for name in names}
    agents = {
        world.index(agent.base): agent.name
        for agent in world.annotations.agents.values()
    }
    places = {}
    for root, box in body_boxes(frames, poses).items():
        label: str | None = frames[root].name
        if root in robots:
            links = [i for i, r in enumerate(roots) if r == root]
            label = _robot_name([frames[i] for i in links])
            label = next((agents[i] for i in links if i in agents), label)
            parts = (bounding_corners([frames[i]], poses[i][None]) for i in links)
            box = np.concatenate(next(part for part in parts if part))
        if root in shown and label is not None:
            low, high = box.min(0), box.max(0)
            # Two robots may share the first part of their names.
            label = f"{label} ({frames[root].name})" if label in places else label
            places[label] = np.append((low + high)[:2] / 2, high[2])
    return places


def spread_labels(
    places: Float[np.ndarray, "n 2"],
    sizes: Float[np.ndarray, "n 2"],
    shape: tuple[int, int],
) -> Float[np.ndarray, "n 2"]:
    """Return places of labels, moved up or down as little as it takes to be apart.

    The lowest label comes first and keeps its place. A label that fits nowhere stays.

    Args:
        places: Middles of the lower edges, y downwards [pixels].
        sizes: Width and height of each label [pixels].
        shape: Height and width of the picture [pixels].
    """
    moved = places.astype(float).copy()
    done: list[int] = []
    for i in np.argsort(-places[:, 1], kind="stable"):
        step = sizes[i, 1] / 2
        shifts = sorted(range(-MAX_SHIFTS, MAX_SHIFTS + 1), key=lambda k: (abs(k), k))
        for shift in shifts:
            place = places[i] + [0, shift * step]
            if not sizes[i, 1] <= place[1] <= shape[0]:
                continue
            reach = (sizes[done] + sizes[i]) / 2
            if not (np.abs(moved[done] - place) < reach).all(1).any():
                moved[i] = place
                break
        done.append(int(i))
    return moved


def _robot_name(links: Sequence[Frame]) -> str | None:
    """Return the first part of the names of all links that joints move, if one."""
    moving = [link.name for link in links if link.joint is not None]
    parts = {re.split(SEPARATORS, name)[0] for name in moving}
    has_parts = all(re.search(SEPARATORS, name) for name in moving)
    return parts.pop() if len(parts) == 1 and has_parts else None
