"""The links of a model as simulators know them, for the writers of their formats.

Simulators have free bodies, joints of one coordinate or ball joints, and what is fixed.
Locked joints are fixed where they stand; what is loose hangs on the world.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError
from ..kinematics.joint_types import (
    FREE_JOINTS,
    joint_transform,
    joint_type,
    neutral_value,
    resolve_axis,
)
from ..kinematics.transforms import (
    IDENTITY,
    axis_angle_to_quat,
    pose_inverse,
    pose_multiply,
    quat_to_matrix,
)
from ..masses.frame_masses import FrameMass, frame_masses
from ..masses.shape_inertia import BodyInertia, frame_inertia
from ..world.frame import Frame, Joint, Model
from ..world.kinematics_builder import topological_order
from ..world.mimic_joints import MimicRelation, motion_value, resolve_mimics


@dataclass(frozen=True, eq=False)
class Step:
    """A motion along or about one axis, of a joint that may have several."""

    name: str
    slides: bool
    axis: Float[np.ndarray, "3"]
    """Unit axis in the frame of the link at the state."""
    anchor: Float[np.ndarray, "3"]
    """A point of the axis in that frame [m]."""
    position: float
    """Its value at the state [m or rad]."""
    limits: Float[np.ndarray, "2"]
    """Least and largest value, ±inf where unlimited."""
    effort: float | None
    """Largest force or torque [N, Nm]."""
    velocity: float | None
    """Largest speed [m/s, rad/s]."""
    leader: tuple[str, float, float] | None
    """Name of the step that it follows, multiplier and offset."""


@dataclass(frozen=True, eq=False)
class WrittenLink:
    """A frame as a link."""

    frame: Frame
    parent: int | None
    """Index of the parent; None: the world, which also what is loose hangs on."""
    pose: Float[np.ndarray, "7"]
    """Pose in the parent at the state."""
    world_pose: Float[np.ndarray, "7"]
    """Pose in the world at the state."""
    is_loose: bool
    """Whether it moves freely."""
    has_ball: bool
    """Whether it turns freely about its origin, after its steps."""
    steps: tuple[Step, ...]
    """Motions in the parent, in order."""
    root: int | None
    """Index of the link that moves it; None: it stands still."""
    inertia: BodyInertia | None
    """Mass and inertia; None: none is known, and none is needed."""


def written_links(model: Model, writer: str) -> list[WrittenLink]:
    """Return the links of a model, in the order of its frames.

    A link that moves weighs its mass, or as much as its shapes would at the density of
    water.

    Args:
        model: The frames, and the state.
        writer: Name of the writer, which messages begin with.

    Raises:
        ConfigError: For names used twice, ball joints that mimic, and shapes whose
            inertia is unknown.
    """
    frames = model.frames
    _refuse_repeated(writer, "frame", [frame.name for frame in frames])
    relations = resolve_mimics(frames)
    links: dict[int, WrittenLink] = {}
    fixed = [_as_fixed(frame, i, frames, relations) for i, frame in enumerate(frames)]
    weights = frame_masses(fixed)
    for i in topological_order(frames):
        frame, joint = frames[i], fixed[i].joint
        motion = _motion(model, i, relations)
        pose = np.asarray(pose_multiply(np.asarray(frame.origin, float), motion))
        above = None if frame.parent is None else links[frame.parent]
        in_world = pose if above is None else pose_multiply(above.world_pose, pose)
        is_loose = joint is not None and joint.type in FREE_JOINTS
        steps: tuple[Step, ...] = ()
        if joint is not None and not is_loose:
            steps = _steps(
                model, joint, relations[i], is_follower=relations[i].source != i
            )
        links[i] = WrittenLink(
            frame,
            None if is_loose else frame.parent,
            in_world if is_loose else pose,
            in_world,
            is_loose,
            joint is not None and not is_loose and bool(joint_type(joint.type).balls),
            steps,
            i if joint is not None else None if above is None else above.root,
            _inertia(frame, weights[i]),
        )
        if links[i].has_ball and relations[i].source != i:
            raise ConfigError(
                f"{writer}: joint {joint.name!r} has a ball and mimics another one,"  # type: ignore[union-attr]
                " which simulators lack; lock both, or take `mimic` away."
            )
    ordered = [links[i] for i in range(len(frames))]
    names = [step.name for link in ordered for step in link.steps]
    names += [j.name for f in fixed if (j := f.joint) and joint_type(j.type).balls]
    _refuse_repeated(writer, "joint", names)
    return ordered


def _as_fixed(
    frame: Frame,
    i: int,
    frames: Sequence[Frame],
    relations: dict[int, MimicRelation],
) -> Frame:
    """Return a frame without its joint if that is locked, or has no coordinates."""
    joint = frame.joint
    if joint is None:
        return frame
    leader = frames[relations[i].source].joint
    is_moving = joint.dim > 0 and leader is not None and leader.active
    return frame if is_moving else replace(frame, joint=None)


def _joint_of(frame: Frame) -> Joint:
    """Return the joint of a frame that has one.

    Raises:
        ConfigError: for a frame without, which is to move another joint.
    """
    if frame.joint is None:
        raise ConfigError(f"{frame.name!r} has no joint that another one could mimic.")
    return frame.joint


def _source_value(model: Model, source: int) -> np.ndarray:
    joint = _joint_of(model.frames[source])
    q = model.q.get(source, joint.q)
    return neutral_value(joint.type) if q is None else np.asarray(q, float)


def _motion(model: Model, i: int, relations: dict[int, MimicRelation]) -> np.ndarray:
    """Return the pose of a joint's motion at the state."""
    joint = model.frames[i].joint
    if joint is None or joint.dim == 0:
        return IDENTITY
    q = _source_value(model, relations[i].source)
    coordinates = motion_value(joint.type, q, relations[i])
    return joint_transform(joint.type, joint.axis, coordinates)


def _steps(
    model: Model, joint: Joint, relation: MimicRelation, *, is_follower: bool
) -> tuple[Step, ...]:
    """Return the motions of a joint along and about axes of the link at the state."""
    leader = _joint_of(model.frames[relation.source])
    q = motion_value(joint.type, _source_value(model, relation.source), relation)
    moves: list[tuple[int, np.ndarray, bool]] = []
    ball = IDENTITY
    for node in joint_type(joint.type).nodes:
        moves += [(k, resolve_axis(a, joint.axis), True) for k, a in node.translations]
        if node.rotation is not None:
            k, axis = node.rotation
            moves.append((k, resolve_axis(axis, joint.axis), False))
        if node.ball is not None:
            ball = joint_transform("quatBall", None, q[node.ball : node.ball + 4])
    after = ball
    steps: list[Step] = []
    # Backwards, because what comes after a step moves its axis in the frame.
    for k, axis, slides in reversed(moves):
        back = pose_inverse(after)
        limits = np.array([-np.inf, np.inf])
        if joint.limits is not None:
            limits = np.sort(relation.scale * joint.limits[:, k])
        followed = None
        if is_follower:
            offset = relation.scale * relation.offset
            followed = (_step_name(leader, k), relation.multiplier, offset)
        steps.append(
            Step(
                _step_name(joint, k),
                slides,
                quat_to_matrix(back[3:]) @ axis,
                np.zeros(3) if slides else back[:3],
                float(q[k]),
                limits,
                None if joint.effort is None else float(joint.effort[k]),
                None
                if joint.velocity is None
                else float(abs(relation.scale) * joint.velocity[k]),
                followed,
            )
        )
        step = IDENTITY.copy()
        if slides:
            step[:3] = q[k] * axis
        else:
            step[3:] = axis_angle_to_quat(axis, q[k])
        after = pose_multiply(step, after)
    return tuple(reversed(steps))


def _step_name(joint: Joint, k: int) -> str:
    return joint.name if joint.dim == 1 else f"{joint.name}_{k}"


def _inertia(frame: Frame, weight: FrameMass) -> BodyInertia | None:
    if weight.mass <= 0:
        return None
    if weight.inertia is not None:
        return BodyInertia(weight.mass, weight.com, weight.inertia)
    return frame_inertia(frame, weight.mass)


def _refuse_repeated(writer: str, kind: str, names: list[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ConfigError(
            f"{writer}: {kind} names used more than once:"
            f" {', '.join(map(repr, repeated[:8]))}; give each its name."
        )
