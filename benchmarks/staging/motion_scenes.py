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
    C.annotations.add_agent("guest", "guest")
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


def add_drawer_cabinet(C: pw.Config, pose: list[float]) -> None:
    """Add a cabinet of 40 x 34 x 30 cm with one drawer, whose handle is a bar."""

    def box(size: list[float], center: list[float]) -> tuple[pw.Box, list[float]]:
        return pw.Box(size), [*center, 1, 0, 0, 0]

    walls = [
        box([0.4, 0.34, 0.02], [0, 0, 0.01]),
        box([0.4, 0.34, 0.02], [0, 0, 0.29]),
        box([0.02, 0.34, 0.26], [-0.19, 0, 0.15]),
        box([0.02, 0.34, 0.26], [0.19, 0, 0.15]),
        box([0.36, 0.02, 0.26], [0, 0.16, 0.15]),
    ]
    C.add_frame("cabinet", pose=pose, shape=walls)
    parts = [
        box([0.34, 0.29, 0.01], [0, 0, 0.005]),
        box([0.01, 0.29, 0.1], [-0.165, 0, 0.06]),
        box([0.01, 0.29, 0.1], [0.165, 0, 0.06]),
        box([0.32, 0.01, 0.1], [0, 0.14, 0.06]),
        box([0.35, 0.02, 0.2], [0, -0.155, 0.1]),
        box([0.012, 0.05, 0.012], [-0.05, -0.19, 0.12]),
        box([0.012, 0.05, 0.012], [0.05, -0.19, 0.12]),
        box([0.14, 0.015, 0.02], [0, -0.22, 0.12]),
    ]
    C.add_frame(
        "drawer",
        "cabinet",
        position=[0, -0.01, 0.045],
        joint="prismatic",
        axis=[0, -1, 0],
        limits=[[0.0], [0.24]],
        shape=parts,
        mass=1.0,
    )
    C.annotations.mark_object("cabinet", abilities={"openable": {}})


def add_door_cupboard(C: pw.Config, pose: list[float]) -> None:
    """Add a cupboard of 30 x 40 x 40 cm, open towards -x, with a door on a hinge."""

    def box(size: list[float], center: list[float]) -> tuple[pw.Box, list[float]]:
        return pw.Box(size), [*center, 1, 0, 0, 0]

    walls = [
        box([0.3, 0.4, 0.02], [0, 0, 0.01]),
        box([0.3, 0.4, 0.02], [0, 0, 0.39]),
        box([0.3, 0.02, 0.36], [0, -0.19, 0.2]),
        box([0.3, 0.02, 0.36], [0, 0.19, 0.2]),
        box([0.02, 0.36, 0.36], [0.14, 0, 0.2]),
    ]
    C.add_frame("cupboard", pose=pose, shape=walls)
    parts = [
        box([0.02, 0.39, 0.39], [0, -0.2, 0]),
        box([0.05, 0.012, 0.012], [-0.03, -0.35, 0.06]),
        box([0.05, 0.012, 0.012], [-0.03, -0.35, -0.06]),
        box([0.015, 0.02, 0.15], [-0.06, -0.35, 0]),
    ]
    C.add_frame(
        "door",
        "cupboard",
        position=[-0.165, 0.2, 0.2],
        joint="hingeZ",
        limits=[[-1.8], [0.0]],
        shape=parts,
        mass=1.0,
    )
    C.annotations.mark_object("cupboard", abilities={"openable": {}})


def drawer_scene() -> pw.Config:
    """Return a Panda beside a cabinet with a drawer, and a block on the cabinet."""
    C = pw.load("panda")
    add_drawer_cabinet(C, [0.5, 0.33, 0, 1, 0, 0, 0])
    C.add_object(
        "block",
        [pw.Box([0.05, 0.05, 0.08])],
        pose=[0.42, 0.3, 0.34002, 1, 0, 0, 0],
        joint="free",
        mass=0.2,
    )
    return C


def door_scene() -> pw.Config:
    """Return a Panda before a cupboard with a door."""
    C = pw.load("panda")
    add_door_cupboard(C, [0.7, 0.05, 0.2, 1, 0, 0, 0])
    return C


def table_scene() -> pw.Config:
    """Return a Panda with a table, a shelf of two boards, a tray and two objects."""
    C = pw.load("panda")
    C.add_object(
        "table", [pw.Box([0.5, 0.6, 0.02])], pose=[0.5, -0.25, 0.09, 1, 0, 0, 0]
    )
    boards = [
        (pw.Box([0.3, 0.5, 0.02]), [0, 0, 0.2, 1, 0, 0, 0]),
        (pw.Box([0.3, 0.5, 0.02]), [0, 0, 0.55, 1, 0, 0, 0]),
        (pw.Box([0.3, 0.02, 0.6]), [0, 0.26, 0.3, 1, 0, 0, 0]),
        (pw.Box([0.3, 0.02, 0.6]), [0, -0.26, 0.3, 1, 0, 0, 0]),
    ]
    C.add_object("shelf", boards, pose=[0.55, 0.45, 0, 1, 0, 0, 0])
    C.add_object(
        "tray", [pw.Box([0.3, 0.2, 0.01])], pose=[0.45, -0.06, 0.105, 1, 0, 0, 0]
    )
    for name, shape, place in (
        ("can", pw.Cylinder(0.1, 0.03), [0.5, -0.42, 0.15002]),
        ("block", pw.Box([0.05, 0.05, 0.06]), [0.38, -0.3, 0.13002]),
    ):
        C.add_object(name, [shape], pose=[*place, 1, 0, 0, 0], joint="free", mass=0.2)
    return C
