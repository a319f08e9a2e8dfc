"""A gantry with a parallel gripper: a few boxes, so that it compiles soon."""

import posewise as pw


def add_gantry(
    C: pw.Config, name: str = "", x: float = 0.0, parent: str = "world"
) -> None:
    """Add a gripper that moves along x, y and z and turns, its fingers downwards."""
    reach = [[-0.6, -0.6, 0.0], [0.6, 0.6, 0.6]]
    C.add_frame(f"{name}gantry", parent, joint="trans3", limits=reach, q=[x, 0, 0.5])
    C.add_frame(
        f"{name}hand",
        f"{name}gantry",
        joint="hingeZ",
        limits=[[-3.2], [3.2]],
        shape=[(pw.Box([0.05, 0.14, 0.04]), [0, 0, 0.02, 1, 0, 0, 0])],
    )
    for side, axis in (("left", 1.0), ("right", -1.0)):
        C.add_frame(
            f"{name}{side}",
            f"{name}hand",
            joint="prismatic",
            axis=[0, axis, 0],
            limits=[[0.0], [0.04]],
            q=None if side == "right" else 0.04,
            mimic=f"{name}left" if side == "right" else None,
            shape=[(pw.Box([0.02, 0.01, 0.05]), [0, axis * 0.005, -0.025, 1, 0, 0, 0])],
        )
    C.ignore_collisions([f"{name}{part}" for part in ("hand", "left", "right")])


def gantry_world() -> pw.Config:
    """Return a table with two shelves of different heights, and a box between them."""
    C = pw.Config()
    add_gantry(C)
    C.add_object("table", [pw.Box([1.2, 1.2, 0.02])], pose=[0, 0, -0.01, 1, 0, 0, 0])
    C.add_object("low", [pw.Box([0.2, 0.2, 0.1])], pose=[0.3, 0, 0.05, 1, 0, 0, 0])
    C.add_object("high", [pw.Box([0.2, 0.2, 0.2])], pose=[-0.3, 0, 0.1, 1, 0, 0, 0])
    C.add_object(
        "block",
        [pw.Box([0.08, 0.05, 0.1])],
        pose=[0, 0.2, 0.05002, 1, 0, 0, 0],
        joint="free",
    )
    return C
