"""Reader of SDF models and worlds: one frame per link, with the joint above it.

A model that is alone in its file is an object: its root has no joint, as in a URDF. In
a world what is neither static nor joined to the world is free. Where the frame of a
joint is not that of its child, it has a frame `<link>/<joint>` above the child's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ...contact.collision_pairs import FramePair, adjacent_bodies, can_collide
from ...errors import LoadError
from ...kinematics.joint_types import joint_transform
from ...kinematics.transforms import (
    IDENTITY,
    pose_inverse,
    pose_multiply,
)
from ...world.frame import Frame, Joint, Model
from ..left_out import LeftOut
from ..mesh_paths import MeshLocator
from ..xmltree import XmlElement
from .includes import included_model
from .joints import StatedJoint, joint_losses, read_joint, stated_joint
from .links import read_friction, read_geometries, read_inertial
from .poses import PoseGraph, child_text, relative_pose

WORLD = "world"
NOT_READ = ("actor", "population", "state", "road")
"""Tags of parts of a world, or of models, that are left out with a warning."""


def read_sdf_root(
    root: XmlElement, folder: Path | None, packages: Mapping[str, Path]
) -> Model:
    """Convert the XML of an SDF file: a model, several, or a world of them.

    Frames have the names of links; that of a model's only link is the model's, and
    links whose name several models use are `<model>/<link>`. What cannot be used is
    left out with one `UserWarning`: models in models, included ones that are missing,
    joints of several coordinates (they stand still), shapes such as height maps, and
    meshes that are missing or lie outside of the file's package.

    Args:
        root: The element `<sdf>`.
        folder: Where relative mesh names begin; None: nowhere.
        packages: Folders of the packages in `model://name/…`.

    Raises:
        LoadError: For a tree that is no SDF or contradicts itself.
    """
    if root.tag != "sdf":
        raise root.error("expected the root <sdf>; this file is no SDF.")
    worlds = root.findall("world")
    if len(worlds) > 1:
        raise worlds[1].error("there are several worlds; expected one.")
    scope = worlds[0] if worlds else root
    left_out = LeftOut(root.file, MeshLocator(folder, packages))
    models = _models(scope, left_out)
    markers = scope.findall("frame")
    if not models and not markers:
        raise scope.error("has no <model>; expected one or more.")
    elements = [model for model, _ in models]
    _note_unread(scope, left_out)
    graph = PoseGraph(_by_name([*elements, *markers]))
    shared_names = _shared_names(elements)
    reader = _SdfModelReader(left_out, bool(worlds), shared_names)
    for model, own_left_out in models:
        reader.left_out = own_left_out
        reader.add_model(model, graph.pose(model.required("name"), model))
    for element in markers:
        name = element.required("name")
        reader.add_frame(Frame(name, None, graph.pose(name, element)))
    left_out.warn()
    return Model(tuple(reader.frames), ignored=dict.fromkeys(reader.ignored, "Model"))


def _models(scope: XmlElement, left_out: LeftOut) -> list[tuple[XmlElement, LeftOut]]:
    """Return the models of a world, and where each records what it has unusable."""
    models = []
    meshes = left_out.meshes
    for element in scope:
        if element.tag == "model":
            models.append((element, left_out))
        elif element.tag == "include":
            try:
                model, folder = included_model(element, meshes.folder, meshes.packages)
            except LoadError as error:
                left_out.add(error)
                continue
            # Names of meshes begin in the folder of the model.
            models.append(
                (model, replace(left_out, meshes=replace(meshes, folder=folder)))
            )
    return models


def _by_name(elements: list[XmlElement]) -> dict[str, XmlElement]:
    """Return elements by their names, which must differ."""
    by_name: dict[str, XmlElement] = {}
    for element in elements:
        name = element.required("name")
        if name in by_name:
            raise element.error("the name is used twice; rename one.")
        by_name[name] = element
    return by_name


def _note_unread(scope: XmlElement, left_out: LeftOut) -> None:
    for element in scope:
        if element.tag in NOT_READ:
            left_out.add(element.error("is not read."))


def _shared_names(models: list[XmlElement]) -> frozenset[str]:
    """Return the names of frames that several models would use."""
    names: list[str] = []
    for model in models:
        links = model.findall("link")
        names += {_plain_name(model, link) for link in links}
    return frozenset(name for name in names if names.count(name) > 1)


def _plain_name(model: XmlElement, link: XmlElement) -> str:
    alone = len(model.findall("link")) == 1
    return (model if alone else link).required("name")


@dataclass(eq=False)
class _SdfModelReader:
    left_out: LeftOut
    is_world: bool
    shared: frozenset[str]
    frames: list[Frame] = field(default_factory=list)
    ignored: set[FramePair] = field(default_factory=set)

    def add_model(self, model: XmlElement, pose: np.ndarray) -> None:
        """Add the frames of a model, which has a pose in the world."""
        _note_unread(model, self.left_out)
        for nested in [*model.findall("model"), *model.findall("include")]:
            self.left_out.add(nested.error("a model within a model is not read."))
        parts = [e for e in model if e.tag in ("link", "joint", "frame")]
        graph = PoseGraph(_by_name(parts))
        if placed := model.get("placement_frame", "").strip():
            in_model = graph.pose(placed, model)
            pose = np.asarray(pose_multiply(pose, pose_inverse(in_model)))
        links = {e.required("name"): e for e in parts if e.tag == "link"}
        if not links:
            raise model.error("has no <link>; a model needs at least one.")
        joints = [e for e in parts if e.tag == "joint"]
        by_name = {j.required("name"): stated_joint(j) for j in joints}
        above = self._joints_above(links, joints)
        is_static = child_text(model, "static") in ("true", "1")
        first = len(self.frames)
        index: dict[str, int | None] = {WORLD: None}
        for name in _parents_first(links, above):
            joint = above.get(name)
            index[name] = self._add_link(
                model, links[name], joint, pose, graph, by_name, index, is_static
            )
        for element in parts:
            if element.tag == "frame":
                self._add_marker(model, element, graph, index)
        self._ignore(first, child_text(model, "self_collide") in ("true", "1"))

    def _joints_above(
        self, links: dict[str, XmlElement], joints: list[XmlElement]
    ) -> dict[str, XmlElement]:
        """Return the joint above each link that has one."""
        above: dict[str, XmlElement] = {}
        for joint in joints:
            parent, child = (child_text(joint, tag) for tag in ("parent", "child"))
            for name in (parent, child):
                if name not in links and not (name == WORLD and name is parent):
                    raise joint.error(
                        f"connects {parent!r} and {child!r}, expected links of its"
                        " model, or the world as the parent."
                    )
            if child in above:
                raise joint.error(
                    f"link {child!r} is already the child of joint"
                    f" {above[child].required('name')!r}; a link has one parent."
                )
            above[child] = joint
        return above

    def _add_link(
        self,
        model: XmlElement,
        link: XmlElement,
        joint: XmlElement | None,
        model_pose: np.ndarray,
        graph: PoseGraph,
        by_name: Mapping[str, StatedJoint],
        index: Mapping[str, int | None],
        is_static: bool,
    ) -> int:
        """Add the frame of a link, and its joint's if that is elsewhere."""
        label = _plain_name(model, link)
        if label in self.shared:
            label = f"{model.required('name')}/{link.required('name')}"
        in_model = graph.pose(link.required("name"), link)
        frame = self._carrying(Frame(label), link)
        if joint is None:
            place = np.asarray(pose_multiply(model_pose, in_model))
            if self.is_world and not is_static:
                loose = Joint("free", label, q=place)
                return self.add_frame(replace(frame, joint=loose))
            return self.add_frame(replace(frame, origin=place))
        parent = child_text(joint, "parent")
        base = pose_inverse(model_pose) if parent == WORLD else graph.pose(parent, link)
        moved = read_joint(joint, graph, by_name, self.left_out)
        frame = replace(frame, parent=index[parent])
        losses = joint_losses(joint)
        if moved is None or is_static:
            attributes = frame.attributes | {"joint_name": joint.required("name")}
            origin = relative_pose(base, in_model)
            return self.add_frame(replace(frame, origin=origin, attributes=attributes))
        at_joint = graph.pose(joint.required("name"), joint)
        origin = relative_pose(base, at_joint)
        if moved.q is not None:
            motion = joint_transform(moved.type, moved.axis, moved.q)
            origin = np.asarray(pose_multiply(origin, pose_inverse(motion)))
        offset = relative_pose(at_joint, in_model)
        attributes = frame.attributes | losses
        if np.allclose(offset, IDENTITY, atol=1e-12):
            moving = replace(frame, origin=origin, joint=moved, attributes=attributes)
            return self.add_frame(moving)
        above = Frame(f"{label}/{moved.name}", index[parent], origin, moved)
        place_of_joint = self.add_frame(replace(above, attributes=losses))
        return self.add_frame(replace(frame, parent=place_of_joint, origin=offset))

    def _carrying(self, frame: Frame, link: XmlElement) -> Frame:
        """Return a frame with the shapes, the friction and the mass of a link."""
        geometries, missing = read_geometries(link, self.left_out)
        mass, com, inertia = read_inertial(link, self.left_out)
        return replace(
            frame,
            geometries=geometries,
            contact=int(bool(missing) or any(g.collision for g in geometries)),
            mass=mass,
            com=com,
            inertia=inertia,
            attributes=read_friction(link),
            missing_shapes=missing,
        )

    def _add_marker(
        self,
        model: XmlElement,
        element: XmlElement,
        graph: PoseGraph,
        index: Mapping[str, int | None],
    ) -> None:
        """Add a frame that is attached to a link, or to the model's first one."""
        name = element.required("name")
        links = [link for link in index if link != WORLD]
        attached, passed = name, {name}
        while attached not in links:
            attached = graph.elements[attached].get("attached_to", "").strip()
            if attached not in graph.elements or attached in passed:
                attached = links[0]
            passed.add(attached)
        base, in_model = (graph.pose(n, element) for n in (attached, name))
        used_names = {frame.name for frame in self.frames}
        label = name if name not in used_names else f"{model.required('name')}/{name}"
        self.add_frame(Frame(label, index[attached], relative_pose(base, in_model)))

    def add_frame(self, frame: Frame) -> int:
        """Add a frame, and return its index."""
        self.frames.append(frame)
        return len(self.frames) - 1

    def _ignore(self, first: int, self_collide: bool) -> None:
        """Exclude pairs of a model: those that a joint connects, or all."""
        frames = self.frames[first:]
        solid = [can_collide(f) or bool(f.missing_shapes) for f in frames]
        if self_collide:
            parents = [None if f.parent is None else f.parent - first for f in frames]
            pairs = adjacent_bodies(parents, [f.joint is not None for f in frames])
        else:
            count = range(len(frames))
            pairs = {(a, b) for b in count for a in range(b)}
        self.ignored |= {
            (first + a, first + b) for a, b in pairs if solid[a] and solid[b]
        }


def _parents_first(
    links: dict[str, XmlElement], above: dict[str, XmlElement]
) -> list[str]:
    """Return link names in file order, except that parents precede their children."""
    order: dict[str, None] = {}
    for name in links:
        chain: list[str] = []
        while name in links and name not in order:
            if name in chain:
                raise above[name].error(
                    f"the links {', '.join(map(repr, chain[:5]))} form a cycle,"
                    " expected a tree; turn or remove a joint."
                )
            chain.append(name)
            name = child_text(above[name], "parent") if name in above else WORLD
        order.update(dict.fromkeys(reversed(chain)))
    return list(order)
