"""Presets of relations and of object motion against NumPy: rows at random poses."""

import numpy as np
import pytest
from helpers.worlds import random_pose

import posewise as pw
from posewise import OT, presets

SIZE, TOP = np.array([0.1, 0.14, 0.2]), np.array([0.8, 1.2, 0.04])
EYE = np.eye(3)


def scene() -> pw.Config:
    rng = np.random.default_rng(5)
    pose = lambda: random_pose(rng)
    C = pw.Config()
    C.add_frame("table", pose=pose(), shape=pw.Box(TOP))
    C.add_frame("box", joint="free", pose=pose(), shape=pw.Box(SIZE), mass=0.5)
    C.add_frame("ball", joint="free", pose=pose(), shape=pw.Sphere(0.05))
    C.add_frame("rod", joint="free", pose=pose(), shape=pw.Capsule(0.2, 0.03))
    C.add_frame("tip", joint="free", pose=pose(), shape=pw.Sphere(0.01))
    return C


def matrix(C, frame) -> np.ndarray:
    """R of a frame by the textbook formula."""
    w, v = C.pose(frame)[3], C.pose(frame)[4:]
    K = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2 * w * K + 2 * K @ K


def origin(C, frame) -> np.ndarray:
    return C.pose(frame)[:3]


def seen(C, a, b) -> np.ndarray:
    return matrix(C, b).T @ (origin(C, a) - origin(C, b))


def rows_of(C, preset, type) -> np.ndarray:
    komo = pw.KOMO(C, 1, 2)
    added = [o for o in komo.add(preset, [1.0]) if o.type is type]
    return np.concatenate([[], *(o.feature.eval(C)[0] for o in added)])


def face_rows(C, frame, box, half, axis, distance):
    k, plane = axis, [i for i in range(3) if i != axis]
    p, z = seen(C, frame, box), matrix(C, box).T @ matrix(C, frame)[:, 2]
    equal = [10 * (p[k] - distance), *z[plane]]
    sides = [s * p[i] - half[i] for s in (1, -1) for i in plane]
    return equal, [*(10 * s for s in np.array(sides)), -z[k]]


def touch_rows(C):
    gap = np.linalg.norm(origin(C, "tip") - origin(C, "ball")) - 0.06
    return [-10 * gap], []


def rod_rows(C):
    p, half = seen(C, "rod", "table"), TOP / 2
    lying = matrix(C, "rod")[:, 2] @ matrix(C, "table")[:, 2]
    sides = [s * p[i] - half[i] for s in (1, -1) for i in (0, 1)]
    return [10 * (p[2] - 0.05), lying], [10 * s for s in sides]


ROWS = {
    "touch": (presets.touch("tip", "ball"), touch_rows),
    "above": (
        presets.above("ball", "box"),
        lambda C: ([], [10 * (s * seen(C, "ball", "box")[i] - SIZE[i] / 2)
                        for s in (1, -1) for i in (0, 1)]),
    ),
    "inside": (
        presets.inside("ball", "box"),
        lambda C: ([], [10 * (s * seen(C, "ball", "box")[i] - SIZE[i] / 2 + 0.01)
                        for s in (1, -1) for i in (0, 1, 2)]),
    ),
    "same_position": (
        presets.same_position("tip", "ball"),
        lambda C: (10 * (origin(C, "tip") - origin(C, "ball")), []),
    ),
    "centered_along": (
        presets.centered_along("tip", "ball"),
        lambda C: ([10 * seen(C, "tip", "ball")[1]], []),
    ),
    "touch_face x": (
        presets.touch_face("tip", "box", "x"),
        lambda C: face_rows(C, "tip", "box", SIZE / 2, 0, SIZE[0] / 2),
    ),
    "touch_face z": (
        presets.touch_face("tip", "box", "z"),
        lambda C: face_rows(C, "tip", "box", SIZE / 2, 2, SIZE[2] / 2),
    ),
    "resting_on": (
        presets.resting_on("box", "table"),
        lambda C: face_rows(C, "box", "table", TOP / 2, 2, (SIZE[2] + TOP[2]) / 2),
    ),
    "resting_on y": (
        presets.resting_on("box", "table", "y"),
        lambda C: face_rows(C, "box", "table", TOP / 2, 1, (SIZE[2] + TOP[1]) / 2),
    ),
    "a rod": (presets.resting_on("rod", "table"), rod_rows),
    "vertical": (
        presets.vertical("tip"),
        lambda C: (10 * (matrix(C, "tip")[:, 2] - EYE[2]), []),
    ),
    "force_balance": (
        presets.force_balance("box"),
        lambda C: ([0, 0, 1, 0, 0, 0], []),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_what_numpy_says(name):
    preset, want = ROWS[name]
    C = scene()
    for type, rows in zip((OT.eq, OT.ineq), want(C), strict=True):
        np.testing.assert_allclose(rows_of(C, preset, type), rows, atol=1e-9)


ZERO = {
    "same_pose": (presets.same_pose("tip", "box"), [0, 0, 0, 1, 0, 0, 0]),
    "on_axis": (presets.on_axis("tip", "box", "y"), [0, 0.3, 0, 1, 0, 0, 0]),
}


@pytest.mark.parametrize("name", ZERO)
def test_rows_are_zero_where_they_should_be(name):
    preset, pose = ZERO[name]
    C = scene()
    assert np.abs(rows_of(C, preset, OT.eq)).max() > 0.1
    C.set_pose("tip", pose, relative_to="box")
    np.testing.assert_allclose(rows_of(C, preset, OT.eq), 0, atol=1e-9)


@pytest.mark.parametrize("height", [-1.0, 0.5])
def test_a_lift_costs_what_is_missing(height):
    C = scene()
    C.set_pose("tip", [0, 0, 0.1, 1, 0, 0, 0])
    rows = rows_of(C, presets.lift("tip", max(height, 0.0)), OT.sos)
    np.testing.assert_allclose(rows, 10 * max(height - 0.1, 0.0))
    assert pw.KOMO(C, 1, 1).add(presets.lift("tip")) == ()


def test_opposed_fingers():
    C = scene()
    C.add_frame("other", "ball", position=[0, 0.1, 0], shape=pw.Sphere(0.01))
    C.set_pose("tip", [0, -0.1, 0, 1, 0, 0, 0], relative_to="ball")
    preset = presets.oppose("tip", "other", "ball")
    np.testing.assert_allclose(rows_of(C, preset, OT.eq), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: presets.touch_face("tip", "box", "up"), "touch_face: axis"),
        (lambda: presets.resting_on("box", "table", "-z"), "resting_on: direction"),
        (lambda: presets.on_axis("tip", "box", "w"), "on_axis: axis"),
        (lambda: presets.centered_along("tip", "box", "w"), "centered_along: axis"),
        (lambda: presets.lift("tip", -1), "lift: height"),
        (lambda: presets.down_up("tip", -1), "down_up: acceleration"),
        (lambda: presets.damp_motion("tip", -1), "damp_motion: scale"),
        (lambda: rows_of(scene(), presets.touch_face("tip", "rod", "x"), OT.eq), "Box"),
        (
            lambda: rows_of(scene(), presets.resting_on("ball", "table"), OT.eq),
            "Sphere",
        ),
    ],
)
def test_mistakes_are_told(make, says):
    with pytest.raises(pw.PosewiseError, match=says):
        make()
