"""Adding frames, a few or whole models: all of them, or nothing."""

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError, LoadError, unknown_name
from ..geometry.shapes import Marker
from ..kinematics.joint_types import neutral_value
from ..kinematics.transforms import IDENTITY, pose_multiply
from ..loaders.dispatch import read_file
from .argument_parsing import (
    parse_contact,
    parse_geometry,
    parse_joint,
    parse_joint_value,
    parse_mass,
    parse_pose,
)
from .editing import EditableWorld
from .frame import Frame, Model


class AssembledWorld(EditableWorld):
    """A world to which frames and models are added.

    "world" names the fixed origin unless a frame carries that name.
    """

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
        origin = parse_pose(f"frame {name!r}", position, quaternion, pose)
        made = None
        state = None
        if joint is not None:
            made = parse_joint(name, joint, axis, limits, mimic, multiplier, offset)
            state = neutral_value(joint)
            if joint in ("free", "floating") and mimic is None:
                state, origin = origin, IDENTITY.copy()
            if q is not None:
                state = parse_joint_value(made, q)
            made = replace(made, q=state)
        elif any(v is not None for v in (axis, limits, q, mimic)):
            raise ConfigError(
                f"Frame {name!r}: axis, limits, q and mimic need a joint=... type."
            )
        if mass is not None:
            mass = parse_mass(f"Frame {name!r}: mass", mass)
        solid = shape is not None and not isinstance(shape, Marker)
        geometry = () if shape is None else (parse_geometry(shape, color, solid),)
        frame = Frame(
            name,
            self._parent(parent),
            origin,
            made,
            geometry,
            int(solid) if contact is None else parse_contact(name, contact),
            mass,
            attributes=attributes,
        )
        self._extend([frame], {} if state is None else {0: state})
        return frame

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

    def add_model(
        self,
        model: Any,
        prefix: str = "",
        parent: Any = "world",
        pose: Any = None,
        joint: Any = None,
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
        placed = IDENTITY if pose is None else parse_pose(source, None, None, pose)
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
                    made = parse_joint(prefix + frame.name, joint, None, None, None)
                    values[i] = neutral_value(joint)
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
        self._ignored |= {(before + a, before + b) for a, b in model.ignored}
        return tuple(f.name for f in frames)

    def _extend(self, frames: Sequence[Frame], values: Mapping[int, Any]) -> None:
        """Add frames, or nothing when they do not fit."""
        before = len(self._frames)
        old_values = dict(self._values)
        self._frames += frames
        try:
            for k, frame in enumerate(frames):
                if frame.joint is not None and frame.joint.dim:
                    start = frame.joint.q
                    value = neutral_value(frame.joint.type) if start is None else start
                    self._values[before + k] = np.array(value, float)
            for k, value in values.items():
                self._values[before + k] = parse_joint_value(
                    self._joint(before + k), value
                )
            self._forget()
            # one frame by itself fits, unless it follows another
            if len(frames) > 1 or any(f.joint and f.joint.mimic for f in frames):
                self._snapshot()
        except Exception:
            del self._frames[before:]
            self._values = old_values
            self._forget()
            raise

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
                    + unknown_name("joint", frame.joint.mimic, by_name)
                )
            default = by_name[frame.joint.mimic]
            found[i] = frame.attributes.get("mimic_index", default)
    return found
