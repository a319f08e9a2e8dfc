"""Worlds in which BDDL problems are bound."""

import posewise as pw


def kitchen() -> pw.Config:
    """Return a world of two apples and two open boxes on a table."""
    C = pw.Config()
    top = [(pw.Box([2.0, 1.0, 0.1]), None)]
    C.add_object("desk", top, category="table.n.02")
    wall = [((x, 0.0), (0.02, 0.3)) for x in (-0.14, 0.14)]
    wall += [((0.0, y), (0.3, 0.02)) for y in (-0.14, 0.14)]
    walls = [(pw.Box([*size, 0.2]), [*place, 0.1, 1, 0, 0, 0]) for place, size in wall]
    for k, x in enumerate((-0.5, 0.5)):
        C.add_object(
            f"crate{k}", walls, pose=[x, 0, 0.05, 1, 0, 0, 0], category="box.n.01"
        )
    for k, x in enumerate((-0.1, 0.1)):
        C.add_object(
            f"apple{k}",
            [(pw.Sphere(0.04), None)],
            pose=[x, 0.4, 0.09, 1, 0, 0, 0],
            joint="free",
            category="apple.n.01",
            abilities={"cookable": {}},
        )
    return C


def move(C: pw.Config, name: str, x: float, y: float = 0.0) -> None:
    """Move an object of `kitchen` to a place on the table [m]."""
    C.set_pose(name, [x, y, 0.14, 1, 0, 0, 0])
