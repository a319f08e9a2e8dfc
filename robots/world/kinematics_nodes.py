"""Nodes of the tree of joints, and the arrays of their motions."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import ConfigError
from ..kinematics.joint_types import (
    Axis,
    JointNode,
    resolve_axis,
)
from .frame import Joint
from .mimic_joints import MimicRelation


class ScalarMotion(NamedTuple):
    """A motion along or about `axis` by multiplier · q[coordinate] + offset."""

    coordinate: int
    multiplier: float
    offset: float
    axis: np.ndarray


class _ElementaryDof(NamedTuple):
    """One elementary degree of freedom."""

    node: int
    turn: bool
    column: int
    multiplier: float
    axis: np.ndarray


class TreeNode(NamedTuple):
    """A moving body with its motion relative to the parent node."""

    parent: int
    level: int
    pose: np.ndarray
    """Constant pose (7,) of its origin in the parent node."""
    slides: tuple[ScalarMotion, ...]
    turn: ScalarMotion | None
    ball: int | None
    """First of the four quaternion coordinates in q."""
    columns: tuple[int, ...]
    """Tangent columns: those of the slides, then those of the rotation or the ball."""


def build_node(
    parent: int,
    level: int,
    pose: np.ndarray,
    spec: JointNode,
    joint: Joint,
    relation: MimicRelation,
    start: int,
    columns: Mapping[int, int],
) -> TreeNode:
    multiplier, offset = (
        relation.scale * relation.multiplier,
        relation.scale * relation.offset,
    )

    def scalar_motion(k: int, axis: Axis) -> ScalarMotion:
        return ScalarMotion(
            start + k, multiplier, offset, resolve_axis(axis, joint.axis)
        )

    slides = tuple(scalar_motion(k, axis) for k, axis in spec.translations)
    used = [columns[k] for k, _ in spec.translations]
    turn, ball = None, None
    if spec.rotation is not None:
        turn = scalar_motion(*spec.rotation)
        used.append(columns[spec.rotation[0]])
    if spec.ball is not None:
        if relation.multiplier != 1 or relation.offset != 0:
            raise ConfigError(
                f"Joint {joint.name!r} ({joint.type}) mimics a quaternion joint"
                f" with multiplier {relation.multiplier} and offset {relation.offset};"
                " only multiplier 1 and offset 0 make sense there."
            )
        ball = start + spec.ball
        used += [columns[spec.ball] + i for i in range(3)]
    return TreeNode(parent, level, pose, slides, turn, ball, tuple(used))


def sort_by_level(
    nodes: Sequence[TreeNode],
) -> tuple[list[TreeNode], dict[int, int]]:
    """Return nodes by level, and the new index of each; the world stays -1."""
    order = sorted(range(len(nodes)), key=lambda i: nodes[i].level)
    rank = {old: new for new, old in enumerate(order)} | {-1: -1}
    return [nodes[i] for i in order], rank


def elementary_dofs(rows: Sequence[TreeNode]) -> list[_ElementaryDof]:
    """Return the dofs: one for each column in order, then those of mimic joints."""
    dofs: list[_ElementaryDof] = []
    for i, row in enumerate(rows):
        columns = iter(row.columns)
        for slide in row.slides:
            dofs.append(
                _ElementaryDof(i, False, next(columns), slide.multiplier, slide.axis)
            )
        if row.turn is not None:
            dofs.append(
                _ElementaryDof(
                    i, True, next(columns), row.turn.multiplier, row.turn.axis
                )
            )
        if row.ball is not None:
            dofs += [_ElementaryDof(i, True, next(columns), 1.0, a) for a in np.eye(3)]
    dofs.sort(key=lambda dof: dof.column)
    led_columns: set[int] = set()
    leaders: list[_ElementaryDof] = []
    followers: list[_ElementaryDof] = []
    for dof in dofs:
        (followers if dof.column in led_columns else leaders).append(dof)
        led_columns.add(dof.column)
    return leaders + followers


def pad_slides(row: TreeNode, nq: int) -> list[ScalarMotion]:
    """Return the slides of a node, padded to three."""
    padding = ScalarMotion(nq, 0.0, 0.0, np.zeros(3))
    return [*row.slides, padding, padding, padding][:3]


def pure_quaternions(v: np.ndarray) -> np.ndarray:
    """Return vectors as quaternions without a real part."""
    return np.concatenate([np.zeros_like(v[:, :1]), v], -1)
