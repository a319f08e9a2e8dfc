"""Rows of rooms, floors, sight and grasps; scenes are those of `relaxed_scenes`."""

import jax
import numpy as np
import pytest
from helpers.relaxed_scenes import (
    SHAPES,
    ahead,
    anywhere,
    at,
    between,
    judged,
    states,
    violations,
    world,
)

import posewise as pw
from posewise import PosewiseError, logic
from posewise.compilation import private_jax
from posewise.compilation.single_kernel import is_single_kernel_compatible
from posewise.logic.relaxed.constraint_terms import inequalities
from posewise.objectives.placement.hints import start_region

ERROR = 2e-3
PREDICATES = {
    "OnFloor": (logic.OnFloor("a", "kitchen_0"), anywhere),
    "OnFloor, igibson": (
        logic.OnFloor("a", "kitchen_0", semantics="igibson"),
        anywhere,
    ),
    "OnFloor, document": (
        logic.OnFloor("a", "kitchen_0", semantics="document"),
        anywhere,
    ),
    "OnFloor, of no room": (logic.OnFloor("a", "ground"), anywhere),
    "InRoom": (logic.InRoom("a", "kitchen"), anywhere),
    "InRoom, igibson": (logic.InRoom("a", "hall", semantics="igibson"), anywhere),
    "InSameRoomAsAgent": (logic.InSameRoomAsAgent("a", "robot"), anywhere),
    "InSameRoomAsAgent, igibson": (
        logic.InSameRoomAsAgent("a", "robot", semantics="igibson"),
        anywhere,
    ),
    "InFoVOfAgent": (logic.InFoVOfAgent("a", "robot"), ahead),
    "InHandOfAgent": (logic.InHandOfAgent("a", "robot"), between),
}
TOLD = {("InFoVOfAgent", True): 0.8, ("InFoVOfAgent", False): 0.8} | {
    ("InHandOfAgent", False): 0.9
}
"""Shares of the true scenes that rows tell, where they tell less than all."""


def check_sound(name, predicate, truth, count):
    statement, draw = PREDICATES[predicate]
    violation = violations(name, draw, statement, count, truth)
    true = judged(name, draw, statement, count) == truth
    assert np.isfinite(violation).all()
    assert true[violation <= 0].all()
    assert (violation[true] <= ERROR).mean() >= TOLD.get((predicate, truth), 0.99)
    assert true.any()


@pytest.mark.long
@pytest.mark.sampled("InFoVOfAgent-True")
@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("predicate", PREDICATES)
def test_sound(predicate, truth):
    check_sound("box", predicate, truth, 60)


@pytest.mark.slow
@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("name", SHAPES)
def test_sound_in_five_hundred_scenes(name, predicate, truth):
    check_sound(name, predicate, truth, 500)


def afar():
    """a is behind the robot, in the hall, 2 m away and 1 m up."""
    C = world("box").copy()
    C.set_pose("a", at(1.3, -0.3, 1.0))
    C.q = np.where(np.isin(np.arange(C.nq), C.joints.coordinates(["robot"])), 0, C.q)
    C.set_joint("robot", [-0.7, -0.2, 3.0])
    return C


ROWS = ["OnFloor", "InRoom", "InSameRoomAsAgent", "InFoVOfAgent", "InHandOfAgent"]


@pytest.mark.sampled
@pytest.mark.parametrize("predicate", ROWS)
def test_all_can_be_one_kernel(predicate):
    C = world("box")
    statement, draw = PREDICATES[predicate]
    poses = C.forward_pass(states("box", draw, 60)[0]).frames
    for truth in (True, False):
        for row in inequalities(statement.relaxed(C, truth), C):
            g = row.feature.bind(C)
            fn = lambda R, p, params, g=g: g.symbol.fn(R, p, **params)
            make = jax.make_jaxpr(jax.jacrev(fn, (0, 1)))
            jaxpr = make(poses.R[g.frames], poses.p[g.frames], g.params).jaxpr
            needed, _ = private_jax.dce_jaxpr(jaxpr, True, instantiate=True)
            assert is_single_kernel_compatible(needed)


@pytest.mark.slow
@pytest.mark.parametrize("predicate", ROWS)
def test_derivatives(predicate):
    """They are those of differences, and none is lost where a is far away."""
    statement, draw = PREDICATES[predicate]
    C, rng = afar(), np.random.default_rng(1)
    for r in inequalities(statement.relaxed(C), C):
        y, J = r.feature.eval(C)
        assert np.isfinite(J).all() and (np.abs(J[y > 0]).max(1) > 1e-2).all()
        f = jax.jit(r.feature.function(C))
        for q in states("box", draw, 60)[1::6]:  # turned, where kinks are rare
            y, J = r.feature.eval(C, q)
            np.testing.assert_allclose(y, f(q), atol=1e-9)
            step = 1e-6 * rng.normal(size=C.nq)
            change = np.asarray(f(q + step) - f(q - step)) / 2
            np.testing.assert_allclose(J @ step, change, atol=2e-9)


def check_found(C, statements, movable, starts=2):
    placements = pw.solve_placement(
        C, statements, movable, starts=starts, progress=False
    )
    assert placements[0].feasible, placements[0].message
    D = C.copy()
    placements[0].apply(D)
    for statement in statements:
        assert statement.holds(D), statement.explain(D)


@pytest.mark.slow
def test_from_two_metres_away_into_view_on_the_floor():
    floor, in_view = PREDICATES["OnFloor"][0], PREDICATES["InFoVOfAgent"][0]
    check_found(afar(), [floor, in_view], ["a"])


@pytest.mark.slow
@pytest.mark.parametrize("predicate", sorted({*ROWS} - {"InSameRoomAsAgent"}))
def test_found_from_two_metres_away(predicate):
    C = afar()
    if predicate == "InHandOfAgent":  # fingers as wide apart as a is
        C.q = np.where(
            np.isin(np.arange(C.nq), C.joints.coordinates(["left"])), 0.06, C.q
        )
    check_found(C, [PREDICATES[predicate][0]], ["a"])


@pytest.mark.slow
def test_another_room_is_found_where_the_robot_stays_out_of_the_nearest():
    C = afar()
    C.set_joint("robot", [-0.2, -0.7, 3.0])  # in the kitchen, by the hall
    check_found(C, [PREDICATES["InSameRoomAsAgent"][0]], ["a"], starts=1)


@pytest.mark.slow
@pytest.mark.parametrize("predicate", ROWS)
def test_negation_is_found(predicate):
    statement, draw = PREDICATES[predicate]
    C = world("box").copy()
    truths = judged("box", draw, statement, 60)
    C.q = states("box", draw, 60)[np.flatnonzero(truths)[0]]
    assert statement.holds(C)
    check_found(C, [~statement], ["a"])


def test_sizes_are_data():
    """Worlds that differ in sizes, maps and cameras share their programs."""
    C = world("box")
    D = C.copy()
    D.set_shape("a", pw.Box([0.3, 0.2, 0.1]))
    D.annotations.rooms = pw.RoomMap([pw.Room("kitchen_0", cells=[0, 0, 4, 3])], size=9)
    for statement, _ in PREDICATES.values():
        if "kitchen" in repr(statement) or "InFoV" in repr(statement):
            mine, other = (list(inequalities(statement.relaxed(X), X)) for X in (C, D))
            for x, y in zip(mine, other, strict=True):
                assert x.feature.bind(C).symbol is y.feature.bind(D).symbol


NOT_SEEN = {  # places before a camera of 3 x 3 pixels with slopes -2/3, 0 and 2/3
    "between columns": (pw.Box([0.1, 0.2, 0.8]), at(1, 0.33, 0), True),
    "between rows": (pw.Ellipsoid([0.1, 0.8, 0.2]), at(1, 0, -0.33), True),
    "in a column": (pw.Box([0.1, 0.2, 0.8]), at(1, 0.05, 0), False),
    "around the camera": (pw.Box([0.5, 0.5, 0.5]), at(0.1, 0, 0), True),
    "across the near plane": (pw.Box([0.1, 0.5, 0.5]), at(0.1, 0, 0), True),
    "behind the near plane": (pw.Box([0.1, 0.5, 0.5]), at(0.2, 0, 0), False),
}


@pytest.mark.parametrize("name", NOT_SEEN)
def test_what_is_in_the_frustum_and_not_seen(name):
    shape, pose, unseen = NOT_SEEN[name]
    C = pw.Config()
    C.add_frame("a", shape=shape, pose=pose)
    C.add_frame("head")
    C.annotations.add_camera("eyes", "head", width=3, height=3)
    C.annotations.add_agent("robot", base="head", camera="eyes")
    statement = ~logic.InFoVOfAgent("a", "robot")
    assert statement.holds(C) == unseen == (statement.violation(C) <= 0)
    (row,) = inequalities(statement.relaxed(C), C)
    assert np.isfinite(row.feature.eval(C)[0]).all()


WALLS = {
    "a wall": (pw.Box([0.02, 0.6, 0.6]), 0.5, True),
    "a ball": (pw.Sphere(0.2), 0.5, True),
    "a wall before the near plane": (pw.Box([0.02, 0.6, 0.6]), 0.05, False),
    "a wall around the camera": (pw.Box([0.4, 0.6, 0.6]), 0.0, False),
    "a wall through the near plane": (pw.Box([0.4, 0.6, 0.6]), 0.25, False),
    "a narrow wall": (pw.Box([0.02, 0.06, 0.6]), 0.5, False),
    "a wall behind it": (pw.Box([0.02, 0.6, 0.6]), 1.2, False),
}
"""A wall, its distance from the camera [m], and whether it hides a box at 1 m."""


@pytest.mark.parametrize("name", WALLS)
def test_what_a_wall_hides_is_not_seen(name):
    wall, distance, hidden = WALLS[name]
    C = pw.Config()
    C.add_frame("a", shape=pw.Box([0.2, 0.2, 0.2]), pose=at(1, 0, 0))
    C.add_frame("wall", shape=wall, pose=at(distance, 0, 0))
    C.add_frame("head")
    C.annotations.add_camera("eyes", "head", width=65, height=65)
    C.annotations.add_agent("robot", base="head", camera="eyes")
    statement = ~logic.InFoVOfAgent("a", "robot")
    assert statement.holds(C) == hidden == (statement.violation(C) <= 0)


@pytest.mark.long
def test_placements_hide_behind_walls():
    C = pw.Config()
    C.add_frame("shelf", shape=pw.Box([0.4, 0.5, 0.04]), pose=at(1.2, 0, -0.02))
    C.add_frame("wall", shape=pw.Box([0.02, 0.3, 0.3]), pose=at(1.1, 0, 0.15))
    box = pw.Box([0.08, 0.06, 0.1])
    C.add_frame("a", joint="free", shape=box, pose=at(1.05, 0, 0.05))
    C.annotations.add_camera("eyes", pose=at(0, 0, 0.2), width=65, height=65)
    C.annotations.add_agent("robot", base="shelf", camera="eyes")
    predicates = [logic.OnTopOf("a", "shelf"), ~logic.InFoVOfAgent("a", "robot")]
    (best, *_) = pw.solve_placement(C, predicates, ["a"], progress=False)
    best.apply(C)
    assert best.feasible and all(p.holds(C) for p in predicates)


def test_walls_tell_rooms():
    """Distances to walls have the sign of what cells say, truncated or not."""
    from posewise.logic.geometry.rooms import room_walls
    from posewise.logic.relaxed.rooms import depth_inside

    C, rng = world("box"), np.random.default_rng(2)
    points = rng.uniform(-3, 3, (3000, 2))
    for k, room in enumerate(C.annotations.rooms.rooms):
        for truncate in (False, True):
            about = room_walls(
                C.annotations.rooms, C.annotations.rooms.labels == k, truncate
            )
            depth = jax.jit(jax.vmap(depth_inside, (0, None)))(points, about)
            mine = [C.annotations.rooms.room_at(xy, truncate) is room for xy in points]
            np.testing.assert_array_equal(np.asarray(depth) > 0, mine)


@pytest.mark.parametrize("name", [*SHAPES, "rounded", "egg", "thin"])
def test_sight_targets_are_within_parts(name):
    """So are the ellipsoids and the polyhedra that rays are to hit."""
    from posewise.logic.relaxed.sight.targets import sight_targets
    from posewise.robots.contact.ray_casting import intersect_lines

    more = {
        "rounded": pw.Box([0.2, 0.1, 0.05], 0.02),
        "egg": pw.Ellipsoid([0.1, 0.05, 0.03]),
        "thin": pw.Box([0.3, 0.2, 0.001]),
    }
    parts = SHAPES.get(name) or [(more[name], [0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5])]
    C, rng = pw.Config(), np.random.default_rng(3)
    C.add_object("a", parts)
    frame = C.frames[C.index("a")]
    owners, targets = sight_targets([frame])
    assert len(owners) >= 7

    def contains(points):
        lines = np.ones_like(points)
        enter, leave = intersect_lines(frame, points, lines)
        return ((enter <= 1e-9) & (leave >= -1e-9)).any(1)

    assert contains(targets.point).all()
    for k in range(len(owners)):
        axes, centre, semi = targets.axes[k], targets.centre[k], targets.semi_axes[k]
        unit = rng.normal(size=(200, 3))
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        assert contains(centre + (1 - 1e-9) * unit * semi @ axes).all()
        within = rng.uniform(-1, 1, (500, 3)) * targets.box_half[k]
        points = targets.box_centre[k] + within @ axes
        planes = targets.planes[k]
        inside = (points @ planes[:, :3].T <= planes[:, 3]).all(1)
        assert inside.mean() > 0.1 and contains(points[inside]).all()


CONSTANT = {
    "the room itself": (lambda C: logic.InRoom("hall", "hall"), True),
    "listed": (lambda C: logic.InRoom("a", "kitchen", semantics="igibson"), True),
    "not listed": (lambda C: logic.InRoom("a", "hall", semantics="igibson"), False),
    "attached": (lambda C: logic.InHandOfAgent("a", "robot"), True),
    "no joint": (lambda C: logic.Open("a"), False),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", CONSTANT)
def test_what_no_pose_changes(name):
    ask, truth = CONSTANT[name]
    C = world("box").copy()
    C.attach("hand", "a")
    C.frame("a").attributes["in_rooms"] = ["kitchen_0"]
    statement = ask(C)
    assert statement.holds(C) is truth
    assert statement.violation(C) == (-1 if truth else 1)
    assert (~statement).violation(C) == (1 if truth else -1)


def test_where_to_look():
    C = afar()
    for statement, _ in PREDICATES.values():
        box = start_region(statement, C, "a")
        assert box is None or (box.shape == (2, 3) and (box[0] <= box[1]).all())
        assert start_region(statement, C, "ball") is None
    kitchen = start_region(PREDICATES["OnFloor"][0], C, "a")
    np.testing.assert_allclose(kitchen, [[-2.5, -2.5, 0], [0.5, 2.0, 0.08]])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda C: logic.InHandOfAgent("a", "robot", semantics="igibson"),
            "no pose changes: attach it",
        ),
        (lambda C: logic.InFoVOfAgent("ground", "robot"), "thick enough to be seen"),
        (lambda C: logic.InFoVOfAgent("a", "hand"), "has no camera"),
        (lambda C: logic.OnFloor("a", "kitchen_7"), "did you mean 'kitchen_"),
        (lambda C: logic.InRoom("a", "cellar"), "cellar"),
    ],
)
def test_what_cannot_be(ask, message):
    C = world("box")
    with pytest.raises(PosewiseError, match=message):
        ask(C).violation(C)
