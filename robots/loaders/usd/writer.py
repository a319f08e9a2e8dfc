"""Writer of USD: a stage with rigid bodies and joints, in the world's present state.

Links that move are prims below `/World`, since rigid bodies are not nested; what is
fixed to a link is a prim below it. Joints are below `/World/Joints`.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ...errors import ConfigError
from ...kinematics.joint_types import joint_transform
from ...kinematics.transforms import (
    IDENTITY,
    matrix_to_quat,
    pose_inverse,
    pose_multiply,
)
from ...masses.shape_inertia import BodyInertia, combine_inertias, move_inertia
from ...world.frame import Model
from ...world.friction import contact_friction
from ..written_links import Step, WrittenLink, written_links
from ..written_shapes import written_shapes
from .pxr_extra import import_pxr
from .shape_writer import add_shape

FRAME = "posewise"
"""Key of the custom data of a prim that is a frame: its name, and its own mass."""
WORLD = "/World"
WRITTEN_SUFFIXES = (".usda", ".usd", ".usdc")


def write_usd(model: Model, colliding: Collection[tuple[int, int]], path: Path) -> None:
    """Write a USD file, in the format of its suffix.

    Args:
        model: The frames, and the state.
        colliding: Pairs of frames, the lower index first, that may collide.
        path: The file: `.usda` as text, `.usdc` binary, `.usd` binary.

    Raises:
        ConfigError: For another suffix, names used twice, and joints of several
            coordinates other than balls.
        ImportError: When OpenUSD is not installed; names the extra.
    """
    if path.suffix.lower() not in WRITTEN_SUFFIXES:
        raise ConfigError(
            f"write_usd: the file is {str(path)!r}, expected a name that ends in"
            f" {', '.join(WRITTEN_SUFFIXES)}."
        )
    links = written_links(model, "write_usd")
    for link in links:
        if len(link.steps) + link.has_ball > 1:
            raise ConfigError(
                f"write_usd: the joint of {link.frame.name!r} has several coordinates,"
                " expected one or a ball; split it into a chain of frames, or use"
                " write_mjcf."
            )
    writer = _StageWriter(links)
    for i in range(len(links)):
        writer.add_link(i)
    for i in range(len(links)):
        writer.add_joint(i, colliding)
    writer.filter_pairs(colliding)
    writer.stage.GetRootLayer().Export(str(path))


class _StageWriter:
    """Adds links and joints to a stage."""

    def __init__(self, links: Sequence[WrittenLink]) -> None:
        self.pxr = pxr = import_pxr("Writing USD")
        self.links = links
        self.stage = pxr.Usd.Stage.CreateInMemory()
        pxr.UsdGeom.SetStageUpAxis(self.stage, pxr.UsdGeom.Tokens.z)
        pxr.UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        pxr.UsdPhysics.SetStageKilogramsPerUnit(self.stage, 1.0)
        world = pxr.UsdGeom.Xform.Define(self.stage, WORLD)
        self.stage.SetDefaultPrim(world.GetPrim())
        pxr.UsdPhysics.Scene.Define(self.stage, f"{WORLD}/PhysicsScene")
        self.prims: dict[int, Any] = {}
        self.colliders: dict[int, list[Any]] = {}
        self.materials: dict[float, Any] = {}

    def add_link(self, i: int) -> Any:
        """Add the prim of a frame, after that of what it is fixed to; return it."""
        if i in self.prims:
            return self.prims[i]
        pxr, link = self.pxr, self.links[i]
        base, pose = WORLD, link.world_pose
        if link.root != i and link.parent is not None:
            base, pose = str(self.add_link(link.parent).GetPath()), link.pose
        place = self._free_path(base, link.frame.name)
        xform = pxr.UsdGeom.Xform.Define(self.stage, place)
        prim = self.prims[i] = xform.GetPrim()
        self.set_pose(xform, pose)
        prim.SetCustomDataByKey(f"{FRAME}:name", link.frame.name)
        if link.root == i:
            pxr.UsdPhysics.RigidBodyAPI.Apply(prim)
        self._add_masses(i, prim)
        self.colliders[i] = []
        for shape in written_shapes(link.frame):
            part = add_shape(self.pxr, self.stage, place, shape, self.set_pose)
            if shape.collision:
                self.colliders[i].append(part)
                material = self._material(contact_friction(link.frame))
                binding = pxr.UsdShade.MaterialBindingAPI.Apply(part)
                stronger = pxr.UsdShade.Tokens.weakerThanDescendants
                binding.Bind(material, stronger, "physics")
        return prim

    def _free_path(self, base: str, name: str) -> str:
        """Return the path of a new prim, whose name may have letters only."""
        path = f"{base}/{self.pxr.Tf.MakeValidIdentifier(name)}"
        while self.stage.GetPrimAtPath(path):
            path += "_"
        return path

    def set_pose(
        self,
        xform: Any,
        pose: Float[np.ndarray, "7"],
        scale: Float[np.ndarray, "3"] | None = None,
    ) -> None:
        """Set the pose of a prim in its parent, in double precision."""
        Gf, double = self.pxr.Gf, self.pxr.UsdGeom.XformOp.PrecisionDouble
        xform.AddTranslateOp(double).Set(Gf.Vec3d(*map(float, pose[:3])))
        xform.AddOrientOp(double).Set(Gf.Quatd(*map(float, pose[3:])))
        if scale is not None:
            xform.AddScaleOp(double).Set(Gf.Vec3d(*map(float, scale)))

    def _add_masses(self, i: int, prim: Any) -> None:
        """Add the mass of a frame; that of a link of several is the sum of theirs."""
        link = self.links[i]
        if link.root is None:
            self._set_mass(prim, link.inertia)
            return
        members = {
            k: other.inertia
            for k, other in enumerate(self.links)
            if other.root == link.root and other.inertia is not None
        }
        is_shared = members.keys() != {link.root}
        if link.root == i:
            total = []
            for k, inertia in members.items():
                back = pose_inverse(link.world_pose)
                pose = pose_multiply(back, self.links[k].world_pose)
                total.append(move_inertia(inertia, np.asarray(pose)))
            self._set_mass(prim, combine_inertias(total) if total else None)
            if is_shared:
                prim.SetCustomDataByKey(f"{FRAME}:has_own_mass", True)
        if is_shared and link.inertia is not None:
            mass, com, about_com = link.inertia
            for key, numbers in (("com", com), ("inertia", about_com.ravel())):
                doubles = self.pxr.Vt.DoubleArray(list(map(float, numbers)))
                prim.SetCustomDataByKey(f"{FRAME}:{key}", doubles)
            prim.SetCustomDataByKey(f"{FRAME}:mass", float(mass))

    def _set_mass(self, prim: Any, inertia: BodyInertia | None) -> None:
        if inertia is None:
            return
        Gf = self.pxr.Gf
        api = self.pxr.UsdPhysics.MassAPI.Apply(prim)
        moments, axes = np.linalg.eigh(inertia.about_com)
        axes[:, 2] *= np.linalg.det(axes)
        api.CreateMassAttr(float(inertia.mass))
        api.CreateCenterOfMassAttr(Gf.Vec3f(*map(float, inertia.com)))
        api.CreateDiagonalInertiaAttr(Gf.Vec3f(*map(float, moments)))
        api.CreatePrincipalAxesAttr(Gf.Quatf(*map(float, matrix_to_quat(axes))))

    def _material(self, friction: float) -> Any:
        """Return the material of a coefficient of friction."""
        if friction not in self.materials:
            path = f"{WORLD}/Materials/friction_{len(self.materials)}"
            material = self.pxr.UsdShade.Material.Define(self.stage, path)
            api = self.pxr.UsdPhysics.MaterialAPI.Apply(material.GetPrim())
            api.CreateStaticFrictionAttr(friction)
            api.CreateDynamicFrictionAttr(friction)
            self.materials[friction] = material
        return self.materials[friction]

    def add_joint(self, i: int, colliding: Collection[tuple[int, int]]) -> None:
        """Add the joint above a link, if it has one of a coordinate or a ball."""
        pxr, link = self.pxr, self.links[i]
        joint = link.frame.joint
        if joint is None or not (link.steps or link.has_ball):
            return
        name = link.steps[0].name if link.steps else joint.name
        path = self._free_path(f"{WORLD}/Joints", name)
        motion, align = IDENTITY, IDENTITY
        if link.has_ball:
            prim = pxr.UsdPhysics.SphericalJoint.Define(self.stage, path)
        else:
            step = link.steps[0]
            motion = _step_motion(step)
            align = _pose_of_axis(step.axis)
            prim = self._define_step(path, step)
        prim.GetPrim().SetCustomDataByKey(f"{FRAME}:name", name)
        # The frames of the joint in both bodies coincide where it is at 0.
        origin = pose_multiply(link.pose, pose_inverse(motion))
        if link.parent is not None:
            prim.CreateBody0Rel().SetTargets([self.prims[link.parent].GetPath()])
        prim.CreateBody1Rel().SetTargets([self.prims[i].GetPath()])
        Gf = pxr.Gf
        for k, pose in enumerate((pose_multiply(origin, align), align)):
            position, quaternion = map(float, pose[:3]), map(float, pose[3:])
            getattr(prim, f"CreateLocalPos{k}Attr")(Gf.Vec3f(*position))
            getattr(prim, f"CreateLocalRot{k}Attr")(Gf.Quatf(*quaternion))
        sides = [
            [k for k, other in enumerate(self.links) if other.root == root]
            for root in (
                None if link.parent is None else self.links[link.parent].root,
                i,
            )
        ]
        pairs = {(min(a, b), max(a, b)) for a in sides[0] for b in sides[1]}
        prim.CreateCollisionEnabledAttr(bool(pairs & set(colliding)))

    def _define_step(self, path: str, step: Step) -> Any:
        physics = self.pxr.UsdPhysics
        kind = physics.PrismaticJoint if step.slides else physics.RevoluteJoint
        prim = kind.Define(self.stage, path)
        prim.CreateAxisAttr("X")
        # USD has degrees.
        bounds = step.limits if step.slides else np.rad2deg(step.limits)
        for side, bound in zip(("Lower", "Upper"), bounds, strict=True):
            if np.isfinite(bound):
                getattr(prim, f"Create{side}LimitAttr")(float(bound))
        if step.leader is not None:
            leader, multiplier, offset = step.leader
            relation = {"joint": leader, "multiplier": multiplier, "offset": offset}
            for key, entry in relation.items():
                prim.GetPrim().SetCustomDataByKey(f"{FRAME}:mimic:{key}", entry)
        return prim

    def filter_pairs(self, colliding: Collection[tuple[int, int]]) -> None:
        """Exclude pairs that do not collide in the world but would in USD."""
        pairs = {(min(pair), max(pair)) for pair in colliding}
        solid = [i for i, parts in self.colliders.items() if parts]
        for k, a in enumerate(sorted(solid)):
            for b in sorted(solid)[k + 1 :]:
                if self.links[a].root == self.links[b].root or (a, b) in pairs:
                    continue
                targets = [part.GetPath() for part in self.colliders[b]]
                for part in self.colliders[a]:
                    api = self.pxr.UsdPhysics.FilteredPairsAPI.Apply(part)
                    relation = api.CreateFilteredPairsRel()
                    for target in targets:
                        relation.AddTarget(target)


def _step_motion(step: Step) -> np.ndarray:
    """Return the pose of a step at the state."""
    kind = "prismatic" if step.slides else "hinge"
    return joint_transform(kind, step.axis, np.array([step.position]))


def _pose_of_axis(axis: np.ndarray) -> np.ndarray:
    """Return a pose whose x axis is an axis."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    y = np.cross(helper, axis)
    y /= np.linalg.norm(y)
    pose = IDENTITY.copy()
    pose[3:] = matrix_to_quat(np.stack([axis, y, np.cross(axis, y)], 1))
    return pose
