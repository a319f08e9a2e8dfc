"""Frames and objects that users add to a world."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..annotations.abilities import parse_abilities
from ..annotations.objects import ObjectAnnotation, WorldObject
from ..facets.editable_world import EditableWorld
from ..geometry.shapes import Part, Shape
from ..typing import RGBA, FrameName, JointTypeName, MatrixLike, PoseLike, VectorLike
from ..world.add import add_frame
from ..world.argument_parsing import (
    check_attributes,
    finite_vector,
    parse_body,
    parse_joint,
    parse_name,
    parse_part,
    parse_pose,
)
from ..world.frame import Frame


class FrameAdditions(EditableWorld):
    """A world to which frames and objects are added one by one."""

    def add_frame(
        self,
        name: str,
        parent: FrameName | None = "world",
        *,
        position: VectorLike | None = None,
        quaternion: VectorLike | None = None,
        pose: PoseLike | None = None,
        joint: JointTypeName | None = None,
        axis: VectorLike | None = None,
        limits: MatrixLike | VectorLike | None = None,
        q: float | VectorLike | None = None,
        mimic: str | None = None,
        multiplier: float = 1.0,
        offset: float = 0.0,
        shape: Shape | Sequence[Part] | None = None,
        color: RGBA | None = None,
        contact: int | None = None,
        mass: float | None = None,
        **attributes: object,
    ) -> Frame:
        """Add a frame: X_W_frame = X_W_parent · origin · joint(q).

        A frame with joint "free" (or "floating") takes `pose` as its state, in the
        parent; for all others it is the constant origin before the joint's motion.

        Args:
            name: a name not in use yet.
            parent: the frame it is attached to; None: none.
            position: of the origin in the parent (3,) [m].
            quaternion: of the origin in the parent (4,); it is normalised.
            pose: both at once (7,); instead of position and quaternion.
            joint: name of a joint type; None: rigidly attached.
            axis: (3,) of hinge, revolute, continuous and prismatic joints, default x;
                of a planar joint the normal of its plane, default z: it moves along x
                and y, and turns about z.
            limits: (2, dim), lower row first.
            q: initial value (dim,), also the home of homing costs.
            mimic: name of a joint to follow at multiplier · q + offset.
            multiplier: see mimic.
            offset: see mimic.
            shape: fixed at the frame's origin; or a list of shapes and of pairs (shape,
                pose in the frame (7,)).
            color: RGB or RGBA, 0 to 1.
            contact: rai's flag; default 1 with a shape (not a Marker), else 0.
            mass: [kg].
            **attributes: metadata of the frame.

        Raises:
            ConfigError: for an argument that does not fit.
        """
        check_attributes(name, attributes)
        frame = Frame(
            parse_name(name),
            None,
            parse_pose(f"frame {name!r}", position, quaternion, pose),
            parse_joint(
                name,
                joint,
                q,
                axis=axis,
                limits=limits,
                mimic=mimic,
                multiplier=multiplier,
                offset=offset,
            ),
            *parse_body(name, shape, color, contact, mass),
            attributes=attributes,
        )
        self._tree = add_frame(self._tree, frame, parent)
        return self.frames[-1]

    def add_object(
        self,
        name: str,
        parts: Sequence[Part] = (),
        *,
        parent: FrameName | None = "world",
        pose: PoseLike | None = None,
        joint: JointTypeName | None = None,
        com: VectorLike | None = None,
        mass: float | None = None,
        category: str | None = None,
        abilities: Mapping[str, Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> WorldObject:
        """Add an object made of rigid parts, each a shape or (shape, pose or None).

        Args:
            name: of the object and of its root frame.
            parts: shapes with their poses (7,) in the root frame; None: identity.
            parent: the frame it is attached to.
            pose: (7,) in the parent.
            joint: "free" for a movable object.
            com: centre of mass in the root frame (3,) [m].
            mass: [kg].
            category: e.g. a WordNet synset, `"shelf.n.01"`.
            abilities: with their parameters, e.g. `{"cookable": {"cook_temperature":
                58}, "soakable": {}}`.
            **options: as for `add_frame`.

        Raises:
            ConfigError: for an argument that does not fit.
        """
        geometries = tuple(
            parse_part(f"Object {name!r}", k, part) for k, part in enumerate(parts)
        )
        parsed = parse_abilities(name, {} if abilities is None else abilities)
        centre = None if com is None else finite_vector(f"com of {name!r}", com, 3)
        self.add_frame(name, parent, pose=pose, joint=joint, mass=mass, **options)
        contact = self.frames[-1].contact
        if options.get("contact") is None:
            contact = int(any(g.collision for g in geometries))
        self._tree = self._tree.with_properties(
            len(self.frames) - 1, geometries=geometries, contact=contact, com=centre
        )
        annotation = ObjectAnnotation(category, parsed)
        self._annotations = self._annotations.with_object(name, annotation)
        if joint is None:
            self.hold(name)
        return self.object(name)
