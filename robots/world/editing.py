"""Changing what is in a world: attachments, poses, joints, shapes."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..contact.collision_rules import CollisionRules
from ..errors import ConfigError
from ..geometry.shapes import Marker
from ..kinematics.builder import topological_order
from ..kinematics.joint_types import joint_type, neutral_value, value_from_pose
from ..kinematics.transforms import IDENTITY, pose_inverse, pose_multiply
from .argument_parsing import (
    parse_color,
    parse_contact,
    parse_geometry,
    parse_joint,
    parse_joint_value,
    parse_limits,
    parse_mass,
    parse_pose,
)


class EditableWorld(CollisionRules):
    """A world whose frames can be changed."""

    def attach(self, parent: Any, frame: Any) -> None:
        """Fix a frame to a new parent, keeping its present world pose.

        Its joint, if any, is replaced by a rigid attachment.

        Raises:
            ConfigError: when the parent hangs on the frame itself.
        """
        i, j = self._own(frame), self._parent(parent)
        relative = pose_multiply(pose_inverse(self.pose(parent)), self.pose(frame))
        self._replace(i, parent=j, origin=relative, joint=None)

    def detach(self, frame: Any, joint: Any = "free") -> None:
        """Loosen a frame from its parent: it keeps its pose, on a joint in the world.

        Args:
            frame: the frame.
            joint: the new joint's type ("free"); None: fixed in the world.
        """
        i = self._own(frame)
        pose = self.pose(frame)
        made, origin, value = None, pose, None
        if joint is not None:
            made = parse_joint(self._frames[i].name, joint, None, None, None)
            value, error = value_from_pose(joint, None, pose)
            if error > 1e-6:
                value = neutral_value(joint)
            else:
                origin = IDENTITY.copy()
            made = replace(made, q=value)
        self._replace(i, parent=None, origin=origin, joint=made, value=value)

    def set_joint_type(
        self,
        frame: Any,
        joint: Any,
        *,
        axis: Any = None,
        limits: Any = None,
        mimic: Any = None,
        multiplier: Any = 1.0,
        offset: Any = 0.0,
    ) -> None:
        """Put a frame on another joint (None: fix it), where it stands.

        The pose in its parent becomes the joint's value where the joint reaches it,
        else the constant origin before the joint.

        Args:
            frame: the frame.
            joint: a joint type's name, or None.
            axis: see `add_frame`, as for all below.
            limits: see `add_frame`.
            mimic: see `add_frame`.
            multiplier: see `add_frame`.
            offset: see `add_frame`.

        Raises:
            ConfigError: saying what does not fit.
        """
        i = self._own(frame)
        old = self._frames[i]
        pose = self._pose_at(i)
        if old.parent is not None:
            up = self._pose_at(old.parent)
            pose = pose_multiply(pose_inverse(up), pose)
        made, origin, value = None, pose, None
        if joint is not None:
            made = parse_joint(old.name, joint, axis, limits, mimic, multiplier, offset)
            reached, error = value_from_pose(joint, made.axis, pose)
            value = neutral_value(joint)
            if error <= 1e-6 and mimic is None:
                value, origin = reached, IDENTITY.copy()
            made = replace(made, q=value)
        self._replace(i, parent=old.parent, origin=origin, joint=made, value=value)

    def set_pose(self, frame: Any, pose: Any, relative_to: Any = "world") -> None:
        """Move a frame: sets its joint's value, or the origin of a rigid frame.

        Raises:
            ConfigError: when the frame's joint cannot reach the pose.
        """
        i = self._own(frame)
        target = parse_pose(f"pose of {frame!r}", None, None, pose)
        if relative_to != "world" or "world" in self.frame_names:
            target = pose_multiply(self.pose(relative_to), target)
        old = self._frames[i]
        if old.parent is not None:
            up = self._pose_at(old.parent)
            target = pose_multiply(pose_inverse(up), target)
        if old.joint is None or old.joint.dim == 0:
            self._frames[i] = replace(old, origin=target)
            self._forget()
            return
        if old.joint.mimic is not None:
            raise ConfigError(
                f"Frame {frame!r} mimics {old.joint.mimic!r}; move that joint instead."
            )
        moved = pose_multiply(pose_inverse(np.asarray(old.origin)), target)
        value, error = value_from_pose(old.joint.type, old.joint.axis, moved)
        if error > 1e-6:
            raise ConfigError(
                f"Frame {frame!r} has a joint of type {old.joint.type!r}, which misses"
                f" this pose by {error:.2g} (m or rad); set q, or detach the frame."
            )
        if old.joint.scale != 1.0 and not joint_type(old.joint.type).balls:
            value = value / old.joint.scale
        self._values[i] = value
        if old.joint.active:
            self._walk = None
        else:
            self._forget()

    def lock(self, joints: Any) -> None:
        """Take joints out of q at their present values."""
        self._activate(joints, False)

    def unlock(self, joints: Any) -> None:
        """Put locked joints back into q."""
        self._activate(joints, True)

    def select_joints(self, joints: Any) -> None:
        """Make exactly these joints (by joint or frame name) the moving ones."""
        chosen = [joints] if isinstance(joints, str) else list(joints)
        rows = {self._joint_frame(n) for n in chosen}
        for i, frame in enumerate(self._frames):
            if frame.joint is not None and frame.joint.mimic is None:
                active = i in rows
                if frame.joint.active != active:
                    self._frames[i] = replace(
                        frame, joint=replace(frame.joint, active=active)
                    )
        self._forget()

    def set_joint(self, joint: Any, value: Any) -> None:
        """Set one joint's coordinates, moving or locked."""
        i = self._joint_frame(joint)
        made = self._joint(i)
        if made.mimic is not None:
            raise ConfigError(f"Joint {joint!r} mimics {made.mimic!r}; set that one.")
        self._values[i] = parse_joint_value(made, value)
        if made.active:
            self._walk = None
        else:
            self._forget()

    def set_shape(self, frame: Any, shape: Any, color: Any = None) -> None:
        """Replace all shapes of a frame by one, or remove them."""
        i = self._own(frame)
        solid = shape is not None and not isinstance(shape, Marker)
        geometries = () if shape is None else (parse_geometry(shape, color, solid),)
        self._frames[i] = replace(
            self._frames[i],
            geometries=geometries,
            contact=self._frames[i].contact if solid else 0,
        )
        self._forget()

    def set_color(self, frame: Any, color: Any) -> None:
        """Set the colour of all shapes of a frame, RGB or RGBA, 0 to 1."""
        i = self._own(frame)
        rgba = parse_color(color)
        shapes = tuple(replace(g, color=rgba) for g in self._frames[i].geometries)
        self._frames[i] = replace(self._frames[i], geometries=shapes)
        self._forget()

    def set_attributes(self, frame: Any, **attributes: Any) -> None:
        """Add or replace metadata of a frame."""
        i = self._own(frame)
        kept = self._frames[i].attributes | attributes
        self._frames[i] = replace(self._frames[i], attributes=kept)

    def set_contact(self, frame: Any, contact: Any) -> None:
        """Set rai's contact flag: 0 never collides, -k ignores links near above."""
        i = self._own(frame)
        self._frames[i] = replace(
            self._frames[i], contact=parse_contact(frame, contact)
        )
        self._forget()

    def set_mass(self, frame: Any, mass: Any) -> None:
        """Set a frame's mass [kg]."""
        i = self._own(frame)
        mass = parse_mass(f"mass of {frame!r}", mass)
        self._frames[i] = replace(self._frames[i], mass=mass)
        self._forget()

    def set_limits(self, joint: Any, limits: Any) -> None:
        """Set a joint's limits (2, dim), lower row first; None: no limits."""
        i = self._joint_frame(joint)
        made = self._joint(i)
        limits = None if limits is None else parse_limits(made.name, made.dim, limits)
        self._frames[i] = replace(self._frames[i], joint=replace(made, limits=limits))
        self._forget()

    def remove(self, frame: Any) -> None:
        """Remove a frame and everything attached to it."""
        gone = {self._own(frame)}
        for i in topological_order(self._frames):
            if self._frames[i].parent in gone:
                gone.add(i)
        kept = [i for i in range(len(self._frames)) if i not in gone]
        lost = {self._joint(i).name for i in gone if self._frames[i].joint is not None}
        for i in kept:
            joint = self._frames[i].joint
            if joint is not None and joint.mimic in lost:
                raise ConfigError(
                    f"Frame {frame!r} cannot be removed: joint {joint.name!r} mimics"
                    f" {joint.mimic!r}."
                )
        new = {old: k for k, old in enumerate(kept)}
        frames = []
        for i in kept:
            up = self._frames[i].parent
            frames.append(
                replace(self._frames[i], parent=None if up is None else new[up])
            )
        self._values = {new[i]: v for i, v in self._values.items() if i in new}
        self._ignored = frozenset(
            (new[a], new[b]) for a, b in self._ignored if a in new and b in new
        )
        self._frames = frames
        names = {f.name for f in frames}
        self._objects = {k: o for k, o in self._objects.items() if k in names}
        self._cameras = {k: c for k, c in self._cameras.items() if k in names}
        left = {k: agent.restricted_to(names) for k, agent in self._agents.items()}
        self._agents = {k: agent for k, agent in left.items() if agent is not None}
        self._states = {k: s for k, s in self._states.items() if k in names}
        self._regions = tuple(r for r in self._regions if {r.object, r.frame} <= names)
        self._forget()

    def _replace(
        self, i: int, value: np.ndarray | None = None, joint: Any = None, **kw
    ) -> None:
        """Change a frame's attachment, or nothing when that makes a circle."""
        old, old_values = self._frames[i], dict(self._values)
        self._frames[i] = replace(old, joint=joint, **kw)
        self._values.pop(i, None)
        if value is not None:
            self._values[i] = value
        self._forget()
        try:
            self._snapshot()
        except ConfigError:
            self._frames[i], self._values = old, old_values
            self._forget()
            raise

    def _activate(self, joints: Any, active: bool) -> None:
        joints = [joints] if isinstance(joints, str) else list(joints)
        for i in [self._joint_frame(n) for n in joints]:
            joint = self._joint(i)
            if joint.mimic is not None:
                raise ConfigError(
                    f"Joint {joint.name!r} mimics {joint.mimic!r}; lock or unlock"
                    " that one."
                )
            self._frames[i] = replace(
                self._frames[i], joint=replace(joint, active=active)
            )
        self._forget()
