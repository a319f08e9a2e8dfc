"""Scenes of robots that pick, place, push, open and hand over."""

import numpy as np
import trimesh

import posewise as pw

FLOOR_HEIGHT = 0.31
"""Height of the arm's base above the floor [m]."""


def add_mobile_base(C: pw.Config) -> None:
    """Add a base that drives over the floor: two slides and a turn."""
    C.add_frame("base_x", joint="transX", limits=[[-3], [3]])
    C.add_frame("base_y", "base_x", joint="transY", limits=[[-3], [3]])
    body = (pw.Box([0.5, 0.4, 0.3]), [0, 0, 0.16, 1, 0, 0, 0])
    C.add_frame("base", "base_y", joint="hingeZ", limits=[[-6.3], [6.3]], shape=[body])


def bowl() -> trimesh.Trimesh:
    """Return a bowl of a floor and eight walls, 11 cm wide."""
    parts = [trimesh.creation.cylinder(0.045, 0.006, sections=8)]
    for angle in 2 * np.pi * np.arange(8) / 8:
        wall = trimesh.creation.box([0.006, 0.042, 0.05])
        wall.apply_translation([0.05, 0, 0.022])
        wall.apply_transform(trimesh.transformations.rotation_matrix(angle, [0, 0, 1]))
        parts.append(wall)
    return trimesh.util.concatenate(parts)


def kitchen() -> pw.Config:
    """Return a mobile Panda, a table, a shelf and a cupboard, with loose objects."""
    C = pw.Config()
    add_mobile_base(C)
    C.load("panda", parent="base", pose=[0, 0, FLOOR_HEIGHT, 1, 0, 0, 0])
    C.load("table", pose=[1.2, 0, 0, 0.7071068, 0, 0, 0.7071068])
    C.load("shelf", pose=[-1.3, 0, 0, 1, 0, 0, 0])
    C.load("cupboard", pose=[0, -1.5, 0, 0.7071068, 0, 0, 0.7071068])
    C.load("tray", pose=[1.25, 0.35, 0.74002, 1, 0, 0, 0])
    top = 0.74002
    things = {
        "can": (pw.Cylinder(0.12, 0.033), [1.0, -0.15, top + 0.06], "can.n.01"),
        "cup": (pw.Cylinder(0.1, 0.035), [1.05, -0.4, top + 0.05], "cup.n.01"),
        "carton": (pw.Box([0.08, 0.06, 0.12]), [1.0, 0.05, top + 0.06], "carton.n.02"),
        "block": (pw.Box([0.05, 0.05, 0.05]), [1.2, -0.1, top + 0.025], "block.n.01"),
    }
    for name, (shape, place, category) in things.items():
        C.add_object(
            name, [shape], pose=[*place, 1, 0, 0, 0], joint="free", category=category
        )
    C.add_object(
        "bowl",
        [pw.Mesh(bowl(), mode="decompose")],
        pose=[1.3, -0.35, top + 0.003, 1, 0, 0, 0],
        joint="free",
        category="bowl.n.01",
    )
    C.add_frame("guest", position=[1.9, -0.3, 1.0], shape=pw.Marker(0.1))
    C.add_agent("guest", "guest")
    C.home = C.q
    return C


def two_arms() -> pw.Config:
    """Return two Pandas on one stand, face to face with a table on each side."""
    C = pw.Config()
    C.add_frame("stand", shape=pw.Box([0.2, 0.9, 0.4]), position=[0, 0, 0.2])
    for side, y in (("left_", 0.3), ("right_", -0.3)):
        C.load("panda", prefix=side, parent="stand", pose=[0, y, 0.2, 1, 0, 0, 0])
    for side, y in (("left", 0.55), ("right", -0.55)):
        table = pw.Box([0.5, 0.4, 0.04])
        C.add_object(f"{side}_table", [table], pose=[0.5, y, 0.38, 1, 0, 0, 0])
    C.add_object(
        "stick",
        [pw.Box([0.04, 0.04, 0.2])],
        pose=[0.5, 0.5, 0.50002, 1, 0, 0, 0],
        joint="free",
        category="stick.n.01",
    )
    return C
