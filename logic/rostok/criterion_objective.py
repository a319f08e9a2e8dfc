"""rostok's criteria as costs of a path on which an object is grasped.

A path says where the object and the robot's bodies are, how near to each other, and
how the object's centre of mass moves. When things happen is not free in it: the grasp
is complete at a given time, and is tested from there on. Forces it says in sum only:
what carries the object is m (a - g), if nothing but the robot touches it.

Rows are least squares, all 0 only where the reward is 1:

| criterion | rows | 1 - reward is at most |
|---|---|---|
| FinalPosition | √n · step / reference, for the n steps of the test | their norm |
| Force | m (a - g) / √n, for the n slices of the test [N] | their norm |
| InstantObjectCOG | centre of the contacts minus centre of mass [m] | their norm |
| InstantContactingLink | gap of each body to the object [cm], over √bodies | – |
| Time, GraspTime | none: the times are given | – |

Contacts count as equal in the centre of the contacts. InstantForce is about how each
one differs from their mean, which a path does not say.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from posewise.features import Feature
from posewise.features.motions import GRAVITY
from posewise.objectives.interval import ObjectiveSpecs, SliceInterval
from posewise.objectives.objective import OT, ObjectiveError, slice_index
from posewise.robots.config import Config
from posewise.robots.simulation.masses import frame_masses as frame_masses
from posewise.robots.validation import number

from ..geometry.frame_groups import FrameGroup, find_object, require_shapes
from ..relaxed.object_features import (
    feature_on_frames,
    mass_arrays,
    mass_centre,
    shape_positions,
)
from ..relaxed.parts import PartPairKinds, part_contacts, part_pairs
from ..smooth_extrema import smallest
from .criterion import Criterion
from .errors import EventError
from .grasp_criteria import (
    GraspTimeCriterion,
    InstantContactingLinkCriterion,
    InstantForceCriterion,
    InstantObjectCOGCriterion,
)
from .run_criteria import FinalPositionCriterion, ForceCriterion, TimeCriterion
from .simulation_reward import SimulationReward
from .smooth_criteria import MIN_WEIGHT_SUM
from .thresholds import LENGTH_UNIT

CONTACT_SMOOTHING_LENGTH = 1e-3
"""Contacts count less in their centre within such gaps [m]."""
FeatureOnSlices = tuple[Feature, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class CriterionObjective:
    """A criterion, or a weighted sum of them, as costs for `KOMO.add`; see above.

    That the object is grasped is for constraints to say.

    Args:
        criterion: one of rostok's, or a `SimulationReward` of them: rows of each count
            by its weight.
        obj: what is grasped, with a mass where forces are asked for.
        robot: names of its bodies, as in a `Trace`.
        grasp: when the grasp is complete [phases]; the test goes on to the end of the
            times it is added on.

    Raises:
        EventError: for what is no criterion, one without rows, or a negative weight.
        ObjectiveError: on adding, for a time of the grasp that leaves no test.
        ConfigError: on adding, for unknown names, and things without shapes.
    """

    criterion: Any
    obj: Any
    robot: Any
    grasp: Any

    def __post_init__(self) -> None:
        number("CriterionObjective: grasp", self.grasp, "a time > 0", lambda x: x > 0)
        for criterion, weight in self._weighted():
            if type(criterion) not in ROW_BUILDERS:
                raise EventError(_no_rows_message(criterion))
            if weight < 0:
                raise EventError(
                    f"{type(criterion).__name__} has weight {weight}; only weights >= 0"
                    " have rows: a solver minimises their squares."
                )

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `posewise.objectives.interval`."""
        start = slice_index(float(self.grasp), interval.slices_per_phase)
        test = tuple(k for k in interval.slices if k > start)
        if not test or start < interval.slices[0]:
            raise ObjectiveError(
                f"grasp is {self.grasp}, slice {start}, but the times select slices"
                f" {interval.slices[0]} to {interval.slices[-1]}; the grasp is one of"
                " them and the test is after it."
            )
        setting = _GraspContext(C, self.obj, tuple(self.robot), start, test, interval)
        for criterion, weight in self._weighted():
            for feature, slices in ROW_BUILDERS[type(criterion)](criterion, setting):
                yield _scaled(feature, np.sqrt(weight)), OT.sos, slices

    def _weighted(self) -> Iterator[tuple[Criterion, float]]:
        if isinstance(self.criterion, SimulationReward):
            yield from zip(self.criterion.criteria, self.criterion.weights, strict=True)
        else:
            yield self.criterion, 1.0


class _GraspContext(NamedTuple):
    """A grasp in a world, and its slices."""

    C: Config
    obj: str
    robot: tuple[str, ...]
    grasp: int
    test: tuple[int, ...]
    span: SliceInterval

    def mass(self) -> float:
        """Of the object [kg].

        Raises:
            ObjectiveError: where it has none.
        """
        every = frame_masses(self.C.frames)
        total = sum(every[i].mass for i in find_object(self.C, self.obj).frames)
        if not total > 0:
            raise ObjectiveError(
                f"{self.obj!r} has no mass, which forces are asked for; give it one:"
                f" C.set_mass({self.obj!r}, 0.3)."
            )
        return float(total)

    def centre(self, order: int, scale: float, target: Any = None) -> Feature:
        """Of mass of the object in the world, or what it does [m, m/s, m/s²]."""
        made = feature_on_frames(
            [find_object(self.C, self.obj)], _center_of_mass_function
        )
        given = dict(order=order, scale=scale, target=target)
        return Feature(made.symbol, made.frames, **given)

    def on_object_and_robot(self, build: Any) -> Feature:
        """Of the object and the bodies of the robot."""
        bodies = [require_shapes(find_object(self.C, name)) for name in self.robot]
        return feature_on_frames(
            [require_shapes(find_object(self.C, self.obj)), *bodies], build
        )


def _final_position_rows(
    criterion: Any, at: _GraspContext
) -> Iterator[FeatureOnSlices]:
    share = np.sqrt(len(at.test)) / criterion.reference_distance
    for tau in np.unique(at.span.tau[list(at.test)]):
        slices = tuple(k for k in at.test if at.span.tau[k] == tau)
        yield at.centre(1, float(tau * share)), slices


def _force_rows(criterion: Any, at: _GraspContext) -> Iterator[FeatureOnSlices]:
    scale = at.mass() / np.sqrt(len(at.test))
    yield at.centre(2, scale, [0.0, 0.0, -GRAVITY]), at.test


def _contacting_link_rows(
    criterion: Any, at: _GraspContext
) -> Iterator[FeatureOnSlices]:
    yield (
        _scaled(at.on_object_and_robot(_gap_function), 1 / np.sqrt(len(at.robot))),
        (at.grasp,),
    )


def _center_rows(criterion: Any, at: _GraspContext) -> Iterator[FeatureOnSlices]:
    yield at.on_object_and_robot(_offset_function), (at.grasp,)


def _no_rows(criterion: Any, at: _GraspContext) -> Iterator[FeatureOnSlices]:
    yield from ()


ROW_BUILDERS: dict[type, Callable[[Any, _GraspContext], Iterator[FeatureOnSlices]]] = {
    FinalPositionCriterion: _final_position_rows,
    ForceCriterion: _force_rows,
    InstantObjectCOGCriterion: _center_rows,
    InstantContactingLinkCriterion: _contacting_link_rows,
    TimeCriterion: _no_rows,
    GraspTimeCriterion: _no_rows,
}


def _no_rows_message(criterion: Any) -> str:
    known = ", ".join(kind.__name__ for kind in ROW_BUILDERS)
    if isinstance(criterion, InstantForceCriterion):
        return (
            "InstantForceCriterion compares the forces of single contacts, which a path"
            " does not say; leave it out and judge the result by a simulation,"
            f" simulate_grasp. These have rows: {known}."
        )
    return f"{criterion!r} is no criterion with rows; these have some: {known}."


def _scaled(feature: Feature, factor: float) -> Feature:
    own: Any = 1.0 if feature.scale is None else feature.scale
    given = dict(order=feature.order, target=feature.target, scale=own * factor)
    return Feature(feature.symbol, feature.frames, **given)


# -- functions of poses ----------------------------------------------------------------


def _center_of_mass_function(things: tuple[FrameGroup, ...]) -> Any:
    return _center_of_mass, mass_arrays(things[0]), 3


def _center_of_mass(R: Any, p: Any, **arrays: Any) -> Any:
    return mass_centre(R, p, arrays)


def _robot_object_pairs(
    things: tuple[FrameGroup, ...],
) -> tuple[PartPairKinds, dict[str, np.ndarray]]:
    """All pairs of a frame of the object and one of the robot, and whose they are."""
    first = np.cumsum([0, *(len(t.frames) for t in things)])
    own = shape_positions(things[0], 0)
    sides = [
        shape_positions(t, int(k)) for t, k in zip(things[1:], first[1:], strict=False)
    ]
    pairs = [(i, j) for body in sides for i in own for j in body]
    C = things[0].C
    which, arrays = part_pairs([C.frames[i] for t in things for i in t.frames], pairs)
    each = [len(own) * len(body) for body in sides]
    owner = np.repeat(np.arange(len(sides)), each)
    return which, arrays | {"owner": _robot_body_of_pairs(which, arrays, owner)}


def _robot_body_of_pairs(
    which: PartPairKinds, arrays: dict[str, np.ndarray], owner: np.ndarray
) -> np.ndarray:
    """Of each pair of parts, in order, the body of the robot."""
    pair = np.concatenate([arrays[f"pair{g}"] for g in range(len(which.kinds))])
    return owner[pair[arrays["order"]]]


def _gap_function(things: tuple[FrameGroup, ...]) -> Any:
    which, arrays = _robot_object_pairs(things)
    return _gap_rows(which, len(things) - 1), arrays, len(things) - 1


def _offset_function(things: tuple[FrameGroup, ...]) -> Any:
    which, arrays = _robot_object_pairs(things)
    return _offset_rows(which), arrays | mass_arrays(things[0]), 3


@lru_cache(maxsize=256)
def _gap_rows(which: PartPairKinds, bodies: int) -> Any:
    def gaps(R: Any, p: Any, **arrays: Any) -> Any:
        d = part_contacts(which, R, p, arrays).distance
        mine = arrays["owner"] == np.arange(bodies)[:, None]
        least = smallest(jnp.where(mine, d, jnp.inf).T)
        return jnp.maximum(least, 0.0) / LENGTH_UNIT

    return gaps


@lru_cache(maxsize=256)
def _offset_rows(which: PartPairKinds) -> Any:
    def offset(R: Any, p: Any, **arrays: Any) -> Any:
        found = part_contacts(which, R, p, arrays)
        weight = jax.nn.sigmoid(-found.distance / CONTACT_SMOOTHING_LENGTH)
        arms = found.point_a - mass_centre(R, p, arrays)
        return weight @ arms / (weight.sum() + MIN_WEIGHT_SUM)

    return offset
