"""Worlds of `Simulation`: rai's words on what moves, for `posewise.Simulator`."""

from dataclasses import dataclass

import numpy as np

import posewise as pw
from posewise.robots.world.frame import Frame

FLOOR = "simulation_floor"
"""Name of the half-space below height 0."""
FRICTION = 1.0
"""Friction of frames without an attribute `friction` [1]; a larger one slides less."""


@dataclass(frozen=True)
class PhysicalWorld:
    """World that is simulated, with more joints than the configuration has."""

    world: pw.Config
    """The world, with a floor."""
    roots: tuple[str, ...]
    """Bases of arms, which have the attribute `multibody`."""
    loose: tuple[str, ...]
    """Frames of bodies that move freely."""
    held_joints: tuple[str, ...]
    """Joints that are not in the joint state of the configuration."""
    driven: np.ndarray
    """Entries of that joint state in the coordinates of the world."""

    def entries(self, joint: str) -> np.ndarray:
        """Return the entries of a joint, or of a loose body, in the coordinates."""
        return self.world.joints.coordinates(joint)


def physical_world(C: pw.Config) -> PhysicalWorld:
    """Return the world of a configuration with a floor, all joints, and free bodies."""
    world = C.copy()
    roots = tuple(f.name for f in C.frames if f.attributes.get("multibody"))
    arms = [world.subtree(root) for root in roots]
    in_arms = {name for arm in arms for name in arm}
    loose = tuple(f.name for f in C.frames if _is_loose(f) and f.name not in in_arms)
    for name in loose:
        world.detach(name)
    jointed = [f for f in C.frames if f.joint and f.joint.dim and not f.joint.active]
    world.unlock([f.name for f in jointed if f.joint and f.joint.mimic is None])
    world.add_frame(FLOOR, shape=pw.Plane())
    for frame in C.frames:
        color = frame.attributes.get("color", ())
        is_clear = len(color) in (2, 4) and color[-1] < 1
        # Meshes of arms are seen; their capsules, which are clear, touch.
        if not frame.contact and not is_clear and frame.name not in in_arms:
            world.set_contact(frame.name, 1)
        friction = frame.attributes.get("friction", FRICTION)
        world.set_attributes(frame.name, contact_friction=friction)
    for arm in arms:
        world.ignore_collisions(arm, arm)
    others = {*loose, *C.joint_names}
    held_joints = tuple(name for name in world.joint_names if name not in others)
    driven = world.joints.coordinates(C.joint_names)
    return PhysicalWorld(world, roots, loose, held_joints, driven)


def _is_loose(frame: Frame) -> bool:
    """Return whether a frame outside arms has a mass, and nothing that moves it."""
    joint = frame.joint
    is_link = joint.dim == 0 if joint is not None else frame.parent is None
    return bool(frame.mass) and is_link
