"""Worlds are data: other bodies, pairs and names around a robot compile nothing."""

import logging
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT
from posewise.compilation.compile_time import total_compile_seconds

POINTS = np.random.default_rng(0).uniform(-0.08, 0.08, (12, 3))
SHAPES = {
    "box": pw.Box([0.1, 0.2, 0.1]),
    "cylinder": pw.Cylinder(0.2, 0.06),
    "capsule": pw.Capsule(0.2, 0.05),
    "ellipsoid": pw.Ellipsoid([0.05, 0.06, 0.1]),
    "hull": pw.Convex(POINTS),
    "sphere": pw.Sphere(0.07),
}


def arm(bodies: str, prefix: str = "", links: int = 3) -> pw.Config:
    """Three hinges in a plane, with capsules, beside bodies of some shapes."""
    C = pw.Config()
    parent = "world"
    for k in range(links):
        C.add_frame(
            f"{prefix}j{k}",
            parent,
            position=[0.4 * (k > 0), 0, 0],
            joint="hingeZ",
            limits=[[-2.8], [2.8]],
        )
        parent = f"{prefix}j{k}"
        C.add_frame(
            f"{prefix}link{k}",
            parent,
            pose=[0.2, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5), 0],
            shape=pw.Capsule(0.25, 0.04),
            contact=-1,
        )
    C.add_frame(f"{prefix}tip", parent, position=[0.4, 0, 0])
    for k, shape in enumerate(bodies.split()):
        turn = 0.5 + 0.9 * k
        place = [0.9 * np.cos(turn), 0.9 * np.sin(turn), 0.0]
        if shape == "plane":
            C.add_frame(f"{prefix}plane", position=[0, 0, -0.3], shape=pw.Plane())
        elif shape == "table":
            parts = [(pw.Box([0.1, 0.1, 0.02]), [*place, 1, 0, 0, 0])] * 3
            C.add_object(f"{prefix}table{k}", parts=parts)
        else:
            C.add_frame(f"{prefix}{shape}{k}", position=place, shape=SHAPES[shape])
    return C


def certified_path(C: pw.Config, frame: str, target=(0.5, -0.6, 0.0)) -> pw.Solution:
    komo = pw.KOMO(C, 1, 6, 1)
    komo.add_control_objective(1, 0.1)
    komo.avoid_collisions(0.01)
    komo.add_objective([1.0], FS.position, [frame], OT.eq, target=target, scale=10)
    return komo.solve(starts=2, progress=False)


def pose(C: pw.Config, frame: str, target=(0.4, -0.7, 0.0)) -> pw.Solution:
    komo = pw.KOMO(C, 1, 1, 0)
    komo.add_objective([1.0], FS.position, [frame], OT.eq, target=target)
    komo.add_objective([], FS.accumulatedCollisions, [], OT.eq, margin=0.01)
    return komo.solve(progress=False)


def without_some(C: pw.Config) -> pw.Config:
    C.ignore_collisions("other link0", ["other link2", "other box0"])
    return C


ALL_KINDS = "box cylinder hull plane table"
WORLDS = {
    "three boxes": lambda: (arm("box box box"), "tip"),
    "one box": lambda: (arm("box"), "tip"),
    "five other bodies and names": lambda: (
        arm("capsule hull ellipsoid cylinder sphere", "other "),
        "other tip",
    ),
    "an object of parts, on a plane": lambda: (arm("table plane", "my "), "my tip"),
    "pairs that are ignored": lambda: (
        without_some(arm("box hull", "other ")),
        "other tip",
    ),
    "another frame": lambda: (arm("box cylinder"), "link2"),
}


@pytest.fixture(scope="module")
def warm():
    """Each kind of call once, in a world with all kinds of bodies."""
    C = arm(ALL_KINDS)
    certified_path(C, "tip").clearance()
    pose(C, "tip")


@pytest.fixture
def compiled(caplog):
    """Return the messages about programs compiled so far in this test."""
    caplog.set_level(logging.WARNING, "jax")
    with jax.log_compiles():
        yield lambda: [
            r.getMessage() for r in caplog.records if "XLA comp" in r.getMessage()
        ]


@pytest.mark.long
@pytest.mark.parametrize("name", WORLDS)
def test_other_worlds_compile_nothing(warm, compiled, name):
    solution = certified_path(*WORLDS[name]())
    assert solution.feasible
    solution.clearance()
    assert pose(*WORLDS[name]()).feasible
    assert compiled() == []


def reaching(C: pw.Config) -> pw.KOMO:
    komo = pw.KOMO(C, 1, 4, 1)
    komo.add_control_objective(1, 0.1)
    place = (0.5, -0.6, 0.0)
    komo.add_objective([1.0], FS.position, ["tip"], OT.eq, target=place)
    komo.add_objective([], FS.accumulatedCollisions, [], OT.eq, margin=0.01)
    return komo


@pytest.mark.slow
def test_problems_of_a_batch_may_have_different_scenes(warm):
    # The last one has more than 64 frames.
    scenes = ["box", "hull cylinder sphere", "plane", "table box", "box " * 60]
    worlds = [arm(scene) for scene in scenes]
    began = total_compile_seconds()
    together = reaching(worlds[0]).solve_batch(worlds=worlds, progress=False)
    assert sum(solution.feasible for solution in together) >= 4
    spent = total_compile_seconds() - began
    assert {solution.compile_seconds for solution in together} == {spent}
    for C, solution in zip(worlds, together, strict=True):
        alone = reaching(C).solve(progress=False)
        assert solution.feasible == alone.feasible
        np.testing.assert_allclose(solution.path, alone.path, atol=1e-6)


@pytest.mark.long
def test_worlds_with_other_joints_are_no_batch(warm):
    worlds = [arm("box"), arm("box", links=2)]
    with pytest.raises(pw.ObjectiveError, match="Problem 1 .*other joints"):
        reaching(worlds[0]).solve_batch(worlds=worlds, progress=False)


def parts_of(shapes: str) -> list[tuple[Any, list[float]]]:
    return [
        (SHAPES[shape], [0, 0, 0.05 * k, 1, 0, 0, 0])
        for k, shape in enumerate(shapes.split("+"))
    ]


def table_scene(cup: str, others: str, drawers: int = 0) -> pw.Config:
    """A cup of some shapes, a table, and objects of one or several shapes on it."""
    C = pw.Config()
    C.add_object("table", [pw.Box([1.0, 0.8, 0.04])], pose=[0, 0, 0.5, 1, 0, 0, 0])
    place = [0, 0, 1, 1, 0, 0, 0]
    C.add_object("cup", parts=parts_of(cup), pose=place, joint="free")
    for k, shapes in enumerate(others.split()):
        place = [0.25 * (k % 3) - 0.3, 0.3 * (k // 3) - 0.2, 0.62, 1, 0, 0, 0]
        C.add_object(f"other {k}", parts=parts_of(shapes), pose=place)
    for k in range(drawers):
        C.add_frame(f"drawer {k}", "other 0", shape=SHAPES["box"])
    return C


def placement(C: pw.Config) -> pw.Placement:
    near = pw.logic.NextTo("cup", "other 0") & ~pw.logic.InContactWith("cup", "other 1")
    constraints = [pw.logic.OnTopOf("cup", "table"), near]
    return pw.solve_placement(C, constraints, ["cup"], starts=4, progress=False)[0]


TABLES = {
    "boxes only": ("box", "box box", 0),
    "a cup of parts, more objects": (
        "cylinder+capsule",
        "ellipsoid box hull sphere capsule",
        0,
    ),
    "an object of several frames": ("hull", "cylinder sphere box", 2),
}


@pytest.fixture(scope="module")
def warm_placement():
    placement(table_scene("hull+cylinder+box", "hull+box cylinder+hull+box box", 3))


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_other_objects_compile_nothing(warm_placement, compiled, name):
    assert placement(table_scene(*TABLES[name])).feasible
    assert compiled() == []


def resting(C: pw.Config) -> pw.Placement:
    constraints = [pw.logic.OnTopOf("cup", "table"), pw.logic.Stable("cup")]
    constraints.append(pw.logic.InFoVOfAgent("cup", "viewer"))
    return pw.solve_placement(C, constraints, ["cup"], starts=4, progress=False)[0]


EYE = [0.3, -1.5, 1.2, 0.621, -0.154, 0.126, 0.758]


def seen_scene(cup: str, others: str, drawers: int = 0) -> pw.Config:
    C = table_scene(cup, others, drawers)
    C.annotations.add_camera("eye", pose=EYE)
    C.annotations.add_agent("viewer", base="eye", camera="eye")
    return C


@pytest.fixture(scope="module")
def warm_resting():
    scene = "hull+cylinder+box", "hull+box cylinder+hull+ellipsoid capsule box", 3
    resting(seen_scene(*scene))


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_other_objects_that_rest_and_are_seen_compile_nothing(
    warm_resting, compiled, name
):
    assert resting(seen_scene(*TABLES[name])).feasible
    assert compiled() == []


def pushed(shapes: str) -> pw.Solution:
    """A fixed object and one that may slide, with a contact force between them."""
    C = pw.Config()
    fixed, loose = shapes.split()
    C.add_object("fixed", parts=parts_of(fixed))
    place = [0.3, 0, 0, 1, 0, 0, 0]
    C.add_object("loose", parts=parts_of(loose), pose=place, joint="transX", mass=1.0)
    komo = pw.KOMO(C, 1, 1, 0)
    komo.add_contact([], "fixed", "loose", kind="complementary")
    return komo.solve(progress=False)


@pytest.mark.slow
def test_other_shapes_in_contact_compile_nothing(compiled):
    assert pushed("box+cylinder+hull+sphere box+cylinder+hull").feasible
    before = len(compiled())
    for shapes in ("box box", "hull sphere", "ellipsoid+box cylinder+box"):
        assert pushed(shapes).feasible
    assert len(compiled()) == before


def learnt(cup: pw.Pose, weights: dict[str, Any]) -> Any:
    return weights["out"] @ jnp.tanh(weights["in"] @ cup.p)


def weighed(seed: int, nearness=0.9, target=0.2, scale=1.0, gap=0.01) -> pw.Placement:
    """Place a cup by a learnt cost, a predicate and features, with their numbers."""
    rng = np.random.default_rng(seed)
    weights = {"in": rng.normal(size=(5, 3)), "out": rng.normal(size=(2, 5))}
    cost = pw.Feature(learnt, ["cup"], params=weights)
    pair = ["cup", "other 0"]
    constraints = [
        pw.logic.NextTo(*pair, nearness=nearness),
        (cost, OT.sos),
        (pw.Feature(FS.positionDiff, pair, target=[target, 0, 0], scale=scale), OT.sos),
        (pw.Feature(FS.distance, pair, target=-gap), OT.ineq),
        (pw.Feature(FS.insideBox, ["cup", "table"], margin=gap), OT.sos),
    ]
    C = table_scene("cylinder", "box")
    return pw.solve_placement(C, constraints, ["cup"], starts=3, progress=False)[0]


@pytest.mark.long
def test_other_numbers_of_placements_compile_nothing(compiled):
    places = [weighed(0).poses["cup"]]
    before = len(compiled())
    for changes in (
        {"seed": 1},
        {"seed": 0, "nearness": 0.8},
        {"seed": 0, "target": 0.3},
        {"seed": 0, "scale": 2.0},
        {"seed": 0, "gap": 0.03},
    ):
        places.append(weighed(**changes).poses["cup"])
    assert len(compiled()) == before
    assert all(np.abs(place - places[0]).max() > 1e-5 for place in places[1:])
