"""Robots of a planning service: a fixed Panda, a UR5 with its meshes, a mobile Panda.

Each comes with the description of its joints alone, for an independent check.
"""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import posewise as pw

from . import real_robots
from .motion_scenes import FLOOR_HEIGHT, add_mobile_base

PANDA_FILE = Path(pw.__file__).parent / "robots/data/panda.urdf"
NEVER_SAMPLES = 1000
"""Random states by which pairs of links of a UR5 are excluded (count). Fewer exclude
pairs that touch now and then."""
BENT = (0.0, -1.57, 1.57, -1.57, -1.57, 0.0)
"""Joint values of a UR5 with its elbow bent, where the tool points downwards [rad]."""
BASE_SPEED = 0.5
"""Speed limit of a base that has none in its description [m/s, rad/s]."""


@dataclass(frozen=True)
class ServiceRobot:
    """A robot without surroundings, in the state that each request starts from."""

    world: pw.Config
    tip: str
    """Frame whose position is the goal."""
    description: str
    """URDF of links and joints, without shapes."""
    low: np.ndarray
    """Least coordinates of goals (nq,)."""
    high: np.ndarray
    """Largest coordinates of goals (nq,)."""
    corners: np.ndarray
    """Least and largest position of obstacles that stand anywhere (2, 3) [m]."""
    velocity: np.ndarray | None = None
    """Speed limits of the coordinates (nq,); None: those of the world."""


def skeleton(file: Path) -> ET.Element:
    """Return a URDF without its shapes, which other readers may not know."""
    root = ET.parse(file).getroot()
    for link in root.findall("link"):
        for shape in [*link.findall("collision"), *link.findall("visual")]:
            link.remove(shape)
    return root


def panda() -> ServiceRobot:
    """Return the Panda that comes with posewise, its fingers locked."""
    C = pw.load("panda")
    C.lock("panda_finger_joint1")
    corners = np.array([[-0.8, -0.8, 0.0], [0.8, 0.8, 1.0]])
    text = ET.tostring(skeleton(PANDA_FILE), encoding="unicode")
    return ServiceRobot(C, "panda_hand_tcp", text, *C.limits, corners)


def ur5() -> ServiceRobot:
    """Return the UR5 of `example-robot-data`, its meshes as hulls.

    Raises:
        SystemExit: without that package; says how to install it.
    """
    robot = real_robots.ROBOTS["ur5"]
    C = real_robots.load(robot)
    C.pairs.ignore_default(samples=NEVER_SAMPLES, margin=0.02)
    C.q = BENT
    C.home = C.q
    corners = np.array([[-0.8, -0.8, 0.0], [0.8, 0.8, 1.0]])
    text = ET.tostring(skeleton(robot.path), encoding="unicode")
    low, high = np.clip(C.limits, -np.pi, np.pi)
    return ServiceRobot(C, robot.tip, text, low, high, corners)


def mobile_panda() -> ServiceRobot:
    """Return a Panda on a base that drives over the floor."""
    C = pw.Config()
    add_mobile_base(C)
    C.load("panda", parent="base", pose=[0, 0, FLOOR_HEIGHT, 1, 0, 0, 0])
    C.lock("panda_finger_joint1")
    root = skeleton(PANDA_FILE)
    first = root.findall("link")[0].get("name")
    chain = [
        ("floor", "base_x", "prismatic", "1 0 0", 0.0),
        ("base_x", "base_y", "prismatic", "0 1 0", 0.0),
        ("base_y", "base", "revolute", "0 0 1", 0.0),
        ("base", str(first), "fixed", "0 0 1", FLOOR_HEIGHT),
    ]
    ET.SubElement(root, "link", name="floor")
    for parent, child, kind, axis, height in chain:
        if kind != "fixed":
            ET.SubElement(root, "link", name=child)
        name = child if kind != "fixed" else "mount"
        joint = ET.SubElement(root, "joint", name=name, type=kind)
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=child)
        ET.SubElement(joint, "origin", xyz=f"0 0 {height}", rpy="0 0 0")
        ET.SubElement(joint, "axis", xyz=axis)
        limits = dict(lower="-7", upper="7", effort="1", velocity="1")
        ET.SubElement(joint, "limit", limits)
    text = ET.tostring(root, encoding="unicode")
    low, high = C.limits
    low[:3], high[:3] = [-1.2, -1.2, -3.0], [1.2, 1.2, 3.0]
    velocity = np.where(
        np.isfinite(C.joints.max_velocity), C.joints.max_velocity, BASE_SPEED
    )
    corners = np.array([[-1.8, -1.8, 0.0], [1.8, 1.8, 1.3]])
    return ServiceRobot(C, "panda_hand_tcp", text, low, high, corners, velocity)


SERVICE_ROBOTS: dict[str, Callable[[], ServiceRobot]] = {
    "panda": panda,
    "ur5": ur5,
    "mobile": mobile_panda,
}
