"""The world: a tree of frames with joints, shapes and objects, and its state.

A `Config` is edited freely; what is compiled from it are immutable snapshots, made
anew after each edit, so that nothing stale can be used.
"""

import copy
import itertools
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from .checks import integer, number, numbers
from .errors import ConfigError, LoadError, unknown
from .frame import Frame, Geometry, Joint, Model
from .joints import joint_type, value_from_pose, zero_value
from .kinematics import Kinematics, Poses, Walk, walk
from .loading import read_file, read_named
from .objects import WorldObject
from .shapes import Marker, Shape
from .transforms import (
    IDENTITY,
    matrix_to_quat,
    pose_inverse,
    pose_multiply,
    quat_normalize,
    quat_to_matrix,
)
from .tree import Layout, build, driven_value, joint_drives, topological_order


class Config:
    """A world of frames; SI units, z up, quaternions `(w, x, y, z)`.

    "world" names the fixed origin unless a frame carries that name.
    """

    def __init__(self) -> None:
        self._frames: list[Frame] = []
        self._values: dict[int, np.ndarray] = {}
        self._objects: dict[str, WorldObject] = {}
        self._features: dict[Any, Any] = {}
        self._forget()

    # -- reading -----------------------------------------------------------------

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All frames in order."""
        return tuple(self._frames)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames in order."""
        return self._snapshot()[1].names

    @property
    def objects(self) -> dict[str, WorldObject]:
        """Objects by name."""
        return dict(self._objects)

    def index(self, frame: Any) -> int:
        """Index of a frame by name (the first of that name); the world: `len(frames)`.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        return self._snapshot()[1].index(frame)

    def frame(self, name: Any) -> Frame:
        """The frame of that name.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        i = self.index(name)
        if i == len(self._frames):
            return Frame("world")
        return self._frames[i]

    def children(self, name: Any) -> tuple[str, ...]:
        """Names of the frames attached to a frame."""
        i: int | None = self.index(name)
        i = None if i == len(self._frames) else i
        return tuple(f.name for f in self._frames if f.parent == i)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that make up q, in order."""
        layout = self._snapshot()[0]
        return tuple(self._joint(s.frame).name for s in layout.slots)

    @property
    def nq(self) -> int:
        """Number of coordinates of q."""
        return self._snapshot()[0].tree.nq

    @property
    def nv(self) -> int:
        """Dimension of the tangent space: a quaternion counts three."""
        return self._snapshot()[0].tree.nv

    @property
    def limits(self) -> np.ndarray:
        """Lower and upper bounds (2, nq), ±inf where none."""
        return np.array(self._snapshot()[1].limits)

    @property
    def max_velocity(self) -> np.ndarray:
        """Largest speed of each coordinate (nq,), inf where none."""
        return np.array(self._snapshot()[1].max_velocity)

    @property
    def joint_types(self) -> tuple[str, ...]:
        """Types of the joints that make up q, in order."""
        return tuple(self._joint(s.frame).type for s in self._snapshot()[0].slots)

    @property
    def quaternions(self) -> tuple[int, ...]:
        """First coordinate of each quaternion in q."""
        return tuple(first for first, _ in self._snapshot()[0].tree.balls)

    @property
    def home(self) -> np.ndarray:
        """The value of q at definition (nq,)."""
        return np.array(self._snapshot()[1].home)

    @property
    def q(self) -> np.ndarray:
        """Joint coordinates (nq,): in frame order, quaternions as `(w, x, y, z)`."""
        slots = self._snapshot()[0].slots
        return np.concatenate([np.zeros(0), *(self._values[s.frame] for s in slots)])

    @q.setter
    def q(self, q: Any) -> None:
        slots = self._snapshot()[0].slots
        q = numbers("q", q, f"{self.nq} numbers")
        if q.shape != (self.nq,):
            raise ConfigError(
                f"q has shape {q.shape}, expected ({self.nq},): one number for each"
                f" coordinate of {', '.join(self.joint_names) or 'no joint'}."
            )
        if not np.isfinite(q).all():
            bad = self.coordinate_names[int(np.argmin(np.isfinite(q)))]
            raise ConfigError(f"q has a NaN or infinite entry at {bad!r}.")
        for first in self.quaternions:
            if not q[first : first + 4].any():
                bad = self.coordinate_names[first].partition(":")[0]
                raise ConfigError(
                    f"q has a zero quaternion in joint {bad!r}, expected (w, x, y, z)"
                    " of length 1."
                )
        for s in slots:
            self._values[s.frame] = q[s.start : s.start + s.dim].copy()
        self._walk = None

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """One name for each entry of q: the joint's, with `:i` where it has several."""
        names: list[str] = []
        for s in self._snapshot()[0].slots:
            name = self._joint(s.frame).name
            names += [name] if s.dim == 1 else [f"{name}:{i}" for i in range(s.dim)]
        return tuple(names)

    def coordinates(self, joints: Any) -> np.ndarray:
        """Indices into q of joints, given by joint or frame name.

        Raises:
            ConfigError: for an unknown, locked, mimicking or rigid joint.
        """
        joints = [joints] if isinstance(joints, str) else list(joints)
        where = {}
        for s in self._snapshot()[0].slots:
            entries = np.arange(s.start, s.start + s.dim)
            where.setdefault(self._frames[s.frame].name, entries)
            where.setdefault(self._joint(s.frame).name, entries)
        for name in joints:
            if name not in where:
                raise ConfigError(
                    unknown("moving joint", name, where)
                    + " (Locked, mimicking and fixed joints are not part of q.)"
                )
        return np.concatenate([np.zeros(0, int), *(where[n] for n in joints)])

    def joint_value(self, joint: Any) -> np.ndarray:
        """Coordinates (dim,) of any joint: moving, locked or mimicking."""
        i = self._joint_frame(joint)
        drive = joint_drives(self._frames)[i]
        value = self._values[drive.source]
        return driven_value(
            self._joint(i).type, value, replace_scale(drive, self._joint(i))
        )

    def kinematics(self) -> Kinematics:
        """A frozen snapshot of the kinematics, for JAX code.

        Its arrays are float64 when JAX has that enabled, else float32.
        """
        K = self._snapshot()[1]
        if self._jax_kinematics is None:
            arrays = {
                k: jnp.asarray(v)
                for k, v in vars(K).items()
                if k not in ("tree", "names")
            }
            self._jax_kinematics = replace(K, **arrays)
        return self._jax_kinematics

    def walk(self, q: np.ndarray | None = None) -> Walk:
        """Poses and twists (NumPy) at `q` (default: the state); the state's is kept."""
        K = self._snapshot()[1]
        if q is not None:
            return walk(K, np.asarray(q, float))
        if self._walk is None:
            self._walk = walk(K, self.q)
        return self._walk

    def pose(self, frame: Any) -> np.ndarray:
        """World pose (7,) of a frame, `(px, py, pz, w, x, y, z)`."""
        frames: Poses = self.walk().frames
        i = self.index(frame)
        return np.concatenate([frames.p[i], matrix_to_quat(frames.R[i])])

    def poses(self) -> np.ndarray:
        """World poses (frames, 7)."""
        frames = self.walk().frames
        return np.concatenate([frames.p, matrix_to_quat(frames.R)], -1)[:-1]

    # -- features ----------------------------------------------------------------

    def feature(self, symbol: Any, frames: Any = (), **options: Any) -> Any:
        """A feature on frames of this world, checked: see `posewise.Feature`."""
        feature = _on(symbol, frames, options)
        feature.check(self)
        return feature

    def eval(
        self, symbol: Any, frames: Any = (), **options: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Value (D,) and Jacobian (D, nq) of a feature at the present state.

        Args:
            symbol: an entry of `FS`.
            frames: names of the frames (or joints) it speaks of.
            **options: `scale`, `target`, and `coordinates="tangent"` for a Jacobian
                (D, nv); more in `posewise.Feature`.
        """
        coordinates = options.pop("coordinates", "q")
        try:
            numbers = ((k, np.shape(v), _bytes(v)) for k, v in options.items())
            key = (symbol, *frames, *numbers)
            feature = self._features.get(key)
        except (TypeError, ValueError):
            key, feature = None, None
        if feature is None:
            feature = _on(symbol, frames, options)
            if key is not None and len(self._features) < 1024:
                self._features[key] = feature
        return feature.eval(self, coordinates=coordinates)

    # -- building ----------------------------------------------------------------

    def add_frame(
        self,
        name: Any,
        parent: Any = "world",
        *,
        position: Any = None,
        quaternion: Any = None,
        pose: Any = None,
        joint: Any = None,
        axis: Any = None,
        limits: Any = None,
        q: Any = None,
        mimic: Any = None,
        multiplier: Any = 1.0,
        offset: Any = 0.0,
        shape: Any = None,
        color: Any = None,
        contact: Any = None,
        mass: Any = None,
        **attributes: Any,
    ) -> Frame:
        """Add a frame: X_W_frame = X_W_parent · origin · joint(q).

        A frame with joint "free" (or "floating") takes `pose` as its state, in the
        parent; for all others it is the constant origin before the joint's motion.

        Args:
            name: a name not in use yet.
            parent: the frame it is attached to.
            position: of the origin in the parent (3,) [m].
            quaternion: of the origin in the parent (4,), normalised here.
            pose: both at once (7,); instead of position and quaternion.
            joint: a joint type's name, None: rigidly attached.
            axis: (3,) of hinge, revolute, continuous, prismatic and planar joints.
            limits: (2, dim), lower row first.
            q: initial value (dim,), also the home of homing costs.
            mimic: name of a joint to follow at multiplier · q + offset.
            multiplier: see mimic.
            offset: see mimic.
            shape: fixed at the frame's origin.
            color: RGB or RGBA, 0 to 1.
            contact: rai's flag; default 1 with a shape (not a Marker), else 0.
            mass: [kg].
            **attributes: kept as they are.

        Raises:
            ConfigError: saying what does not fit.
        """
        if not isinstance(name, str) or not name:
            raise ConfigError(f"name is {name!r}, expected a string, e.g. 'mug'.")
        if name in self._names_in_use() or name == "world" and self._frames:
            raise ConfigError(f"A frame {name!r} exists already; choose another name.")
        origin = _origin(f"frame {name!r}", position, quaternion, pose)
        made = None
        state = None
        if joint is not None:
            made = _make_joint(name, joint, axis, limits, mimic, multiplier, offset)
            state = zero_value(joint)
            if joint in ("free", "floating") and mimic is None:
                state, origin = origin, IDENTITY.copy()
            if q is not None:
                state = _value(made, q)
            made = replace(made, q=state)
        elif any(v is not None for v in (axis, limits, q, mimic)):
            raise ConfigError(
                f"Frame {name!r}: axis, limits, q and mimic need a joint=... type."
            )
        if mass is not None:
            mass = _mass(f"Frame {name!r}: mass", mass)
        solid = shape is not None and not isinstance(shape, Marker)
        geometry = () if shape is None else (_geometry(shape, color, solid),)
        frame = Frame(
            name,
            self._parent(parent),
            origin,
            made,
            geometry,
            int(solid) if contact is None else _contact(name, contact),
            mass,
            attributes=attributes,
        )
        self._extend([frame], {} if state is None else {0: state})
        return frame

    def add_object(
        self,
        name: str,
        parts: Any = (),
        *,
        parent: Any = "world",
        pose: Any = None,
        joint: Any = None,
        com: Any = None,
        mass: Any = None,
        category: str | None = None,
        abilities: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> WorldObject:
        """Add an object made of rigid parts, each a shape and its pose (or None).

        Args:
            name: of the object and of its root frame.
            parts: shapes with their poses (7,) in the root frame; None: identity.
            parent: the frame it is attached to.
            pose: (7,) in the parent.
            joint: "free" for a movable object.
            com: centre of mass in the root frame (3,) [m].
            mass: [kg].
            category: e.g. a WordNet synset, `"shelf.n.01"`.
            abilities: e.g. `{"openable": {}}`.
            **options: as for `add_frame`.

        Raises:
            ConfigError: saying what does not fit.
        """
        made = tuple(_part(name, k, part) for k, part in enumerate(parts))
        self.add_frame(name, parent, pose=pose, joint=joint, mass=mass, **options)
        contact = int(any(g.collision for g in made))
        i = self.index(name)
        self._frames[i] = replace(
            self._frames[i],
            geometries=made,
            contact=options.get("contact", contact),
            com=None if com is None else _numbers(f"com of {name!r}", com, 3),
        )
        self._forget()
        return self.mark_object(name, category, abilities)

    def mark_object(
        self,
        frame: str,
        category: str | None = None,
        abilities: Mapping[str, Any] | None = None,
    ) -> WorldObject:
        """Declare the subtree of a frame an object, under the frame's name."""
        i = self.index(frame)
        name = self._frames[i].name
        self._objects[name] = WorldObject(
            weakref.ref(self), name, category, dict(abilities or {})
        )
        return self._objects[name]

    def add_file(
        self,
        path: Any,
        prefix: str = "",
        parent: Any = "world",
        pose: Any = None,
    ) -> tuple[str, ...]:
        """Add a model: .urdf, .xml (MJCF), .g or .yml (rai); all of it or nothing.

        Args:
            path: the file.
            prefix: put before every frame and joint name.
            parent: the frame that the model's root is attached to.
            pose: of the model's root in the parent (7,).

        Returns:
            The names of the new frames.

        Raises:
            LoadError: for a file that cannot be read; names the line or element.
            ConfigError: when names are in use already.
        """
        if not isinstance(path, str | os.PathLike):
            raise LoadError(f"path is {path!r}, expected the path of a model file.")
        model, duplicates = read_file(Path(path))
        return self.add_model(
            model, prefix, parent, pose, duplicates=duplicates, source=str(path)
        )

    def load(
        self,
        name: str,
        prefix: str = "",
        parent: str = "world",
        pose: Any = None,
        joint: str | None = None,
    ) -> tuple[str, ...]:
        """Add one of our own models by name; objects are marked as such.

        Args:
            name: "panda", "ur5e", "mug", "table", … (an unknown name lists them).
            prefix: put before every frame and joint name.
            parent: the frame that the model's root is attached to.
            pose: of the model's root in the parent (7,).
            joint: "free" for a movable object.

        Returns:
            The names of the new frames.
        """
        model, info = read_named(name)
        names = self.add_model(
            model, prefix, parent, pose, joint, source=f"model {name!r}"
        )
        if info.get("kind") == "object":
            self.mark_object(names[0], info.get("category"), info.get("abilities"))
        return names

    def add_model(
        self,
        model: Any,
        prefix: str = "",
        parent: Any = "world",
        pose: Any = None,
        joint: str | None = None,
        *,
        duplicates: bool = False,
        source: str = "model",
    ) -> tuple[str, ...]:
        """Add the frames of a loaded model; see `add_file` and `load`."""
        if not isinstance(model, Model):
            raise ConfigError(
                f"model is {type(model).__name__}, expected a Model; a Config's is"
                " its model()."
            )
        if not model.frames:
            raise ConfigError(f"{source} has no frames; nothing was added.")
        taken = set(self._names_in_use())
        clash = [f.name for f in model.frames if prefix + f.name in taken]
        if clash and not duplicates:
            raise ConfigError(
                f"{source}: {len(clash)} frame names are in use already"
                f" ({', '.join(map(repr, clash[:4]))}); give a prefix, e.g. 'b_'."
            )
        placed = IDENTITY if pose is None else _origin(source, None, None, pose)
        root, before = self._parent(parent), len(self._frames)
        joint_names = self._unique_joint_names(model, prefix)
        leaders = _leaders(model)
        frames, values = [], dict(model.q)
        for i, frame in enumerate(model.frames):
            made, up = frame.joint, frame.parent
            origin = np.asarray(frame.origin, float)
            if made is not None:
                mimic = None if made.mimic is None else joint_names[leaders[i]]
                made = replace(made, name=joint_names[i], mimic=mimic)
            if up is None:
                up, origin = root, pose_multiply(placed, origin)
                if joint is not None and made is None:
                    made = _make_joint(prefix + frame.name, joint, None, None, None)
                    values[i] = zero_value(joint)
                    if joint in ("free", "floating"):
                        values[i], origin = origin, IDENTITY
                    made = replace(made, q=values[i])
            else:
                up += before
            frames.append(
                replace(
                    frame,
                    name=prefix + frame.name,
                    joint=made,
                    parent=up,
                    origin=origin,
                )
            )
        self._extend(frames, values)
        return tuple(f.name for f in frames)

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
            made = _make_joint(self._frames[i].name, joint, None, None, None)
            value, error = value_from_pose(joint, None, pose)
            if error > 1e-6:
                value = zero_value(joint)
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
        pose = self.pose_of_index(i)
        if old.parent is not None:
            up = self.pose_of_index(old.parent)
            pose = pose_multiply(pose_inverse(up), pose)
        made, origin, value = None, pose, None
        if joint is not None:
            made = _make_joint(old.name, joint, axis, limits, mimic, multiplier, offset)
            reached, error = value_from_pose(joint, made.axis, pose)
            value = zero_value(joint)
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
        target = _origin(f"pose of {frame!r}", None, None, pose)
        if relative_to != "world" or "world" in self.frame_names:
            target = pose_multiply(self.pose(relative_to), target)
        old = self._frames[i]
        if old.parent is not None:
            up = self.pose_of_index(old.parent)
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

    def pose_of_index(self, i: int) -> np.ndarray:
        """World pose (7,) of the frame at an index."""
        frames = self.walk().frames
        return np.concatenate([frames.p[i], matrix_to_quat(frames.R[i])])

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
        self._values[i] = _value(made, value)
        if made.active:
            self._walk = None
        else:
            self._forget()

    def set_shape(self, frame: Any, shape: Any, color: Any = None) -> None:
        """Replace all shapes of a frame by one, or remove them."""
        i = self._own(frame)
        solid = shape is not None and not isinstance(shape, Marker)
        geometries = () if shape is None else (_geometry(shape, color, solid),)
        self._frames[i] = replace(
            self._frames[i],
            geometries=geometries,
            contact=self._frames[i].contact if solid else 0,
        )
        self._forget()

    def set_color(self, frame: Any, color: Any) -> None:
        """Set the colour of all shapes of a frame, RGB or RGBA, 0 to 1."""
        i = self._own(frame)
        rgba = _color(color)
        shapes = tuple(replace(g, color=rgba) for g in self._frames[i].geometries)
        self._frames[i] = replace(self._frames[i], geometries=shapes)
        self._forget()

    def set_attributes(self, frame: Any, **attributes: Any) -> None:
        """Add or replace metadata of a frame."""
        i = self._own(frame)
        kept = self._frames[i].attributes | attributes
        self._frames[i] = replace(self._frames[i], attributes=kept)

    def set_contact(self, frame: Any, contact: Any) -> None:
        """Set rai's contact flag: 0 never collides, -k ignores k nearest ancestors."""
        i = self._own(frame)
        self._frames[i] = replace(self._frames[i], contact=_contact(frame, contact))
        self._forget()

    def set_mass(self, frame: Any, mass: Any) -> None:
        """Set a frame's mass [kg]."""
        i = self._own(frame)
        mass = _mass(f"mass of {frame!r}", mass)
        self._frames[i] = replace(self._frames[i], mass=mass)
        self._forget()

    def set_limits(self, joint: Any, limits: Any) -> None:
        """Set a joint's limits (2, dim), lower row first; None: no limits."""
        i = self._joint_frame(joint)
        made = self._joint(i)
        limits = None if limits is None else _limits(made.name, made.dim, limits)
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
        self._frames = frames
        names = {f.name for f in frames}
        self._objects = {k: o for k, o in self._objects.items() if k in names}
        self._forget()

    def copy(self) -> "Config":
        """An independent copy."""
        new = Config()
        new._frames = list(self._frames)
        new._values = {i: v.copy() for i, v in self._values.items()}
        new._objects = {
            k: replace(o, config=weakref.ref(new)) for k, o in self._objects.items()
        }
        new._jax_kinematics, new._cache = self._jax_kinematics, self._cache
        return new

    __copy__ = copy

    def __deepcopy__(self, memo: dict) -> "Config":
        return self.copy()

    def model(self) -> Model:
        """All frames and joint values, as a loader would return them."""
        return Model(tuple(self._frames), copy.deepcopy(self._values))

    def write_urdf(self, path: str | os.PathLike, name: str = "posewise") -> None:
        """Write the world as a URDF file.

        Raises:
            ConfigError: for what URDF cannot say (ball joints, duplicate names).
        """
        from .urdf_writer import write_urdf

        Path(path).write_text(write_urdf(self.model(), name))

    def __repr__(self) -> str:
        return (
            f"Config({len(self._frames)} frames, {len(self.joint_names)} joints,"
            f" nq={self.nq}, {len(self._objects)} objects)"
        )

    # -- inside ------------------------------------------------------------------

    def _forget(self) -> None:
        self._cache: tuple[Layout, Kinematics] | None = None
        self._jax_kinematics: Kinematics | None = None
        self._walk: Walk | None = None

    def _snapshot(self) -> tuple[Layout, Kinematics]:
        if self._cache is None:
            layout = build(self._frames, self._values)
            nq = layout.tree.nq
            limits = np.tile(np.array([[-np.inf], [np.inf]]), (1, nq))
            home, speed = np.zeros(nq), np.full(nq, np.inf)
            for s in layout.slots:
                joint = self._joint(s.frame)
                part = slice(s.start, s.start + s.dim)
                if joint.limits is not None:
                    limits[:, part] = joint.limits
                if joint.velocity is not None:
                    speed[part] = joint.velocity
                home[part] = zero_value(joint.type) if joint.q is None else joint.q
            names = tuple(f.name for f in self._frames)
            K = Kinematics(
                layout.tree,
                names,
                **layout.data,
                limits=limits,
                home=home,
                max_velocity=speed,
            )
            self._cache = layout, K
        return self._cache

    def _extend(self, frames: Sequence[Frame], values: Mapping[int, Any]) -> None:
        """Add frames, or nothing when they do not fit."""
        before = len(self._frames)
        old_values = dict(self._values)
        self._frames += frames
        try:
            for k, frame in enumerate(frames):
                if frame.joint is not None and frame.joint.dim:
                    start = frame.joint.q
                    value = zero_value(frame.joint.type) if start is None else start
                    self._values[before + k] = np.array(value, float)
            for k, value in values.items():
                self._values[before + k] = _value(self._joint(before + k), value)
            self._forget()
            self._snapshot()
        except Exception:
            del self._frames[before:]
            self._values = old_values
            self._forget()
            raise

    def _replace(
        self, i: int, value: np.ndarray | None = None, joint: Joint | None = None, **kw
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

    def _joint(self, i: int) -> Joint:
        joint = self._frames[i].joint
        if joint is None:
            raise ConfigError(f"Frame {self._frames[i].name!r} has no joint.")
        return joint

    def _joint_frame(self, name: Any) -> int:
        """Index of the frame that carries a joint, by joint or frame name."""
        jointed = [i for i, f in enumerate(self._frames) if f.joint is not None]
        for i in jointed:
            if self._joint(i).name == name:
                return i
        for i in jointed:
            if self._frames[i].name == name:
                return i
        raise ConfigError(
            unknown("joint", name, (self._joint(i).name for i in jointed))
        )

    def _own(self, frame: Any) -> int:
        i = self.index(frame)
        if i == len(self._frames):
            raise ConfigError("The world itself cannot be changed; name a frame.")
        return i

    def _parent(self, parent: Any) -> int | None:
        i = self.index(parent)
        return None if i == len(self._frames) else i

    def _unique_joint_names(self, model: Model, prefix: str) -> dict[int, str]:
        """Names for a model's joints that no joint of this world has."""
        taken = {f.joint.name for f in self._frames if f.joint is not None}
        names = {}
        for i, frame in enumerate(model.frames):
            if frame.joint is None:
                continue
            name = base = prefix + frame.joint.name
            for k in itertools.count(2):
                if name not in taken:
                    break
                name = f"{base}~{k}"
            taken.add(name)
            names[i] = name
        return names

    def _names_in_use(self) -> Iterable[str]:
        return (f.name for f in self._frames)


def load(name: str, **options: Any) -> Config:
    """A new world with one of our own models, e.g. `load("panda")`.

    Args:
        name: of the model.
        **options: as for `Config.load`.

    Raises:
        LoadError: for an unknown name, with near matches.
    """
    C = Config()
    C.load(name, **options)
    return C


def replace_scale(drive: Any, joint: Joint) -> Any:
    """A drive without the joint's scale: values as a user states them."""
    return replace(drive, scale=1.0)


def _leaders(model: Model) -> dict[int, int]:
    """For each mimicking frame, the frame it follows; the last of that name.

    Raises:
        ConfigError: when there is none.
    """
    by_name = {f.joint.name: i for i, f in enumerate(model.frames) if f.joint}
    found = {}
    for i, frame in enumerate(model.frames):
        if frame.joint is not None and frame.joint.mimic is not None:
            if frame.joint.mimic not in by_name:
                raise ConfigError(
                    f"Joint {frame.joint.name!r} mimics {frame.joint.mimic!r}: "
                    + unknown("joint", frame.joint.mimic, by_name)
                )
            default = by_name[frame.joint.mimic]
            found[i] = frame.attributes.get("mimic_index", default)
    return found


def _geometry(shape: Any, color: Any, collision: bool) -> Geometry:
    if not isinstance(shape, Shape):
        raise ConfigError(
            f"shape is {type(shape).__name__}, expected one of posewise's shapes,"
            " e.g. Box([.1, .2, .3])."
        )
    return Geometry(shape, collision=collision, color=_color(color))


def _color(color: Any) -> tuple[float, ...] | None:
    if color is None:
        return None
    try:
        rgba = tuple(float(c) for c in color)
    except (TypeError, ValueError):
        rgba = ()
    if len(rgba) not in (3, 4) or not all(0 <= c <= 1 for c in rgba):
        raise ConfigError(
            f"color is {color!r}, expected 3 or 4 numbers (RGB or RGBA) from 0 to 1."
        )
    return rgba


def _on(symbol: Any, frames: Any, options: Mapping[str, Any]) -> Any:
    if not hasattr(symbol, "on"):
        raise ConfigError(
            f"symbol is {symbol!r}, expected an entry of FS; for a function of poses"
            " make a Feature(function, frames)."
        )
    return symbol.on(frames, **options)


def _bytes(value: Any) -> bytes | None:
    return None if value is None else np.asarray(value, float).tobytes()


def _mass(what: str, mass: Any) -> float:
    return number(what, mass, ">= 0 kg", lambda m: m >= 0)


def _contact(frame: Any, contact: Any) -> int:
    return integer(f"Frame {frame!r}: contact", contact)


def _part(name: str, k: int, part: Any) -> Geometry:
    try:
        shape, pose = part
    except (TypeError, ValueError):
        raise ConfigError(
            f"Object {name!r}: part {k} is {part!r}, expected (shape, pose or None)."
        ) from None
    made = _geometry(shape, None, not isinstance(shape, Marker))
    where = f"pose of part {k} of {name!r}"
    return replace(made, pose=_origin(where, None, None, pose))


def _numbers(what: str, value: Any, size: int) -> np.ndarray:
    array = numbers(what, value, f"{size} numbers")
    if array.shape != (size,):
        raise ConfigError(f"{what} has shape {array.shape}, expected ({size},).")
    if not np.isfinite(array).all():
        raise ConfigError(f"{what} is {array.tolist()}: NaN or infinite.")
    return array


def _origin(what: str, position: Any, quaternion: Any, pose: Any) -> np.ndarray:
    if pose is not None:
        if position is not None or quaternion is not None:
            raise ConfigError(
                f"{what}: give pose or position and quaternion, not both."
            )
        full = _numbers(f"pose of {what}", pose, 7)
        position, quaternion = full[:3], full[3:]
    p = (
        np.zeros(3)
        if position is None
        else _numbers(f"position of {what}", position, 3)
    )
    q = IDENTITY[3:]
    if quaternion is not None:
        q = _numbers(f"quaternion of {what}", quaternion, 4)
        if np.linalg.norm(q) < 1e-9:
            raise ConfigError(
                f"{what}: the quaternion is zero, expected (w, x, y, z) of length 1."
            )
    return np.concatenate([p, quat_normalize(q)])


def _make_joint(
    name: str,
    type_: Any,
    axis: Any,
    limits: Any,
    mimic: Any,
    multiplier: Any = 1.0,
    offset: Any = 0.0,
) -> Joint:
    kind = joint_type(type_)
    if kind.needs_axis:
        axis = _numbers(
            f"axis of joint {name!r}", [1, 0, 0] if axis is None else axis, 3
        )
        if np.linalg.norm(axis) < 1e-9:
            raise ConfigError(
                f"Joint {name!r}: the axis is zero, expected a direction."
            )
        axis = axis / np.linalg.norm(axis)
    elif axis is not None:
        raise ConfigError(
            f"Joint {name!r}: type {type_!r} has its own axis; drop axis."
        )
    if limits is not None:
        limits = _limits(name, kind.dim, limits)
    multiplier = number(f"multiplier of joint {name!r}", multiplier)
    offset = number(f"offset of joint {name!r}", offset)
    return Joint(type_, name, axis, limits, None, mimic, multiplier, offset)


def _limits(name: str, dim: int, limits: Any) -> np.ndarray:
    array = numbers(
        f"limits of joint {name!r}", limits, f"(2, {dim}) numbers, lower bounds first"
    )
    if array.shape == (2,) and dim == 1:
        array = array[:, None]
    if array.shape != (2, dim):
        raise ConfigError(
            f"Joint {name!r}: limits have shape {array.shape}, expected (2, {dim}):"
            " lower bounds, then upper ones."
        )
    if np.isnan(array).any() or (array[0] > array[1]).any():
        raise ConfigError(
            f"Joint {name!r}: limits {array.tolist()} have NaN or a lower bound above"
            " its upper one."
        )
    return array


def _value(joint: Joint, value: Any) -> np.ndarray:
    what = f"value of joint {joint.name!r}"
    array = np.atleast_1d(numbers(what, value, f"{joint.dim} numbers"))
    if array.shape == (1,) and joint.dim > 1 and not joint_type(joint.type).balls:
        array = np.full(joint.dim, array[0])
    value = _numbers(what, array, joint.dim)
    for b in joint_type(joint.type).balls:
        if np.linalg.norm(value[b : b + 4]) < 1e-9:
            raise ConfigError(f"Joint {joint.name!r}: its quaternion is zero.")
    return value


__all__ = ["Config", "Kinematics", "load", "quat_to_matrix"]
