"""rostok's criteria as costs of a path on which an object is grasped.

A path determines where the object and the robot's bodies are, how near they are to each
other, and how the object's center of mass moves. Times of events are not free: the
grasp is complete at a given time, and its test lasts from then on. Only the sum of the
contact forces is known, m (a - g), provided that nothing but the robot touches the
object.

The rows are least squares, all of them 0 only if the reward is 1:

| criterion | rows | 1 - reward is at most |
|---|---|---|
| FinalPosition | √n · step / reference, for the n steps of the test | their norm |
| Force | m (a - g) / √n, for the n slices of the test [N] | their norm |
| InstantObjectCOG | center of the contacts minus center of mass [m] | their norm |
| InstantContactingLink | gap of each body to the object [cm], over √bodies | – |
| Time, GraspTime | none, because the times are fixed | – |

Contacts have equal weights in the center of the contacts. InstantForce has no rows: it
compares single contact forces, which a path does not determine.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from posewise.features import Feature
from posewise.features.motions import GRAVITY
from posewise.features.typing import Order
from posewise.objectives.terms.interval import ObjectiveSpecs, SliceInterval
from posewise.objectives.terms.objective import OT, ObjectiveError, slice_index
from posewise.robots.config import Config
from posewise.robots.masses.frame_masses import frame_masses
from posewise.robots.validation import number

from ..geometry.frame_groups import FrameGroup, find_object, require_shapes
from ..relaxed.object_features import (
    feature_on_frames,
    mass_arrays,
    mass_centre,
    shape_positions,
)
from ..relaxed.part_pairs import PartPairKinds, part_contacts, part_pairs
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
"""Gap over which the weight of a contact in the contacts' center decays [m].

A larger value lets more distant pairs take part and makes the rows smoother.
"""
FeatureOnSlices = tuple[Feature, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class CriterionObjective:
    """Costs for `KOMO.add` from one criterion, or from a weighted sum of criteria.

    Use constraints to make the robot grasp the object; these costs do not.

    Args:
        criterion: criterion of rostok, or a `SimulationReward`, whose weights scale the
            squared rows of its criteria.
        obj: the grasped object; criteria of forces need its mass.
        robot: names of the robot's bodies, as in a `Trace`.
        grasp_time: time at which the grasp is complete [phases]; the test lasts from
            then to the end of the times passed to `KOMO.add`.

    Raises:
        EventError: for an object that is not a criterion, a criterion without rows, or
            a negative weight.
        ObjectiveError: in `KOMO.add`, for a grasp time that leaves no test.
        ConfigError: in `KOMO.add`, for unknown names, and objects without shapes.
    """

    criterion: Criterion | SimulationReward
    obj: str
    robot: Sequence[str]
    grasp_time: float

    def __post_init__(self) -> None:
        label = "CriterionObjective: grasp_time"
        number(label, self.grasp_time, "a time > 0", lambda x: x > 0)
        for criterion, weight in self._weighted_criteria():
            if type(criterion) not in ROW_BUILDERS:
                raise EventError(_no_rows_message(criterion))
            if weight < 0:
                raise EventError(
                    f"{type(criterion).__name__} has weight {weight}, expected a weight"
                    " >= 0 because a solver minimizes the squares of its rows."
                )

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        grasp = slice_index(float(self.grasp_time), interval.slices_per_phase)
        test = tuple(k for k in interval.slices if k > grasp)
        if not test or grasp < interval.slices[0]:
            raise ObjectiveError(
                f"grasp_time is {self.grasp_time}, slice {grasp}; the times select"
                f" slices {interval.slices[0]} to {interval.slices[-1]}; expected a"
                " grasp within these slices and at least one later slice for the test."
            )
        context = _GraspContext(C, self.obj, tuple(self.robot), grasp, test, interval)
        for criterion, weight in self._weighted_criteria():
            for feature, slices in ROW_BUILDERS[type(criterion)](criterion, context):
                yield _scaled(feature, np.sqrt(weight)), OT.sos, slices

    def _weighted_criteria(self) -> Iterator[tuple[Criterion, float]]:
        if isinstance(self.criterion, SimulationReward):
            yield from zip(self.criterion.criteria, self.criterion.weights, strict=True)
        else:
            yield self.criterion, 1.0


class _GraspContext(NamedTuple):
    """Grasp in a world, and the slices of its test."""

    C: Config
    obj: str
    robot: tuple[str, ...]
    grasp: int
    """Slice at which the grasp is complete."""
    test: tuple[int, ...]
    interval: SliceInterval

    def mass(self) -> float:
        """Return the mass of the object [kg].

        Raises:
            ObjectiveError: if the object has no mass.
        """
        masses_of_frames = frame_masses(self.C.frames)
        total = sum(
            masses_of_frames[i].mass for i in find_object(self.C, self.obj).frames
        )
        if not total > 0:
            raise ObjectiveError(
                f"{self.obj!r} has no mass, but ForceCriterion needs one; call"
                f" C.set_mass({self.obj!r}, 0.3)."
            )
        return float(total)

    def center_of_mass(
        self, order: Order, scale: float, target: list[float] | None = None
    ) -> Feature:
        """Return the object's center of mass, or its velocity or acceleration."""
        feature = feature_on_frames(
            [find_object(self.C, self.obj)], _center_of_mass_function
        )
        return Feature(
            feature.symbol, feature.frames, order=order, scale=scale, target=target
        )

    def on_object_and_robot(self, build: Callable[..., Any]) -> Feature:
        """Return a feature on the frames of the object and of all robot bodies."""
        bodies = [require_shapes(find_object(self.C, name)) for name in self.robot]
        return feature_on_frames(
            [require_shapes(find_object(self.C, self.obj)), *bodies], build
        )


def _final_position_rows(
    criterion: FinalPositionCriterion, context: _GraspContext
) -> Iterator[FeatureOnSlices]:
    # With n steps d_k of the test, |Σ d_k|² <= n Σ |d_k|² (Cauchy and Schwarz), so that
    # the norm of the rows bounds the displacement over the reference.
    scale = np.sqrt(len(context.test)) / criterion.reference_distance
    # Velocities times tau are steps, so that slices with the same tau share a feature.
    for tau in np.unique(context.interval.tau[list(context.test)]):
        slices = tuple(k for k in context.test if context.interval.tau[k] == tau)
        yield context.center_of_mass(1, float(tau * scale)), slices


def _force_rows(
    criterion: ForceCriterion, context: _GraspContext
) -> Iterator[FeatureOnSlices]:
    scale = context.mass() / np.sqrt(len(context.test))
    yield context.center_of_mass(2, scale, [0.0, 0.0, -GRAVITY]), context.test


def _contacting_link_rows(
    criterion: InstantContactingLinkCriterion, context: _GraspContext
) -> Iterator[FeatureOnSlices]:
    gaps = context.on_object_and_robot(_gap_function)
    yield _scaled(gaps, 1 / np.sqrt(len(context.robot))), (context.grasp,)


def _center_rows(
    criterion: InstantObjectCOGCriterion, context: _GraspContext
) -> Iterator[FeatureOnSlices]:
    yield context.on_object_and_robot(_offset_function), (context.grasp,)


def _no_rows(criterion: Criterion, context: _GraspContext) -> Iterator[FeatureOnSlices]:
    yield from ()


ROW_BUILDERS: dict[type, Callable[[Any, _GraspContext], Iterator[FeatureOnSlices]]] = {
    FinalPositionCriterion: _final_position_rows,
    ForceCriterion: _force_rows,
    InstantObjectCOGCriterion: _center_rows,
    InstantContactingLinkCriterion: _contacting_link_rows,
    TimeCriterion: _no_rows,
    GraspTimeCriterion: _no_rows,
}
"""Function that builds the features of each class of criteria."""


def _no_rows_message(criterion: object) -> str:
    known = ", ".join(kind.__name__ for kind in ROW_BUILDERS)
    if isinstance(criterion, InstantForceCriterion):
        return (
            "InstantForceCriterion compares the forces of single contacts, which a path"
            " does not determine; leave it out and judge the result with"
            f" simulate_grasp. These criteria have rows: {known}."
        )
    return f"criterion is {criterion!r}, expected one with rows: {known}."


def _scaled(feature: Feature, factor: float) -> Feature:
    """Return a feature with its scale multiplied by a factor."""
    scale: Any = 1.0 if feature.scale is None else feature.scale
    return Feature(
        feature.symbol,
        feature.frames,
        order=feature.order,
        target=feature.target,
        scale=scale * factor,
    )


# -- functions of poses ----------------------------------------------------------------


def _center_of_mass_function(groups: tuple[FrameGroup, ...]) -> Any:
    return _center_of_mass, mass_arrays(groups[0]), 3


def _center_of_mass(R: Any, p: Any, **arrays: Any) -> Any:
    return mass_centre(R, p, arrays)


def _robot_object_pairs(
    groups: tuple[FrameGroup, ...],
) -> tuple[PartPairKinds, dict[str, np.ndarray]]:
    """Return the pairs of a frame of the object and a frame of the robot.

    Returns:
        The kinds of part pairs, and their arrays; the array "owner" holds the index of
        the robot body of each pair of parts.
    """
    first = np.cumsum([0, *(len(group.frames) for group in groups)])
    object_frames = shape_positions(groups[0], 0)
    robot_frames = [
        shape_positions(group, int(k))
        for group, k in zip(groups[1:], first[1:], strict=False)
    ]
    pairs = [(i, j) for body in robot_frames for i in object_frames for j in body]
    C = groups[0].C
    frames = [C.frames[i] for group in groups for i in group.frames]
    kinds, arrays = part_pairs(frames, pairs, "grasp")
    counts = [len(object_frames) * len(body) for body in robot_frames]
    body_of_pair = np.repeat(np.arange(len(robot_frames)), counts)
    return kinds, arrays | {"owner": body_of_pair[arrays["frame_pair"]]}


def _gap_function(groups: tuple[FrameGroup, ...]) -> Any:
    kinds, arrays = _robot_object_pairs(groups)
    return _gap_rows(kinds, len(groups) - 1), arrays, len(groups) - 1


def _offset_function(groups: tuple[FrameGroup, ...]) -> Any:
    kinds, arrays = _robot_object_pairs(groups)
    return _offset_rows(kinds), arrays | mass_arrays(groups[0]), 3


# Cached, because programs are compiled for each function object.
@lru_cache(maxsize=256)
def _gap_rows(kinds: PartPairKinds, num_bodies: int) -> Any:
    """Return the function of the gap between each robot body and the object [cm]."""

    def gaps(R: Any, p: Any, **arrays: Any) -> Any:
        distance = part_contacts(kinds, R, p, arrays).distance
        is_of_body = arrays["owner"] == np.arange(num_bodies)[:, None]
        gap = smallest(jnp.where(is_of_body, distance, jnp.inf).T)
        return jnp.maximum(gap, 0.0) / LENGTH_UNIT

    return gaps


@lru_cache(maxsize=256)
def _offset_rows(kinds: PartPairKinds) -> Any:
    """Return the function of the contacts' center minus the center of mass [m]."""

    def offset(R: Any, p: Any, **arrays: Any) -> Any:
        witnesses = part_contacts(kinds, R, p, arrays)
        weights = jax.nn.sigmoid(-witnesses.distance / CONTACT_SMOOTHING_LENGTH)
        weights = jnp.where(arrays["is_copy"], 0.0, weights)
        offsets = witnesses.point_a - mass_centre(R, p, arrays)
        return weights @ offsets / (weights.sum() + MIN_WEIGHT_SUM)

    return offset
