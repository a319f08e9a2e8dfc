"""Poses, shapes and other properties of the frames of a world."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..contact.closer_fits import fit_closer
from ..facets.editable_world import EditableWorld
from ..geometry.fitting.splitting import PrimitiveKind
from ..geometry.shapes import Part, Shape
from ..typing import RGBA, FrameName, Frames, PoseLike
from ..world import edit
from ..world.fit_collisions import CollisionFit, fit_collisions
from ..world.fixed_links import warn_if_link_was_moved


class FrameProperties(EditableWorld):
    """A world whose frames have poses, shapes and masses."""

    def pose(self, frame: FrameName | int) -> Float[np.ndarray, "7"]:
        """Return the world pose of a frame, `(px, py, pz, w, x, y, z)`."""
        return self._tree.pose(frame)

    def poses(self) -> Float[np.ndarray, "frames 7"]:
        """Return the world poses of all frames."""
        tree = self._tree
        return np.concatenate([tree.forward_pass.frames.p, tree.quaternions], -1)[:-1]

    def set_pose(
        self, frame: FrameName, pose: PoseLike, relative_to: FrameName | None = None
    ) -> None:
        """Move a frame: set its joint's value, or the origin of a rigid frame.

        Other joints do not move: it is no inverse kinematics.

        Args:
            frame: the frame.
            pose: (7,) in `relative_to`.
            relative_to: any frame; None: the fixed origin, as in `pose`.

        Raises:
            ConfigError: when the frame's joint cannot reach the pose.

        Warns:
            ProblemWarning: for a frame that a model fixes to a link, unless its new
                pose is given relative to its parent.
        """
        before = self._tree
        self._tree = edit.set_pose(before, frame, pose, relative_to)
        warn_if_link_was_moved(before, self._tree, frame, relative_to)

    def set_shape(
        self,
        frame: FrameName,
        shape: Shape | Sequence[Part] | None,
        color: RGBA | None = None,
    ) -> None:
        """Replace all shapes of a frame, which are drawn and collide.

        Args:
            frame: the frame.
            shape: at the frame's origin; or a list of shapes and of pairs (shape, pose
                in the frame (7,)); None: no shape.
            color: of all, RGB or RGBA, 0 to 1.

        Raises:
            ConfigError: for an unknown frame, and what is no shape or pose.
        """
        self._tree = edit.set_shape(self._tree, frame, shape, color)

    def fit_collisions(
        self,
        primitives: PrimitiveKind = "capsules",
        *,
        tolerance: float | None = None,
        links: Frames | None = None,
    ) -> CollisionFit:
        """Replace the meshes and hulls that collide by enclosing primitives.

        All meshes and hulls of a frame become one set of shapes, whose union encloses
        them; spheres, boxes and other simple shapes stay. Frames, contact flags,
        ignored pairs and what is drawn do not change. Where the file gives no inertia,
        it is that of the new shapes. A frame that was fitted before is fitted again
        from its meshes and hulls.

        Args:
            primitives: "capsules", "spheres", "boxes" or "hulls" (of at most 32
                vertices).
            tolerance: how far shapes may reach beyond the hull of the frame's meshes,
                and hulls beyond the meshes themselves [m]; more shapes are used until
                they do not (at most 6 capsules, 16 spheres, 8 boxes, 8 hulls; infinity:
                one). None: until their volume is at most 1.5 times the hull's, for
                which one hull suffices, and no two links of a robot touch, or are
                nearer than 1 cm (2 % of the size of a small world), that their hulls
                keep apart: at home, or in all of some random states. Boxes replace
                such fits, and where these do not suffice, links remain hulls.
            links: names of frames; None: all that have meshes or hulls that collide.

        Returns:
            What it cost, for each frame; printed, it is a table, which names the frames
            whose shapes reach farther than the tolerance nevertheless.

        Raises:
            ConfigError: for unknown names, and named frames without meshes and hulls.
        """
        tree, report = fit_collisions(self._tree, primitives, tolerance, links)
        if tolerance is None:
            tree, report = fit_closer(tree, self._filter, report)
        self._tree = tree
        return report

    def set_color(self, frame: FrameName, color: RGBA) -> None:
        """Set the colour of all shapes of a frame, RGB or RGBA, 0 to 1."""
        self._tree = edit.set_color(self._tree, frame, color)

    def set_attributes(self, frame: FrameName, **attributes: object) -> None:
        """Add or replace metadata of a frame."""
        self._tree = edit.set_attributes(self._tree, frame, attributes)

    def set_contact(self, frame: FrameName, contact: int) -> None:
        """Set rai's contact flag: 0 never collides, -k ignores links near above."""
        self._tree = edit.set_contact(self._tree, frame, contact)

    def set_mass(self, frame: FrameName, mass: float) -> None:
        """Set a frame's mass [kg]."""
        self._tree = edit.set_mass(self._tree, frame, mass)
