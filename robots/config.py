"""The world: a tree of frames with joints and shapes, and annotations of it.

A `Config` can be edited; it consists of three immutable values (frames, annotations,
collision filter) that every edit replaces. Copies and compiled programs share them, so
that nothing stale can be used and a failed edit changes nothing.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.collision import Contact
from posewise.compilation.progress import announce_if_slow

from .annotations.abilities import model_abilities, parse_abilities
from .annotations.agents import Agent, Camera
from .annotations.annotations import Annotations, make_agent, make_region
from .annotations.object_states import ObjectState, StateValue
from .annotations.objects import ObjectAnnotation, WorldObject
from .annotations.regions import Region
from .annotations.rooms import RoomMap
from .contact.closer_fits import fit_closer
from .contact.filter import CollisionFilter, pairs_between, solid_parts
from .contact.hands import held_pairs, subtree_indices
from .contact.ignored_pairs import IgnoredPair, default_exclusions, named_pairs
from .contact.missing_shapes import warn_of_missing_shapes
from .contact.own_links import robot_roots
from .contact.proximity import nearest_contacts, signed_distance
from .errors import ConfigError, LoadError
from .geometry.fitting.splitting import PrimitiveKind
from .geometry.shapes import Part, Shape
from .kinematics.forward import (
    ForwardPass,
    Kinematics,
    forward_pass,
    frame_quaternions,
)
from .loaders.dispatch import Packages, XacroArgs, read_file, read_text
from .loaders.urdf.srdf import DEFAULT_REASON, read_srdf
from .loaders.urdf.srdf_rules import (
    apply_rules,
    parse_states,
    passive_joints,
    warn_if_nothing_moves,
    warn_of_losses,
    world_srdf,
)
from .models import model_info, read_model
from .protocols import FeatureLike, MakesFeature, ViewHandle
from .typing import (
    RGBA,
    FeatureOption,
    FrameName,
    Frames,
    JointTypeName,
    MatrixLike,
    ModelName,
    PoseLike,
    RegionKind,
    StrPath,
    VectorLike,
)
from .validation import CONVERSION_ERRORS, number
from .visual.visible_shapes import visible_tree
from .world import edit
from .world.add import add_frame, append_model
from .world.argument_parsing import (
    JointOptions,
    check_attributes,
    finite_vector,
    numbers_key,
    parse_body,
    parse_joint,
    parse_part,
    parse_pose,
)
from .world.fit_collisions import CollisionFit, fit_collisions
from .world.fixed_links import warn_if_link_was_moved
from .world.frame import Frame, FrameFields, Joint, Model
from .world.frame_tree import FrameTree
from .world.named_states import (
    apply_state,
    find_state,
    make_state,
    public_values,
    renamed_states,
    states_by_name,
)
from .world.subtree_copy import copy_subtree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_CACHED_FEATURES = 1024
"""Number of features that `Config.eval` remembers (count); more take more memory."""

F = TypeVar("F", bound=FeatureLike[Any])


class Config:
    """A world of frames; SI units, z up, quaternions `(w, x, y, z)`.

    "world" names the fixed origin unless a frame carries that name.
    """

    def __init__(self) -> None:
        self._tree = FrameTree.build()
        self._annotations = Annotations()
        self._filter = CollisionFilter()
        self._features: dict[Any, FeatureLike[Config]] = {}

    def copy(self) -> "Config":
        """Return an independent copy."""
        # The parts are immutable, so that copies can share them. Features are not: each
        # remembers the world it was last bound to, and copies would take turns in it.
        new = object.__new__(type(self))
        vars(new).update(vars(self), _features={})
        return new

    def visible_copy(self) -> "Config":
        """Return a copy whose shapes for collision are those that are seen.

        Seen are the shapes that are drawn, or those for collision where a frame has no
        others, or only meshes besides.
        """
        new = self.copy()
        new._tree = visible_tree(self._tree)
        return new

    __copy__ = copy

    def __deepcopy__(self, memo: dict) -> "Config":
        return self.copy()

    def __repr__(self) -> str:
        return (
            f"Config({len(self.frames)} frames, {len(self.joint_names)} joints,"
            f" nq={self.nq}, {len(self._annotations.objects)} objects)"
        )

    @property
    def tree(self) -> FrameTree:
        """Frames and joint values of the present state, as an immutable value."""
        return self._tree

    @property
    def collision_filter(self) -> CollisionFilter:
        """Pairs of frames that never collide, as an immutable value."""
        return self._filter

    @property
    def structure_key(self) -> tuple[object, ...]:
        """A key for caches of what depends on this world but not on q.

        Two keys are equal only for the same frames, values of locked joints and
        collision filter; annotations do not count, nor do origins of frames that
        `set_pose` moves: see `origins_key`.
        """
        return self._tree.structure, self._filter

    @property
    def origins_key(self) -> object:
        """A key for caches of what depends on constant poses of frames too."""
        return self._tree.model

    # -- frames ------------------------------------------------------------------

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All frames in order."""
        return self._tree.frames

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames in order."""
        return self._tree.model.names

    def index(self, frame: FrameName | int) -> int:
        """Return the index of the first frame of a name; the world: `len(frames)`.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        return self._tree.index(frame)

    def frame(self, name: FrameName | int) -> Frame:
        """Return the frame of that name.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        i = self._tree.index(name)
        return Frame("world") if i == len(self.frames) else self.frames[i]

    def children(self, name: FrameName) -> tuple[str, ...]:
        """Return the names of the frames attached to a frame."""
        return self._tree.children(name)

    def subtree(self, root: FrameName) -> tuple[str, ...]:
        """Return the names of a frame and of all frames below it."""
        return self._tree.subtree_names(root)

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
            name,
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

    def add_file(
        self,
        path: StrPath,
        prefix: str = "",
        parent: FrameName | None = "world",
        pose: PoseLike | None = None,
        joint: JointTypeName | None = None,
        *,
        packages: Packages | None = None,
        xacro_args: XacroArgs | None = None,
    ) -> tuple[str, ...]:
        """Add a model: URDF, xacro, MJCF or rai's .g and .yml; all of it or nothing.

        The root element tells URDF (`<robot>`) from MJCF (`<mujoco>`). Only files in
        the model's package and in `packages` are read, except by xacro: it evaluates
        expressions and includes any file, so use it on trusted files only.

        Args:
            path: the file.
            prefix: put before every frame and joint name.
            parent: the frame that the model's root is attached to; None: none.
            pose: of the model's root in the parent (7,).
            joint: "free" for a movable model, else see `add_model`.
            packages: folders of ROS packages by name, for meshes of URDF files at
                `package://name/…` and for `$(find name)` in xacro. Packages above the
                file, beside its own, and on ROS_PACKAGE_PATH or AMENT_PREFIX_PATH are
                found without it.
            xacro_args: values of the arguments of a xacro file; a `.urdf` file is
                expanded as xacro only if they are given ({} for none).

        Returns:
            The names of the new frames.

        Raises:
            LoadError: for a file that cannot be read; names the line or element.
            ConfigError: when names are in use already.
            ImportError: without a package that the format needs; names the extra.
        """
        if not isinstance(path, str | os.PathLike):
            raise LoadError(f"path is {path!r}, expected the path of a model file.")
        with announce_if_slow(f"loading {Path(path).name}"):
            model, duplicates = read_file(Path(path), packages, xacro_args)
        return self.add_model(
            model, prefix, parent, pose, joint, duplicates=duplicates, source=str(path)
        )

    def add_text(
        self,
        text: str,
        prefix: str = "",
        parent: FrameName | None = "world",
        pose: PoseLike | None = None,
        joint: JointTypeName | None = None,
        *,
        folder: StrPath | None = None,
        packages: Packages | None = None,
        xacro_args: XacroArgs | None = None,
    ) -> tuple[str, ...]:
        """Add a model whose URDF or MJCF is given as text; all of it or nothing.

        Args:
            text: XML, e.g. ROS's parameter `robot_description`.
            prefix: see `add_file`.
            parent: see `add_file`.
            pose: see `add_file`.
            joint: see `add_file`.
            folder: where relative names of meshes begin; None: they are not found.
            packages: see `add_file`.
            xacro_args: values of arguments; the text is expanded as xacro only if they
                are given ({} for none). Use it on trusted text only.

        Returns:
            The names of the new frames.

        Raises:
            LoadError: for text that cannot be read; names the line or element.
            ConfigError: when names are in use already.
            ImportError: without a package that the format needs; names the extra.
        """
        if not isinstance(text, str):
            raise LoadError(f"text is {type(text).__name__}, expected URDF or MJCF.")
        if folder is not None and not os.path.isdir(folder):
            raise LoadError(f"folder is {folder!r}, expected an existing folder.")
        place = None if folder is None else Path(folder).resolve()
        model = read_text(text, place, packages, xacro_args)
        return self.add_model(model, prefix, parent, pose, joint, source="text")

    def add_model(
        self,
        model: Model,
        prefix: str = "",
        parent: FrameName | None = "world",
        pose: PoseLike | None = None,
        joint: JointTypeName | None = None,
        *,
        duplicates: bool = False,
        source: str = "model",
    ) -> tuple[str, ...]:
        """Add the frames of a loaded model; all of them or nothing.

        Args:
            model: as `read_urdf` and the other readers return it.
            prefix: put before every frame and joint name.
            parent: the frame that the model's roots are attached to; None: none.
            pose: of the model's root in the parent (7,).
            joint: type of a joint for roots that have none.
            duplicates: whether frames may have names that are in use.
            source: name of the model in messages.

        Returns:
            The names of the new frames.

        Raises:
            ConfigError: for frames that do not fit, and names in use.
        """
        first = len(self.frames)
        self._tree = append_model(
            self._tree,
            model,
            prefix,
            parent,
            pose,
            joint,
            duplicates=duplicates,
            source=source,
        )
        self._filter = self._filter.ignoring(
            {(first + a, first + b): why for (a, b), why in model.ignored.items()}
        )
        new_names = {
            old.joint.name: new.joint.name
            for old, new in zip(model.frames, self.frames[first:], strict=True)
            if old.joint is not None and new.joint is not None
        }
        states = renamed_states(model.named_states, prefix, new_names)
        self._annotations = self._annotations.with_named_states(states)
        return self.frame_names[first:]

    def load(
        self,
        name: ModelName,
        prefix: str = "",
        parent: FrameName | None = "world",
        pose: PoseLike | None = None,
        joint: JointTypeName | None = None,
    ) -> tuple[str, ...]:
        """Add one of our own models by name; objects are marked, with their regions.

        Args:
            name: "panda", "ur5e", "mug", "table", … (an unknown name lists them).
            prefix: put before every frame and joint name.
            parent: the frame that the model's root is attached to.
            pose: of the model's root in the parent (7,).
            joint: "free" for a movable object.

        Returns:
            The names of the new frames.

        Raises:
            LoadError: for an unknown name, with near matches.
            ConfigError: when names are in use already.
        """
        model, info = read_model(name), model_info(name)
        names = self.add_model(
            model, prefix, parent, pose, joint, source=f"model {name!r}"
        )
        if info.get("kind") == "object":
            pairs = zip(model.frames, self.frames[-len(names) :], strict=True)
            joints = {
                old.joint.name: new.joint.name
                for old, new in pairs
                if old.joint is not None and new.joint is not None
            }
            abilities = model_abilities(info, prefix, joints)
            self.mark_object(names[0], info.get("category"), abilities)
            for region, options in info.get("regions", {}).items():
                self.add_region(names[0], region, **options)
        return names

    def copy_subtree(
        self,
        root: FrameName,
        parent: FrameName,
        rename: Callable[[str], str],
        *,
        origin: np.ndarray,
        joint: Joint | None = None,
        without: Collection[str] = (),
    ) -> dict[str, str]:
        """Copy a frame and everything below it; joints inside mimic the original's.

        Args:
            root: the frame.
            parent: the frame that the root's copy is attached to.
            rename: names of the copies, of frames and of joints.
            origin: of the root's copy in the parent (7,), before its joint.
            joint: of the root's copy.
            without: frames that are not copied, nor what is attached to them.

        Returns:
            Names of the copies by those of the originals.

        Raises:
            ConfigError: when the parent is the root or below it.
        """
        self._tree, copy_index = copy_subtree(
            self._tree,
            root,
            parent,
            rename,
            origin=origin,
            joint=joint,
            without=without,
        )
        self._filter = self._filter.with_copies(copy_index)
        names = self.frame_names
        return {names[i]: names[k] for i, k in copy_index.items()}

    def remove(self, frame: FrameName) -> None:
        """Remove a frame and everything attached to it.

        Raises:
            ConfigError: for an unknown name, or when a remaining joint mimics one of
                the removed joints.
        """
        self._tree, new_index = edit.remove(self._tree, frame)
        self._filter = self._filter.reindexed(new_index)
        joints = {f.joint.name for f in self.frames if f.joint is not None}
        self._annotations = self._annotations.restricted_to(
            set(self.frame_names), joints
        )

    def reorder(self, names: Sequence[FrameName]) -> None:
        """Put the frames in another order, which changes nothing but indices and q.

        Programs depend on the order: worlds in which different frames are attached to
        the same link share them if these frames come last, say.

        Args:
            names: of all frames, each once.

        Raises:
            ConfigError: for an unknown name, and when a frame is missing.
        """
        self._tree, new_index = edit.reorder(self._tree, names)
        self._filter = self._filter.reindexed(new_index)

    def replace_frame(self, frame: FrameName, **changes: Unpack[FrameFields]) -> None:
        """Replace fields of a frame without checks; for research code.

        Args:
            frame: its name.
            **changes: fields of `Frame`, such as `origin` or `geometries`.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        i = self._tree.own_index(frame)
        self._tree = self._tree.with_frame(i, **changes).checked()

    def model(self) -> Model:
        """Return frames, joint values and ignored pairs, as a loader would."""
        values = {i: value.copy() for i, value in self._tree.values.items()}
        held = dict.fromkeys(self._filter.ignored, DEFAULT_REASON)
        ignored = {**held, **self._filter.reasons}
        return Model(self.frames, values, ignored, self._annotations.named_states)

    def write_urdf(
        self,
        path: StrPath,
        name: str = "posewise",
        capsules: str = "cylinders and spheres",
    ) -> None:
        """Write the world as a URDF file, its meshes to a folder `meshes` beside it.

        Links, joints with limits and mimics, masses and shapes are kept, also those of
        `fit_collisions`; planes, markers and point clouds are left out. Not kept are
        what may touch and named states, which `write_srdf` writes, the state and the
        home, objects and other annotations. Locked joints are written as joints that
        move, with one warning.

        Args:
            path: the file, in UTF-8.
            name: of the robot.
            capsules: "cylinders and spheres", which every reader understands and
                `add_file` reads as capsules again, or "capsules", which need a reader
                of URDF 1.1.

        Raises:
            ConfigError: for what URDF cannot express (ball joints, duplicate names).
        """
        from .loaders.urdf.writer import write_urdf

        path = Path(path)
        meshes = path.parent / "meshes"
        text = write_urdf(self.model(), name, meshes, capsules)
        path.write_text(text, encoding="utf-8")

    # -- attachment, poses and properties ----------------------------------------

    def attach(self, parent: FrameName, frame: FrameName) -> None:
        """Fix a frame to a new parent, keeping its present world pose.

        Its joint, if any, is replaced by a rigid attachment. Pictures show it as
        another body, in its colour. What a hand holds does not collide with the hand
        and its fingers until it is detached, or attached to another frame. A hand is
        the link of the parent if an arm moves it, or if an agent declares it; fingers
        are the links below on chains of at most four joints.

        Raises:
            ConfigError: for unknown names, and when the parent is below the frame.
        """
        self._tree = edit.attach(self._tree, parent, frame)
        self.hold(frame)

    def hold(self, frame: FrameName) -> None:
        """Let a frame touch the hand that its parent is; see `attach`."""
        i = self._tree.own_index(frame)
        self._release(i)
        objects = {self.index(name) for name in self._annotations.objects}
        agents = self._annotations.agents.values()
        pairs = held_pairs(self._tree, objects, agents, self._filter.held, i)
        self._filter = self._filter.holding(i, pairs)

    def _release(self, i: int) -> None:
        self._filter = self._filter.releasing(i, subtree_indices(self._tree, i))

    def detach(self, frame: FrameName, joint: JointTypeName | None = "free") -> None:
        """Loosen a frame from its parent: it keeps its pose, on a joint in the world.

        Args:
            frame: the frame.
            joint: the new joint's type ("free"); None: fixed in the world.

        Raises:
            ConfigError: for an unknown frame or joint type.
        """
        self._tree = edit.detach(self._tree, frame, joint)
        self._release(self._tree.own_index(frame))

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

    # -- joints ------------------------------------------------------------------

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that make up q, in order."""
        return self._tree.joint_names

    @property
    def joint_types(self) -> tuple[str, ...]:
        """Types of the joints that make up q, in order."""
        return tuple(joint.type for joint in self._tree.moving_joints)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """One name for each entry of q: the joint's, with `:i` where it has several."""
        return self._tree.coordinate_names

    @property
    def nq(self) -> int:
        """Number of coordinates of q."""
        return self._tree.nq

    @property
    def nv(self) -> int:
        """Dimension of the tangent space: a quaternion counts three."""
        return self._tree.model.layout.tree.nv

    @property
    def limits(self) -> Float[np.ndarray, "2 nq"]:
        """Lower and upper bounds (2, nq), ±inf where none."""
        return np.array(self._tree.model.kinematics.limits)

    @property
    def periods(self) -> Float[np.ndarray, " nq"]:
        """Period of each coordinate (nq,) [rad], inf where it has none.

        Joints that turn without end have one: URDF's continuous joints, and all other
        rotations about an axis without limits, unless a joint that follows them does
        not repeat with them. Differences of such joints to a target and to home are
        modulo the period.
        """
        return np.array(self._tree.model.periods)

    @property
    def max_velocity(self) -> Float[np.ndarray, " nq"]:
        """Largest speed of each coordinate (nq,), inf where none."""
        return np.array(self._tree.model.kinematics.max_velocity)

    @property
    def max_acceleration(self) -> Float[np.ndarray, " nq"]:
        """Largest size of each coordinate's acceleration (nq,), inf where none.

        Files of URDF 1.2 have such limits; of different ones for acceleration and
        deceleration the smaller one counts.
        """
        return self._tree.model.bounds[1][1].copy()

    @property
    def max_jerk(self) -> Float[np.ndarray, " nq"]:
        """Largest jerk of each coordinate (nq,), inf where none."""
        return self._tree.model.bounds[1][2].copy()

    @property
    def home(self) -> Float[np.ndarray, " nq"]:
        """The state (nq,) that costs of order 0 pull to, and where links may touch.

        It is the value of q at definition: 0 in a URDF, the key "home" of an MJCF; set
        it, e.g. `C.home = C.q`, before `ignore_default_collisions` and KOMO. Locked
        joints keep theirs until they are unlocked. Values must be within the limits.
        """
        return np.array(self._tree.model.kinematics.home)

    @home.setter
    def home(self, home: VectorLike) -> None:
        self._tree = self._tree.with_home(home)

    @property
    def quaternions(self) -> tuple[int, ...]:
        """First coordinate of each quaternion in q."""
        return tuple(first for first, _ in self._tree.model.layout.tree.balls)

    @property
    def q(self) -> Float[np.ndarray, " nq"]:
        """Joint coordinates (nq,): in frame order, quaternions as `(w, x, y, z)`."""
        return self._tree.q.copy()

    @q.setter
    def q(self, q: VectorLike) -> None:
        self._tree = self._tree.with_q(q)

    def coordinates(self, joints: Frames) -> Int[np.ndarray, " n"]:
        """Return the indices into q of joints, given by joint or frame name.

        Raises:
            ConfigError: for an unknown, locked, mimicking or rigid joint.
        """
        return self._tree.coordinates(joints)

    def joint_value(self, joint: str) -> Float[np.ndarray, " dim"]:
        """Return the coordinates (dim,) of any joint: moving, locked or mimicking."""
        return self._tree.joint_value(joint)

    def set_joint(self, joint: str, value: float | VectorLike) -> None:
        """Set one joint's coordinates, moving or locked.

        Raises:
            ConfigError: for an unknown or mimicking joint, and a value that does not
                fit.
        """
        self._tree = edit.set_joint(self._tree, joint, value)

    def set_joint_type(
        self,
        frame: FrameName,
        joint: JointTypeName | None,
        **options: Unpack[JointOptions],
    ) -> None:
        """Put a frame on another joint (None: fix it), where it stands.

        The pose in its parent becomes the joint's value where the joint reaches it,
        else the constant origin before the joint.

        Args:
            frame: the frame.
            joint: a joint type's name, or None.
            **options: `axis`, `limits`, `mimic`, `multiplier` and `offset`, as for
                `add_frame`.

        Raises:
            ConfigError: for an argument that does not fit.
        """
        self._tree = edit.set_joint_type(self._tree, frame, joint, **options)

    def set_limits(self, joint: str, limits: MatrixLike | VectorLike | None) -> None:
        """Set a joint's limits (2, dim), lower row first; None: no limits."""
        self._tree = edit.set_limits(self._tree, joint, limits)

    @property
    def named_states(self) -> Mapping[str, Mapping[str, float | np.ndarray]]:
        """Values of joints by the name of a state; `add_named_state` adds one.

        They come from SRDF files, MJCF keys and `add_named_state`, and can only be
        read here. A name that several groups have is "group/name". Values of joints
        with several coordinates are arrays (dim,).
        """
        states = states_by_name(self._annotations.named_states)
        return MappingProxyType({n: public_values(s) for n, s in states.items()})

    def add_named_state(
        self, name: str, values: Mapping[str, float | VectorLike] | None = None
    ) -> None:
        """Add a named state, or replace the one of that name; `write_srdf` keeps it.

        Args:
            name: e.g. "ready", or "group/name"; without a group it is in "all".
            values: by joint or frame name, (dim,) for joints with several coordinates;
                joints that are not named stay where they are when the state is set.
                None: the present values of the joints of q.

        Raises:
            ConfigError: for unknown joints, with near matches, joints that mimic
                another one, and values that do not fit or are outside of the limits.
        """
        states = self._annotations.named_states
        state = make_state(states, self._tree, name, values)
        self._annotations = self._annotations.with_named_states([state])

    def set_named_state(self, name: str) -> None:
        """Set the joints of a named state; all others stay.

        Args:
            name: one of `named_states`, or "group/name".

        Raises:
            ConfigError: for an unknown name, with near matches, one that several groups
                have, and a state whose joints have changed.
        """
        state = find_state(self._annotations.named_states, name)
        self._tree = apply_state(self._tree, state)

    def lock(self, joints: Frames) -> None:
        """Take joints out of q at their present values."""
        self._tree = edit.set_active(self._tree, joints, False)

    def unlock(self, joints: Frames) -> None:
        """Put locked joints back into q."""
        self._tree = edit.set_active(self._tree, joints, True)

    def select_joints(self, joints: Frames) -> None:
        """Make exactly these joints (by joint or frame name) the moving ones."""
        self._tree = edit.select_joints(self._tree, joints)

    # -- kinematics and features -------------------------------------------------

    def kinematics(self) -> Kinematics:
        """Return a frozen snapshot of the kinematics, for JAX code.

        Its arrays are float64 when JAX has that enabled, else float32.
        """
        return self._tree.model.jax_kinematics

    def forward_pass(self, q: np.ndarray | None = None) -> ForwardPass:
        """Return poses and twists (NumPy) at `q` (default: the state).

        Those of the state are kept until it changes.
        """
        if q is None:
            return self._tree.forward_pass
        return forward_pass(self._tree.model.kinematics, np.asarray(q, float))

    def quaternions_at(
        self, q: np.ndarray | None = None
    ) -> Float[np.ndarray, "*batch frames 4"]:
        """Return the orientations of all frames and, last, of the world, at `q`."""
        if q is None:
            return self._tree.quaternions
        return frame_quaternions(self._tree.model.kinematics, np.asarray(q, float))

    def feature(
        self, symbol: MakesFeature[F], frames: Frames = (), **options: FeatureOption
    ) -> F:
        """Return a feature on frames of this world, after checking that it fits.

        Args:
            symbol: an entry of `FS`.
            frames: names of the frames (or joints) that it reads.
            **options: as for `posewise.Feature`.

        Raises:
            ConfigError: for unknown frames, with near matches.
            FeatureError: for an order, target or scale that does not fit.
        """
        feature = _make_feature(symbol, frames, options)
        feature.check(self)
        return feature

    def eval(
        self,
        symbol: MakesFeature[Any],
        frames: Frames = (),
        *,
        coordinates: Literal["q", "tangent"] = "q",
        **options: FeatureOption,
    ) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, "rows columns"]]:
        """Return the value (D,) and Jacobian (D, nq) of a feature at the state.

        Args:
            symbol: an entry of `FS`.
            frames: names of the frames (or joints) that it reads.
            coordinates: "tangent" for a Jacobian (D, nv).
            **options: `scale`, `target`, and others of `posewise.Feature`.
        """
        try:
            numbers = (
                (k, np.asarray(v).shape, numbers_key(v)) for k, v in options.items()
            )
            key = (symbol, *frames, *numbers)
            feature = self._features.get(key)
        except CONVERSION_ERRORS:
            key, feature = None, None
        if feature is None:
            feature = _make_feature(symbol, frames, options)
            if key is not None and len(self._features) < MAX_CACHED_FEATURES:
                self._features[key] = feature
        return feature.eval(self, coordinates=coordinates)

    # -- collisions --------------------------------------------------------------

    def collision_pairs(self) -> list[tuple[str, str]]:
        """Return the names of the frames that can collide, in order of the frames.

        Both have a shape for collision and a contact flag other than 0, a moving joint
        is between them, and neither their contact flags (see `set_contact`) nor
        `ignore_collisions` exclude them. In URDF and MJCF models the links on the two
        sides of a joint are excluded from the start.
        """
        names = self.frame_names
        return [(names[a], names[b]) for a, b in self.collision_indices().tolist()]

    def collision_indices(self) -> Int[np.ndarray, "n 2"]:
        """Return `collision_pairs` as frame indices, the lower one first."""
        warn_of_missing_shapes(self.frames)
        return self._filter.pairs(self._tree)

    def collision_places(
        self,
    ) -> tuple[Int[np.ndarray, "n 2"], Bool[np.ndarray, " n"]]:
        """Return `collision_indices` with reserved pairs, and which pairs can collide.

        See `reserve_collisions`.
        """
        warn_of_missing_shapes(self.frames)
        return self._filter.places(self._tree)

    def reserve_collisions(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Give pairs a place in sums over pairs even while they cannot collide.

        Worlds with the same frames and places share compiled programs.

        Args:
            pairs: frame indices, the lower one first.
        """
        self._filter = self._filter.reserving(pairs)

    def ignore_collisions(self, a: Frames, b: Frames | None = None) -> None:
        """Exclude pairs of frames from all collisions, until `restore_collisions`.

        The exclusion belongs to the frames, wherever they are attached later. To
        exclude a frame altogether, `set_contact(frame, 0)`.

        Args:
            a: a frame or an object, which stands for all its parts; or a list of them.
            b: the same; every frame of `a` ignores every one of `b`. None: the frames
                of `a` ignore each other.

        Raises:
            ConfigError: for an unknown name, with near matches, or a single frame.
        """
        pairs = pairs_between(self._tree, self._annotations.objects, a, b)
        self._filter = self._filter.ignoring(dict.fromkeys(pairs, DEFAULT_REASON))

    def restore_collisions(self, a: Frames, b: Frames | None = None) -> None:
        """Undo `ignore_collisions`, also what a model's file has ignored.

        Contact flags are not changed.

        Args:
            a: see `ignore_collisions`.
            b: see `ignore_collisions`.
        """
        pairs = pairs_between(self._tree, self._annotations.objects, a, b)
        self._filter = self._filter.restoring(pairs)

    def ignored_collisions(self) -> list[IgnoredPair]:
        """Return the excluded pairs of frames with the reasons, in order of the frames.

        Those of held objects (see `attach`) and contact flags are not among them.
        """
        return named_pairs(self._tree, self._filter.reasons)

    def ignore_default_collisions(
        self, *, samples: int = 10_000, seed: int = 0, margin: float = 0.0
    ) -> list[IgnoredPair]:
        """Exclude pairs of a robot's links that need no test, as MoveIt's assistant.

        Each pair of `collision_pairs()` with both frames on one robot is excluded for
        the first of these reasons that holds, with meshes and hulls as they were before
        `fit_collisions`. "Adjacent": the links are neighbours,
        with one joint or only links without shapes between them. "Default": they touch
        at home (a coordinate whose home is outside of its limits is in their middle).
        "Always": they touch in more than 95 % of 200 random states. "Never": they touch
        in none of the random states. "Near": they are nearer than 1 cm (2 % of
        the size of a small world) in more than 90 % of these 200, so that hardly a path
        keeps that distance. A robot is as in `own_links`.

        Random states are uniform within the limits; coordinates without limits are
        within ±pi of home. Look at the "Default" pairs: a home in which the robot truly
        collides hides that collision; set another one, `C.home = q`. It costs a warning
        when most pairs touch at home, and when some touch there only because fitted
        shapes are larger than what they stand for: these still count.

        Args:
            samples: number of random states. More make "Never" more certain.
            seed: of the random states; the same seed gives the same pairs.
            margin: frames touch when they are nearer than this [m]. An excluded pair
                keeps no distance, so give the one that a path is to keep.

        Returns:
            The pairs that are excluded now and were not before, with the reasons, which
            `write_srdf` keeps.

        Raises:
            ConfigError: for an argument that does not fit.
        """
        with announce_if_slow("testing which links may touch (compiles at first)"):
            found = default_exclusions(self._tree, self._filter, samples, seed, margin)
        self._filter = self._filter.ignoring(found)
        return named_pairs(self._tree, found)

    def read_srdf(
        self,
        path: StrPath,
        prefix: str = "",
        *,
        packages: Packages | None = None,
        xacro_args: XacroArgs | None = None,
    ) -> None:
        """Take what an SRDF file (MoveIt) says of contacts, states and passive joints.

        The order in the file does not matter: `<disable_default_collisions>`, a link
        with every other frame present, then `<enable_collisions>`, then
        `<disable_collisions>`. Each `<group_state>` becomes one of `named_states`, in
        the group "all" if it names none; values of joints that mimic another one and of
        virtual joints are skipped. A `<passive_joint>` has no motor and is locked where
        it stands: no solver moves it, `set_joint` does, and `unlock` gives it back. All
        other elements are skipped. What is not in this world is left out with one
        warning.

        Args:
            path: the file; one whose name ends in `.xacro` is expanded.
            prefix: put before the names of links, joints and groups, as in `add_file`.
            packages: folders of packages for `$(find name)` in xacro, as in `add_file`.
            xacro_args: values of the arguments of a xacro file; others are expanded as
                xacro only if they are given ({} for none).

        Raises:
            LoadError: for a file that is no SRDF, such as a URDF.
            ImportError: for xacro without its package; names the extra.
        """
        srdf = read_srdf(path, packages, xacro_args)
        states, lost = parse_states(self._tree, srdf, prefix)
        self._filter, unknown = apply_rules(self._filter, self._tree, srdf, prefix)
        self._annotations = self._annotations.with_named_states(states)
        passive, absent = passive_joints(self._tree, srdf, prefix)
        self._tree = edit.set_active(self._tree, passive, False)
        warn_of_losses(path, srdf, unknown, [*lost, *absent])
        warn_if_nothing_moves(path, self._tree, passive)

    def write_srdf(
        self, path: StrPath, prefix: str = "", name: str = "posewise"
    ) -> None:
        """Write the present exclusions, with their reasons, and the named states.

        Read again into the same robot, the file gives the same pairs and states.

        Args:
            path: the file.
            prefix: taken off all names; what has a name without it is left out.
            name: of the robot, which MoveIt compares with that of the URDF.
        """
        states = self._annotations.named_states
        text = world_srdf(self._filter, self._tree, states, name, prefix)
        Path(path).write_text(text, encoding="utf-8")

    def signed_distance(
        self, a: FrameName, b: FrameName
    ) -> tuple[float, Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Return the signed distance of two frames or objects, and the witness points.

        Args:
            a: name of a frame, or of an object, which stands for all its parts.
            b: another one.

        Returns:
            The distance [m], negative in penetration; the point of a and the point of b
            in the world.

        Raises:
            ConfigError: for unknown names, and without collision shapes.
        """
        parts_a, parts_b = self.solid_parts(a), self.solid_parts(b)
        return signed_distance(self._tree, parts_a, parts_b, (a, b))

    def own_links(
        self, pairs: Int[np.ndarray, "n 2"] | None = None
    ) -> Bool[np.ndarray, " n"]:
        """Return which pairs of frame indices have both frames on one robot.

        A robot is a tree of frames that joints connect. It ends where a frame floats
        (joint "free"), where it stands on a root frame named "world", and at what was
        attached by `attach` or a mode switch, or stands rigidly on it as an object.

        Args:
            pairs: frame indices; None: `collision_indices()`.
        """
        root = robot_roots(self.frames, self._filter.held)
        a, b = root[self.collision_indices() if pairs is None else pairs].T
        return a == b

    def collisions(
        self, margin: float = 0.0, self_margin: float | None = None
    ) -> list[tuple[str, str, float]]:
        """Return the pairs of frames that are nearer than a margin, nearest first.

        Args:
            margin: [m]; 0: those that touch or penetrate.
            self_margin: of pairs of one robot, see `own_links` [m]; None: `margin`.

        Returns:
            For each of `collision_pairs()` that is: both names and the signed distance.
        """
        margin = number("margin", margin, "one number (metres)")
        own_margin = margin
        if self_margin is not None:
            own_margin = number("self_margin", self_margin, "one number (metres)")
        pairs, names = self.collision_indices(), self.frame_names
        cutoff = max(margin, own_margin)
        contacts = self.contacts(pairs, float(np.nextafter(cutoff, np.inf)))
        limit = np.where(self.own_links(pairs), own_margin, margin)
        return [
            (names[pairs[k, 0]], names[pairs[k, 1]], float(contact.distance))
            for k, contact in contacts.items()
            if contact.distance <= limit[k]
        ]

    def contacts(
        self, pairs: Int[np.ndarray, "n 2"], cutoff: float = np.inf
    ) -> dict[int, Contact]:
        """Return the nearest contact of pairs of frame indices, by row of `pairs`.

        Args:
            pairs: frame indices, e.g. `collision_indices()`.
            cutoff: pairs farther apart are left out [m].
        """
        return nearest_contacts(self._tree, pairs, cutoff)

    def solid_parts(self, name: FrameName) -> list[int]:
        """Return the indices of the frames whose shapes stand for a frame or object."""
        return solid_parts(self._tree, self._annotations.objects, name)

    # -- annotations -------------------------------------------------------------

    @property
    def objects(self) -> dict[str, WorldObject]:
        """Objects by name."""
        return {name: self.object(name) for name in self._annotations.objects}

    def object(self, name: str) -> WorldObject:
        """Return the object of that name.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        annotation = self._annotations.check_object(name)
        return WorldObject(self, name, annotation.category, annotation.abilities)

    def mark_object(
        self,
        frame: FrameName,
        category: str | None = None,
        abilities: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> WorldObject:
        """Declare the subtree of a frame an object, under the frame's name.

        Raises:
            ConfigError: for unknown abilities or parameters, with near matches.
        """
        name = self.frames[self._tree.own_index(frame)].name
        parsed = parse_abilities(name, {} if abilities is None else abilities)
        annotation = ObjectAnnotation(category, parsed)
        self._annotations = self._annotations.with_object(name, annotation)
        if self.frame(name).joint is None:
            self.hold(name)
        return self.object(name)

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

    @property
    def regions(self) -> tuple[Region, ...]:
        """Cavities and supports of objects, in the order in which they were added."""
        return self._annotations.regions

    def add_region(
        self,
        object: str,
        name: str,
        kind: RegionKind = "cavity",
        *,
        size: VectorLike | None = None,
        pose: PoseLike | None = None,
        planes: MatrixLike | None = None,
        corners: MatrixLike | None = None,
        frame: FrameName | None = None,
    ) -> Region:
        """Annotate a convex cavity of an object, or a face that supports others.

        Relaxations of `InsideOf` and `OnTopOf` try annotated regions first: these have
        simple constraints, which a solver satisfies from any start.

        Args:
            object: name of the object.
            name: of the region, not yet one of the object's.
            kind: "cavity" or "support".
            size: of a box (3,), or of a rectangle (2,) [m].
            pose: of its middle in the frame (7,); z of a rectangle points to where
                objects stand. Default: the frame's own.
            planes: of a cavity (n, 4): rows (nx, ny, nz, b) in the frame, with
                normal · p <= b inside.
            corners: of a support (n, 3) in the frame, counter-clockwise seen from
                where objects stand.
            frame: the part of the object that it belongs to; None: the root.

        Raises:
            ConfigError: for unknown names, with near matches, and what is no convex
                polytope or polygon.
        """
        region = make_region(
            self._annotations,
            self._tree,
            object,
            name,
            kind,
            size=size,
            pose=pose,
            planes=planes,
            corners=corners,
            frame=frame,
        )
        self._annotations = self._annotations.with_region(region)
        return region

    @property
    def rooms(self) -> RoomMap | None:
        """The map of rooms on the floor; None: unknown."""
        return self._annotations.rooms

    @rooms.setter
    def rooms(self, rooms: RoomMap | None) -> None:
        self._annotations = self._annotations.with_rooms(rooms)

    @property
    def states(self) -> dict[str, ObjectState]:
        """Extended states (temperature, wetness, …) of the objects by name."""
        return dict(self._annotations.states)

    @states.setter
    def states(self, states: Mapping[str, ObjectState]) -> None:
        self._annotations = self._annotations.with_states(states)

    def set_state(self, name: str, **values: StateValue) -> None:
        """Change extended states of an object, e.g. `temperature=80.0`.

        Args:
            name: of the object.
            **values: fields of `ObjectState`.

        Raises:
            ConfigError: for unknown names, with near matches, and values that do not
                fit.
        """
        self._annotations = self._annotations.with_state(name, values)

    @property
    def cameras(self) -> dict[str, Camera]:
        """Cameras by name, each on the frame of that name."""
        return dict(self._annotations.cameras)

    def add_camera(
        self,
        name: str,
        parent: FrameName | None = "world",
        *,
        position: VectorLike | None = None,
        quaternion: VectorLike | None = None,
        pose: PoseLike | None = None,
        vertical_fov: float = np.pi / 2,
        width: int = 128,
        height: int = 128,
        near: float = 0.1,
        far: float = 100.0,
    ) -> Camera:
        """Add a camera and its frame, x forward, y left, z up.

        Args:
            name: of the camera and of its frame.
            parent: the frame it is attached to.
            position: in the parent (3,) [m].
            quaternion: in the parent (4,).
            pose: both at once (7,).
            vertical_fov: full angle from the lower to the upper edge [rad].
            width: pixels.
            height: pixels.
            near: nothing at less depth is seen [m].
            far: nothing at more depth is seen [m].

        Raises:
            ConfigError: for an argument that does not fit.
        """
        camera = Camera(name, vertical_fov, width, height, near, far)
        self.add_frame(
            name, parent, position=position, quaternion=quaternion, pose=pose
        )
        self._annotations = self._annotations.with_camera(camera)
        return camera

    @property
    def agents(self) -> dict[str, Agent]:
        """Agents by name."""
        return dict(self._annotations.agents)

    def add_agent(
        self,
        name: str,
        base: FrameName,
        *,
        camera: str | None = None,
        hands: Frames | Mapping[str, Frames] = (),
    ) -> Agent:
        """Declare the frames of an agent: its base, its camera and its hands.

        Args:
            name: of the agent; it may be a frame's or an object's too.
            base: the frame that says where it is.
            camera: a camera of this world.
            hands: frames of its hands, e.g. ["panda_hand"], with all fingers that
                joints hold on them; or fingers by hand, {"hand": ["left", "right"]}.

        Raises:
            ConfigError: for unknown names, with near matches.
        """
        agent = make_agent(self._annotations, self._tree, name, base, camera, hands)
        self._annotations = self._annotations.with_agent(agent)
        return agent

    # -- view --------------------------------------------------------------------

    def view(
        self,
        path: Float[np.ndarray, "T nq"] | MatrixLike | None = None,
        dt: float | VectorLike = 0.1,
        browser: bool = True,
    ) -> ViewHandle:
        """Show the world, or a path of it, in the browser.

        Without a path a second call shows the present state on the same page.

        Args:
            path: coordinates (T, nq) to play; None: the state.
            dt: time from one slice of the path to the next [s].
            browser: whether to open the page, and to print its address on stderr.

        Returns:
            The view: its `url`, overlays, drag handles, `save` as a page, `close`.

        Raises:
            ConfigError: for a path that is not one of this world.
            ImportError: without viser; names the extra.
        """
        from .visual.viewer.open_views import open_view

        return open_view(self, path, dt, browser)

    def picture(
        self,
        file: StrPath | None = None,
        *,
        view: tuple[float, float] = (25.0, -55.0),
        frames: Sequence[FrameName] | None = None,
        names: bool = False,
    ) -> "Figure":
        """Return a still picture of the world, which a notebook shows.

        Links that have shapes for collision only are drawn by these. The picture frames
        what is drawn, without floors below it, and without a ground much larger than
        all else. Bodies without a colour get one each, and the floor has a grid. Walls
        of containers that hide what is inside are translucent. Neither a
        browser nor a graphics library is needed.

        Args:
            file: where to save the picture, if anywhere.
            view: elevation and azimuth of the camera [degrees].
            frames: names of frames that are drawn; None: all with visual shapes.
            names: whether bodies are labelled; robots by their agent, or what the names
                of their links begin with.

        Raises:
            ImportError: without matplotlib; names the extra.
            ConfigError: for unknown frames, with near matches, and a wrong view.
        """
        from .visual.film import save_picture

        return save_picture(self, file, view, frames, names)


def _make_feature(
    symbol: MakesFeature[F], frames: Frames, options: Mapping[str, Any]
) -> F:
    if isinstance(symbol, str):
        raise ConfigError(
            f"symbol is {symbol!r}, a string; expected an entry of FS, without quotes:"
            f" FS.{symbol.removeprefix('FS.')}."
        )
    if not hasattr(symbol, "on"):
        raise ConfigError(
            f"symbol is {symbol!r}, expected an entry of FS; for a function of poses"
            " make a Feature(function, frames)."
        )
    return symbol.on(frames, **options)


def load(
    name: ModelName,
    prefix: str = "",
    parent: FrameName = "world",
    pose: PoseLike | None = None,
    joint: JointTypeName | None = None,
) -> Config:
    """Return a new world with one of our own models, e.g. `load("panda")`.

    Args:
        name: of the model.
        prefix: put before every frame and joint name.
        parent: the frame that the model's root is attached to.
        pose: of the model's root in the parent (7,).
        joint: "free" for a movable object.

    Raises:
        LoadError: for an unknown name, with near matches.
    """
    C = Config()
    C.load(name, prefix, parent, pose, joint)
    return C
