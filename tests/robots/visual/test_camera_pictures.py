"""Pictures as cameras of a world see it: rays, what is cut off, arguments."""

import numpy as np
import pytest

import posewise as pw
from posewise import ConfigError
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.visual.drawn_scene import DrawnScene
from posewise.robots.visual.eyes import CameraEye, camera_eye
from posewise.robots.visual.rasterizer import rasterize

pytest.importorskip("matplotlib", reason="pictures need the extra plot")

POSE = np.array([0.3, -0.2, 0.5, 0.9, 0.1, -0.3, 0.3])
POSE[3:] /= np.linalg.norm(POSE[3:])
CAMERA = pw.Camera("cam", vertical_fov=1.1, width=24, height=16, near=0.2, far=2.0)


def eye() -> CameraEye:
    return camera_eye(CAMERA, POSE, (CAMERA.height, CAMERA.width))


def test_pixels_are_those_of_the_rays_of_the_camera():
    depth = np.random.default_rng(0).uniform(0.3, 1.9, (16, 24))
    points = eye().unproject(1 / depth)
    rays = CAMERA.pixel_rays() @ quat_to_matrix(POSE[3:]).T
    expected = POSE[:3] + depth.reshape(-1, 1) * rays
    np.testing.assert_allclose(points.reshape(-1, 3), expected, atol=1e-12)
    pixels, nearness = eye().project(points)
    rows, columns = np.mgrid[:16, :24] + 0.5
    np.testing.assert_allclose(pixels, np.stack([columns, rows], -1), atol=1e-9)
    np.testing.assert_allclose(nearness, 1 / depth)


def nearest_triangle(ray: np.ndarray, triangles: np.ndarray) -> int:
    """The triangle that a ray from the camera meets first, from near to far; or -1."""
    best, index = np.inf, -1
    for k, (a, b, c) in enumerate(triangles):
        u, v, depth = np.linalg.solve(np.stack([b - a, c - a, -ray], 1), POSE[:3] - a)
        if min(u, v) >= 0 and u + v <= 1 and CAMERA.near <= depth <= CAMERA.far:
            best, index = min((best, index), (depth, k))
    return index


def test_what_is_seen_is_what_rays_meet_first():
    # Many of these triangles are cut by the planes of the least and largest depth.
    corners = np.random.default_rng(1).normal(scale=1.2, size=(25, 3, 3)) + POSE[:3]
    scene = DrawnScene(
        corners, np.ones((25, 3, 3)), np.ones((25, 4)), np.arange(25), corners[0], 0.0
    )
    clipped = eye().clipped(scene)
    buffer = rasterize(*eye().project(clipped.corners), eye().shape)
    indices = np.where(buffer.triangle >= 0, clipped.bodies[buffer.triangle], -1)
    rays = CAMERA.pixel_rays() @ quat_to_matrix(POSE[3:]).T
    expected = [nearest_triangle(ray, corners) for ray in rays]
    assert len(set(expected)) > 5 and len(clipped.bodies) > 25 > len(
        set(clipped.bodies)
    )
    np.testing.assert_array_equal(indices.ravel(), expected)


def hall() -> pw.Config:
    """A red ball ahead of a camera, and a blue board below it that passes it."""
    C = pw.Config()
    C.add_frame("ball", position=[2, 0.5, 1], shape=pw.Sphere(0.2), color=[1, 0, 0])
    C.add_frame("board", shape=pw.Box([6, 6, 0.1]), color=[0, 0, 1])
    C.annotations.add_camera("cam", position=[0, 0, 1], width=200, height=100)
    return C


def test_a_picture_of_a_camera(tmp_path):
    figure = hall().picture(tmp_path / "cam.png", camera="cam", names=True)
    assert (tmp_path / "cam.png").read_bytes().startswith(b"\x89PNG")
    (image,) = figure.axes[0].get_images()
    picture = np.asarray(image.get_array())
    height, width = picture.shape[:2]
    assert width == 2 * height
    # At a field of view of 90 degrees the ball is a quarter of the half height away.
    ball = picture[height // 2, round(width / 2 - height / 2 / 4)]
    assert ball[0] > 0.4 and ball[1:].max() < 0.2
    near_floor = picture[-1, width // 2]
    assert near_floor[2] > 0.4 and near_floor[:2].max() < 0.2
    np.testing.assert_array_equal(picture[0], 1.0)
    # The middle of the top of the board is below the picture.
    assert [text.get_text() for text in figure.axes[0].texts] == ["ball"]


def test_what_is_beyond_the_depths_of_a_camera_is_not_seen():
    C = hall()
    C.annotations.add_camera("short", "cam", near=0.1, far=1.0)
    C.annotations.add_camera("past", "cam", near=2.5)
    for name in ("short", "past"):
        (image,) = C.picture(camera=name, frames=["ball"]).axes[0].get_images()
        picture = np.asarray(image.get_array())
        assert (picture[:, :, 0] - picture[:, :, 1]).max() < 0.1


def test_an_unknown_camera():
    with pytest.raises(ConfigError, match="did you mean 'cam'"):
        hall().picture(camera="can")


@pytest.mark.long
def test_pictures_and_films_of_solutions_by_a_camera():
    C = hall()
    C.add_frame("cup", joint="free", shape=pw.Sphere(0.1))
    goal = (pw.Feature(pw.FS.position, ["cup"], target=[2, 0, 1]), pw.OT.eq)
    (placement, *_) = pw.solve_placement(C, [goal], ["cup"], starts=1, seed=0)
    texts = placement.picture(camera="cam", names=True).axes[0].texts
    assert {text.get_text() for text in texts} == {"ball", "cup"}
    assert len(placement.solution.film(camera="cam").axes) == 1


def test_an_image_has_depths_and_points():
    """A ball, and the top of a board; elsewhere there is nothing."""
    C = hall()
    image = C.camera_image("cam")
    assert image.rgb.shape == image.points.shape == (100, 200, 3)
    from_centre = np.linalg.norm(image.points - [2, 0.5, 1], axis=-1)
    ball, board = from_centre < 0.3, from_centre >= 0.3
    np.testing.assert_allclose(from_centre[ball], 0.2, atol=5e-3)
    assert ball.sum() > 50 and image.rgb[ball].mean(0)[0] > 100
    np.testing.assert_allclose(image.points[board][:, 2], 0.05, atol=1e-6)
    is_empty = ~np.isfinite(image.depth)
    np.testing.assert_array_equal(is_empty, np.isnan(image.points).any(-1))
    assert is_empty[0].all()
    rays = C.annotations.cameras["cam"].pixel_rays().reshape(100, 200, 3)
    pixels = ~is_empty
    expected = [0, 0, 1] + image.depth[pixels][:, None] * rays[pixels]
    np.testing.assert_allclose(image.points[pixels], expected, atol=1e-9)
    with pytest.raises(ConfigError, match="did you mean 'cam'"):
        C.camera_image("can")
