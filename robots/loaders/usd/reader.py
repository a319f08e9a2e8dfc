"""Reader of USD: a frame for each rigid body, and for what stands still.

A rigid body that no joint holds is free, unless it is the default prim: a file with one
object, whose root has no joint, as in a URDF. Without rigid bodies the default prim is
an object.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...contact.collision_pairs import FramePair
from ...errors import LoadError, PosewiseError
from ...kinematics.transforms import (
    IDENTITY,
    pose_inverse,
    pose_multiply,
    quat_to_matrix,
)
from ...validation import CONVERSION_ERRORS, MAX_NUMBER, is_bounded
from ...world.frame import Frame, Joint, Model
from ..left_out import LeftOut
from ..mesh_paths import MeshLocator
from .joints import ReadJoint, moved_axis, read_joint
from .pxr_extra import Pxr, import_pxr
from .shapes import read_friction, read_geometry
from .transforms import StageTransforms, read_quaternion

FRAME = "posewise"
"""Key of the custom data of prims that are frames of ours."""


def read_usd(path: Path) -> Model:
    """Read a USD file and all layers that it names, wherever they are.

    Units and the axis that is up are converted. Meshes collide as their convex hulls,
    unless they are to be decomposed. What cannot be used is left out with one
    `UserWarning`: joints of other types, shapes such as cones, and transforms with
    shear.

    Raises:
        LoadError: For a file that is no USD, or has nothing to read.
        ImportError: When OpenUSD is not installed; names the extra.
    """
    pxr = import_pxr("Reading USD")
    try:
        stage = pxr.Usd.Stage.Open(str(path))
        return _StageReader(pxr, stage, str(path)).read()
    except pxr.Tf.ErrorException as error:
        raise LoadError(f"{path}: OpenUSD cannot read it: {_reason(error)}") from None
    except PosewiseError:
        raise
    except (*CONVERSION_ERRORS, AttributeError, KeyError) as error:
        # An attribute may be of any type, whatever its schema says.
        raise LoadError(
            f"{path}: an attribute is of another type or value than its schema has:"
            f" {error}."
        ) from None


def _reason(error: Exception) -> str:
    """Return the message of OpenUSD in one line, of which a part may be no text."""
    try:
        text = str(error)
    except UnicodeDecodeError:
        text = "a part of it is no text"
    return f"{' '.join(text.split()):.300}"


@dataclass(eq=False)
class _StageReader:
    pxr: Pxr
    stage: Any
    label: str
    frames: list[Frame] = field(default_factory=list)
    index: dict[Any, int] = field(default_factory=dict)
    """Index of the frame of a prim, by its path."""

    def __post_init__(self) -> None:
        self.transforms = StageTransforms(self.pxr, self.stage, self.label)
        self.left_out = LeftOut(self.label, MeshLocator(None))
        usd = self.pxr.Usd
        self.prims = list(
            usd.PrimRange.Stage(self.stage, usd.TraverseInstanceProxies())
        )
        physics = self.pxr.UsdPhysics
        self.bodies = {p.GetPath(): p for p in self.prims if self._is_body(p)}
        self.heads = dict(self.bodies)
        """Prims that are frames, by path."""
        for prim in self.prims:
            is_joint = prim.IsA(physics.Joint)
            if prim.GetCustomDataByKey(f"{FRAME}:name") and not is_joint:
                self.heads[prim.GetPath()] = prim
        for prim in self.prims:
            if prim.IsA(self.pxr.UsdGeom.Gprim) and self.head(prim) is None:
                container = self._container(prim)
                self.heads[container.GetPath()] = container

    def read(self) -> Model:
        if not self.heads:
            raise LoadError(f"{self.label} has no shapes and no rigid bodies.")
        above = self._joints_above()
        for path in self.heads:
            self._add(path, above, ())
        self._add_shapes()
        ignored = dict.fromkeys(self._ignored(above), "Model")
        self.left_out.warn()
        return Model(tuple(self.frames), ignored=ignored)

    def _is_body(self, prim: Any) -> bool:
        physics = self.pxr.UsdPhysics
        if not prim.HasAPI(physics.RigidBodyAPI):
            return False
        return physics.RigidBodyAPI(prim).GetRigidBodyEnabledAttr().Get() is not False

    def head(self, prim: Any) -> Any | None:
        """Return the nearest prim above, or itself, that is a frame."""
        while prim and not prim.IsPseudoRoot():
            if prim.GetPath() in self.heads:
                return prim
            prim = prim.GetParent()
        return None

    def _container(self, prim: Any) -> Any:
        """Return the prim whose frame has a shape that no rigid body has."""
        default = self.stage.GetDefaultPrim()
        chain = [prim]
        while not chain[0].GetParent().IsPseudoRoot():
            chain.insert(0, chain[0].GetParent())
        is_scene = bool(self.bodies) and len(chain) > 1 and chain[0] == default
        return chain[1] if is_scene else chain[0]

    def _joints_above(self) -> dict[Any, ReadJoint]:
        """Return the joint above each frame that one holds, by its path."""
        above: dict[Any, ReadJoint] = {}
        for prim in self.prims:
            if not prim.IsA(self.pxr.UsdPhysics.Joint):
                continue
            joint = read_joint(self.pxr, prim, self.transforms)
            if not isinstance(joint, str):
                child = self.head(joint.child)
                if child is None:
                    joint = "its child is no rigid body"
                elif child.GetPath() in above:
                    joint = "its child has another joint, and loops are not read"
                else:
                    above[child.GetPath()] = joint
                    continue
            self._note(prim, joint)
        return above

    def _note(self, prim: Any, reason: str) -> None:
        self.left_out.notes.append(f"{prim.GetPath()}: {reason}")

    def _add(
        self, path: Any, above: dict[Any, ReadJoint], chain: tuple[Any, ...]
    ) -> int:
        """Add the frame of a prim after its parent's, and return its index."""
        if path in self.index:
            return self.index[path]
        if path in chain:
            raise LoadError(f"{self.label}, {path}: its joints form a loop.")
        prim = self.heads[path]
        pose = self.transforms.pose(prim)
        frame = self._with_mass(Frame(self._name(prim)), prim)
        holder = above.get(path)
        if holder is not None:
            parent = None if holder.parent is None else self.head(holder.parent)
        else:
            parent = None if path in self.bodies else self.head(prim.GetParent())
        base, base_pose = None, IDENTITY
        if parent is not None:
            base = self._add(parent.GetPath(), above, (*chain, path))
            base_pose = self.transforms.pose(parent)
        frame = replace(frame, parent=base)
        is_object = prim == self.stage.GetDefaultPrim()
        if holder is None and path in self.bodies and not is_object:
            if not self._is_kinematic(prim):
                frame = replace(frame, joint=Joint("free", frame.name, q=pose))
                return self._append(path, frame)
        if holder is None or holder.joint is None:
            origin = np.asarray(pose_multiply(pose_inverse(base_pose), pose))
            return self._append(path, replace(frame, origin=origin))
        jointed = self._jointed(frame, holder, holder.joint, base_pose, pose)
        return self._append(path, jointed)

    def _jointed(
        self,
        frame: Frame,
        holder: ReadJoint,
        joint: Joint,
        base_pose: np.ndarray,
        pose: np.ndarray,
    ) -> Frame:
        """Return a frame with its joint, or below one that is elsewhere."""
        at_parent = np.asarray(pose_multiply(pose_inverse(base_pose), holder.at_parent))
        at_child = np.asarray(pose_multiply(pose_inverse(pose), holder.at_child))
        back = pose_inverse(at_child)
        is_near = joint.type == "prismatic" or np.abs(at_child[:3]).max() < 1e-9
        if is_near and joint.dim == 1:
            origin = np.asarray(pose_multiply(at_parent, back))
            moved = moved_axis(joint, at_child)
            return replace(frame, origin=origin, joint=moved)
        name = f"{frame.name}/{joint.name}"
        if is_near and np.abs(back[4:]).max() < 1e-9:
            return replace(frame, origin=at_parent, joint=joint)
        self.frames.append(Frame(name, frame.parent, at_parent, joint))
        return replace(frame, parent=len(self.frames) - 1, origin=back)

    def _append(self, path: Any, frame: Frame) -> int:
        self.frames.append(frame)
        self.index[path] = len(self.frames) - 1
        return self.index[path]

    def _name(self, prim: Any) -> str:
        """Return a name that no other frame has: the prim's, or its whole path."""
        ours = prim.GetCustomDataByKey(f"{FRAME}:name")
        name = str(ours or prim.GetName())
        used_names = {frame.name for frame in self.frames}
        return name if name not in used_names else str(prim.GetPath())

    def _is_kinematic(self, prim: Any) -> bool:
        body = self.pxr.UsdPhysics.RigidBodyAPI(prim)
        return bool(body.GetKinematicEnabledAttr().Get())

    def _with_mass(self, frame: Frame, prim: Any) -> Frame:
        """Return a frame with the mass of its prim, if it has one."""
        ours = prim.GetCustomDataByKey(FRAME) or {}
        if "mass" in ours:
            about_com = np.array(ours["inertia"], float).reshape(3, 3)
            com = np.array(ours["com"], float)
            return replace(frame, mass=float(ours["mass"]), com=com, inertia=about_com)
        physics = self.pxr.UsdPhysics
        if "has_own_mass" in ours or not prim.HasAPI(physics.MassAPI):
            return frame
        api, unit = physics.MassAPI(prim), self.transforms.unit
        kilograms = float(physics.GetStageKilogramsPerUnit(self.stage))
        mass = float(api.GetMassAttr().Get() or 0.0) * kilograms
        if not 0 < mass <= MAX_NUMBER:
            return frame
        com = np.array(api.GetCenterOfMassAttr().Get(), float) * unit
        moments = np.array(api.GetDiagonalInertiaAttr().Get(), float)
        axes = api.GetPrincipalAxesAttr().Get()
        inertia: np.ndarray | None = None
        moments = moments * kilograms * unit**2
        if is_bounded(moments) and (moments > 0).all():
            quaternion = read_quaternion(axes)
            R = np.eye(3) if quaternion is None else quat_to_matrix(quaternion)
            inertia = R @ np.diag(moments) @ R.T
        # The default of a centre of mass is -inf.
        centre = com if is_bounded(com) else None
        return replace(frame, mass=mass, com=centre, inertia=inertia)

    def _add_shapes(self) -> None:
        """Add the shapes below each prim that is a frame, and their friction."""
        for prim in self.prims:
            head = self.head(prim)
            if head is None or not prim.IsA(self.pxr.UsdGeom.Gprim):
                continue
            i = self.index[head.GetPath()]
            pose = pose_inverse(self.transforms.pose(head))
            R, transform = quat_to_matrix(pose[3:]), self.transforms.affine(prim)
            local = np.concatenate(
                [R @ transform[:, :3], (R @ transform[:, 3] + pose[:3])[:, None]], 1
            )
            geometry = read_geometry(self.pxr, prim, local)
            frame = self.frames[i]
            if isinstance(geometry, str):
                self._note(prim, geometry)
                if prim.HasAPI(self.pxr.UsdPhysics.CollisionAPI):
                    lost = (*frame.missing_shapes, str(prim.GetPath()))
                    self.frames[i] = replace(frame, missing_shapes=lost, contact=1)
                continue
            attributes = dict(frame.attributes)
            friction = read_friction(self.pxr, prim)
            if geometry.collision and friction is not None:
                largest = max(friction, attributes.get("contact_friction", 0.0))
                attributes["contact_friction"] = largest
            self.frames[i] = replace(
                frame,
                geometries=(*frame.geometries, geometry),
                contact=int(frame.contact or geometry.collision),
                attributes=attributes,
            )

    def _ignored(self, above: dict[Any, ReadJoint]) -> set[FramePair]:
        """Return the pairs of frames that joints or filters exclude."""
        pairs: set[FramePair] = set()
        solid = {i for i, f in enumerate(self.frames) if f.contact}
        for path, joint in above.items():
            if joint.collides or joint.parent is None:
                continue
            parent = self.head(joint.parent)
            if parent is not None:
                pairs |= self._between(self._link(parent), self._link(self.heads[path]))
        api = self.pxr.UsdPhysics.FilteredPairsAPI
        for prim in self.prims:
            if not prim.HasAPI(api):
                continue
            for path in api(prim).GetFilteredPairsRel().GetTargets():
                other = self.stage.GetPrimAtPath(path)
                if other:
                    pairs |= self._between(self._below(prim), self._below(other))
        return {pair for pair in pairs if {*pair} <= solid}

    def _between(self, one: set[int], other: set[int]) -> set[FramePair]:
        return {(min(a, b), max(a, b)) for a in one for b in other if a != b}

    def _below(self, prim: Any) -> set[int]:
        """Return the frames of a prim: its own, or those below it."""
        path = prim.GetPath()
        below = {i for p, i in self.index.items() if p.HasPrefix(path)}
        head = self.head(prim)
        return below or (set() if head is None else {self.index[head.GetPath()]})

    def _link(self, prim: Any) -> set[int]:
        """Return the frames of the rigid body that a frame is part of."""
        path = prim.GetPath()
        while path not in self.bodies and (up := self.head(prim.GetParent())):
            prim, path = up, up.GetPath()
        return {
            i
            for p, i in self.index.items()
            if p == path or (p.HasPrefix(path) and p not in self.bodies)
        }
