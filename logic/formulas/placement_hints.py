"""Hints of formulas for the starts of placements: those of their parts."""

import numpy as np
from jaxtyping import Bool, Float

from posewise.objectives.placement.hints import (
    Witnesses,
    add_witnesses,
    admits_poses,
    improve_starts,
    start_region,
    suits_poses,
)
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from .connectives import And
from .formula import Formula, leaves


@start_region.register(And)
def start_region_of_all(
    formula: And, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return the box that those of all parts share, or the first if there is none."""
    regions = [start_region(part, C, name) for part in formula.parts]
    boxes = np.array([box for box in regions if box is not None])
    if not len(boxes):
        return None
    shared = np.stack([boxes[:, 0].max(0), boxes[:, 1].min(0)])
    return shared if (shared[0] <= shared[1]).all() else boxes[0]


@admits_poses.register(And)
def poses_that_all_admit(
    formula: And, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return which poses all parts admit."""
    votes = [admits_poses(part, C, name, poses) for part in formula.parts]
    return np.all([np.ones(len(poses), bool), *votes], axis=0)


@suits_poses.register(And)
def poses_that_suit_all(
    formula: And, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return which poses suit all parts."""
    suited = [suits_poses(part, C, name, poses) for part in formula.parts]
    return np.all([np.ones(len(poses), bool), *suited], axis=0)


@add_witnesses.register(Formula)
def add_witnesses_of_leaves(formula: Formula, C: Config, world: Config) -> Witnesses:
    """Add the witnesses of all leaves, as if each had to hold."""
    witnesses: Witnesses = {}
    for leaf in leaves(formula.ground(C)):
        witnesses |= add_witnesses(leaf, C, world)
    return witnesses


@improve_starts.register(Formula)
def improve_starts_by_leaves(
    formula: Formula, C: Config, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n nq"]:
    """Return starts, moved by one leaf after the other."""
    for leaf in leaves(formula.ground(C)):
        q = improve_starts(leaf, C, q)
    return q
