"""Writer of URDF: every frame becomes a link, every joint one or more URDF joints.

URDF has joints of one coordinate (and `planar`, `floating`), one root, unique names and
the shapes box, sphere, cylinder, mesh, and capsule from URDF 1.1 on. Whatever has no
counterpart is rewritten exactly where that is possible, and refused otherwise.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from ...errors import ConfigError
from ...kinematics.transforms import IDENTITY
from ...world.frame import Model
from ..xmltree import XML_DECLARATION
from .capsules import split_capsules
from .joint_writer import JointWriter
from .link_writer import add_link
from .versions import set_version

CAPSULE_FORMS = ("cylinders and spheres", "capsules")
"""Ways to write capsules: as every reader understands them, or as of URDF 1.1."""


def write_urdf(
    model: Model,
    name: str = "posewise",
    meshes: str | Path | None = None,
    capsules: str = CAPSULE_FORMS[0],
) -> str:
    """Return the text of a URDF file.

    Joints of several coordinates become chains of joints with massless links between;
    locked joints become joints that move, with one warning, or fixed ones where URDF
    has no counterpart. Several roots, or one that is not
    at the world's origin, are attached to a link `world`. Markers, planes and point
    clouds are left out, rounded edges become sharp.

    Args:
        model: The frames.
        name: The robot's name.
        meshes: A folder for shapes that only a mesh can express, written as STL and
            referred to as `<folder's name>/<file>`: save the text beside the folder.
        capsules: One of `CAPSULE_FORMS`.

    Raises:
        ConfigError: For names used twice, ball joints, meshes without a folder, and an
            unknown form of capsules.
    """
    if capsules not in CAPSULE_FORMS:
        raise ConfigError(
            f"capsules is {capsules!r}, expected one of"
            f" {', '.join(map(repr, CAPSULE_FORMS))}."
        )
    frames = model.frames
    folder = None if meshes is None else Path(meshes)
    robot = ET.Element("robot", name=name)
    names = [frame.name for frame in frames]
    _refuse_repeated("frame", names)
    joints = JointWriter(model, robot, set(names))
    joints.find_moving()
    _refuse_repeated("joint", list(joints.moving.values()))
    joints.joints.update(joints.moving.values())
    world = _root_link_name(model)
    if world not in names:
        joints.links.add(world)
        ET.SubElement(robot, "link", name=world)
    for i, frame in enumerate(frames):
        shapes = frame.geometries
        if capsules == CAPSULE_FORMS[0]:
            shapes = split_capsules(shapes)
        add_link(robot, replace(frame, geometries=shapes), folder)
        if frame.parent is not None:
            joints.write(i, frame, names[frame.parent])
        elif frame.name != world:
            joints.write(i, frame, world)
    set_version(robot)
    ET.indent(robot)
    text = ET.tostring(robot, encoding="unicode")
    return f"{XML_DECLARATION}\n{text}\n"


def _root_link_name(model: Model) -> str:
    """Return the name of the root link: that of a frame, or `world`, to be added."""
    frames = model.frames
    roots = [f for f in frames if f.parent is None]
    fixed = [f for f in roots if not f.joint and np.array_equal(f.origin, IDENTITY)]
    if len(roots) == 1 and fixed:
        return roots[0].name
    if "world" in [f.name for f in frames] and "world" not in [f.name for f in fixed]:
        raise ConfigError(
            "write_urdf: the model has several roots or a moved one and would hang"
            " on a link 'world', but a frame of that name is not at the world's"
            " origin; rename it."
        )
    return "world"


def _refuse_repeated(kind: str, names: list[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ConfigError(
            f"write_urdf: {kind} names used more than once:"
            f" {', '.join(map(repr, repeated[:8]))}; URDF needs them unique."
        )
