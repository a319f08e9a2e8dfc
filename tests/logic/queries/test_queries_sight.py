"""Visible and Occluding: against MuJoCo's rays, PyCRAM's scenes, and sound rows."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.predicate_scenes import at, built_once
from helpers.sight_scenes import before_camera, counted, image_rays, random_states

import posewise as pw
from posewise import PosewiseError, logic
from posewise.logic.queries.pixel_visibility import count_pixels
from posewise.logic.relaxed.constraint_terms import inequalities

SEEN, CLEAR = logic.Visible("milk", "eyes"), ~logic.Occluding("milk", "eyes")


def scene(*cubes, edge=1.0, camera=None) -> pw.Config:
    """Cubes along x before a camera in the origin."""
    C = pw.Config()
    C.annotations.add_camera("eyes", pose=at() if camera is None else camera)
    for i, x in enumerate(cubes):
        C.add_object(f"cube{i}", [(pw.Box([edge] * 3), None)], pose=at(x))
    return C


@built_once
def kitchen() -> pw.Config:
    """A robot in the origin looks over an island at a milk; a cereal is beside."""
    C = pw.Config()
    C.add_frame("base", shape=pw.Cylinder(1.0, 0.2), position=[0, 0, 0.5])
    C.add_frame("torso", "base", position=[0, 0, 0.5], shape=pw.Sphere(0.1))
    C.annotations.add_camera("eyes", "torso", position=[0.2, 0, 0.2], near=0.05)
    C.annotations.add_agent("robot", base="base", camera="eyes")
    C.add_object("island", [(pw.Box([0.5, 2.0, 1.4]), None)], pose=at(2.2, z=0.7))
    box = pw.Box([0.06, 0.06, 0.2])
    C.add_object("milk", [(box, None)], pose=at(1.5, 0, 1.2), joint="free")
    C.add_object("cereal", [(box, None)], pose=at(1.3, 0.7, 0.95), joint="free")
    return C


@pytest.mark.parametrize("legacy", [False, True])
def test_pycrams_scenes(legacy):
    C = kitchen()
    assert logic.visible(C, "milk", "robot", legacy=legacy)
    assert logic.occluding(C, "milk", "robot", legacy=legacy) == []
    C.set_pose("milk", at(3, 0, 1.2))
    assert logic.occluding(C, "milk", "robot", legacy=legacy) == ["island"]
    assert not logic.visible(C, "milk", "robot", legacy=legacy)
    C = scene(3.0, 10.0)
    assert logic.occluding(C, "cube1", "eyes", legacy=legacy) == ["cube0"]
    assert logic.occluding(scene(3.0), "cube0", "eyes", legacy=legacy) == []


def test_a_pose_looks_along_an_axis():
    C = scene(3.0)
    C.set_pose("cube0", at(0, 3.0))
    assert not logic.visible(C, "cube0", at())
    assert logic.visible(C, "cube0", at(), front_facing_axis=[0, 1, 0])
    assert logic.visible(C, "cube0", at(yaw=np.pi / 2))
    assert logic.occluding(C, "cube0", at(yaw=np.pi / 2)) == []


def test_the_robots_own_body_does_not_count_in_pycrams_rule():
    C = kitchen()
    C.add_frame("blinker", "torso", position=[0.6, 0, 0.2], shape=pw.Sphere(0.04))
    C.set_pose("milk", at(*(C.pose("eyes")[:3] + [1.3, 0.1, 0])))
    shares = [
        count_pixels(C, "milk", "eyes", legacy).visible_fraction
        for legacy in (False, True)
    ]
    assert 0 < shares[0] < 0.9 and shares[1] == 1
    assert logic.occluding(C, "milk", "eyes") == ["robot"]
    assert logic.occluding(C, "milk", "eyes", legacy=True) == []


THRESHOLDS = [  # half of a cube is hidden
    (0.0, False, True),
    (0.4, True, True),
    (0.6, False, False),
]


@pytest.mark.parametrize(("threshold", "legacy", "plain"), THRESHOLDS)
def test_thresholds(threshold, legacy, plain):
    C = scene(4.0)
    C.add_frame("wall", pose=at(2.0, 2.0), shape=pw.Box([0.1, 4.0, 4.0]))
    ask = lambda rule: logic.visible(
        C, "cube0", "eyes", threshold=threshold, legacy=rule
    )
    assert (ask(True), ask(False)) == (legacy, plain)
    assert logic.Visible("cube0", "eyes").pixel_counts(
        C
    ).visible_fraction == pytest.approx(0.5, abs=0.01)


def test_small_things_are_looked_at_closely():
    C = scene(50.0, edge=0.02)
    assert logic.Visible("cube0", "eyes").holds(C)
    assert not logic.Visible("cube0", "eyes", legacy=True).holds(C)


def check_against_mujoco(states, pixels):
    C = before_camera().copy()
    for q in states:
        C.q = q
        for name in ("milk", "can"):
            look = count_pixels(C, name, "eyes", True)
            alone, visible, hidden = counted(C, name, image_rays(C, 256))
            assert (
                abs(look.unoccluded - alone) <= 2 and abs(look.visible - visible) <= 2
            )
            for other in {*look.occluded_by, *hidden}:
                assert abs(look.occluded_by.get(other, 0) - hidden.get(other, 0)) <= 2
            alone, visible, hidden = counted(C, name, image_rays(C, pixels))
            if alone > 1000:
                close = count_pixels(C, name, "eyes", False)
                assert abs(close.visible_fraction - visible / alone) < 0.03


def test_pixels_agree_with_mujoco():
    pytest.importorskip("mujoco")
    check_against_mujoco(random_states(2, seed=1), 512)


@pytest.mark.slow
def test_pixels_agree_with_mujoco_in_100_scenes():
    pytest.importorskip("mujoco")
    check_against_mujoco(random_states(100, seed=2), 512)


@cache
def rows(statement):
    """Its worst row for many states."""
    C = before_camera()
    (row,) = inequalities(statement.relaxed(C), C)
    worst = row.feature.function(C)
    return jax.jit(jax.vmap(lambda q: jnp.max(worst(q))))


@pytest.mark.long
def test_rows_are_sound():
    C, states = before_camera().copy(), random_states(40)
    violation = np.asarray(rows(SEEN)(states))
    assert np.isfinite(violation).all()
    certified = np.flatnonzero(violation <= 0)
    assert len(certified) >= 5 and 0 in certified % 3
    for k in certified[:8]:
        C.q = states[k]
        assert SEEN.pixel_counts(C).visible_fraction >= 0.8


@pytest.mark.slow
def test_rows_are_sound_in_600_scenes():
    states, C = random_states(600, seed=3), before_camera().copy()
    visible, clear = (np.asarray(rows(s)(states)) for s in (SEEN, CLEAR))
    assert np.isfinite(visible).all() and np.isfinite(clear).all()
    complete = 0
    for q, all_seen, all_clear in zip(states, visible, clear, strict=True):
        C.q = q
        look = SEEN.pixel_counts(C)
        assert look.visible_fraction >= 0.8 or all_seen > 0
        assert not look.occluded_by or all_clear > 0
        complete += look.visible_fraction > 0.99
    assert (visible <= 0).sum() > 0.5 * complete > 50


PARTLY = {
    "beyond the edge of the image": (at(1.0, 0.75), 0.4, True),
    "beyond the edge, hidden a little": (at(1.0, 0.65), 0.4, True),
    "around the near plane": (at(0.3, 0.35), 0.5, True),
    "out of view": (at(1.0, 1.5), 0.4, False),
    "around the camera": (at(), 0.5, False),
    "behind": (at(-1.0), 0.4, False),
}
"""Places of a cube, its edge, and whether it is seen: the image has slopes up to 1,
and starts at 0.1 m."""


@pytest.mark.parametrize("name", PARTLY)
def test_what_is_partly_in_the_image_is_told(name):
    pose, edge, is_seen = PARTLY[name]
    C = scene(0.0, edge=edge)
    C.set_pose("cube0", pose)
    if "hidden" in name:  # by what it touches
        post = pw.Box([0.05, 0.4, 0.008])
        C.add_frame("post", pose=at(0.81, 0.65, -0.198), shape=post)
    statement = logic.Visible("cube0", "eyes")
    assert statement.holds(C) == is_seen == (statement.violation(C) <= 0)
    hidden = logic.Occluding("cube0", "eyes").holds(C)
    assert hidden == ("hidden" in name)
    assert np.isfinite(
        next(inequalities(statement.relaxed(C), C)).feature.eval(C)[1]
    ).all()


def test_rows_have_right_derivatives():
    C, rng = before_camera().copy(), np.random.default_rng(0)
    feature = next(inequalities(SEEN.relaxed(C), C)).feature

    def value(q):
        C.q = q
        return feature.eval(C)[0]

    assert np.isfinite(feature.eval(C)[1]).all()  # of objects that coincide
    for q in random_states(5, seed=4):
        C.q = q
        J = feature.eval(C)[1]
        assert np.isfinite(J).all()
        step = 1e-6 * rng.normal(size=C.nq)
        change = (value(q + step) - value(q - step)) / 2
        smooth = np.abs(J @ step - change) < 1e-9
        assert smooth.mean() > 0.9  # the others are at kinks


@pytest.mark.slow
def test_a_camera_finds_what_it_shall_see():
    """From behind a wall, and from where it looks away."""
    C = pw.Config()
    C.add_frame("floor", shape=pw.Plane())
    wall = pw.Box([0.1, 1.0, 2.0])
    C.add_object("wall", [(wall, None)], pose=at(1.0, z=1.0))
    milk = [(pw.Box([0.1, 0.1, 0.25]), None)]
    C.add_object("milk", milk, pose=at(2.0, z=0.125))
    limits = [[-2.0, -2.0, -4.0], [4.0, 2.0, 4.0]]
    C.add_frame("cart", joint="transXYPhi", limits=limits)
    C.annotations.add_camera("eyes", "cart", position=[0, 0, 1.2], vertical_fov=1.2)
    komo = pw.KOMO(C)
    komo.add_control_objective(0, 1e-2)
    komo.add(SEEN)
    for yaw in (0.0, 1.5):
        C.q = [0.0, 0.1, yaw]
        assert not SEEN.holds(C)
        solution = komo.solve(starts=4, progress=False)
        C.q = solution.q
        assert solution.feasible and SEEN.holds(C), SEEN.explain(C)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda C: logic.Visible("milk", 3), "camera is 3, expected a name"),
        (lambda C: logic.Visible("milk", "eyes", threshold=2), "threshold is 2"),
        (lambda C: logic.Visible("floor", "eyes").violation(C), "is a plane"),
        (lambda C: logic.visible(C, "dot", "eyes"), "no shape that rays of light"),
        (lambda C: logic.visible(C, "mlk", "eyes"), "did you mean 'milk'"),
        (lambda C: logic.visible(C, "milk", "eye"), "did you mean 'eyes'"),
        (lambda C: logic.visible(C, "head", "eyes"), "'head' has no shape"),
        (lambda C: logic.visible(C, "milk", [1, 2]), "shape .2,., expected .7,."),
        (lambda C: logic.visible(C, "milk", "eyes", [1, 0, 0]), "looks along its x"),
        (lambda C: logic.visible(C, "milk", at(), [0, 0, 0]), "expected a direction"),
        (lambda C: logic.Occluding("milk", "eyes", by="cn").occluders(C), "mean 'can'"),
        (lambda C: (~SEEN).violation(C), "can only be checked"),
        (lambda C: logic.Occluding("milk", "eyes").violation(C), "only be checked"),
    ],
)
def test_what_cannot_be(ask, message):
    C = before_camera()
    C.add_frame("dot", shape=pw.Marker())
    with pytest.raises(PosewiseError, match=message):
        ask(C)


@pytest.mark.slow
def test_what_is_too_thin_is_not_certified():
    """Rays might miss a wire; a compound without a rim is certified all the same."""
    C = scene()
    wire = (pw.Box([0.001, 0.001, 1.0]), [0, 0, 0, np.cos(0.4), np.sin(0.4), 0, 0])
    C.add_object("wire", [wire], pose=at(2.0))
    C.add_object("post", [wire, (pw.Box([0.05, 0.05, 0.5]), None)], pose=at(3.0, 1))
    assert logic.Visible("wire", "eyes").violation(C) > 0
    assert logic.Visible("post", "eyes").violation(C) <= 0
    assert logic.Visible("post", "eyes").holds(C)
    assert (~logic.Occluding("post", "eyes", by="wire")).violation(C) <= 0


def test_reasons():
    C = before_camera().copy()
    C.set_pose("milk", at(2.0, 0.0, 1.0))
    C.set_pose("board", at(1.0, 0.0, 1.0, np.pi / 2))
    for name in ("box", "can", "ball"):
        C.set_pose(name, at(-1, 0, 1))
    assert SEEN.explain(C) == (
        "0% of milk shows in eyes, which is not at least 80%; hidden by board."
    )
    assert logic.Occluding("milk", "eyes").explain(C).endswith("(65536 pixels).")
    assert CLEAR.holds(C) is False
    nothing = logic.Occluding("milk", "eyes", by="can").explain(C)
    assert nothing == "can hides none of milk from eyes."
    C.set_pose("milk", at(-2.0, 0.0, 1.0))
    assert "No pixel of eyes would show milk" in SEEN.explain(C)
