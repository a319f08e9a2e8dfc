"""Cavities and supports of objects: what they are, checked, and used as rows."""

import itertools
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.predicate_scenes import at, crate
from helpers.worlds import random_pose

import posewise as pw
from posewise import PosewiseError, logic
from posewise.logic.relaxed.constraint_terms import inequalities
from posewise.objectives.placement.hints import admits_poses
from posewise.robots.kinematics.transforms import axis_angle_to_quat, quat_to_matrix

LOW, HIGH = np.array([-0.19, -0.14, 0.01]), np.array([0.19, 0.14, 0.19])
SIX = [*([*n, h] for n, h in zip(np.eye(3), HIGH, strict=True)),
       *([*-n, -l] for n, l in zip(np.eye(3), LOW, strict=True))]  # fmt: skip
MIDDLE = at(z=0.1)
TILTED = np.array([*random_pose(np.random.default_rng(0))[:3], 0.9, 0.3, -0.1, 0.3])
INSIDE, ON_TOP = logic.InsideOf("item", "crate"), logic.OnTopOf("item", "crate")


@cache
def scene() -> pw.Config:
    """A crate with walls of 1 cm, turned, its inside and its floor annotated."""
    C = pw.Config()
    C.add_object("crate", crate(0.4, 0.3, 0.2), pose=TILTED, joint="free")
    C.annotations.add_region("crate", "room", size=HIGH - LOW, pose=MIDDLE)
    C.annotations.add_region(
        "crate", "floor", "support", size=[0.38, 0.28], pose=at(z=0.01)
    )
    C.add_object("item", [(pw.Box([0.1, 0.08, 0.06]), None)], joint="free")
    return C


def level() -> pw.Config:
    C = scene().copy()
    C.set_pose("crate", at(0.3, 0.2, 0.5, yaw=0.4))
    return C


def test_a_box_is_six_planes_and_eight_corners():
    C = scene().copy()
    by_size = C.annotations.regions[0]
    by_planes = C.annotations.add_region("crate", "same", planes=2 * np.array(SIX))
    order = lambda x: x[np.lexsort(np.round(x, 6).T)]
    for region in (by_size, by_planes):
        np.testing.assert_allclose(
            order(region.planes), order(np.array(SIX)), atol=1e-12
        )
        np.testing.assert_allclose(
            [region.corners.min(0), region.corners.max(0)], [LOW, HIGH]
        )
        assert region.corners.shape == (8, 3)
        np.testing.assert_allclose(region.inset(0.01).max(0), HIGH - 0.01)


def test_a_wedge_has_six_corners_and_a_triangle_faces_up():
    C = scene().copy()
    slanted = np.array([1.0, 0, 1, 0.1]) / np.sqrt(2)
    wedge = C.annotations.add_region(
        "crate", "wedge", planes=[*SIX[1:2], *SIX[3:], slanted]
    )
    assert wedge.corners.shape == (6, 3)
    triangle = [[0, 0, 0.01], [0.1, 0, 0.01], [0, 0.1, 0.01]]
    face = C.annotations.add_region("crate", "corner", "support", corners=triangle)
    np.testing.assert_allclose(face.planes, [[0, 0, 1, 0.01]], atol=1e-12)


def test_regions_go_along_with_copies_and_leave_with_their_object():
    C = scene().copy()
    C.annotations.add_region("crate", "more", size=[0.1] * 3, pose=MIDDLE)
    assert [r.name for r in C.annotations.regions] == ["room", "floor", "more"]
    assert [r.name for r in scene().annotations.regions] == ["room", "floor"]
    C.remove("crate")
    assert C.annotations.regions == ()


CROSSED = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
BENT = [[0, 0, 0], [1, 0, 0], [1, 1, 0.1], [0, 1, 0]]
BAD = [
    (("crate", "room"), dict(size=[1] * 3), "the name is taken"),
    (("crate", ""), dict(size=[1] * 3), "no name"),
    (("crat", "a"), dict(size=[1] * 3), "did you mean 'crate'"),
    (("crate", "a", "cavty"), dict(size=[1] * 3), "did you mean 'cavity'"),
    (("crate", "a"), {}, "either size"),
    (("crate", "a"), dict(size=[1] * 3, planes=SIX), "either size"),
    (("crate", "a"), dict(size=[1, 1]), "size of .* expected \\(3,\\)"),
    (("crate", "a"), dict(size=[1, 0, 1]), "expected lengths > 0"),
    (("crate", "a"), dict(planes=SIX[:5]), "unbounded"),
    (("crate", "a"), dict(planes=SIX[:3]), "4 <= n"),
    (("crate", "a"), dict(planes=[*SIX, [0, 0, 1, -1.0]]), "no point"),
    (("crate", "a"), dict(planes=[*SIX, [0, 0, 0, 1.0]]), "a normal is zero"),
    (("crate", "a"), dict(planes=SIX, pose=MIDDLE), "drop pose"),
    (("crate", "a"), dict(corners=np.eye(3)), "are for supports"),
    (("crate", "a"), dict(size=[1] * 3, frame="item"), "No part of 'crate' 'item'"),
    (("crate", "a", "support"), {}, "either size"),
    (("crate", "a", "support"), dict(planes=SIX), "are for cavities"),
    (("crate", "a", "support"), dict(corners=np.eye(3)[:2]), "n >= 3"),
    (("crate", "a", "support"), dict(corners=[[0, 0, 0]] * 3), "flat convex"),
    (("crate", "a", "support"), dict(corners=CROSSED), "flat convex"),
    (("crate", "a", "support"), dict(corners=BENT), "flat convex"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "options", "says"), BAD)
def test_what_is_no_region(names, options, says):
    C = scene().copy()
    with pytest.raises(PosewiseError, match=says):
        C.annotations.add_region(*names, **options)
    assert len(C.annotations.regions) == 2


WRONG = {
    "through a wall": (INSIDE, dict(size=[0.4, 0.2, 0.1], pose=MIDDLE)),
    "above the rim": (INSIDE, dict(size=[0.3, 0.2, 0.1], pose=at(z=0.2))),
    "in the air": (ON_TOP, dict(size=[0.2, 0.2], pose=at(z=0.02))),
    "upside down": (ON_TOP, dict(size=[0.2, 0.2], pose=[0, 0, 0.01, 0, 1, 0, 0])),
    "beyond an edge": (ON_TOP, dict(size=[0.5, 0.2], pose=at(z=0.01))),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_region_that_is_none_is_named_with_a_point(name):
    statement, options = WRONG[name]
    C = scene().copy()
    kind = "cavity" if statement is INSIDE else "support"
    C.annotations.add_region("crate", "wrong", kind, **options)
    with pytest.raises(PosewiseError, match=f"'wrong' of 'crate' is no {kind}.* point"):
        statement.violation(C)


def poses(C, count):
    """In and about the crate, half of them flat on its floor, or nearly."""
    rng = np.random.default_rng(1)
    crate = C.pose("crate")
    R = quat_to_matrix(crate[3:])
    local = rng.uniform(LOW - 0.1, HIGH + 0.1, (count, 3))
    local[::2, 2] = 0.04 + rng.normal(scale=1e-4, size=len(local[::2]))
    quats = rng.normal(size=(count, 4))
    for k in range(0, count, 2):
        turn = axis_angle_to_quat(np.array([0.0, 0, 1]), rng.uniform(-3, 3))
        quats[k] = pw.robots.kinematics.transforms.quat_multiply(crate[3:], turn)
    quats /= np.linalg.norm(quats, axis=1, keepdims=True)
    return np.concatenate([local @ R.T + crate[:3], quats], 1), local


def judged(C, statement, where, crates=None):
    """The worst of the rows of its region, and whether it holds.

    Args:
        C: the world.
        statement: with a region.
        where: poses of the item.
        crates: poses of the crate; None: as it is.
    """
    first = itertools.islice(inequalities(statement.relaxed(C), C), 2)
    rows = [r.feature.function(C) for r in first]
    q = np.tile(C.q, (len(where), 1))
    q[:, C.joints.coordinates(["item"])] = where
    if crates is not None:
        q[:, C.joints.coordinates(["crate"])] = crates
    worst = jax.jit(jax.vmap(lambda q: jnp.concatenate([f(q) for f in rows]).max()))
    truth = []
    for C.q in q:
        truth.append(statement.holds(C))
    return np.asarray(worst(q)), np.array(truth)


def test_rows_of_a_cavity_are_linear_and_sound():
    C = scene().copy()
    where, local = poses(C, 400)
    violations, truth = judged(C, INSIDE, where)
    assert truth[violations <= 0].all() and (violations <= 0).sum() > 50
    faces = np.array(SIX)
    np.testing.assert_allclose(
        violations, (local @ faces[:, :3].T - faces[:, 3]).max(1) + 1e-5, atol=1e-9
    )
    np.testing.assert_array_equal(
        admits_poses(INSIDE, C, "item", where), violations <= 0
    )


@pytest.mark.long
def test_rows_of_a_support_are_sound_and_let_things_stand():
    C = level()
    where, local = poses(C, 400)
    overturned = np.arange(400) >= 350
    flipped = at(*C.pose("crate")[:3]) @ np.diag([1, 1, 1, 0, 0, 0, 0]) + np.eye(7)[4]
    crates = np.where(overturned[:, None], flipped, C.pose("crate"))
    violations, truth = judged(C, ON_TOP, where, crates)
    assert truth[violations <= 0].all() and (violations <= 0).sum() > 20
    well = (np.abs(local[:, :2]) < HIGH[:2] - 2e-4).all(1) & ~overturned
    touching = np.abs(local[:, 2] - 0.04) < 2e-5
    flat = np.arange(len(local)) % 2 == 0
    assert (violations[well & touching & flat] <= 0).all()
    assert (violations[overturned] > 0).all()


@pytest.mark.sampled
@pytest.mark.parametrize(
    "statement",
    [logic.InsideOf("item", "bare"), logic.Under("item", "bare"),
     logic.OnTopOf("item", "bare", tolerance=10.0)],
)  # fmt: skip
def test_places_that_are_admitted_are_those_that_hold(statement):
    """Contact apart, which a tolerance of 10 m grants."""
    C = level()
    C.add_object("bare", crate(0.4, 0.3, 0.2), pose=C.pose("crate"))
    C.remove("crate")
    rng = np.random.default_rng(2)
    where = np.array([random_pose(rng) for _ in range(100)])
    where[:, :3] = C.pose("bare")[:3] + rng.uniform(-0.3, 0.3, (100, 3))
    admitted = admits_poses(statement, C, "item", where)
    truth = []
    for pose in where:
        C.set_pose("item", pose)
        truth.append(statement.holds(C))
    if isinstance(statement, logic.OnTopOf):
        assert np.array(truth)[admitted].all()
    else:
        np.testing.assert_array_equal(admitted, truth)
    assert 0 < admitted.sum() < 100
    assert admits_poses(statement, C, "bare", where).all()


def test_contacts_with_one_of_two_supports_need_hardly_any_overlap():
    """No more than a solver lets bodies overlap, whichever step it is."""
    C = pw.Config()
    middles, step = (at(), at(x=0.3, z=0.2)), pw.Box([0.3, 0.2, 0.02])
    C.add_object("stairs", [(step, middle) for middle in middles])
    for name, (x, _, z, *_) in zip(("lower", "upper"), middles, strict=True):
        top = at(x=x, z=z + 0.01)
        C.annotations.add_region("stairs", name, "support", size=[0.3, 0.2], pose=top)
    C.add_object("item", [(pw.Box([0.1, 0.08, 0.06]), None)], joint="free")
    for x, _, z, *_ in middles:
        C.set_pose("item", at(x=x, z=z + 0.04 - 1e-4))
        assert logic.OnTopOf("item", "stairs").violation(C) < 0


def test_supports_of_parts_that_move_are_not_used():
    """A drawer's bottom is certain only while the drawer stands still."""
    C = pw.Config()
    C.add_object("chest", [(pw.Box([0.5, 0.5, 0.1]), at(z=-0.2))])
    C.add_frame("drawer", "chest", joint="transX", limits=[[0.0], [0.3]])
    C.set_shape("drawer", pw.Box([0.4, 0.4, 0.02]))
    C.add_object("item", [(pw.Sphere(0.03), None)], joint="free")
    C.annotations.add_region(
        "chest", "bottom", "support", size=[0.4, 0.4], pose=at(z=0.01), frame="drawer"
    )
    count = lambda: len(
        list(inequalities(logic.OnTopOf("item", "chest").relaxed(C), C))
    )
    assert count() == 3
    C.lock("drawer")
    rows = inequalities(logic.OnTopOf("item", "chest").relaxed(C), C)
    names = [r.feature.bind(C).symbol.name for r in rows]
    assert "touching_support" in names


@pytest.mark.long
def test_a_cavity_whose_door_moves_is_one_wherever_the_door_is():
    C = pw.load("microwave")
    C.add_object("item", [(pw.Sphere(0.02), None)], joint="free")
    inside = logic.InsideOf("item", "microwave")
    rng = np.random.default_rng(0)
    door = C.joints.coordinates(["door_joint"])
    count = 0
    for angle in np.linspace(0, 1.7, 6):
        near = rng.uniform([-0.2, -0.15, 0], [0.25, 0.25, 0.3], (50, 3))
        C.q = np.where(np.arange(C.nq) == door, angle, C.q)
        violations, truth = judged(
            C, inside, np.pad(near, ((0, 0), (0, 4)), constant_values=1)
        )
        assert truth[violations <= 0].all()
        count += (violations <= 0).sum()
    assert count > 50


def test_what_nothing_encloses_is_no_cavity_and_not_used_while_a_door_moves():
    C = pw.Config()
    C.add_object("corner", [(pw.Box([0.02, 0.4, 0.4]), at(x=-0.2))])
    C.add_frame("door", "corner", joint="hingeZ", position=[-0.2, 0.2, 0])
    C.set_shape("door", pw.Box([0.4, 0.02, 0.4]))
    C.add_object("item", [(pw.Sphere(0.02), None)], joint="free")
    before = len(list(inequalities(logic.InsideOf("item", "corner").relaxed(C), C)))
    C.annotations.add_region("corner", "room", size=[0.1, 0.1, 0.1])
    relaxed = logic.InsideOf("item", "corner").relaxed
    assert len(list(inequalities(relaxed(C), C))) == before
    C.lock("door")
    with pytest.raises(PosewiseError, match="'room' of 'corner' is no cavity"):
        relaxed(C)


@pytest.mark.parametrize(
    ("statement", "collisions"),
    [(INSIDE, False), pytest.param(INSIDE & ON_TOP, True, marks=pytest.mark.slow)],
)
def test_a_thing_is_put_into_a_crate(statement, collisions):
    C = level()
    C.set_shape("item", pw.Sphere(0.03))
    C.set_pose("item", at(2, -1, 1))
    options = dict(starts=8, count=1, collisions=collisions, progress=False)
    best = pw.solve_placement(C, [statement], ["item"], **options)[0]
    assert best.feasible and best.solution.iterations < 20
    best.apply(C)
    assert statement.holds(C)
    if collisions:
        assert C.pose("item")[2] == pytest.approx(0.54, abs=2e-4)
        assert not C.collisions(margin=-1e-3)
