"""Writer of MJCF: every frame becomes a body, in the state that the world is in.

MuJoCo's rules of contacts are those of posewise where it has such rules: of two
coefficients of friction the larger one counts, and bodies that are fixed to each other
never collide.
"""

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from ...errors import ConfigError
from ...geometry.shapes import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    Mesh,
    Plane,
    Shape,
    Sphere,
)
from ...kinematics.transforms import IDENTITY, quat_to_matrix
from ...world.frame import Frame, Model
from ...world.friction import contact_friction
from ..mesh_writing import copy_mesh, save_mesh, shape_mesh
from ..number_text import format_numbers
from ..written_links import Step, WrittenLink, written_links
from ..written_shapes import WrittenShape, written_shapes
from ..xmltree import XML_DECLARATION
from .contact_settings import CONTACT_MARGIN, SOLIMP, SOLREF, TIME_STEP
from .geoms import HALF_SPACE_HALF_SIZE, contact_bits

WORLD = "world"
MESH_SUFFIXES = (".stl", ".obj")
"""Suffixes of the mesh files that MuJoCo reads."""
VISUAL_GROUP, HIDDEN_GROUP = "2", "3"
"""Numbers of the groups of geoms that are only drawn, and that only collide."""
ROLLING_FRICTION = (0.005, 0.0001)
"""MuJoCo's default coefficients of torsional and rolling friction [m]; larger ones slow
spinning and rolling more."""
MAX_RANGE = 1e9
"""Limit of a joint that stands for none on one side [rad, m]; larger ones are read as
none."""


def write_mjcf(
    model: Model, colliding: Collection[tuple[int, int]], meshes: Path
) -> str:
    """Return the text of an MJCF file.

    Args:
        model: The frames, and the state.
        colliding: Pairs of frames, the lower index first, that may collide.
        meshes: A folder for meshes, to which the text refers as `<folder's name>/…`:
            save the text beside the folder.

    Raises:
        ConfigError: For names used twice, a frame "world" that is not the world, and
            what simulators cannot express.
    """
    links = written_links(model, "write_mjcf")
    _check_world(model.frames)
    root = ET.Element("mujoco", model="posewise")
    options = {"angle": "radian", "balanceinertia": "true", "autolimits": "true"}
    ET.SubElement(root, "compiler", options)
    option = ET.SubElement(
        root,
        "option",
        timestep=format_numbers([TIME_STEP]),
        cone="elliptic",
        impratio="10",
        noslip_iterations="5",
    )
    # Parents and children collide where the world says so.
    ET.SubElement(option, "flag", filterparent="disable")
    _add_defaults(root)
    asset, world = ET.SubElement(root, "asset"), ET.SubElement(root, "worldbody")
    bits = contact_bits(model.frames)
    bodies: dict[int | None, ET.Element] = {None: world}
    for i in _parents_first(links):
        link = links[i]
        body = world
        if link.frame.name != WORLD:
            body = ET.SubElement(bodies[link.parent], "body", name=link.frame.name)
            _add_pose(body, link.pose)
            _add_joints(body, link)
            _add_inertia(body, link)
        bodies[i] = body
        for shape in written_shapes(link.frame):
            reference = _mesh_reference(asset, shape, meshes)
            geom = _add_geom(body, link, shape, reference)
            if shape.collision:
                if len(bits) > 1:
                    contype, conaffinity = map(str, bits[shape.mask])
                    geom.attrib |= {"contype": contype, "conaffinity": conaffinity}
                friction = (contact_friction(link.frame), *ROLLING_FRICTION)
                geom.set("friction", format_numbers(friction))
    _add_excludes(root, links, colliding)
    _add_mimics(root, links)
    ET.indent(root)
    return f"{XML_DECLARATION}\n{ET.tostring(root, encoding='unicode')}\n"


def _check_world(frames: Sequence[Frame]) -> None:
    for frame in frames:
        is_world = frame.parent is None and frame.joint is None
        is_world &= np.array_equal(frame.origin, IDENTITY)
        if frame.name == WORLD and not is_world:
            raise ConfigError(
                "write_mjcf: the frame 'world' is not at the world's origin, and MuJoCo"
                " calls the world so; rename it."
            )


def _add_defaults(root: ET.Element) -> None:
    """Add contacts as stiff as those of posewise's twins, and geoms without mass."""
    default = ET.SubElement(root, "default")
    solver = {"solref": format_numbers(SOLREF), "solimp": format_numbers(SOLIMP)}
    # Masses are those of the bodies.
    margin = format_numbers([CONTACT_MARGIN])
    ET.SubElement(default, "geom", {**solver, "margin": margin, "mass": "0"})
    limits = {f"{key}limit": text for key, text in solver.items()}
    ET.SubElement(default, "joint", limits)
    ET.SubElement(default, "equality", solver)
    # Meshes that are drawn may have no volume.
    ET.SubElement(default, "mesh", inertia="shell")


def _parents_first(links: Sequence[WrittenLink]) -> list[int]:
    order = [i for i, link in enumerate(links) if link.parent is None]
    for i in order:
        order += [k for k, link in enumerate(links) if link.parent == i]
    return order


def _add_pose(element: ET.Element, pose: np.ndarray) -> None:
    if pose[:3].any():
        element.set("pos", format_numbers(pose[:3]))
    if not np.array_equal(pose[3:], IDENTITY[3:]):
        element.set("quat", format_numbers(pose[3:]))


def _add_joints(body: ET.Element, link: WrittenLink) -> None:
    joint = link.frame.joint
    if link.is_loose and joint is not None:
        ET.SubElement(body, "freejoint", name=joint.name)
    for step in link.steps:
        element = ET.SubElement(body, "joint", name=step.name)
        element.set("type", "slide" if step.slides else "hinge")
        element.set("axis", format_numbers(step.axis))
        if step.anchor.any():
            element.set("pos", format_numbers(step.anchor))
        if step.position:
            # The pose of the body is the one at this value.
            element.set("ref", format_numbers([step.position]))
        if np.isfinite(step.limits).any():
            limits = np.clip(step.limits, -MAX_RANGE, MAX_RANGE)
            element.set("range", format_numbers(limits))
        if step.effort is not None:
            efforts = format_numbers([-step.effort, step.effort])
            element.set("actuatorfrcrange", efforts)
        for key, name in (("damping", "damping"), ("friction", "frictionloss")):
            loss = link.frame.attributes.get(key)
            if isinstance(loss, int | float) and loss > 0:
                element.set(name, format_numbers([loss]))
    if link.has_ball and joint is not None:
        name = joint.name if not link.steps else f"{joint.name}_ball"
        ET.SubElement(body, "joint", name=name, type="ball")


def _add_inertia(body: ET.Element, link: WrittenLink) -> None:
    if link.inertia is None:
        return
    mass, com, I = link.inertia
    entries = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    ET.SubElement(
        body,
        "inertial",
        pos=format_numbers(com),
        mass=format_numbers([mass]),
        fullinertia=format_numbers(entries),
    )


def _mesh_reference(asset: ET.Element, shape: WrittenShape, meshes: Path) -> str | None:
    """Write a mesh and add its asset; return its name, None for a primitive."""
    match shape.shape:
        case Mesh(source) if (
            isinstance(source, str | os.PathLike)
            and Path(source).suffix.lower() in MESH_SUFFIXES
        ):
            file = copy_mesh(Path(source).absolute(), meshes)
            scale = format_numbers(np.asarray(shape.shape.scale))
            ET.SubElement(asset, "mesh", name=shape.name, file=file, scale=scale)
        case Mesh() | Convex():
            file = save_mesh(shape_mesh(shape.shape), shape.name, meshes)
            ET.SubElement(asset, "mesh", name=shape.name, file=file)
        case _:
            return None
    return shape.name


def _add_geom(
    body: ET.Element, link: WrittenLink, shape: WrittenShape, mesh: str | None
) -> ET.Element:
    geom = ET.SubElement(body, "geom", name=shape.name)
    pose = shape.pose
    if mesh is not None:
        geom.attrib |= {"type": "mesh", "mesh": mesh}
    elif isinstance(shape.shape, Plane) and link.root is not None:
        # Half-spaces of MuJoCo cannot move.
        geom.attrib |= _primitive(Box(np.full(3, 2 * HALF_SPACE_HALF_SIZE)))
        pose = pose.copy()
        pose[:3] -= HALF_SPACE_HALF_SIZE * quat_to_matrix(pose[3:])[:, 2]
    else:
        geom.attrib |= _primitive(shape.shape)
    _add_pose(geom, pose)
    if shape.color is not None:
        geom.set("rgba", format_numbers([*shape.color, 1.0][:4]))
    if not shape.collision:
        geom.attrib |= {"contype": "0", "conaffinity": "0", "group": VISUAL_GROUP}
    elif not shape.visual:
        geom.set("group", HIDDEN_GROUP)
    return geom


def _primitive(shape: Shape) -> dict[str, str]:
    """Return type and size of a geom; sizes in MuJoCo are half sizes."""
    match shape:
        case Sphere(radius):
            kind, size = "sphere", [radius]
        case Capsule(length, radius):
            kind, size = "capsule", [radius, length / 2]
        case Cylinder(length, radius):
            kind, size = "cylinder", [radius, length / 2]
        case Box(lengths):
            kind, size = "box", list(lengths / 2)
        case Ellipsoid(radii):
            kind, size = "ellipsoid", list(radii)
        case _:
            kind, size = "plane", [0.0, 0.0, 1.0]
    return {"type": kind, "size": format_numbers(size)}


def _add_excludes(
    root: ET.Element,
    links: Sequence[WrittenLink],
    colliding: Collection[tuple[int, int]],
) -> None:
    """Exclude pairs that do not collide in the world but would in MuJoCo."""
    pairs = {(min(pair), max(pair)) for pair in colliding}
    solid = [
        i
        for i, link in enumerate(links)
        if any(s.collision for s in written_shapes(link.frame))
    ]
    contact = ET.SubElement(root, "contact")
    for k, a in enumerate(solid):
        for b in solid[k + 1 :]:
            if links[a].root != links[b].root and (a, b) not in pairs:
                ET.SubElement(
                    contact,
                    "exclude",
                    body1=links[a].frame.name,
                    body2=links[b].frame.name,
                )


def _add_mimics(root: ET.Element, links: Sequence[WrittenLink]) -> None:
    equality = ET.SubElement(root, "equality")
    steps: list[Step] = [step for link in links for step in link.steps]
    for step in steps:
        if step.leader is None:
            continue
        leader, multiplier, _ = step.leader
        # MuJoCo's polynomial is in deviations from the values at the state.
        polynomial = format_numbers([0.0, multiplier, 0.0, 0.0, 0.0])
        ET.SubElement(
            equality, "joint", joint1=step.name, joint2=leader, polycoef=polynomial
        )
