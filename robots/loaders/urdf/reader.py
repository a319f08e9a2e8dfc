"""Reader of URDF: one frame per link, with the joint above it.

The reader uses the standard library only: every error names its line, and there is no
network access and no entity expansion. Elements without a counterpart (transmissions,
sensors, simulator tags) are ignored. Broken kinematics is an error; shapes, masses and
other properties that cannot be used are left out.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from ...contact.collision_pairs import FramePair, adjacent_bodies, can_collide
from ...kinematics.transforms import IDENTITY
from ...world.frame import Frame, Model
from ..left_out import LeftOut
from ..mesh_paths import MeshLocator
from ..package_folders import checked_packages
from ..xmltree import XmlElement, read_xml
from .joints import joint_attributes, read_joint, standing_followers
from .links import read_geometries, read_inertial, read_materials, read_origin
from .structure import (
    elements_by_name,
    linked_name,
    parent_joints,
    parents_first,
    refuse_xacro,
)
from .versions import drop_newer_attributes


def read_urdf(
    path: str | os.PathLike,
    packages: Mapping[str, str | os.PathLike] | None = None,
) -> Model:
    """Read a URDF file; see `read_robot`.

    Raises:
        LoadError: For a file that is no URDF or contradicts itself.
    """
    folder = Path(path).resolve().parent
    return read_robot(read_xml(path), folder, checked_packages(packages))


def read_robot(
    root: XmlElement, folder: Path | None, packages: Mapping[str, Path]
) -> Model:
    """Convert the XML of a URDF.

    Frames are the links, parents first and otherwise in file order. Meshes that are
    missing, or that lie outside the file's package (`mesh_paths` defines it), and all
    else that cannot be used are left out with one `UserWarning`. Links that a joint
    connects ignore each other's collisions.

    Args:
        root: The element `<robot>`.
        folder: Where relative mesh names begin; None: nowhere.
        packages: Folders of the packages in `package://name/…`.

    Returns:
        The model. A fixed joint's name is kept in `attributes["joint_name"]`.

    Raises:
        LoadError: For a tree that is no URDF or contradicts itself.
    """
    if root.tag != "robot":
        raise root.error("expected the root <robot>; this file is no URDF.")
    refuse_xacro(root)
    links, joints = elements_by_name(root, "link"), elements_by_name(root, "joint")
    if not links:
        raise root.error("has no <link>; a robot needs at least one.")
    above = parent_joints(links, joints)
    order = parents_first(links, above)
    left_out = LeftOut(root.file, MeshLocator(folder, packages))
    drop_newer_attributes(root, left_out)
    standing = standing_followers(joints, left_out)
    materials = read_materials(root, left_out)
    index = {name: i for i, name in enumerate(order)}
    frames = []
    for name in order:
        link, joint = links[name], above.get(name)
        geometries, missing = read_geometries(link, materials, left_out)
        mass, com, inertia = read_inertial(link, left_out)
        frames.append(
            Frame(
                name=name,
                parent=None if joint is None else index[linked_name(joint, "parent")],
                origin=IDENTITY.copy() if joint is None else read_origin(joint),
                joint=None if joint is None else read_joint(joint, standing, left_out),
                geometries=geometries,
                contact=int(bool(missing) or any(g.collision for g in geometries)),
                mass=mass,
                com=com,
                inertia=inertia,
                attributes={} if joint is None else joint_attributes(joint, left_out),
                missing_shapes=missing,
            )
        )
    left_out.warn()
    adjacent = _adjacent_links(frames)
    return Model(tuple(frames), ignored=dict.fromkeys(adjacent, "Adjacent"))


def _adjacent_links(frames: list[Frame]) -> frozenset[FramePair]:
    """Return the pairs of links that a joint connects, which may touch at all times.

    Links that float, or are connected to the link "world", are not excluded: they may
    collide with what they stand on.
    """
    has_world_link = frames[0].name == "world"

    def is_separate(frame: Frame) -> bool:
        floats = frame.joint is not None and frame.joint.type == "floating"
        return floats or has_world_link and frame.parent == 0

    parents = [None if is_separate(f) else f.parent for f in frames]
    pairs = adjacent_bodies(parents, [f.joint is not None for f in frames])
    # Links whose shapes are missing may be given others later.
    solid = [can_collide(f) or bool(f.missing_shapes) for f in frames]
    return frozenset((a, b) for a, b in pairs if solid[a] and solid[b])
