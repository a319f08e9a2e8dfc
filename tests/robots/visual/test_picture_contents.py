"""Contents of pictures: colours that stay, floors, labels, insides of containers."""

import numpy as np
import pytest

import posewise as pw
from posewise.robots.geometry.local_bounds import local_bounds
from posewise.robots.visual.containers import MAX_CONTAINER_OPACITY, hiding_frames
from posewise.robots.visual.drawn_scene import drawn_scene
from posewise.robots.visual.framing import framed_points
from posewise.robots.visual.labels import label_places, spread_labels
from posewise.robots.world.palette import body_colors, body_roots

pytest.importorskip("matplotlib", reason="pictures need the extra plot")


def colors(C: pw.Config) -> dict[str, tuple[float, ...]]:
    return dict(zip(C.frame_names, body_colors(C.frames), strict=True))


def arm_and_cups() -> pw.Config:
    C = pw.load("planar3")
    C.add_frame("shelf", shape=pw.Box([0.2, 0.2, 0.2]), position=[0, 1, 0])
    C.add_frame("vase", "shelf", shape=pw.Sphere(0.05), position=[0, 0, 0.2])
    for k in range(12):
        C.add_frame(f"cup{k}", joint="free", shape=pw.Sphere(0.1))
    return C


@pytest.mark.parametrize("order", [["cup1"], ["cup11", "cup0"], ["vase", "cup2"]])
def test_attached_bodies_keep_their_colours(order):
    C = arm_and_cups()
    before = colors(C)
    for name in order:
        C.attach(C.frame_names[3], name)
        assert colors(C) == before
    roots = dict(zip(C.frame_names, body_roots(C.frames), strict=True))
    assert all(roots[name] == C.index(name) for name in order)
    assert set(order) <= set(label_places(C, C.frame_names))
    C.detach(order[0])
    assert colors(C) == before
    C.add_frame("sticker", order[0], shape=pw.Sphere(0.01))
    assert colors(C)["sticker"] == before[order[0]]


def room(floor_width: float = 5.0) -> pw.Config:
    C = pw.Config()
    floor = pw.Box([floor_width, floor_width, 0.1])
    C.add_frame("floor", position=[1, 0, -0.05], shape=floor)
    C.add_frame("ball", joint="free", position=[0, 0, 0.3], shape=pw.Sphere(0.3))
    C.add_frame("table", position=[1.5, 0, 0.5], shape=pw.Box([0.8, 0.4, 1]))
    return C


@pytest.mark.parametrize(
    ("change", "low", "high"),
    [
        (lambda C: None, [-0.3, -0.3, 0], [1.9, 0.3, 1]),
        # A table that stands 2 cm in the floor.
        (
            lambda C: C.set_pose("table", [1, 0, 0.48, 1, 0, 0, 0]),
            [-0.3, -0.3, -0.02],
            [1.4, 0.3, 0.98],
        ),
        # What moves, or is above another body, is no floor.
        (lambda C: C.detach("floor"), [-1.5, -2.5, -0.1], [3.5, 2.5, 1]),
        (
            lambda C: C.set_pose("ball", [0, 0, -1, 1, 0, 0, 0]),
            [-1.5, -2.5, -1.3],
            [3.5, 2.5, 1],
        ),
    ],
)
def test_floors_do_not_set_the_frame(change, low, high):
    C = room()
    change(C)
    scene = drawn_scene(C, C.frame_names)
    np.testing.assert_allclose(scene.points.min(0), low, atol=1e-12)
    np.testing.assert_allclose(scene.points.max(0), high)
    # The floor is drawn in any case.
    assert np.ptp(scene.corners.reshape(-1, 3), axis=0)[0] == pytest.approx(5)


def test_narrow_boards_and_lonely_floors_are_framed():
    C = room(floor_width=1.9)
    assert np.ptp(framed_points(C.frames, [C.poses()])[:, 1]) == pytest.approx(1.9)
    D = pw.Config()
    D.add_frame("floor", shape=pw.Box([5, 5, 0.1]))
    assert np.ptp(framed_points(D.frames, [D.poses()])[:, 0]) == pytest.approx(5)


def cupboard(content: float) -> pw.Config:
    """A cupboard that is open to +x, with a ball in it at some x."""
    C = pw.Config()
    walls = [
        (pw.Box([0.4, 0.4, 0.02]), [0, 0, -0.2, 1, 0, 0, 0]),
        (pw.Box([0.4, 0.4, 0.02]), [0, 0, 0.2, 1, 0, 0, 0]),
        (pw.Box([0.4, 0.02, 0.4]), [0, -0.2, 0, 1, 0, 0, 0]),
        (pw.Box([0.4, 0.02, 0.4]), [0, 0.2, 0, 1, 0, 0, 0]),
    ]
    C.add_object("cupboard", walls)
    C.add_frame("back", "cupboard", position=[-0.2, 0, 0],
                shape=pw.Box([0.02, 0.4, 0.4]))  # fmt: skip
    C.add_frame("ball", joint="free", position=[content, 0, 0], shape=pw.Sphere(0.03))
    return C


@pytest.mark.parametrize(
    ("content", "eye", "hiding"),
    [
        (0.0, [1, 0, 0], set()),  # seen through the opening
        (0.0, [-1, 0, 0], {"back"}),
        (0.0, [0, -1, 0], {"cupboard"}),
        (0.0, [0, 0, 1], {"cupboard"}),
        (-0.6, [1, 0, 0], set()),  # behind the cupboard, not in it
    ],
)
def test_containers_open_where_they_hide_something(content, eye, hiding):
    C = cupboard(content)
    scene = drawn_scene(C, C.frame_names)
    indices = hiding_frames(C, scene, np.array(eye, float))
    assert {C.frame_names[i] for i in indices} == hiding


def test_what_is_in_a_container_is_seen_in_its_picture():
    C = cupboard(0.0)
    C.set_color("ball", [1, 0, 0])
    C.set_color("cupboard", [0, 0, 1])
    C.set_color("back", [0, 0, 1])
    (image,) = C.picture(view=(0, 180)).axes[0].get_images()
    picture = np.asarray(image.get_array())
    red, _, blue = picture[picture.shape[0] // 2, picture.shape[1] // 2]
    assert red > blue > 0.5 * MAX_CONTAINER_OPACITY


def test_labels_of_robots():
    C = pw.load("panda")
    top = label_places(C, C.frame_names)
    assert set(top) == {"panda"}
    # It stands over the base, wherever the arm is.
    C.q = C.q + 0.1
    moved = label_places(C, C.frame_names)
    np.testing.assert_allclose(moved["panda"], top["panda"], atol=1e-12)
    assert top["panda"][2] < 0.2
    assert label_places(pw.load("ur5e"), ["base_link"]) == {}
    D = pw.load("ur5e", prefix="left/")
    assert set(label_places(D, D.frame_names)) == {"left"}
    D.annotations.add_agent("worker", "left/base_link")
    assert set(label_places(D, D.frame_names)) == {"worker"}
    E = pw.load("ur5e", prefix="left/")
    E.add_frame("left", joint="free", shape=pw.Sphere(0.1))
    assert len(label_places(E, E.frame_names)) == 2


@pytest.mark.parametrize("seed", range(4))
def test_labels_do_not_overlap_and_stay_near(seed):
    rng = np.random.default_rng(seed)
    places = rng.uniform([200, 200], [320, 300], (12, 2))
    sizes = np.stack([rng.uniform(40, 120, 12), np.full(12, 14.0)], 1)
    moved = spread_labels(places, sizes, (540, 720))
    np.testing.assert_array_equal(moved[:, 0], places[:, 0])
    for i, j in zip(*np.triu_indices(12, 1), strict=True):
        away = np.abs(moved[i] - moved[j])
        assert (away >= (sizes[i] + sizes[j]) / 2 - 1e-9).any()
    assert np.abs(moved - places).max() <= 12 * 14
    lowest = places[:, 1].argmax()
    np.testing.assert_array_equal(moved[lowest], places[lowest])
    assert (moved[:, 1] <= 540).all() and (moved[:, 1] >= 14).all()


def test_labels_in_a_picture_do_not_overlap():
    C = pw.Config()
    names = [f"a_long_name_{k}" for k in range(6)]
    for k, name in enumerate(names):
        C.add_frame(name, position=[0, 0, 0.01 * k], shape=pw.Sphere(0.1))
    figure = C.picture(names=True)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert [text.get_text() for text in figure.axes[0].texts] == names
    for i, a in enumerate(boxes):
        assert a.count_overlaps(boxes[:i]) == 0


@pytest.mark.parametrize(
    ("shape", "half"),
    [
        (pw.Box([2, 4, 6]), [1, 2, 3]),
        (pw.Cylinder(2, 0.5), [0.5, 0.5, 1]),
        (pw.Capsule(2, 0.5), [0.5, 0.5, 1.5]),
        (pw.Ellipsoid([1, 2, 3]), [1, 2, 3]),
        (pw.Convex([[1, 1, 1], [-1, -1, -1]], 0.5), [1.5, 1.5, 1.5]),
        (pw.PointCloud([[1, 0, 1], [-1, 0, -1]], 0.25), [1.25, 0.25, 1.25]),
        (pw.Marker(0.2), [0.1, 0.1, 0.1]),
    ],
)
def test_boxes_about_shapes(shape, half):
    low, high = local_bounds(shape)
    np.testing.assert_allclose(high, half)
    np.testing.assert_allclose(low, -high)


def test_planes_have_no_box():
    with pytest.raises(ValueError, match="no bounding box"):
        local_bounds(pw.Plane())
